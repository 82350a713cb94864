"""Our few-shot method in the harness: `zerokin.FewShotClassifier`, swept over many settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.evaluation.few_shot.batches import gathered, gathered_queries
from zerokin.evaluation.few_shot.episodes import Episodes
from zerokin.evaluation.few_shot.method import EpisodeScorer, FewShotMethod
from zerokin.evaluation.few_shot.normalisers import fitted_normaliser
from zerokin.evaluation.method import (
    FEATURE_NORMALISATIONS,
    Params,
    Stage,
    TrainingData,
    product_of,
)
from zerokin.evaluation.ours import DEFAULTS as ZERO_SHOT_DEFAULTS
from zerokin.evaluation.ours import Ours
from zerokin.features.normaliser import unit_length
from zerokin.recognition.shots import mixed_scores, semantic_weight

KEPT_BYTES = 256 << 20
KAPPAS = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)

DEFAULTS = {
    **ZERO_SHOT_DEFAULTS,
    "normalisation": "power-centre-unit",
    "hub_weight": 0.0,
    "kappa": 1.0,
}

STAGES = (
    product_of(
        normalisation=FEATURE_NORMALISATIONS,
        alpha=[0.9, 0.99],
        gamma=[1.0, 3.0, 10.0, 30.0],
        kappa=KAPPAS[::2],
    ),
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
)

Products = tuple[NDArray[np.floating], NDArray[np.floating]]


class OursFewShot(FewShotMethod):
    """Shots and projected semantics together; prototypes of zero-shot recognition as the prior."""

    name = "ours"
    defaults = DEFAULTS
    stages: Sequence[Stage] = STAGES

    def scorers(
        self, data: TrainingData, pool: NDArray[Any], trials: Sequence[Params]
    ) -> Iterator[EpisodeScorer]:
        """Learn with every trial; what depends on less than a trial differs in is made once."""
        if not data.semantics.shape[1]:
            yield from _from_shots_alone(data, pool, trials)
            return
        wanted = [{name: params[name] for name in ZERO_SHOT_DEFAULTS} for params in trials]
        groups = [list(group) for _, group in groupby(range(len(trials)), wanted.__getitem__)]
        zero_shot = Ours().fit_many(data, [wanted[group[0]] for group in groups])
        samples: _Samples | None = None
        for group, scorer in zip(groups, zero_shot, strict=True):
            steps = wanted[group[0]]["normalisation"]
            if samples is None or samples.steps != steps:
                samples = _Samples(data, pool, steps)
            cosines = scorer(pool)
            for number in group:
                yield _scorer(samples, cosines, trials[number]["kappa"])


class _Samples:
    """The pool's unit features for a normalisation, and products of queries with means of shots."""

    def __init__(self, data: TrainingData, pool: NDArray[Any], steps: str) -> None:
        self.steps = steps
        self.F = unit_length(fitted_normaliser(data, steps).transform(pool))
        self._products: dict[int, tuple[Episodes, Products]] = {}

    def products(self, episodes: Episodes) -> Products:
        """Return q·x̄ (T, M, W) and ‖x̄‖² (T, W); made once for the same episodes."""
        # The episodes are kept beside their products, so that no others can take their id.
        if id(episodes) not in self._products:
            means = gathered(self.F, episodes.shots).mean(axis=2)
            to_means = gathered_queries(self.F, episodes) @ means.transpose(0, 2, 1)
            made = to_means, (means**2).sum(axis=2)
            if len(self._products) * to_means.nbytes > KEPT_BYTES:
                return made
            self._products[id(episodes)] = episodes, made
        return self._products[id(episodes)][1]


def _scorer(samples: _Samples, cosines: NDArray[np.floating], kappa: float) -> EpisodeScorer:
    """Return a scorer from the cosines (N, C) of the pool with all classes' projections."""

    def scores(episodes: Episodes) -> NDArray[np.floating]:
        to_means, squares = samples.products(episodes)
        weight = float(semantic_weight(episodes.shots.shape[2], kappa))
        queries = episodes.queries.reshape(len(episodes), -1)
        to_projected = cosines[queries[:, :, None], episodes.classes[:, None, :]]
        # The mean of products is the product with the mean.
        own = cosines[episodes.shots, episodes.classes[:, :, None]].mean(axis=2)
        return mixed_scores(to_projected, to_means, own, squares, weight)

    return scores


def _from_shots_alone(
    data: TrainingData, pool: NDArray[Any], trials: Sequence[Params]
) -> Iterator[EpisodeScorer]:
    samples: _Samples | None = None
    nothing = np.zeros((len(pool), len(data.semantics)))
    for params in trials:
        if samples is None or samples.steps != params["normalisation"]:
            samples = _Samples(data, pool, params["normalisation"])
        yield _scorer(samples, nothing, 0.0)
