"""The head of prototypical networks (Snell et al. 2017): distances to prototypes, no weights."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from zerokin.errors import InvalidInput
from zerokin.features.networks.head_outputs import HeadOutputs


class PrototypicalHead(nn.Module):
    """Name the queries of an episode by their distance to the mean of each class's shots.

    Snell, Swersky & Zemel, Prototypical Networks for Few-shot Learning, NIPS 2017: p(k | x) is the
    softmax over k of −‖f(x) − c_k‖², where the prototype c_k is the mean of f over the shots of
    class k. There is nothing to learn: all of it is in the features.

    Parameters
    ----------
    d_f
        Width of the features.
    way
        Classes W of an episode.
    shots
        Images K of each that make its prototype; those after them are queries.

    Examples
    --------
    >>> head = PrototypicalHead(d_f=2, way=2, shots=2)
    >>> features = torch.tensor([[0.0, 0], [0, 2], [0, 1], [2, 1], [4, 1], [2, 1]])
    >>> head(features).classes.softmax(dim=1)  # distances² 0 and 9, 4 and 1
    tensor([[9.9988e-01, 1.2339e-04],
            [4.7426e-02, 9.5257e-01]])
    """

    mode: ClassVar[str] = "prototypical"
    uses_maps: ClassVar[bool] = False
    n_seen: ClassVar[int] = 0
    """It knows no class beyond an episode."""

    def __init__(self, d_f: int, way: int, shots: int) -> None:
        super().__init__()
        for name, value, least in (("d_f", d_f, 1), ("way", way, 2), ("shots", shots, 1)):
            if value < least:
                raise InvalidInput(f"{name} must be at least {least}: got {value}")
        self.d_f, self.way, self.shots = d_f, way, shots

    def extra_repr(self) -> str:
        return f"{self.way}-way {self.shots}-shot"

    def forward(self, features: Tensor) -> HeadOutputs:
        """Return logits of an episode's queries, (W · Q, W), from features (W · (K + Q), d_f).

        Images come class by class, and the shots of a class before its queries.
        """
        each, left = divmod(len(features), self.way)
        if left or each <= self.shots:
            raise InvalidInput(
                f"an episode of {self.way} classes has as many images of each, above {self.shots} "
                f"shots: got {len(features)} in all"
            )
        # In full precision, whatever the backbone computes in: distances are small differences.
        with torch.autocast(features.device.type, enabled=False):
            full = features.to(torch.promote_types(features.dtype, torch.float32))
            shots, queries = full.reshape(self.way, each, -1).tensor_split([self.shots], dim=1)
            prototypes = shots.mean(dim=1)
            # −‖q − c‖² less −‖q‖², which is the same for all classes.
            logits = 2 * queries.flatten(0, 1) @ prototypes.T - prototypes.square().sum(dim=1)
        return HeadOutputs(classes=logits)
