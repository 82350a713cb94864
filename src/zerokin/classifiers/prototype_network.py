"""Prototype network: from class semantics to class means, learned on the seen classes.

A network with one hidden layer, g(z) = ReLU(z W₁ + b₁) W₂ + b₂, in the place of the linear
projection. AM3 (Xing et al., NeurIPS 2019) and SemFew (Zhang et al., CVPR 2024) make prototypes
of semantics by such networks. Here it minimizes the squared distance of g(z_c) from the mean m_c
of seen class c, by Adam with decoupled weight decay on all classes at once. How strong the decay is
and how many steps are taken is chosen by leaving classes out: each is held out once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.features.scaler import unit_length

if TYPE_CHECKING:
    from torch import Tensor

Matrix = NDArray[np.float64]

HIDDEN, STEPS, LEARNING_RATE = 256, 150, 3e-3
DECAYS = (1.0, 10.0, 30.0)
"""Weight decays that compete; a step takes off the learning rate times as much of each weight."""
FOLDS = 4


class Choice(NamedTuple):
    """What leaving classes out prefers: a weight decay, and how many steps to take."""

    decay: float
    steps: int


def network_prototypes(
    semantics: Matrix, means: Matrix, seen: NDArray[np.int64], *, random_state: int = 0
) -> Matrix:
    """Return unit prototypes of all classes (C, d_f) by a network learned on the seen ones.

    Parameters
    ----------
    semantics
        (C, d_z) unit semantics Z.
    means
        (p, d_f) means of the seen classes.
    seen
        (p,) positions of the seen classes.
    random_state
        Seed of the first weights and of the folds.

    Examples
    --------
    >>> Z = np.eye(5)[[0, 1, 2, 3, 0]]
    >>> found = network_prototypes(Z, 2 * np.eye(4), np.arange(4))
    >>> int(found[4].argmax())                 # of the semantics of class 0
    0
    """
    if len(seen) < 2:
        raise InvalidInput("a prototype network needs at least two seen classes to learn from")
    inputs = semantics - semantics[seen].mean(axis=0)
    tiny = float(np.finfo(np.float32).tiny)
    inputs = inputs / max(float(np.sqrt((inputs[seen] ** 2).mean())), tiny)
    targets = unit_length(means)
    center = targets.mean(axis=0)
    # Distances stay in the space that the targets span, which is far smaller than d_f.
    _, sizes, axes = np.linalg.svd(targets - center, full_matrices=False)
    axes = axes[sizes > sizes[0] * 1e-6] if sizes[0] > 0 else axes[:1]
    coordinates = (targets - center) @ axes.T
    scale = max(float(np.sqrt((coordinates**2).mean())), tiny)
    training = Training(inputs[seen], coordinates / scale, random_state)
    estimated = training.estimate(inputs, training.choose())
    return unit_length(center + scale * estimated @ axes)


class Training:
    """Trains networks on p classes side by side, each on some of the classes.

    Parameters
    ----------
    inputs, targets
        (p, d_z) semantics and (p, q) what to say of them.
    random_state
        Seed.
    """

    def __init__(self, inputs: Matrix, targets: Matrix, random_state: int) -> None:
        import torch

        self.inputs, self.targets = (
            torch.from_numpy(part.astype(np.float32)) for part in (inputs, targets)
        )
        rng = np.random.default_rng(random_state)
        folds = rng.permutation(np.arange(len(inputs)) % min(FOLDS, len(inputs)))
        self.folds = torch.from_numpy(folds)
        d_z, q = inputs.shape[1], targets.shape[1]
        # All networks begin alike, so that steps of one say something of another.
        first = rng.normal(size=(d_z, HIDDEN)) * np.sqrt(2 / d_z)
        last = rng.normal(size=(HIDDEN, q)) * np.sqrt(1 / HIDDEN) * 0.1
        self.start = [
            torch.from_numpy(part.astype(np.float32))
            for part in (first, np.zeros((1, HIDDEN)), last, np.zeros((1, q)))
        ]

    def choose(self) -> Choice:
        """Return the decay and the steps at which held-out classes are met best, over all folds."""
        import torch

        n_folds = int(self.folds.max()) + 1
        held = torch.stack([self.folds == fold for fold in range(n_folds)])
        held = held.repeat(len(DECAYS), 1).float()
        decays = torch.tensor(DECAYS).repeat_interleave(n_folds)
        misses = torch.empty(STEPS, len(DECAYS))

        def note(step: int, weights: list[Tensor]) -> None:
            off = ((_forward(self.inputs, weights) - self.targets) ** 2).sum(2)
            # Every class is held out once: the sum over folds is one over classes.
            misses[step] = (off * held).sum(1).view(len(DECAYS), n_folds).sum(1)

        self._train(1 - held, decays, STEPS, note)
        best = int(misses.flatten().argmin())
        step, which = divmod(best, len(DECAYS))
        return Choice(DECAYS[which], step + 1)

    def estimate(self, inputs: Matrix, choice: Choice) -> Matrix:
        """Return what a network trained on all classes says of other semantics, (n, q)."""
        import torch

        used = torch.ones(1, len(self.inputs))
        weights = self._train(used, torch.tensor([choice.decay]), choice.steps)
        with torch.no_grad():
            said = _forward(torch.from_numpy(inputs.astype(np.float32)), weights)[0]
        return np.asarray(said.numpy(), dtype=np.float64)

    def _train(self, used: Tensor, decays: Tensor, steps: int, note: Any = None) -> list[Tensor]:
        """Return weights of R networks; ``used`` (R, p) says which classes each learns from."""
        import torch

        weights = [
            part.expand(len(used), *part.shape).clone().requires_grad_() for part in self.start
        ]
        optimizer = torch.optim.Adam(weights, lr=LEARNING_RATE)
        shrink = (1 - LEARNING_RATE * decays)[:, None, None]
        counts = used.sum(1)
        for step in range(steps):
            optimizer.zero_grad()
            off = ((_forward(self.inputs, weights) - self.targets) ** 2).mean(2)
            ((off * used).sum(1) / counts).sum().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            with torch.no_grad():
                for part in (weights[0], weights[2]):
                    part *= shrink
                if note is not None:
                    note(step, weights)
        return [part.detach() for part in weights]


def _forward(inputs: Tensor, weights: list[Tensor]) -> Tensor:
    """Return what R networks say of n inputs, (R, n, q)."""
    import torch

    first, bias, last, shift = weights
    hidden = torch.relu(inputs @ first + bias)
    return hidden @ last + shift
