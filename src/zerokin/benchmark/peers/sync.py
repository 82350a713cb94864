"""SynC, synthesized classifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from zerokin.benchmark.peers.distances import squared_distances
from zerokin.benchmark.peers.linear_models import fit_linear_models
from zerokin.benchmark.peers.peer import Peer, RidgeWeight
from zerokin.benchmark.peers.training_set import Array, TrainingSet
from zerokin.compute.products import quick_products
from zerokin.errors import InvalidInput
from zerokin.parameters import Real


@dataclass
class SynC(Peer):
    """A class's classifier is a mean of phantom classifiers, weighted by nearness of semantics.

    With phantoms at the seen classes, σ_cr ∝ exp(−‖z_c − s_r‖² / σ²) summing to one over r and
    w_c = Σ_r σ_cr v_r, it minimizes over v the squared hinges of one class against the others,

        Σ_c Σ_n max(0, 1 − y_nc (w_cᵀf_n + b_c))² + λ/2 Σ_c ‖w_c‖².

    There are as many phantoms as seen classes, so any w of these can be had: they are fitted
    freely, and v follows from them.

    Parameters
    ----------
    sigma
        σ, in units of the root mean square distance between two seen classes.
    lam
        λ, the ridge.
    """

    name: ClassVar[str] = "sync"
    reference: ClassVar[str] = (
        "Changpinyo, Chao, Gong & Sha, Synthesized Classifiers for Zero-Shot Learning, CVPR 2016"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "sigma": (0.7, 1.0, 1.4, 2.0),
        "lam": (1.0, 10.0, 100.0),
    }
    sigma: Annotated[float, Real(1e-3, 1e3)] = 1.0
    lam: RidgeWeight = 10.0

    def learn(self, training: TrainingSet) -> None:
        self.S_ = training.S
        squares = squared_distances(training.S, training.S)
        p = len(squares)
        self.width_ = self.sigma**2 * squares.sum() / (p * (p - 1))
        if not self.width_ > 0:
            raise InvalidInput(
                "Z: all seen classes have equal semantics, so none can be told apart"
            )
        W, b = training.samples.once(
            ("one against others", self.lam), lambda: one_vs_others(training, self.lam)
        )
        classifiers = np.vstack([W, b])
        self.phantoms_ = np.linalg.lstsq(self.weights(training.S), classifiers.T, rcond=1e-10)[0].T

    def weights(self, Z: Array) -> Array:
        """Return (C, p) how much each phantom counts for each class."""
        exponents = -squared_distances(Z, self.S_) / self.width_
        unnormed = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        weights: Array = unnormed / unnormed.sum(axis=1, keepdims=True)
        return weights

    def score(self, F: Array, Z: Array) -> Array:
        classifiers = self.phantoms_ @ self.weights(Z).T
        scores: Array = F @ classifiers[:-1] + classifiers[-1]
        return scores


def one_vs_others(training: TrainingSet, lam: float) -> tuple[Array, Array]:
    """Return W (d_f, p) and b (p,) of squared-hinge machines, one class against the others."""
    import torch

    labels = torch.from_numpy(training.labels)
    signs = 2 * torch.nn.functional.one_hot(labels, len(training.S)).float() - 1
    with quick_products():
        return fit_linear_models(
            training,
            lambda scores: -2 * signs * (1 - signs * scores).clamp(min=0),
            len(training.S),
            curvature=2.0,
            ridge=lam,
        )
