"""The search space of our zero-shot method: `zerokin.ZeroShotClassifier`, tried in stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.stages import scale_samples
from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.errors import InvalidInput
from zerokin.features.row_sources import blocks_of
from zerokin.hierarchy import ClassHierarchy
from zerokin.parameters import check_parameters
from zerokin.selection.method import (
    FEATURE_NORMALIZATIONS,
    HUB_NEIGHBORS,
    HUB_WEIGHTS,
    Method,
    Params,
    Scorer,
    Stage,
    TrainingData,
    product_of,
)

DEFAULTS = {
    "alpha": 0.95,
    "beta": 0.0,
    "epsilon": 0.0,
    "gamma": 3.0,
    "feature_scaling": "power-whiten3-unit",
    "inference": "residual",
    "grouping": "agglomerative",
    "branching": 2,
    "layer_decay": 0.5,
    "semantic_variance": 9.0,
    "length_scale": 0.5,
    "noise": 1.0,
    "hub_weight": 0.25,
    "hub_neighbors": 3,
}

STAGES = (
    product_of(
        feature_scaling=FEATURE_NORMALIZATIONS, alpha=[0.9, 0.95, 0.99], gamma=[1.0, 3.0, 10.0]
    ),
    [
        {"inference": "flat"},
        *product_of(
            inference=["residual"],
            semantic_variance=[0.0, 3.0, 9.0, 27.0],
            length_scale=[0.25, 0.5, 1.0],
            noise=[1.0, 2.0, 4.0],
        ),
    ],
    product_of(
        grouping=["kmeans", "agglomerative"], branching=[2, 3, 4, 6], layer_decay=[0.5, 1.0]
    ),
    product_of(hub_weight=HUB_WEIGHTS, hub_neighbors=HUB_NEIGHBORS),
    [{"beta": 0.0, "epsilon": 0.0}, *product_of(beta=[0.02, 0.1, 0.3], epsilon=[0.0, 0.03, 0.3])],
)

FEW_CLASSES: Params = {"feature_scaling": "power-center-whiten1-unit"}
"""What small problems start from, in the place of the defaults."""

FEW_CLASSES_STAGES = (
    product_of(
        feature_scaling=(
            "power-center-whiten1-unit",
            "power-whiten1-unit",
            "power-center-whiten3-unit",
            "power-whiten3-unit",
        ),
        gamma=[3.0, 10.0],
        noise=[1.0, 4.0],
        hub_weight=[0.0, 0.25],
    ),
)

BY_TAXONOMY: Params = {**DEFAULTS, "grouping": "taxonomy"}
TAXONOMY_STAGE = product_of(layer_decay=[0.5, 1.0])


class Ours(Method):
    """Projection learning with corrected prototypes: `zerokin.ZeroShotClassifier`, swept.

    Attributes
    ----------
    estimator
        What is fitted. A variant of ours names a subclass with a stage of its own.
    """

    name = "ours"
    defaults: Params = DEFAULTS
    stages: Sequence[Stage] = STAGES
    by_blocks = True
    estimator: ClassVar[type[ZeroShotClassifier]] = ZeroShotClassifier

    def for_few_classes(self) -> Ours:
        """Return the method with fewer things to choose, and left only for what is clearly better.

        Defaults and stages that are not the class's own stay as they are.
        """
        small = copy(self)
        if self.stages is type(self).stages:
            small.stages, small.cautious = FEW_CLASSES_STAGES, True
            if self.defaults is type(self).defaults:
                small.defaults = {**self.defaults, **FEW_CLASSES}
        return small

    @classmethod
    def starting_from(cls, estimator: ZeroShotClassifier | None) -> Ours:
        """Return the method with an estimator's parameters for defaults."""
        method = cls()
        if estimator is not None:
            given = estimator.get_params()
            # The search's own seed and budget take their place, and what it chooses last the
            # penalty's.
            own = ("random_state", "seen_penalty", "memory_budget")
            method.defaults = {name: given[name] for name in given if name not in own}
        return method

    def fit_many(self, data: TrainingData, trials: Sequence[Params]) -> Iterator[Scorer]:
        """Fit every trial; the stages in which trials do not differ are run once."""
        for params in trials:
            model = fit_trial(data, params, self.estimator)
            yield (PrunedScorer if model._layer_prototypes else ModelScorer)(model, data)


class OursByTaxonomy(Ours):
    """The same, with superclasses that people made in the place of clusters."""

    name = "ours-taxonomy"
    defaults: Params = BY_TAXONOMY
    stages: Sequence[Stage] = (*STAGES[:2], TAXONOMY_STAGE, *STAGES[3:])


OURS: Mapping[str, type[Ours]] = {method.name: method for method in (Ours, OursByTaxonomy)}
"""What `compare`, `evaluate` and `ablation` know by these names."""


def fit_trial(
    data: TrainingData,
    params: Params,
    estimator: type[ZeroShotClassifier] = ZeroShotClassifier,
) -> ZeroShotClassifier:
    """Return the classifier with these parameters, fitted with the memo of the data."""
    data.start_trial()
    given = dict(params)
    hierarchy = None
    if given["grouping"] == "taxonomy":
        del given["grouping"]
        if data.taxonomy is None:
            raise InvalidInput(
                "this data knows no taxonomy of its classes: use method ours, which clusters them"
            )
        hierarchy = data.run(ClassHierarchy.from_taxonomy, data.taxonomy)
    # The search reads the balance of seen and unseen classes off the scores without a penalty.
    model = estimator(
        **given,
        seen_penalty=0.0,
        random_state=data.random_state,
        memory_budget=data.memory_budget,
    )
    check_parameters(model)
    return model._fit(data.training_set, hierarchy, data.run)


class ModelScorer:
    """Scores (n, C) of a fitted classifier; raw features are scaled once for all trials.

    Parameters
    ----------
    model
        Fitted by `fit_trial`.
    data
        What it was fitted on.
    """

    def __init__(self, model: ZeroShotClassifier, data: TrainingData) -> None:
        self.model, self.data = model, data

    def __call__(self, features: Any) -> NDArray[np.float64]:
        """Return the scores of raw features (n, d_f) for all classes."""
        return self._by_blocks(features, lambda rows: self.model._decide(self.scaled(rows)))

    @staticmethod
    def _by_blocks(
        features: Any, scores: Callable[[NDArray[Any]], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Score features in memory at once, and others a block of rows at a time."""
        if isinstance(features, np.ndarray):
            return scores(features)
        return np.concatenate([scores(features[rows]) for rows in blocks_of(features)])

    def scaled(self, features: NDArray[Any]) -> NDArray[Any]:
        """Return raw features (n, d_f) as the model compares them."""
        if self.data.memory_budget is not None:  # a block, of which none is worth remembering
            return scale_samples(self.model._normalizer, features, self.model.distance)
        return self.data.scale_samples(self.model._normalizer, features, self.model.distance)


class PrunedScorer(ModelScorer):
    """The same where the paper's inference rules classes out."""

    def among(self, features: Any, candidates: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores (n, k) of candidates alone."""
        return self._by_blocks(
            features, lambda rows: self.model._decide(self.scaled(rows), candidates)
        )
