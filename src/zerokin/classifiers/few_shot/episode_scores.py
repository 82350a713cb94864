"""Scores of many episodes at once, from products alone: `FewShotClassifier` in batches.

Prototypes of episodes are never made. Scores are put together from products of samples with
projected semantics, with means of shots and with means of base classes; so a sweep over κ and λ
costs next to nothing. The rules are those of `shots`; equal to the estimator up to rounding.

Shapes: T episodes of W classes with S shots and Q queries each, M = W · Q; B base classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.few_shot.shots import combined_scores, nearest_base, semantic_weight
from zerokin.classifiers.hubness import mean_of_nearest
from zerokin.classifiers.memo import RunStage, run_stage
from zerokin.features.class_means import class_means

Products = NDArray[np.floating[Any]]


class EpisodeBatch(Protocol):
    """Which samples of a pool are shots and queries of which classes."""

    @property
    def classes(self) -> NDArray[np.int64]:
        """(T, W) positions of the classes."""

    @property
    def shots(self) -> NDArray[np.int64]:
        """(T, W, S) samples."""

    @property
    def queries(self) -> NDArray[np.int64]:
        """(T, W, Q) samples."""


class PoolProducts(NamedTuple):
    """Of unit samples F (N, d_f) of a pool with base means b (B, d_f): F·b (N, B), b·b (B, B)."""

    F: NDArray[Any]
    means: NDArray[np.float64]
    to_base: Products
    base_products: Products


@dataclass(frozen=True)
class ShotSettings:
    """Parameters of `FewShotClassifier`, and of its zero-shot classifier's hubness."""

    kappa: float
    base_weight: float
    base_neighbors: int
    hub_weight: float = 0.0
    hub_neighbors: int = 3


def relate_to_base(F: NDArray[Any], base: NDArray[Any], labels: NDArray[np.int64]) -> PoolProducts:
    """Return products of a pool (N, d_f) with the means of base samples (n, d_f); unit samples."""
    members = np.unique(labels, return_inverse=True)[1]
    means = class_means(base, members, int(members.max()) + 1)
    return PoolProducts(F, means, F @ means.T.astype(F.dtype), means @ means.T)


def relate_to_shots(F: NDArray[Any], episodes: EpisodeBatch) -> tuple[Products, Products]:
    """Return q·x̄ (T, M, W) of queries with means of shots, and x̄·x̄ (T, W)."""
    means = gather(F, episodes.shots).mean(axis=2)
    to_means = gather_queries(F, episodes) @ means.transpose(0, 2, 1)
    return to_means, (means**2).sum(axis=2)


def relate_to_semantics(F: NDArray[Any], prototypes: NDArray[np.float64]) -> Products:
    """Return products (n, C) of samples (n, d_f) with projected semantics (C, d_f)."""
    products: Products = F @ prototypes.T
    return products


def score_episodes(
    episodes: EpisodeBatch,
    pool: PoolProducts,
    projected: NDArray[np.float64] | None,
    settings: ShotSettings,
    run: RunStage = run_stage,
    trust: NDArray[np.float64] | None = None,
) -> Products:
    """Return the scores (T, M, W) of queries for the classes of their episode.

    Parameters
    ----------
    episodes
        Which samples.
    pool
        Products with base classes.
    projected
        (C, d_f) unit zero-shot prototypes, or None where classes have no semantics.
    settings
        κ, λ and the like.
    run
        Runs stages: a `Memo`, where the same episodes are scored with many settings.
    trust
        (C,) factors of κ for each class; None where all classes are alike.
    """
    F, means, to_base, G = pool
    n_shots = episodes.shots.shape[2]
    kappa = 0.0 if projected is None else settings.kappa
    lent, hubs = settings.base_weight, settings.hub_weight
    to_means, squares = run(relate_to_shots, F, episodes)
    to_parts, part_products = [to_means], [[squares]]
    counts: list[Any] = [float(n_shots)]
    queries = episodes.queries.reshape(len(episodes.queries), -1)
    # Products of each part with the base means (T, W, B), where anything needs them.
    with_base = [to_base[episodes.shots].mean(axis=2)] if lent or hubs else []
    if projected is not None and kappa:
        P, classes = run(relate_to_semantics, F, projected), episodes.classes
        to_parts.append(P[queries[:, :, None], classes[:, None, :]])
        own = P[episodes.shots, classes[:, :, None]].mean(axis=2)
        part_products.append([own, np.ones_like(own)])
        counts.append(kappa if trust is None else kappa * trust[classes])
        if with_base:
            with_base.append(run(relate_to_semantics, means, projected).T[classes])
    if lent:
        factors = 1.0 if trust is None else trust[episodes.classes]
        weight = np.asarray(semantic_weight(n_shots, kappa, factors))[..., None]
        mixed = (1 - weight) * with_base[0]
        if len(with_base) > 1:
            mixed = mixed + weight * with_base[1]
        lenders = nearest_base(mixed, np.sqrt(np.diag(G)), settings.base_neighbors)
        to_lent = to_base[queries[:, :, None, None], lenders[:, None, :, :]]
        to_parts.append(to_lent.mean(axis=3))
        row = [np.take_along_axis(p, lenders, axis=2).mean(axis=2) for p in with_base]
        own = G[lenders[..., :, None], lenders[..., None, :]].mean(axis=(2, 3))
        part_products.append([*row, own])
        with_base.append(G[lenders].mean(axis=2))
        counts.append(lent)
    weights = [count / sum(counts) for count in counts]
    scores = combined_scores(to_parts, part_products, weights)
    if hubs:
        lengths = np.sqrt(np.diag(G))
        lengths = np.where(lengths > 0, lengths, 1)
        # Base means in the place of samples: their cosines with the prototypes of the episode.
        unit_base = [(part / lengths).swapaxes(1, 2) for part in with_base]
        cosines = combined_scores(unit_base, part_products, weights).swapaxes(1, 2)
        penalties = hubs * mean_of_nearest(cosines, settings.hub_neighbors)
        scores = scores - penalties[:, None, :]
    return scores


def gather(F: NDArray[Any], samples: NDArray[np.int64]) -> NDArray[Any]:
    """Return the features (..., d_f) of samples (...)."""
    rows: NDArray[Any] = F.take(samples.ravel(), axis=0)
    return rows.reshape(*samples.shape, F.shape[1])


def gather_queries(F: NDArray[Any], episodes: EpisodeBatch) -> NDArray[Any]:
    """Return the features (T, M, d_f) of the queries, class by class."""
    return gather(F, episodes.queries.reshape(len(episodes.queries), -1))
