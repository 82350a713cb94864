"""SAE, the semantic autoencoder, read in either direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zerokin.benchmark.peers.peer import Peer, RidgeWeight
from zerokin.benchmark.peers.semantic_map import SemanticMap
from zerokin.benchmark.peers.training_set import Array, TrainingSet, gram, symmetric_spectrum


@dataclass
class SAE(Peer):
    """One matrix W encodes features as semantics, and its transpose decodes them.

    With semantics E (N, d_z) of the samples' classes it minimizes

        ‖F − E Wᵀ‖² + λ‖F W − E‖²,

    whose normal equation λFᵀF W + W EᵀE = (1 + λ) FᵀE falls apart in the eigenvectors of FᵀF and
    EᵀE.

    Parameters
    ----------
    lam
        λ, the weight of encoding.
    """

    iterative: ClassVar[bool] = False
    reference: ClassVar[str] = (
        "Kodirov, Xiang & Gong, Semantic Autoencoder for Zero-Shot Learning, CVPR 2017"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "lam": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
    }
    lam: RidgeWeight = 1.0

    def learn(self, training: TrainingSet) -> None:
        strengths, V = training.once("EᵀE", lambda: _semantic_spectrum(training))
        eigenvalues, U = training.spectrum
        coordinates, basis = training.row_space
        rotated = training.once("UᵀFᵀEV", lambda: U.T @ (training.class_sums.T @ (coordinates @ V)))
        divisor = self.lam * eigenvalues[:, None] + strengths
        # Directions that neither F nor E has carry nothing but rounding.
        nothing = divisor <= divisor.max() * len(U) * np.finfo(np.float64).eps
        solved = np.where(nothing, 0, (1 + self.lam) * rotated / np.where(nothing, 1, divisor))
        self.map_ = SemanticMap(U @ (solved @ V.T), basis)


def _semantic_spectrum(training: TrainingSet) -> tuple[Array, Array]:
    coordinates, _ = training.row_space
    return symmetric_spectrum(gram(coordinates * np.sqrt(training.counts)[:, None]))


@dataclass
class SAEFeaturesToSemantics(SAE):
    """SAE that encodes features and compares them with semantics, by cosine."""

    name: ClassVar[str] = "sae-f2s"

    def score(self, F: Array, Z: Array) -> Array:
        return self.map_.cosines_of_semantics(F, Z)


@dataclass
class SAESemanticsToFeatures(SAE):
    """SAE that decodes semantics and compares them with features, by cosine."""

    name: ClassVar[str] = "sae-s2f"

    def score(self, F: Array, Z: Array) -> Array:
        return self.map_.cosines_of_features(F, Z)
