"""Our few-shot method in the harness: `zerokin.FewShotClassifier`, swept over many settings.

Prototypes are never made here. Scores are put together from products of samples with projected
semantics (what a zero-shot scorer returns), with means of shots, and with means of base classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.few_shot.batches import gathered, gathered_queries
from zerokin.benchmark.few_shot.episodes import Episodes
from zerokin.benchmark.few_shot.method import EpisodeScorer, FewShotMethod
from zerokin.benchmark.few_shot.normalisers import fitted_normaliser
from zerokin.classifiers.few_shot.shots import combined_scores, nearest_base, semantic_weight
from zerokin.features.class_means import class_means
from zerokin.features.normaliser import unit_length
from zerokin.selection.method import (
    FEATURE_NORMALISATIONS,
    Params,
    Scorer,
    Stage,
    TrainingData,
    product_of,
)
from zerokin.selection.zero_shot_space import DEFAULTS as ZERO_SHOT_DEFAULTS
from zerokin.selection.zero_shot_space import TAXONOMY_STAGE, Ours

Products = NDArray[np.floating]

KEPT_BYTES = 256 << 20
KAPPAS = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)

DEFAULTS = {
    **ZERO_SHOT_DEFAULTS,
    "normalisation": "power-centre-unit",
    "hub_weight": 0.0,
    "kappa": 1.0,
    "base_weight": 0.0,
    "base_neighbors": 4,
}

BY_TAXONOMY: Params = {**DEFAULTS, "grouping": "taxonomy"}
WITHOUT_KIN: Params = {**DEFAULTS, "inference": "flat"}
SHOTS_ALONE: Params = {**WITHOUT_KIN, "kappa": 0.0}
LENDING: dict[str, Sequence[Any]] = {
    # What lending brings depends on how features are normalised.
    "normalisation": FEATURE_NORMALISATIONS,
    "base_weight": [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0],
    "base_neighbors": [1, 4],
}

FIRST: dict[str, Sequence[Any]] = {
    "normalisation": FEATURE_NORMALISATIONS,
    "alpha": [0.9, 0.99],
    "gamma": [1.0, 3.0, 10.0, 30.0],
}

STAGES = (
    # What is best with kin need not be best without: neither may be left out of the first.
    product_of(**FIRST, inference=["flat", "kin"], kappa=KAPPAS[::2]),
    [
        *product_of(inference=["flat"], kappa=KAPPAS),
        *product_of(
            inference=["kin"],
            kin_semantics=[0.0, 3.0, 9.0, 27.0],
            kin_width=[0.25, 0.5, 1.0],
            kin_shrinkage=[1.0, 4.0],
            kappa=KAPPAS,
        ),
    ],
    product_of(
        grouping=["kmeans", "agglomerative"],
        branching=[2, 3, 4],
        kin_decay=[0.5, 1.0],
        kappa=KAPPAS,
    ),
    product_of(**LENDING, kappa=KAPPAS),
)


class OursFewShot(FewShotMethod):
    """Shots and projected semantics together; prototypes of zero-shot recognition as the prior."""

    name = "ours"
    defaults: Params = DEFAULTS
    stages: Sequence[Stage] = STAGES

    def scorers(
        self, data: TrainingData, pool: NDArray[Any], trials: Sequence[Params]
    ) -> Iterator[EpisodeScorer]:
        """Learn with every trial; what depends on less than a trial differs in is made once."""
        wanted = [{name: params[name] for name in ZERO_SHOT_DEFAULTS} for params in trials]
        groups = [list(group) for _, group in groupby(range(len(trials)), wanted.__getitem__)]
        firsts = [wanted[group[0]] for group in groups]
        projections = _projections(data, pool, firsts)
        samples: _Samples | None = None
        for group, first, projection in zip(groups, firsts, projections, strict=True):
            if samples is None or samples.steps != first["normalisation"]:
                samples = _Samples(data, pool, first["normalisation"])
            for number in group:
                yield _scorer(samples, projection, trials[number])


class OursByTaxonomy(OursFewShot):
    """The same, with superclasses that people made in the place of clusters."""

    name = "ours-taxonomy"
    defaults: Params = BY_TAXONOMY
    stages: Sequence[Stage] = (
        *STAGES[:2],
        [{**change, "kappa": kappa} for change in TAXONOMY_STAGE for kappa in KAPPAS],
        *STAGES[3:],
    )


class OursWithoutSuperclasses(OursFewShot):
    """The same, with projections as they are: no superclass and no other kin moves them."""

    name = "ours-flat"
    defaults: Params = WITHOUT_KIN
    stages: Sequence[Stage] = (
        product_of(**FIRST, kappa=KAPPAS[::2]),
        product_of(kappa=KAPPAS),
        STAGES[3],
    )


class OursWithoutSemantics(OursFewShot):
    """The same, knowing the shots alone."""

    name = "ours-shots"
    defaults: Params = SHOTS_ALONE
    stages: Sequence[Stage] = (product_of(**LENDING),)


class _Projection:
    """Products with projected semantics, made when they are first asked for.

    Parameters
    ----------
    scorer
        From raw features (n, d_f) to products (n, C).
    data, pool
        As for `FewShotMethod.scorers`.
    """

    def __init__(self, scorer: Scorer, data: TrainingData, pool: NDArray[Any]) -> None:
        self.scorer, self.data, self.pool = scorer, data, pool

    @cached_property
    def of_pool(self) -> Products:
        """Of samples of the pool, (N, C)."""
        return self.scorer(self.pool)

    @cached_property
    def of_base(self) -> Products:
        """Of base means, (B, C): all base samples have to be scored, but few settings lend."""
        members = np.unique(self.data.labels, return_inverse=True)[1]
        # A scorer is linear in unit features: the mean of products is the product with the mean.
        return class_means(self.scorer(self.data.features), members, int(members.max()) + 1)


def _projections(
    data: TrainingData, pool: NDArray[Any], trials: Sequence[Params]
) -> Iterator[_Projection | None]:
    """Yield one for each trial, or None where classes have no semantics."""
    if not data.semantics.shape[1]:
        yield from (None for _ in trials)
        return
    yield from (_Projection(scorer, data, pool) for scorer in Ours().fit_many(data, trials))


class _Samples:
    """The pool's unit features for a normalisation, and their products with base means.

    Parameters
    ----------
    data, pool
        As for `FewShotMethod.scorers`.
    steps
        The normalisation.
    """

    def __init__(self, data: TrainingData, pool: NDArray[Any], steps: str) -> None:
        self.steps = steps
        normaliser = fitted_normaliser(data, steps)
        self.F = unit_length(normaliser.transform(pool))
        members = np.unique(data.labels, return_inverse=True)[1]
        base = unit_length(normaliser.transform(data.features))
        means = class_means(base, members, int(members.max()) + 1)
        self.to_base = self.F @ means.T.astype(self.F.dtype)
        self.base_products = means @ means.T
        self._products: dict[int, tuple[Episodes, tuple[Products, Products]]] = {}

    def with_shots(self, episodes: Episodes) -> tuple[Products, Products]:
        """Return q·x̄ (T, M, W) and x̄·x̄ (T, W); made once for the same episodes."""
        # The episodes are kept beside their products, so that no others can take their id.
        if id(episodes) not in self._products:
            means = gathered(self.F, episodes.shots).mean(axis=2)
            to_means = gathered_queries(self.F, episodes) @ means.transpose(0, 2, 1)
            made = to_means, (means**2).sum(axis=2)
            if len(self._products) * to_means.nbytes > KEPT_BYTES:
                return made
            self._products[id(episodes)] = episodes, made
        return self._products[id(episodes)][1]


def _scorer(samples: _Samples, projection: _Projection | None, params: Params) -> EpisodeScorer:
    kappa = 0.0 if projection is None else params["kappa"]
    lent, n_neighbors = params["base_weight"], params["base_neighbors"]

    def scores(episodes: Episodes) -> Products:
        n_shots = episodes.shots.shape[2]
        to_means, squares = samples.with_shots(episodes)
        to_parts, products, counts = [to_means], [[squares]], [float(n_shots)]
        queries = episodes.queries.reshape(len(episodes), -1)
        base = samples.to_base[episodes.shots].mean(axis=2) if lent else np.empty(0)
        lenders_products = [base]
        if projection is not None and kappa:
            P, classes = projection.of_pool, episodes.classes
            to_parts.append(P[queries[:, :, None], classes[:, None, :]])
            own = P[episodes.shots, classes[:, :, None]].mean(axis=2)
            products.append([own, np.ones_like(own)])
            counts.append(kappa)
            if lent:
                lenders_products.append(projection.of_base.T[classes])
        if lent:
            weight = float(semantic_weight(n_shots, kappa))
            mixed = (1 - weight) * base
            if len(lenders_products) > 1:
                mixed = mixed + weight * lenders_products[1]
            G = samples.base_products
            lenders = nearest_base(mixed, np.sqrt(np.diag(G)), n_neighbors)
            to_lent = samples.to_base[queries[:, :, None, None], lenders[:, None, :, :]]
            to_parts.append(to_lent.mean(axis=3))
            row = [np.take_along_axis(p, lenders, axis=2).mean(axis=2) for p in lenders_products]
            own = G[lenders[..., :, None], lenders[..., None, :]].mean(axis=(2, 3))
            products.append([*row, own])
            counts.append(lent)
        total = sum(counts)
        return combined_scores(to_parts, products, [count / total for count in counts])

    return scores
