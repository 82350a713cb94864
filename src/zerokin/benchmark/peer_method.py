"""Peers in the harness: the same normalizations on offer, the same folds to choose on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.peers.peer import Peer
from zerokin.features.scaler import FeatureScaler, unit_length
from zerokin.selection.method import (
    FEATURE_NORMALIZATIONS,
    Method,
    Params,
    Scorer,
    TrainingData,
    product_of,
)

SEMANTIC_NORMALIZATIONS = ("unit", "centered")


class PeerMethod(Method):
    """A published method with its grid, over every normalization of features and semantics.

    The normalization is chosen at the peer's default hyper-parameters, then the grid is tried with
    it.
    """

    def __init__(self, peer: type[Peer]) -> None:
        self.peer = peer
        self.name = peer.name
        normalizations = product_of(
            feature_scaling=FEATURE_NORMALIZATIONS, semantics=SEMANTIC_NORMALIZATIONS
        )
        self.defaults = {
            "feature_scaling": "unit",
            "semantics": "unit",
            **{name: getattr(peer(), name) for name in peer.grid},
        }
        self.stages = (normalizations, product_of(**peer.grid))

    def fit_many(self, data: TrainingData, trials: Sequence[Params]) -> Iterator[Scorer]:
        """Fit every trial, normalizing features once for each normalization."""
        seen = np.unique(data.labels)
        for params in trials:
            data.memo.start_trial()
            normalizer, F, _ = data.scale_features(params["feature_scaling"])
            Z = normalized_semantics(data.semantics, seen, params["semantics"])
            chosen = {name: params[name] for name in self.peer.grid}
            fitted = self.peer(**chosen).fit(F, data.labels, Z, random_state=data.random_state)
            yield _scorer(normalizer, fitted)


def normalized_semantics(
    Z: NDArray[np.float64], seen: NDArray[np.int64], how: str
) -> NDArray[np.float64]:
    """Return unit semantics (C, d_z) as they are, or centered on the seen classes."""
    if how == "unit":
        return Z
    centered: NDArray[np.float64] = unit_length(Z - Z[seen].mean(axis=0))
    return centered


def _scorer(normalizer: FeatureScaler, fitted: Peer) -> Scorer:
    return lambda features: fitted.scores(normalizer.transform(features))
