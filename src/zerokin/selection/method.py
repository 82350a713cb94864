"""What a method must offer to be chosen on validation classes and measured beside others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.memo import Memo
from zerokin.classifiers.nearness import Distance
from zerokin.classifiers.stages import (
    ScaledFeatures,
    TrainingSet,
    factor_features,
    scale_features,
    scale_samples,
)
from zerokin.compute.machine import free_memory
from zerokin.compute.processes import current
from zerokin.data.dataset import Dataset
from zerokin.features.row_sources import PickedRows
from zerokin.features.scaler import FeatureScaler
from zerokin.projection.rows import FeatureRows

P = ParamSpec("P")
Made = TypeVar("Made")

Params = Mapping[str, Any]
Scorer = Callable[[NDArray[Any]], NDArray[np.float64]]
Stage = Sequence[Params]

FEATURE_NORMALIZATIONS = (
    "unit",
    "center-unit",
    "power-unit",
    "power-center-unit",
    "power-whiten3-unit",
    "power-center-whiten3-unit",
)
"""Steps of `FeatureScaler` on offer to every method alike."""

COMMON_STAGES = frozenset({scale_features, scale_samples, factor_features})
"""Stages that take nothing from a method but its steps of `FeatureScaler`: methods share them."""

COMMON_BYTES = 2**30
SHARE_REMEMBERED = 16
"""Of a memory budget, what each of the two memos of a fold may keep."""

HUB_WEIGHTS, HUB_NEIGHBORS = (0.0, 0.15, 0.25, 0.35), (1, 3, 5)
"""Of the hubness correction of scores, on offer to every method alike."""


def _common_memo() -> Memo:
    # A few folds and the whole data set have one each.
    free = current().gather(np.array([free_memory()], np.int64)).min()  # the same for all processes
    return Memo(min(COMMON_BYTES, int(free) // 16))


def features_of(dataset: Dataset, samples: NDArray[np.int64], *, by_blocks: bool) -> Any:
    """Return features of samples in memory, or to be read by blocks of rows; all are finite."""
    if not by_blocks:
        return dataset.finite_features(samples)
    dataset.refuse_not_finite(samples)
    return FeatureRows(PickedRows(dataset.features, samples))


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What a method may learn from: features and labels of seen classes, semantics of all."""

    features: Any
    labels: NDArray[np.int64]
    semantics: NDArray[np.float64]
    random_state: int = 0
    taxonomy: Sequence[Sequence[str | None]] | None = None
    """of all classes, where the data knows one: see `ClassHierarchy.from_taxonomy`"""
    memo: Memo = field(default_factory=Memo, repr=False)
    """stages that were run on this data, for further trials of a method"""
    common: Memo = field(default_factory=_common_memo, repr=False)
    """those that all methods share"""

    memory_budget: int | None = None
    """bytes for a fit; features are then read by blocks of rows"""

    @classmethod
    def from_dataset(
        cls,
        dataset: Dataset,
        samples: NDArray[np.int64],
        random_state: int,
        *,
        needs_semantics: bool = True,
        memory_budget: int | None = None,
    ) -> TrainingData:
        """Read features and labels of training samples, and what is known of the classes.

        Of several processes each reads its share. Where classes have no semantics and need none,
        they are (C, 0).
        """
        without = dataset.classes.vectors is None and not needs_semantics
        samples = samples[current().share(len(samples))]
        known: dict[str, Any] = {}
        if memory_budget is not None:
            remembered = memory_budget // SHARE_REMEMBERED
            known = {"memo": Memo(remembered), "common": Memo(remembered)}
            known["memory_budget"] = memory_budget - 2 * remembered
        return cls(
            features_of(dataset, samples, by_blocks=memory_budget is not None),
            dataset.training_labels(samples),
            np.empty((len(dataset.classes), 0)) if without else dataset.semantics,
            random_state,
            dataset.classes.taxonomy,
            **known,
        )

    def for_method(self) -> TrainingData:
        """Return the same data for the trials of one method, beside those of others."""
        return replace(self, memo=Memo(self.memo.max_bytes))

    def start_trial(self) -> None:
        """Say that a trial begins, and what earlier ones used may be dropped."""
        self.memo.start_trial()
        self.common.start_trial()

    def run(self, stage: Callable[P, Made], /, *args: P.args, **kwargs: P.kwargs) -> Made:
        """Return ``stage(*args, **kwargs)``, computed when it is first asked for."""
        memo = self.common if stage in COMMON_STAGES else self.memo
        return memo(stage, *args, **kwargs)

    @cached_property
    def training_set(self) -> TrainingSet:
        """The same for the stages of our method; classes are called by their row."""
        names = np.arange(len(self.semantics))
        return TrainingSet(self.features, self.labels, self.semantics, names)

    def scale_features(self, steps: str) -> ScaledFeatures:
        """Return the features scaled by these steps, and how."""
        return self.run(scale_features, self.features, self.labels, steps)

    def scale_samples(
        self, normalizer: FeatureScaler, features: NDArray[Any], distance: Distance = "cosine"
    ) -> NDArray[Any]:
        """Return other features (n, d_f), scaled alike; for cosines, of unit length."""
        return self.run(scale_samples, normalizer, features, distance)


def scores_among(
    scorer: Scorer,
    features: NDArray[Any],
    candidates: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the scores (n, k) of candidates alone, ``scores`` (n, C) being those of all classes.

    They are columns of these, unless the scorer rules classes out: who survives depends on who is a
    candidate, and such a scorer has a method ``among``.
    """
    among = getattr(scorer, "among", None)
    chosen: NDArray[np.float64]
    chosen = scores[:, candidates] if among is None else among(features, candidates)
    return chosen


class Method(ABC):
    """A zero-shot method with hyper-parameters to choose.

    ``stages`` says how: each stage is a list of changes, all of which are tried on top of the best
    so far. The first stage starts from ``defaults``. ``calibrated`` says whether a penalty of seen
    classes is chosen for the generalized setting; without, it is 0. ``cautious`` is the
    one-standard-error rule of `zerokin.selection.staged_search`, and ``race_margin`` the points
    behind the best at which a trial is not tried on the folds that are left. ``by_blocks`` says
    whether features may be read by blocks of rows, within a memory budget.
    """

    name: str
    defaults: Params
    stages: Sequence[Stage]
    calibrated: bool = True
    cautious: bool = False
    race_margin: float | None = None
    by_blocks: bool = False

    def for_few_classes(self) -> Method:
        """Return what to choose from where classes are few; by default that makes no difference."""
        return self

    def refuse(self, dataset: Dataset) -> None:  # noqa: B027
        """Refuse data that this method says nothing about; by default it takes any."""

    @abstractmethod
    def fit_many(self, data: TrainingData, trials: Sequence[Params]) -> Iterator[Scorer]:
        """Fit with each of these hyper-parameters; what they share is computed once.

        Yields, in the order of ``trials``, functions from raw features (n, d_f) to scores (n, C).
        """


def product_of(**choices: Sequence[Any]) -> Stage:
    """Return all combinations of choices as a stage.

    Examples
    --------
    >>> product_of(a=[1, 2], b=["x"])
    [{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'x'}]
    """
    combined: list[dict[str, Any]] = [{}]
    for name, values in choices.items():
        combined = [{**start, name: value} for start in combined for value in values]
    return combined
