"""The search space of our few-shot method: `zerokin.FewShotClassifier`, tried in stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, get_args

from numpy.typing import NDArray

from zerokin.benchmark.few_shot.method import EpisodeScorer, FewShotMethod
from zerokin.classifiers.few_shot.episode_scores import (
    ShotSettings,
    relate_to_base,
    score_episodes,
)
from zerokin.classifiers.few_shot.semantic_prototypes import (
    SemanticPrototypes,
    semantic_prototypes,
)
from zerokin.classifiers.few_shot.semantic_trust import semantic_trust
from zerokin.errors import InvalidInput
from zerokin.selection.method import (
    FEATURE_NORMALIZATIONS,
    Params,
    Stage,
    TrainingData,
    product_of,
)
from zerokin.selection.zero_shot_space import DEFAULTS as ZERO_SHOT_DEFAULTS
from zerokin.selection.zero_shot_space import TAXONOMY_STAGE, fit_trial

MAKERS = get_args(SemanticPrototypes)
KAPPAS = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)

DEFAULTS: Params = {
    **ZERO_SHOT_DEFAULTS,
    "feature_scaling": "power-center-unit",
    "hub_weight": 0.0,
    "kappa": 1.0,
    "semantic_prototypes": "projection",
    "variance_exponent": 0.0,
    "base_weight": 0.0,
    "base_neighbors": 4,
}

OF_SHOTS = tuple(name for name in DEFAULTS if name not in ZERO_SHOT_DEFAULTS)
"""Hyper-parameters of `FewShotClassifier` itself; the others are of its zero-shot classifier."""

BY_TAXONOMY: Params = {**DEFAULTS, "grouping": "taxonomy"}
WITHOUT_KIN: Params = {**DEFAULTS, "inference": "flat"}
SHOTS_ALONE: Params = {**WITHOUT_KIN, "kappa": 0.0}
LENDING: dict[str, Sequence[Any]] = {
    # What lending brings depends on how features are normalized.
    "feature_scaling": FEATURE_NORMALIZATIONS,
    "base_weight": [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0],
    "base_neighbors": [1, 4],
}

FIRST: dict[str, Sequence[Any]] = {
    "feature_scaling": FEATURE_NORMALIZATIONS,
    "alpha": [0.9, 0.99],
    "gamma": [1.0, 3.0, 10.0, 30.0],
}

STAGES = (
    # What is best with kin need not be best without: neither may be left out of the first.
    product_of(**FIRST, inference=["flat", "residual"], kappa=KAPPAS[::2]),
    [
        *product_of(inference=["flat"], kappa=KAPPAS),
        *product_of(
            inference=["residual"],
            semantic_variance=[0.0, 3.0, 9.0, 27.0],
            length_scale=[0.25, 0.5, 1.0],
            noise=[1.0, 4.0],
            kappa=KAPPAS,
        ),
    ],
    product_of(
        grouping=["kmeans", "agglomerative"],
        branching=[2, 3, 4],
        layer_decay=[0.5, 1.0],
        kappa=KAPPAS,
    ),
    product_of(
        semantic_prototypes=MAKERS,
        variance_exponent=[0.0, 0.5, 1.0],
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
        """Learn with every trial; the stages in which trials do not differ are run once."""
        for params in trials:
            yield _scorer(data, pool, params)


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
    """The same, with semantic prototypes as they are: no superclass and no other kin moves them."""

    name = "ours-flat"
    defaults: Params = WITHOUT_KIN
    stages: Sequence[Stage] = (
        product_of(**FIRST, kappa=KAPPAS[::2]),
        product_of(kappa=KAPPAS),
        product_of(semantic_prototypes=MAKERS, kappa=KAPPAS),
        STAGES[-1],
    )


class OursWithoutSemantics(OursFewShot):
    """The same, knowing the shots alone."""

    name = "ours-shots"
    defaults: Params = SHOTS_ALONE
    stages: Sequence[Stage] = (product_of(**LENDING),)


def _scorer(data: TrainingData, pool: NDArray[Any], params: Params) -> EpisodeScorer:
    """Return what scores episodes as `FewShotClassifier` with these parameters does."""
    if params["inference"] == "paper":
        raise InvalidInput(
            "inference='paper' is not measured on episodes: use 'residual' or 'flat', or "
            "FewShotClassifier itself"
        )
    run = data.run
    projected = trust = None
    if data.semantics.shape[1]:
        model = fit_trial(data, {name: params[name] for name in ZERO_SHOT_DEFAULTS})
    else:
        data.start_trial()
    scaled = data.scale_features(params["feature_scaling"])
    normalizer = scaled.normalizer
    if data.semantics.shape[1]:
        projected = semantic_prototypes(model, params["semantic_prototypes"], scaled.means, run)
        trust = semantic_trust(model, params["variance_exponent"], run)
    F = data.scale_samples(normalizer, pool)
    base = data.scale_samples(normalizer, data.features)
    related = run(relate_to_base, F, base, data.labels)
    settings = ShotSettings(**{field.name: params[field.name] for field in fields(ShotSettings)})
    return lambda episodes: score_episodes(episodes, related, projected, settings, run, trust)
