"""`ClassFoldSearch`: hyper-parameters chosen on validation classes, never on test classes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from zerokin.aliases import accept_old_names
from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.compute.processes import current
from zerokin.compute.threads import few_threads
from zerokin.data.dataset import Dataset
from zerokin.data.splits import DRAWN
from zerokin.errors import InvalidInput
from zerokin.metrics.accuracy import per_class_top1
from zerokin.metrics.seen_unseen_curve import SeenUnseenCurve, Sides, best_sides
from zerokin.parameters import (
    SEED,
    Boolean,
    InstanceOf,
    OneOf,
    Optional,
    Ranges,
    Several,
    check_arguments,
    check_parameters,
)
from zerokin.projection.memory import MEMORY_BUDGET, budget_bytes
from zerokin.selection.few_classes import has_few_classes, validation_folds
from zerokin.selection.fold_report import FoldReport, report_on_folds
from zerokin.selection.kept_trials import KeptTrials
from zerokin.selection.method import Method, Stage, TrainingData, features_of, scores_among
from zerokin.selection.staged_search import Goal, Key, Selection, Trial, search_stages
from zerokin.selection.zero_shot_space import Ours

SEEN_PENALTIES = 201


@accept_old_names({"best_calibration_": "best_seen_penalty_"})
class ClassFoldSearch:
    """Staged search for a zero-shot method's hyper-parameters on class folds.

    Each fold holds some seen classes out, which play the unseen ones. Test samples and unseen
    classes are never touched. Trials are remembered, so that a second goal tries only what the
    first did not. With few classes there are more folds and fewer trials: see
    `zerokin.selection.few_classes`.

    Parameters
    ----------
    estimator
        A `ZeroShotClassifier`, whose parameters are the starting point, or a method of
        `zerokin.selection.method`; by default our method with its own defaults.
    space
        Stages: each is a list of changes, all of which are tried on top of the best so far. By
        default those of the method.
    goal
        ``"pure"``: accuracy on unseen classes among themselves. ``"generalized"``: harmonic mean
        of the accuracies on seen and unseen classes, at the best penalty of seen classes.
    random_state
        Seed of methods that draw at random, and of what folds hold out.
    folds
        The folds themselves where their features are not those of the data set, such as those of
        networks that have not seen the validation classes.
    folder
        Where trials are kept, so that a search that was interrupted goes on; by default nowhere.
    memory_budget
        Most memory of the process, in bytes or as ``"8GiB"``; None for no bound. Features are then
        read by blocks of rows. Scores of held-out samples (n, C) must fit beside it.
    quiet
        Show no progress.

    Attributes
    ----------
    best_params_ : hyper-parameters of the best trial
    best_score_ : what it reached, 0 to 100, on average over the folds
    best_seen_penalty_ : the penalty of seen classes at which the harmonic mean is best
    trials_ : everything that was tried

    Examples
    --------
    >>> from zerokin import ClassFoldSearch, ZeroShotClassifier, load_dataset
    >>> from zerokin.selection.method import product_of
    >>> space = [product_of(gamma=[1.0, 10.0]), product_of(hub_weight=[0.0, 0.25])]
    >>> search = ClassFoldSearch(ZeroShotClassifier(), space, goal="pure", quiet=True)
    >>> search.space[0]
    [{'gamma': 1.0}, {'gamma': 10.0}]
    """

    _parameter_ranges: ClassVar[Ranges] = {
        "estimator": Optional(
            InstanceOf((ZeroShotClassifier, Method), "a ZeroShotClassifier or a method")
        ),
        "space": Optional(Several(Several(InstanceOf(Mapping, "changes by name")))),
        "goal": OneOf(get_args(Goal)),
        "random_state": SEED,
        "folds": Optional(Several(InstanceOf(Dataset, "a Dataset"))),
        "folder": Optional(InstanceOf((str, os.PathLike), "a path")),
        "memory_budget": MEMORY_BUDGET,
        "quiet": Boolean(),
    }

    def __init__(
        self,
        estimator: ZeroShotClassifier | Method | None = None,
        space: Sequence[Stage] | None = None,
        *,
        goal: Goal = "generalized",
        random_state: int = 0,
        folds: Sequence[Dataset] | None = None,
        folder: str | os.PathLike[str] | None = None,
        memory_budget: int | str | None = None,
        quiet: bool = False,
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.goal = goal
        self.random_state = random_state
        self.folds = folds
        self.folder = folder
        self.memory_budget = memory_budget
        self.quiet = quiet

    def fit(self, dataset: Dataset) -> ClassFoldSearch:
        """Search on the validation folds of a data set of features."""
        chosen = self.prepare(dataset).choose(self.goal)
        self.best_params_ = dict(chosen.best.params)
        self.best_score_ = chosen.best.score(self.goal)
        self.best_seen_penalty_ = chosen.best.seen_penalty
        self.trials_ = list(chosen.trials)
        return self

    def prepare(
        self, dataset: Dataset, *, beside: ClassFoldSearch | None = None
    ) -> ClassFoldSearch:
        """Take the folds of a data set and forget all trials; nothing is tried yet.

        Parameters
        ----------
        dataset
            Features and classes, with validation folds.
        beside
            A search prepared on the same data set and seed, whose folds this one shares: features
            are read, scaled and factored once for both.
        """
        check_parameters(self)
        check_arguments({"dataset": InstanceOf(Dataset, "a Dataset")}, dataset=dataset)
        refuse_without_folds(dataset)
        self.method = self._method()
        refuse_in_memory(self.method, self.memory_budget)
        if self.space is None and has_few_classes(dataset):
            self.method = self.method.for_few_classes()
        self.tried: dict[Key, Trial] = {}
        if beside is None:
            folds = self.folds or validation_folds(dataset, seed=self.random_state)
            budget = budget_bytes(self.memory_budget)
            self._folds = [
                ClassFold(fold, self.random_state, memory_budget=budget) for fold in folds
            ]
        else:
            self._folds = [fold.for_method() for fold in beside._folds]
        version = dataset.split.folds_version
        if len(self._folds) > len(dataset.split.folds):
            version = f"{DRAWN} {self.random_state}"
        self.described_folds = f"{len(self._folds)} ({version})"
        return self

    def choose(self, goal: Goal) -> Selection:
        """Return the best for a goal on the folds that were prepared, and what was tried."""
        return search_stages(
            self.method,
            self._folds,
            self._measure,
            goal=goal,
            tried=self.tried,
            cautious=self.method.cautious,
            race_margin=self.method.race_margin,
            title=f"{self.method.name}: choosing settings ({goal})",
            quiet=self.quiet,
        )

    def report(self, best: Trial) -> FoldReport:
        """Return what a trial reaches on each of the folds that were prepared."""
        with few_threads():
            return report_on_folds(self.method, self._folds, best)

    def _method(self) -> Method:
        method = self.estimator
        method = copy(method) if isinstance(method, Method) else Ours.starting_from(method)
        if self.space is not None:
            method.stages = self.space
        return method

    def _measure(self, fold: ClassFold, trials: Sequence[Trial]) -> Iterator[Trial]:
        """Fit every trial on a fold and note what it reaches there."""
        unseen_classes, is_unseen = fold.dataset.unseen, fold.dataset.split.unseen
        processes, kept = current(), self._kept(fold)
        missing = list(trials) if kept is None else kept.restore(trials)
        new = {id(trial) for trial in missing}
        yield from (trial for trial in trials if id(trial) not in new)
        scorers = self.method.fit_many(fold.training, [trial.params for trial in missing])
        for trial, scorer in zip(missing, scorers, strict=True):
            scores = scorer(fold.unseen.features)
            among = scores_among(scorer, fold.unseen.features, unseen_classes, scores)
            named = processes.gather(unseen_classes[among.argmax(axis=1)])
            # What one process reads off counts for all: they choose alike.
            accuracy = processes.leading(np.array(per_class_top1(fold.unseen.truth, named)))
            trial.unseen.append(float(accuracy))
            curve = fold.curve(scorer(fold.seen.features), scores, is_unseen)
            if trial.seen_penalties is None:
                # The first fold sets the grid; the others are read at the same seen penalties.
                calibrated = self.method.calibrated
                trial.seen_penalties = processes.leading(
                    curve.quantiles(SEEN_PENALTIES) if calibrated else np.zeros(1)
                )
            trial.harmonic.append(processes.leading(curve.harmonic_means(trial.seen_penalties)))
            if kept is not None:
                kept.keep(trial)
            yield trial

    def _kept(self, fold: ClassFold) -> KeptTrials | None:
        if self.folder is None:
            return None
        return KeptTrials(Path(self.folder), fold.dataset, self.method.name, self.random_state)


def refuse_in_memory(method: Method, memory_budget: int | str | None) -> None:
    """Refuse a memory budget for a method that holds all features in memory."""
    if memory_budget is not None and not method.by_blocks:
        raise InvalidInput(
            f"{method.name} holds all features in memory: leave out memory_budget, or choose "
            "among ours and paper"
        )


def refuse_without_folds(dataset: Dataset) -> None:
    """Refuse data on which nothing can be chosen."""
    if not dataset.split.folds:
        raise InvalidInput(
            f"{dataset.name} has no validation folds, so nothing can be chosen on it: "
            "it needs at least four seen classes"
        )


class HeldOut(NamedTuple):
    """Samples that are held out: this process's features (n, d_f), and the classes of all."""

    features: Any
    truth: NDArray[np.int64]


