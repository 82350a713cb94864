"""Ridge regression between features and semantics, in either direction: the plain baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zerokin.benchmark.peers.peer import Peer, RidgeWeight
from zerokin.benchmark.peers.semantic_map import SemanticMap
from zerokin.benchmark.peers.training_set import Array, TrainingSet


@dataclass
class Ridge(Peer):
    """Features are regressed on semantics: ‖F W − E‖² + γ‖W‖², nearest class by cosine.

    Parameters
    ----------
    gamma
        γ, the ridge.
    """

    name: ClassVar[str] = "ridge"
    iterative: ClassVar[bool] = False
    reference: ClassVar[str] = (
        "Palatucci, Pomerleau, Hinton & Mitchell, Zero-Shot Learning with Semantic Output Codes, "
        "NIPS 2009"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {"gamma": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)}
    gamma: RidgeWeight = 1.0

    def learn(self, training: TrainingSet) -> None:
        eigenvalues, U = training.spectrum
        coordinates, basis = training.row_space
        rotated = training.once("UᵀFᵀE", lambda: U.T @ (training.class_sums.T @ coordinates))
        self.map_ = SemanticMap(U @ (rotated / (eigenvalues + self.gamma)[:, None]), basis)

    def score(self, F: Array, Z: Array) -> Array:
        return self.map_.cosines_of_semantics(F, Z)


@dataclass
class RidgeSemanticsToFeatures(Peer):
    """Semantics are regressed on features: ‖F − E V‖² + γ‖V‖², nearest class by cosine.

    Projecting in this direction makes fewer classes hubs that are nearest to everything.

    Parameters
    ----------
    gamma
        γ, the ridge.
    """

    name: ClassVar[str] = "ridge-s2f"
    iterative: ClassVar[bool] = False
    reference: ClassVar[str] = (
        "Shigeto, Suzuki, Hara, Shimbo & Matsumoto, Ridge Regression, Hubness, and Zero-Shot "
        "Learning, ECML PKDD 2015"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {"gamma": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)}
    gamma: RidgeWeight = 10.0

    def learn(self, training: TrainingSet) -> None:
        # V leaves the row space of the seen semantics as little as a map to them does.
        coordinates, basis = training.row_space
        EtE = coordinates.T @ (training.counts[:, None] * coordinates)
        ridge = self.gamma * np.eye(len(EtE))
        V = np.linalg.solve(EtE + ridge, coordinates.T @ training.class_sums)
        self.map_ = SemanticMap(V.T, basis)

    def score(self, F: Array, Z: Array) -> Array:
        return self.map_.cosines_of_features(F, Z)
