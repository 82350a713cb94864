"""Choosing hyper-parameters and calibration on validation classes, never on test classes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerokin.data.dataset import Dataset
from zerokin.errors import InvalidInput
from zerokin.metrics.accuracy import per_class_top1
from zerokin.metrics.seen_unseen_curve import SeenUnseenCurve
from zerokin.progress import track
from zerokin.selection.method import Method, Params, TrainingData

Goal = Literal["pure", "generalised"]
CALIBRATIONS = 201


@dataclass
class Trial:
    """One setting of the hyper-parameters and what it reached on every validation fold."""

    params: dict[str, Any]
    unseen: list[float] = field(default_factory=list)
    harmonic: list[NDArray[np.float64]] = field(default_factory=list)
    calibrations: NDArray[np.float64] | None = None

    def score(self, goal: Goal) -> float:
        """Return the mean over folds of unseen accuracy, or of the best common harmonic mean."""
        if goal == "pure":
            return float(np.mean(self.unseen))
        return float(np.mean(self.harmonic, axis=0).max())

    @property
    def calibration(self) -> float:
        """The one calibration at which the mean harmonic mean over folds is best."""
        assert self.calibrations is not None
        return float(self.calibrations[np.mean(self.harmonic, axis=0).argmax()])


@dataclass(frozen=True)
class Selection:
    """What was chosen for a goal, and everything that was tried."""

    goal: Goal
    best: Trial
    trials: Sequence[Trial]
    seconds: float


def refuse_without_folds(dataset: Dataset) -> None:
    """Refuse data on which nothing can be chosen."""
    if not dataset.split.folds:
        raise InvalidInput(
            f"{dataset.name} has no validation folds, so nothing can be chosen on it: "
            "it needs at least four seen classes"
        )


class FoldArrays(NamedTuple):
    """What a fold lends for fitting and for scoring: the same arrays for all trials."""

    training: TrainingData
    unseen: NDArray[Any]
    seen: NDArray[Any]

    @classmethod
    def of(cls, fold: Dataset, random_state: int) -> FoldArrays:
        """Read the features that a fold needs."""
        split = fold.split
        training = TrainingData(
            fold.finite_features(split.train),
            fold.training_labels(),
            fold.semantics,
            random_state,
            fold.classes.taxonomy,
        )
        test = (fold.finite_features(rows) for rows in (split.test_unseen, split.test_seen))
        return cls(training, *test)


class Selector:
    """Tries a method's hyper-parameters on the validation folds of a data set.

    Trials are remembered, so that a second goal tries only what the first did not.

    Parameters
    ----------
    dataset
        Features with validation folds. Its test samples and unseen classes are never touched.
    method
        The method.
    random_state
        Seed of methods that draw at random, and of what folds hold out.
    folds
        The folds themselves where their features are not those of the data set, such as those of
        networks that have not seen the validation classes.
    quiet
        Show no progress.
    """

    def __init__(
        self,
        dataset: Dataset,
        method: Method,
        *,
        random_state: int = 0,
        folds: Sequence[Dataset] | None = None,
        quiet: bool = False,
    ) -> None:
        refuse_without_folds(dataset)
        n_folds = len(dataset.split.folds)
        self.method = method
        self.random_state = random_state
        self.quiet = quiet
        numbers = range(1, n_folds + 1)
        self.folds = folds or [dataset.fold(k, seed=random_state) for k in numbers]
        self.tried: dict[tuple[tuple[str, Any], ...], Trial] = {}
        self._arrays: dict[int, FoldArrays] = {}

    def choose(self, goal: Goal) -> Selection:
        """Go through the method's stages, keeping the best of each."""
        started = time.perf_counter()
        before = set(self.tried)
        best = dict(self.method.defaults)
        for number, stage in enumerate(self.method.stages, start=1):
            wanted = [{**best, **change} for change in stage]
            title = f"{self.method.name}: choosing ({goal}), stage {number}"
            self._try(wanted, title)
            trials = [self.tried[_key(params)] for params in wanted]
            best = max(trials, key=lambda trial: trial.score(goal)).params
        used = [trial for key, trial in self.tried.items() if key not in before] or [
            *self.tried.values()
        ]
        return Selection(goal, self.tried[_key(best)], used, time.perf_counter() - started)

    def _try(self, wanted: Sequence[Params], title: str) -> None:
        new = {_key(params): Trial(dict(params)) for params in wanted}
        new = {key: trial for key, trial in new.items() if key not in self.tried}
        if not new:
            return
        trials = list(new.values())
        total = len(trials) * len(self.folds)
        done = (step for number in range(len(self.folds)) for step in self._measure(number, trials))
        for _ in track(done, title, total=total, quiet=self.quiet):
            pass
        self.tried.update(new)

    def _measure(self, number: int, trials: Sequence[Trial]) -> Any:
        """Fit every trial on a fold and note what it reaches there."""
        fold = self.folds[number]
        split = fold.split
        if number not in self._arrays:
            self._arrays[number] = FoldArrays.of(fold, self.random_state)
        data, unseen_features, seen_features = self._arrays[number]
        unseen_truth = fold.evaluation_labels(split.test_unseen)
        seen_truth = fold.evaluation_labels(split.test_seen)
        scorers = self.method.fit_many(data, [trial.params for trial in trials])
        for trial, scorer in zip(trials, scorers, strict=True):
            scores = scorer(unseen_features)
            named = fold.unseen[scores[:, fold.unseen].argmax(axis=1)]
            trial.unseen.append(per_class_top1(unseen_truth, named))
            curve = SeenUnseenCurve.of(
                scorer(seen_features), seen_truth, scores, unseen_truth, split.unseen
            )
            if trial.calibrations is None:
                # The first fold sets the grid; the others are read at the same calibrations.
                trial.calibrations = curve.quantiles(CALIBRATIONS)
            trial.harmonic.append(curve.harmonic_means(trial.calibrations))
            yield trial


def _key(params: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(params.items()))
