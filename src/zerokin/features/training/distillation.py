"""Learning from the answers of a network that has learned before, beside the labels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import torch
from torch import Tensor
from torch.nn import functional

from zerokin.errors import InvalidInput
from zerokin.features.networks.network import FeatureNetwork
from zerokin.features.training.recipe import Recipe


def distillation_loss(student: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """Return T² KL(teacher ‖ student) of softmax(logits / T), averaged over the batch.

    T² makes up for gradients, which shrink by as much.

    Parameters
    ----------
    student, teacher
        Logits for the same images and classes, (B, p).
    temperature
        T.

    Examples
    --------
    >>> logits = torch.tensor([[2.0, 0.0]])
    >>> round(distillation_loss(logits, logits, 2.0).item(), 3)
    0.0
    >>> round(distillation_loss(-logits, logits, 2.0).item(), 3)  # 4 · ln e · (σ(1) − σ(−1))
    1.848
    """
    wanted, found = (functional.log_softmax(z / temperature, dim=1) for z in (teacher, student))
    divergence = functional.kl_div(found, wanted, reduction="batchmean", log_target=True)
    return temperature**2 * divergence


class Teacher:
    """A network that answers and does not learn.

    Parameters
    ----------
    network
        As it was trained; it is put into evaluation mode.
    device
        Where it works.
    autocast
        Makes the context in which the network that learns computes, too.
    """

    def __init__(
        self,
        network: FeatureNetwork,
        device: torch.device,
        autocast: Callable[[], AbstractContextManager[object]],
    ) -> None:
        network.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.network, self.autocast = network.eval(), autocast

    def __call__(self, view: Tensor, shares: Tensor | None = None) -> Tensor:
        """Return logits of the classes for images (B, 3, S, S), (B, p), without a gradient.

        Parameters
        ----------
        view
            Images.
        shares
            λ of manifold mixup, as the network that learns has them; where it has none, None.
        """
        with torch.no_grad(), self.autocast():
            logits: Tensor = self.network(view, shares).classes
        return logits.float()


def check_teacher(network: FeatureNetwork, recipe: Recipe, teacher: FeatureNetwork | None) -> None:
    """Refuse a recipe without the teacher it needs, and a teacher that cannot be learned from."""
    share = recipe.distillation
    if teacher is None:
        if share:
            raise InvalidInput(
                f"distillation {share} needs a teacher: give a trained network of the same "
                "classes, or set distillation to 0"
            )
        return
    if not share:
        raise InvalidInput(
            "there is a teacher, but distillation is 0: set it to the teacher's share of the loss, "
            "such as 0.5, or give no teacher"
        )
    if {id(weight) for weight in network.parameters()} & {id(w) for w in teacher.parameters()}:
        raise InvalidInput("the teacher is the network that learns: give another one")
    there, here = teacher.head.n_seen, network.head.n_seen
    if there != here:
        raise InvalidInput(
            f"the teacher knows {there:,} classes, but there are {here:,} to learn: give one that "
            "was trained on the same classes"
        )
