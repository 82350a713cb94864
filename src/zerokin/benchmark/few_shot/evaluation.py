"""The few-shot setting: chosen without test classes, tested once on episodes of these."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.few_shot.batches import episode_accuracies
from zerokin.benchmark.few_shot.episodes import Episodes, draw_episodes, mean_with_ci95
from zerokin.benchmark.few_shot.method import FewShotMethod
from zerokin.benchmark.few_shot.selection import Task, choose_on_episodes
from zerokin.benchmark.settings import Row, features_name, features_sha256
from zerokin.data.dataset import Dataset
from zerokin.declared import Count, Declared
from zerokin.errors import InvalidInput, ZerokinWarning
from zerokin.parameters import (
    SEED,
    Boolean,
    InstanceOf,
    OneOf,
    Optional,
    Ranges,
    Unchecked,
    check_arguments,
)
from zerokin.selection.method import TrainingData
from zerokin.selection.staged_search import Selection

Features = NDArray[np.floating[Any]]
Base = Literal["training", "seen"]
ChooseOn = Literal["validation", "base", "both"]
FewShotSetting = Literal["few-shot", "generalized-few-shot"]


@dataclass(frozen=True)
class EpisodePlan(Declared):
    """How episodes are drawn: for the test, and on validation classes to choose on.

    Parameters
    ----------
    way, shots, queries
        Classes of an episode, shots of each, and samples of each to be named.
    episodes, validation_episodes
        How many are drawn for the test, and how many to choose on.
    """

    way: Count = 5
    shots: Count = 1
    queries: Count = 15
    episodes: Count = 600
    validation_episodes: Count = 300


class FewShotEvaluation:
    """Measures methods on the same episodes of a data set's unseen classes.

    Parameters
    ----------
    dataset
        Features with validation folds; the classes of its active split are used.
    plan
        Ways, shots, queries and how many episodes.
    base
        What methods learn from for the test. ``"training"``: the seen classes that do not
        validate, where the data has one fold of validation classes, as mini-ImageNet has.
        ``"seen"``: all seen classes, as always where there are several folds.
    choose_on
        Classes whose episodes choose hyper-parameters. ``"validation"``: the validation classes.
        ``"base"``: the base classes of the test, held out in turn as many at a time as validate,
        at most a third; what is learned from semantics is then learned without them, but a
        network that was trained on them knows them. ``"both"``, counting alike.
    shot_features
        The same data with features that samples have as shots, such as averages over many random
        crops (augmented shots: Bendou et al., EASY, 2022); None for the same as of queries.
    fold_features
        Features of all samples for each part of `held_out_base_parts`, by networks that have not
        seen what is held out there, and those that samples have as shots; none where the features
        of ``dataset`` serve there, too.
    random_state
        Seed of the episodes, and of what is held out of base classes.
    quiet
        Show no progress.
    """

    _parameter_ranges: ClassVar[Ranges] = {
        "dataset": InstanceOf(Dataset, "a Dataset"),
        "plan": InstanceOf(EpisodePlan, "an EpisodePlan"),
        "base": OneOf(get_args(Base)),
        "choose_on": OneOf(get_args(ChooseOn)),
        "shot_features": Optional(InstanceOf(Dataset, "a Dataset")),
        "fold_features": Unchecked("_base_tasks, which knows the parts"),
        "random_state": SEED,
        "quiet": Boolean(),
    }

    def __init__(
        self,
        dataset: Dataset,
        plan: EpisodePlan,
        *,
        base: Base = "training",
        choose_on: ChooseOn = "validation",
        shot_features: Dataset | None = None,
        fold_features: Sequence[tuple[Features, Features | None]] = (),
        random_state: int = 0,
        quiet: bool = False,
    ) -> None:
        check_arguments(
            self._parameter_ranges,
            dataset=dataset,
            plan=plan,
            base=base,
            choose_on=choose_on,
            shot_features=shot_features,
            random_state=random_state,
            quiet=quiet,
        )
        _refuse_other_shots(dataset, shot_features)
        if not dataset.split.folds:
            raise InvalidInput(
                f"{dataset.name} has no validation classes, so nothing can be chosen on it"
            )
        if dataset.classes.vectors is None:
            warnings.warn(
                f"{dataset.name} has no class semantics: shots alone are used; give some with "
                "semantics='word-vectors=FILE'",
                ZerokinWarning,
                stacklevel=2,
            )
        self.dataset, self.shot_features = dataset, shot_features
        self.plan = plan
        self.random_state = random_state
        self.quiet = quiet
        self.base = base if len(dataset.split.folds) == 1 else "seen"
        self.test = self._test_task()
        folds = range(1, len(dataset.split.folds) + 1)
        self.choose_on, self.fold_features = choose_on, fold_features
        self.validation = (
            [] if choose_on == "base" else [self._validation_task(number) for number in folds]
        )
        self.held_out_base = [] if choose_on == "validation" else self._base_tasks()

    @property
    def choices(self) -> list[Task]:
        """What is chosen on; classes of one kind count as much as those of the other."""
        kinds = (self.validation, self.held_out_base)
        return [replace(task, weight=1 / len(kind)) for kind in kinds for task in kind]

    def run(self, method: FewShotMethod) -> tuple[Row, Selection]:
        """Choose on validation classes, learn from the base classes, and measure once."""
        chosen = choose_on_episodes(method, self.choices, quiet=self.quiet)
        started = time.perf_counter()
        test = self.test
        scorer = next(iter(method.scorers(test.data, test.pool, [chosen.best.params])))
        fitted = time.perf_counter()
        d_f = test.pool.shape[1]
        accuracies = episode_accuracies(scorer, test.episodes, d_f=d_f)
        tested = time.perf_counter()
        row = self.row(method, chosen, "few-shot")
        row.metrics = self._metrics(accuracies)
        if self.plan.way > 5:
            hits = episode_accuracies(scorer, test.episodes, d_f=d_f, top=5)
            row.metrics["hit5"] = float(hits.mean())
        row.seconds = {
            "selection": round(chosen.seconds, 2),
            "fit": round(fitted - started, 3),
            "test": round(tested - fitted, 3),
        }
        return row, chosen

    def _metrics(self, accuracies: NDArray[np.float64]) -> dict[str, float]:
        mean, ci95 = mean_with_ci95(accuracies)
        return {"top1": mean, "ci95": ci95, "shots": self.plan.shots, "way": self.plan.way}

    def row(self, method: FewShotMethod, chosen: Selection, setting: FewShotSetting) -> Row:
        """Return a row without metrics: what is measured, and how it was chosen."""
        split = self.dataset.split
        return Row(
            dataset=self.dataset.name,
            setting=setting,
            method=method.name,
            features=features_name(self.dataset),
            features_sha256=features_sha256(self.dataset),
            split=split.version,
            seed=self.random_state,
            selection={
                "on": self._described_choice(),
                "base": f"{self.base} classes",
                **self._described_shots(),
                **chosen.best.params,
                "validation": round(chosen.best.score("pure"), 2),
                "tried": len(chosen.trials),
            },
        )

    def _described_shots(self) -> dict[str, str]:
        """Say what features shots have, where these are others."""
        if self.shot_features is None:
            return {}
        sha256 = features_sha256(self.shot_features)
        return {"shot_features": f"{features_name(self.shot_features)} ({sha256[:12]})"}

    def _described_choice(self) -> str:
        """Say what is chosen on, such as ``300 5-way episodes of each of 3 folds (public)``."""
        by_others = ", by networks that have not seen them" if self.fold_features else ""
        kinds = (
            (self.validation, self.dataset.split.folds_version),
            (self.held_out_base, f"of base classes{by_others}"),
        )
        return " and ".join(
            f"{len(tasks[0].episodes)} {tasks[0].episodes.way}-way episodes of each of "
            f"{len(tasks)} folds ({version})"
            for tasks, version in kinds
            if tasks
        )

    def _test_task(self) -> Task:
        dataset, split = self.dataset, self.dataset.split
        train = split.train
        if self.base == "training":
            train = train[~split.folds[0][dataset.training_labels()]]
        return self._task(
            dataset,
            train,
            split.test_unseen,
            "test classes",
            self.plan.episodes,
            self.shot_features,
        )

    def _validation_task(self, number: int) -> Task:
        fold = self.dataset.fold(number, test_seen=0.0, seed=self.random_state)
        return self._task(
            fold,
            fold.split.train,
            fold.split.test_unseen,
            f"validation classes of fold {number}",
            self.plan.validation_episodes,
            self.shot_features,
        )

    def _base_tasks(self) -> list[Task]:
        """Return a task for each part of the base classes, which is novel there."""
        tasks = []
        folds = held_out_base_parts(self.dataset, self.base, self.random_state)
        if self.fold_features and len(self.fold_features) != len(folds):
            raise InvalidInput(
                f"fold_features are for {len(folds)} parts of the base classes: got "
                f"{len(self.fold_features)}"
            )
        for number, fold in enumerate(folds, start=1):
            shown = self.shot_features
            if self.fold_features:
                own, of_shots = self.fold_features[number - 1]
                fold = fold.with_inputs(own)
                shown = None if of_shots is None else self.dataset.with_inputs(of_shots)
            task = self._task(
                fold,
                fold.split.train,
                fold.split.test_unseen,
                f"part {number} of the base classes",
                self.plan.validation_episodes,
                shown,
            )
            tasks.append(task)
        return tasks

    def _task(
        self,
        dataset: Dataset,
        train: NDArray[np.int64],
        pool: NDArray[np.int64],
        what: str,
        episodes: int,
        shown: Dataset | None,
    ) -> Task:
        labels, way = dataset.evaluation_labels(pool), self.plan.way
        if what != "test classes":
            # Fewer classes validate than test on some data: 16 and 20 on mini-ImageNet.
            way = min(way, len(np.unique(labels)))
        try:
            drawn = draw_episodes(
                labels,
                way=way,
                shots=self.plan.shots,
                queries=self.plan.queries,
                episodes=episodes,
                random_state=self.random_state,
                names=dataset.classes.names,
            )
        except InvalidInput as error:
            raise InvalidInput(f"{dataset.name}, {what}: {error}") from error
        data = TrainingData.from_dataset(dataset, train, self.random_state, needs_semantics=False)
        features = dataset.finite_features(pool)
        if shown is not None:
            # The pool holds every sample twice: as it is asked for, and as it is shown.
            of_shots = shown.finite_features(pool).astype(features.dtype)
            features = np.concatenate([features, of_shots])
            drawn = Episodes(drawn.classes, drawn.shots + len(pool), drawn.queries)
        return Task(data, features, drawn)


def held_out_base_parts(dataset: Dataset, base: Base, seed: int) -> list[Dataset]:
    """Return data sets in which parts of the base classes, each held out once, are the novel ones.

    As many classes are held out at a time as validate or test, at most a third.

    Parameters
    ----------
    dataset
        With validation folds.
    base
        As for `FewShotEvaluation`: what the test learns from.
    seed
        Draws the parts.
    """
    # What the test learns from; validation classes are no part of it then.
    learned = dataset.fold(1, test_seen=0.0, seed=seed) if base == "training" else dataset
    parts = learned.repeated_folds(held_out=1, test_seen=0.0, seed=seed)  # one partition
    if not parts:
        raise InvalidInput(
            f"{dataset.name} has {len(learned.seen)} base classes, too few to hold some out: "
            "choose on validation classes"
        )
    return parts


def _refuse_other_shots(dataset: Dataset, shots: Dataset | None) -> None:
    """Refuse features of shots that are not of the same samples, or of another network."""
    if shots is None:
        return
    sizes = [one.finite_features(np.arange(1)).shape[1] for one in (dataset, shots)]
    if len(shots) != len(dataset) or sizes[0] != sizes[1]:
        raise InvalidInput(
            f"shot_features are {len(shots):,} × {sizes[1]:,}, but features {len(dataset):,} × "
            f"{sizes[0]:,}: read the same images with the same network"
        )
