"""Peers in the harness: offered what ours is, and chosen on the same folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.peers.peer import Peer
from zerokin.benchmark.peers.training_set import (
    Samples,
    TrainingSet,
    finite_matrix,
    scale_samples,
)
from zerokin.classifiers.hubness import mean_of_nearest
from zerokin.features.scaler import FeatureScaler, unit_length
from zerokin.selection.method import (
    FEATURE_NORMALIZATIONS,
    HUB_NEIGHBORS,
    HUB_WEIGHTS,
    Method,
    Params,
    Scorer,
    TrainingData,
    product_of,
)

SEMANTIC_NORMALIZATIONS = ("unit", "centered")
PEER_HUB_WEIGHTS = (*HUB_WEIGHTS, 0.5, 0.7)
"""Of regressions onto semantics, hubs are stronger than ours: validation classes ask for more."""

RACE_MARGIN = 3.0
"""Points: seeds and folds move the difference of two trials by one or two."""


class PeerMethod(Method):
    """A published method with its grid, every normalization, and the hubness correction.

    The grid is tried with every normalization of features and semantics; then scores of the best
    are corrected for hubness. What trials share is fitted once. Trials of iterative peers race:
    those far behind the best on the first folds are not tried on the others.

    Parameters
    ----------
    peer
        The method.
    """

    def __init__(self, peer: type[Peer]) -> None:
        self.peer = peer
        self.name = peer.name
        self.race_margin = RACE_MARGIN if peer.iterative else None
        self.defaults = {
            "feature_scaling": "unit",
            "semantics": "unit",
            **{name: getattr(peer(), name) for name in peer.grid},
            "hub_weight": 0.0,
            "hub_neighbors": 3,
        }
        # Neighbors in this order share the factorizations of their features.
        fits = product_of(
            feature_scaling=FEATURE_NORMALIZATIONS, semantics=SEMANTIC_NORMALIZATIONS, **peer.grid
        )
        self.stages = (fits, product_of(hub_weight=PEER_HUB_WEIGHTS, hub_neighbors=HUB_NEIGHBORS))

    def fit_many(self, data: TrainingData, trials: Sequence[Params]) -> Iterator[Scorer]:
        """Fit every trial; those that differ in the hubness correction alone share the fit."""
        run = data.run
        together: tuple[Any, ...] = ()
        for params in trials:
            data.start_trial()
            normalizer, F, means = data.scale_features(params["feature_scaling"])
            Z = run(normalize_semantics, data.semantics, data.labels, params["semantics"])
            samples = data.common(Samples.from_arrays, F, data.labels)
            training = run(TrainingSet.with_semantics, samples, Z, data.random_state)
            chosen = {name: params[name] for name in self.peer.grid}
            normalized = params["feature_scaling"], params["semantics"]
            if normalized != together:
                together = normalized
                self.peer.learn_together(training, self._peers_to_fit(normalized, trials))
            fitted = run(fit_peer, self.peer, training, Z, **chosen)
            penalties = penalize_hubs(
                run(score_means, fitted, means),
                weight=params["hub_weight"],
                n_neighbors=params["hub_neighbors"],
            )

            def scores(
                features: NDArray[Any],
                normalizer: FeatureScaler = normalizer,
                samples: Samples = samples,
                fitted: Peer = fitted,
                penalties: NDArray[np.float64] = penalties,
            ) -> NDArray[np.float64]:
                F = run(scale_samples_of, data, normalizer, features, samples)
                corrected: NDArray[np.float64] = run(score_samples, fitted, F) - penalties
                return corrected

            yield scores

    def _peers_to_fit(self, normalized: tuple[Any, ...], trials: Sequence[Params]) -> list[Peer]:
        """Return a peer for every point of the grid that trials have with these normalizations."""
        points = {
            tuple(params[name] for name in self.peer.grid): None
            for params in trials
            if (params["feature_scaling"], params["semantics"]) == normalized
        }
        return [self.peer(**dict(zip(self.peer.grid, point, strict=True))) for point in points]


def normalize_semantics(
    Z: NDArray[np.float64], labels: NDArray[np.int64], how: str
) -> NDArray[np.float64]:
    """Return unit semantics (C, d_z) as they are, or centered on the classes of samples (N,)."""
    if how == "unit":
        return Z
    centered: NDArray[np.float64] = unit_length(Z - Z[np.unique(labels)].mean(axis=0))
    return centered


def fit_peer(
    peer: type[Peer], training: TrainingSet, Z: NDArray[np.float64], **chosen: Any
) -> Peer:
    """Return a peer with these hyper-parameters, fitted."""
    return peer(**chosen).fit_on(training, Z)


def scale_samples_of(
    data: TrainingData, normalizer: FeatureScaler, features: NDArray[Any], samples: Samples
) -> NDArray[np.float64]:
    """Return raw features (n, d_f), normalized and scaled as the training samples of a peer."""
    scaled = data.scale_samples(normalizer, features, "euclidean")
    return scale_samples(finite_matrix(scaled, "F"), samples.feature_scale)


def score_samples(fitted: Peer, F: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores (n, C) of scaled samples (n, d_f)."""
    return fitted.scores_of_scaled(F)


def score_means(fitted: Peer, means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores (p, C) of seen classes' means (p, d_f), in the unit length of samples."""
    return fitted.scores(unit_length(means))


def penalize_hubs(
    scores: NDArray[np.float64], *, weight: float, n_neighbors: int
) -> NDArray[np.float64]:
    """Return what hubness takes off the scores of classes (C,).

    In the place of a prototype's nearness to the means of seen classes (`hubness`), which a peer
    need not have, stand the scores (p, C) that it gives the classes for these means: the
    ``n_neighbors`` highest of a class are averaged, and ``weight`` times that is taken off.

    Examples
    --------
    >>> penalize_hubs(np.array([[1.0, 0.0], [0.5, 0.2], [0.0, 0.1]]), weight=0.5, n_neighbors=2)
    array([0.375, 0.075])
    """
    return weight * mean_of_nearest(scores.T, n_neighbors)
