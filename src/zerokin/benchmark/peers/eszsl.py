"""ESZSL, a bilinear score in closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from zerokin.benchmark.peers.peer import Peer, RidgeWeight
from zerokin.benchmark.peers.semantic_map import SemanticMap
from zerokin.benchmark.peers.training_set import Array, TrainingSet, gram, symmetric_spectrum


@dataclass
class ESZSL(Peer):
    """A class scores f V s, fitted by squares to 1 for the right class and 0 for the others.

    With one-hot labels Y (N, p) it minimizes

        ‖F V Sᵀ − Y‖² + γ‖V Sᵀ‖² + λ‖F V‖² + γλ‖V‖²,

    so V = (FᵀF + γI)⁻¹ FᵀY S (SᵀS + λI)⁻¹.

    Parameters
    ----------
    gamma
        γ, the ridge on the side of features.
    lam
        λ, the ridge on the side of semantics.
    """

    name: ClassVar[str] = "eszsl"
    iterative: ClassVar[bool] = False
    reference: ClassVar[str] = (
        "Romera-Paredes & Torr, An Embarrassingly Simple Approach to Zero-Shot Learning, ICML 2015"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "gamma": (1.0, 3.0, 10.0, 30.0),
        "lam": (0.1, 0.3, 1.0, 3.0),
    }
    gamma: RidgeWeight = 10.0
    lam: RidgeWeight = 1.0

    def learn(self, training: TrainingSet) -> None:
        eigenvalues, U = training.spectrum
        coordinates, basis = training.row_space
        strengths, V = training.once("SᵀS", lambda: symmetric_spectrum(gram(coordinates)))
        rotated = training.once(
            "UᵀFᵀYSV", lambda: U.T @ (training.class_sums.T @ (coordinates @ V))
        )
        shrunk = rotated / (eigenvalues + self.gamma)[:, None] / (strengths + self.lam)
        self.map_ = SemanticMap(U @ (shrunk @ V.T), basis)

    def score(self, F: Array, Z: Array) -> Array:
        return self.map_.bilinear(F, Z)