class ClassFold:
    """What a fold lends for fitting and for scoring: arrays that are read when first needed.

    Parameters
    ----------
    dataset
        The fold, or a whole data set: its split says what is held out.
    random_state
        Seed of methods that draw at random.
    lender
        The same fold, whose arrays this one uses with a memo of its own.
    memory_budget
        Bytes; features are then read by blocks of rows.
    """

    def __init__(
        self,
        dataset: Dataset,
        random_state: int,
        *,
        lender: ClassFold | None = None,
        memory_budget: int | None = None,
    ) -> None:
        self.dataset, self.random_state, self._lender = dataset, random_state, lender
        self.memory_budget = memory_budget

    def for_method(self) -> ClassFold:
        """Return the same fold for the trials of another method."""
        return ClassFold(
            self.dataset, self.random_state, lender=self, memory_budget=self.memory_budget
        )

    @cached_property
    def training(self) -> TrainingData:
        """Features, labels and semantics to fit on."""
        if self._lender is not None:
            return self._lender.training.for_method()
        return TrainingData.from_dataset(
            self.dataset,
            self.dataset.split.train,
            self.random_state,
            memory_budget=self.memory_budget,
        )

    @cached_property
    def unseen(self) -> HeldOut:
        """Samples of the classes that are held out."""
        if self._lender is not None:
            return self._lender.unseen
        return self._held_out(self.dataset.split.test_unseen)

    @cached_property
    def seen(self) -> HeldOut:
        """Samples that are held out of the other classes."""
        if self._lender is not None:
            return self._lender.seen
        return self._held_out(self.dataset.split.test_seen)

    def _held_out(self, samples: NDArray[np.int64]) -> HeldOut:
        own = samples[current().share(len(samples))]
        return HeldOut(
            features_of(self.dataset, own, by_blocks=self.memory_budget is not None),
            self.dataset.evaluation_labels(samples),
        )

    def curve(
        self,
        seen: NDArray[np.float64],
        unseen: NDArray[np.float64],
        is_unseen: NDArray[np.bool_],
    ) -> SeenUnseenCurve:
        """Make the curve of all held-out samples from this process's scores (n, C) of them."""
        sides = [
            Sides(*map(current().gather, best_sides(scores, is_unseen)))
            for scores in (seen, unseen)
        ]
        return SeenUnseenCurve.from_sides(sides[0], self.seen.truth, sides[1], self.unseen.truth)
