"""Peers in the harness: the same normalisations on offer, the same folds to choose on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.peers.peer import Peer
from zerokin.features.scaler import FeatureScaler, unit_length
from zerokin.selection.method import (
    FEATURE_NORMALISATIONS,
    Method,
    Params,
    Scorer,
    TrainingData,
    product_of,
)

SEMANTIC_NORMALISATIONS = ("unit", "centred")


class PeerMethod(Method):
    """A published method with its grid, over every normalisation of features and semantics.

    The normalisation is chosen at the peer's default hyper-parameters, then the grid is tried with
    it.
    """

    def __init__(self, peer: type[Peer]) -> None:
        self.peer = peer
        self.name = peer.name
        normalisations = product_of(
            feature_scaling=FEATURE_NORMALISATIONS, semantics=SEMANTIC_NORMALISATIONS
        )
        self.defaults = {
            "feature_scaling": "unit",
            "semantics": "unit",
            **{name: getattr(peer(), name) for name in peer.grid},
        }
        self.stages = (normalisations, product_of(**peer.grid))

    def fit_many(self, data: TrainingData, trials: Sequence[Params]) -> Iterator[Scorer]:
        """Fit every trial, normalising features once for each normalisation."""
        seen = np.unique(data.labels)
        for params in trials:
            data.memo.start_trial()
            normaliser, F, _ = data.scale_features(params["feature_scaling"])
            Z = normalised_semantics(data.semantics, seen, params["semantics"])
            chosen = {name: params[name] for name in self.peer.grid}
            fitted = self.peer(**chosen).fit(F, data.labels, Z, random_state=data.random_state)
            yield _scorer(normaliser, fitted)


def normalised_semantics(
    Z: NDArray[np.float64], seen: NDArray[np.int64], how: str
) -> NDArray[np.float64]:
    """Return unit semantics (C, d_z) as they are, or centred on the seen classes and unit again."""
    if how == "unit":
        return Z
    centred: NDArray[np.float64] = unit_length(Z - Z[seen].mean(axis=0))
    return centred


def _scorer(normaliser: FeatureScaler, fitted: Peer) -> Scorer:
    return lambda features: fitted.scores(normaliser.transform(features))
