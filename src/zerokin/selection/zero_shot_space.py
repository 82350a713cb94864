"""Our method in the harness: what trials share is computed once, from features to kinship."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.finite_scores import finite_scores
from zerokin.classifiers.hubness import hubness
from zerokin.classifiers.kin import kinship, semantic_kinship
from zerokin.classifiers.prototypes import PrototypeRule
from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.errors import InvalidInput
from zerokin.features.class_means import class_means
from zerokin.features.normaliser import FeatureNormaliser, unit_length
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.clustering import METHODS
from zerokin.parameters import OneOf, Ranges, check_arguments
from zerokin.projection import FeatureSpectrum, ProjectionLearner
from zerokin.selection.method import (
    FEATURE_NORMALISATIONS,
    Method,
    Params,
    Scorer,
    Stage,
    TrainingData,
    product_of,
)

Made = TypeVar("Made")

KEPT_BYTES = 2**29

MAX_ITER, TOLERANCE = 20, 1e-3  # the classifier's defaults
DEFAULTS = {
    "alpha": 0.95,
    "beta": 0.0,
    "epsilon": 0.0,
    "gamma": 3.0,
    "normalisation": "power-whiten3-unit",
    "inference": "kin",
    "grouping": "agglomerative",
    "branching": 2,
    "kin_decay": 0.5,
    "kin_semantics": 9.0,
    "kin_width": 0.5,
    "kin_shrinkage": 1.0,
    "hub_weight": 0.25,
    "hub_neighbors": 3,
}

STAGES = (
    product_of(
        normalisation=FEATURE_NORMALISATIONS, alpha=[0.9, 0.95, 0.99], gamma=[1.0, 3.0, 10.0]
    ),
    [
        {"inference": "flat"},
        *product_of(
            inference=["kin"],
            kin_semantics=[0.0, 3.0, 9.0, 27.0],
            kin_width=[0.25, 0.5, 1.0],
            kin_shrinkage=[1.0, 2.0, 4.0],
        ),
    ],
    product_of(grouping=["kmeans", "agglomerative"], branching=[2, 3, 4, 6], kin_decay=[0.5, 1.0]),
    product_of(hub_weight=[0.0, 0.15, 0.25, 0.35], hub_neighbors=[1, 3, 5]),
    [{"beta": 0.0, "epsilon": 0.0}, *product_of(beta=[0.02, 0.1, 0.3], epsilon=[0.0, 0.03, 0.3])],
)

RANGES: Ranges = {
    **{name: ZeroShotClassifier._parameter_ranges[name] for name in DEFAULTS},
    "grouping": OneOf((*METHODS, "taxonomy")),
    # Pruning has no scores that folds could be compared by: see `ZeroShotClassifier`.
    "inference": OneOf(("kin", "flat", "paper")),
}
"""Of the hyper-parameters that a trial may have."""

BY_TAXONOMY: Params = {**DEFAULTS, "grouping": "taxonomy"}
TAXONOMY_STAGE = product_of(kin_decay=[0.5, 1.0])


class Ours(Method):
    """Projection learning with superclass offsets: `zerokin.ZeroShotClassifier`, swept."""

    name = "ours"
    defaults: Params = DEFAULTS
    stages: Sequence[Stage] = STAGES

    def fit_many(self, data: TrainingData, trials: Sequence[Params]) -> Iterator[Scorer]:
        """Fit every trial; trials that differ late in the chain share all that comes before."""
        shared: _Shared = data.kept.setdefault("ours", _Shared(data))
        shared.drop_others(trials)
        for params in trials:
            check_arguments(RANGES, **{name: params[name] for name in DEFAULTS})
            yield shared.scorer(params)
        shared.drop_much()


class OursByTaxonomy(Ours):
    """The same, with superclasses that people made in the place of clusters."""

    name = "ours-taxonomy"
    defaults: Params = BY_TAXONOMY
    stages: Sequence[Stage] = (*STAGES[:2], TAXONOMY_STAGE, *STAGES[3:])


def _projection_key(params: Params) -> tuple[Hashable, ...]:
    return tuple(params[name] for name in ("normalisation", "alpha", "beta", "epsilon", "gamma"))


class _Shared:
    """Every stage of fitting, made once for each setting of what it depends on.

    What is made has a key of its kind, what it depends on first of all, and whatever else it does.
    """

    def __init__(self, data: TrainingData) -> None:
        self.data = data
        self.seen = np.unique(data.labels)
        self._made: dict[tuple[Any, ...], Any] = {}

    def drop_others(self, trials: Sequence[Params]) -> None:
        """Forget what none of these trials needs: stages go on from the best of the last one."""
        normalisations = {params["normalisation"] for params in trials}
        projections = {_projection_key(params) for params in trials}

        def needed(kind: str, what: Hashable) -> bool:
            if kind == "projection":
                return what in projections
            return kind not in ("features", "unit") or what in normalisations

        self._made = {key: made for key, made in self._made.items() if needed(*key[:2])}

    def drop_much(self) -> None:
        """Forget what takes much memory, since every fold has its own until the next stage."""
        normalisations = sum(key[0] == "features" for key in self._made)
        if normalisations * self.data.features.nbytes > KEPT_BYTES:
            self._made.clear()

    def scorer(self, params: Params) -> Scorer:
        normaliser, _, _ = self._features(params)
        prototypes, means = self._prototypes(params)
        offsets = params["hub_weight"] * hubness(
            prototypes, means, n_neighbors=params["hub_neighbors"]
        )

        def scores(features: NDArray[Any]) -> NDArray[np.float64]:
            unit = self._once(
                ("unit", params["normalisation"], id(features)),
                lambda: (unit_length(normaliser.transform(features)), features),
            )[0]
            result: NDArray[np.float64] = unit @ prototypes.T - offsets
            return finite_scores(result)

        return scores

    def _once(self, key: tuple[Any, ...], make: Callable[[], Made]) -> Made:
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made

    def _features(
        self, params: Params
    ) -> tuple[FeatureNormaliser, FeatureSpectrum, NDArray[np.float64]]:
        """Return the normaliser, the spectrum and the seen means for a normalisation."""

        def make() -> tuple[FeatureNormaliser, FeatureSpectrum, NDArray[np.float64]]:
            normaliser = FeatureNormaliser(params["normalisation"])
            F = normaliser.fit_transform(self.data.features, self.data.labels)
            means = class_means(F, self.data.labels, len(self.data.semantics))[self.seen]
            return normaliser, FeatureSpectrum(F), means

        return self._once(("features", params["normalisation"]), make)

    def _projection(self, params: Params) -> NDArray[Any]:
        def make() -> NDArray[Any]:
            _, spectrum, _ = self._features(params)
            learner = ProjectionLearner(
                params["alpha"],
                params["beta"] or 0.5,
                params["epsilon"],
                params["gamma"],
                max_iter=MAX_ITER,
                tol=TOLERANCE,
                learn_semantics=params["beta"] > 0,
            )
            learner.fit(
                spectrum.features,
                self.data.semantics,
                labels=self.data.labels,
                spectrum=spectrum,
            )
            W: NDArray[Any] = learner.W_
            return W

        return self._once(("projection", _projection_key(params)), make)

    def _kinship(self, params: Params) -> NDArray[np.float64] | None:
        """Return the kinship of all classes with the seen ones, or None for flat inference."""
        grouping, branching, decay = (
            params[name] for name in ("grouping", "branching", "kin_decay")
        )
        if params["inference"] == "flat":
            return None
        Z, width = self.data.semantics, params["kin_width"]
        near = self._once(("near", width), lambda: semantic_kinship(Z, Z[self.seen], width=width))
        kin: NDArray[np.float64] = params["kin_semantics"] * near
        if grouping != "taxonomy" and len(Z) < branching**2:
            return kin
        tree = self._once(
            ("tree", grouping, branching), lambda: self._superclasses(grouping, branching)
        )
        return kin + self._once(
            ("kin", grouping, branching, decay), lambda: kinship(tree, decay=decay)[:, self.seen]
        )

    def _superclasses(self, grouping: Any, branching: int) -> ClassHierarchy:
        if grouping != "taxonomy":
            Z, seed = self.data.semantics, self.data.random_state
            return ClassHierarchy.from_semantics(Z, branching, seed, method=grouping)
        if self.data.taxonomy is None:
            raise InvalidInput(
                "this data knows no taxonomy of its classes: use method ours, which clusters them"
            )
        return ClassHierarchy.from_taxonomy(self.data.taxonomy)

    def _prototypes(self, params: Params) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return unit prototypes of all classes and unit means of the seen ones."""
        _, _, means = self._features(params)
        kin = self._kinship(params)
        rule = PrototypeRule.learn(
            self._projection(params),
            self.data.semantics[self.seen],
            means,
            None if kin is None else kin[self.seen],
            shrinkage=params["kin_shrinkage"],
        )
        return rule.prototypes(self.data.semantics, kin), unit_length(means)
