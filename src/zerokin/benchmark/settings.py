"""The settings of zero-shot recognition, each measured as the paper defines it."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from zerokin.benchmark.per_class import (
    Positions,
    per_class_accuracies,
    superclass_confusions,
)
from zerokin.compute.threads import few_threads
from zerokin.data.dataset import Dataset
from zerokin.data.feature_files import FeatureFile
from zerokin.errors import InvalidInput
from zerokin.metrics.accuracy import hit_at, per_class_top1, top1
from zerokin.metrics.seen_unseen_curve import SeenUnseenCurve, named_classes
from zerokin.projection.memory import budget_bytes
from zerokin.selection.class_fold_search import ClassFold, ClassFoldSearch
from zerokin.selection.method import Method, Scorer, scores_among
from zerokin.selection.staged_search import Goal, Selection

Setting = Literal["standard", "pure", "generalized"]
SETTINGS: tuple[Setting, ...] = ("standard", "pure", "generalized")


@dataclass
class Row:
    """One measured result with all that is needed to make it again."""

    dataset: str
    setting: Setting | Literal["few-shot", "generalized-few-shot"]
    method: str
    features: str
    features_sha256: str
    split: str
    seed: int
    selection: dict[str, Any]
    metrics: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    per_class: dict[str, dict[str, float]] | None = None
    superclasses: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the row as plain data; what was not asked for is left out."""
        optional = ("per_class", "superclasses")
        return {
            name: value
            for name, value in asdict(self).items()
            if value is not None or name not in optional
        }


class Evaluation:
    """Chooses a method's hyper-parameters on validation folds and measures it on the test classes.

    Parameters
    ----------
    dataset
        Features; its active split is measured.
    method
        The method.
    random_state
        Seed.
    search
        What chooses, prepared with its folds; by default the folds of the data set do.
    beside
        The evaluation of another method on the same data set and seed: features are read, scaled
        and factored once for both.
    per_class
        Also tell the accuracy of each class, and which superclasses are confused.
    memory_budget
        Of `ClassFoldSearch`.
    quiet
        Show no progress.
    """

    def __init__(
        self,
        dataset: Dataset,
        method: Method,
        *,
        random_state: int = 0,
        search: ClassFoldSearch | None = None,
        beside: Evaluation | None = None,
        per_class: bool = False,
        memory_budget: int | str | None = None,
        quiet: bool = False,
    ) -> None:
        self.dataset = dataset
        self.method = method
        self.random_state = random_state
        self.per_class = per_class
        self.search: ClassFoldSearch = search or ClassFoldSearch(
            method, random_state=random_state, memory_budget=memory_budget, quiet=quiet
        ).prepare(dataset, beside=None if beside is None else beside.search)
        # What was chosen is fitted and tested on the whole data set as on a fold.
        self.whole: ClassFold = (
            ClassFold(dataset, random_state, memory_budget=budget_bytes(memory_budget))
            if beside is None
            else beside.whole.for_method()
        )

    def run(self, setting: Setting) -> tuple[Row, Selection]:
        """Choose, fit on all training samples, and measure once."""
        goal: Goal = "generalized" if setting == "generalized" else "pure"
        refuse_unmeasurable(self.dataset, setting)
        # Said before the long choice, not after it.
        self.dataset.refuse_not_finite(self.dataset.split.test_unseen)
        if setting == "generalized":
            self.dataset.refuse_not_finite(self.dataset.split.test_seen)
        chosen = self.search.choose(goal)
        started = time.perf_counter()
        with few_threads():
            scorer = self._fitted(chosen.best.params)
            fitted = time.perf_counter()
            row = self._row(setting, chosen)
            self._measure(row, scorer, chosen.best.seen_penalty)
        row.seconds = {
            "selection": round(chosen.seconds, 2),
            "fit": round(fitted - started, 3),
            "test": round(time.perf_counter() - fitted, 3),
        }
        return row, chosen

    def _fitted(self, params: Any) -> Scorer:
        return next(iter(self.method.fit_many(self.whole.training, [params])))

    def _row(self, setting: Setting, chosen: Selection) -> Row:
        dataset = self.dataset
        folds = self.search.described_folds.replace(" (", " folds (", 1)
        selection: dict[str, Any] = {"on": folds, "tried": chosen.n_compared}
        selection |= chosen.best.params
        selection["validation"] = round(chosen.best.score(chosen.goal), 2)
        if setting == "generalized":
            selection["seen_penalty"] = chosen.best.seen_penalty
        return Row(
            dataset=dataset.name,
            setting=setting,
            method=self.method.name,
            features=features_name(dataset),
            features_sha256=features_sha256(dataset),
            split=dataset.split.version,
            seed=self.random_state,
            selection=selection,
        )

    def _measure(self, row: Row, scorer: Scorer, seen_penalty: float) -> None:
        """Fill in what the test samples say."""
        dataset = self.dataset
        features, truth = self.whole.unseen
        scores = scorer(features)
        if row.setting == "generalized":
            split, held_out = dataset.split, self.whole.seen
            seen_scores, seen_truth = scorer(held_out.features), held_out.truth
            curve = SeenUnseenCurve.from_scores(
                seen_scores, seen_truth, scores, truth, split.unseen
            )
            seen, unseen, harmonic = curve.at(seen_penalty)
            row.metrics = {
                "seen": seen,
                "unseen": unseen,
                "harmonic_mean": harmonic,
                "ausuc": curve.area(),
            }
            if self.per_class:
                both = np.concatenate([seen_scores, scores])
                truth = np.concatenate([seen_truth, truth])
                self._tell_classes(row, truth, named_classes(both, split.unseen, seen_penalty))
            return
        among_unseen = scores_among(scorer, features, dataset.unseen, scores)
        named = dataset.unseen[among_unseen.argmax(axis=1)]
        row.metrics = {
            "top1": top1(truth, named),
            "per_class_top1": per_class_top1(truth, named),
            "hit5": hit_at(np.searchsorted(dataset.unseen, truth), among_unseen, 5),
        }
        if self.per_class:
            self._tell_classes(row, truth, named)

    def _tell_classes(self, row: Row, truth: Positions, named: Positions) -> None:
        row.per_class = per_class_accuracies(truth, named, self.dataset)
        row.superclasses = superclass_confusions(truth, named, self.dataset)


def refuse_unmeasurable(dataset: Dataset, setting: Setting) -> None:
    """Refuse a split without test samples that a setting is measured on."""
    needed = {"unseen": dataset.split.test_unseen}
    if setting == "generalized":
        needed["seen"] = dataset.split.test_seen
    for kind, samples in needed.items():
        if not len(samples):
            raise InvalidInput(
                f"{dataset.name}'s {dataset.split_name} split has no test samples of {kind} "
                f"classes: the {setting} setting needs some"
            )


def features_name(dataset: Dataset) -> str:
    """Return the name of the feature file that was measured on."""
    inputs = dataset.inputs
    return inputs.path.name if isinstance(inputs, FeatureFile) else "array"


def features_sha256(dataset: Dataset) -> str:
    """Return the hash of the feature file, or of all files that were read."""
    inputs = dataset.inputs
    if isinstance(inputs, FeatureFile):
        for file in dataset.provenance.files:
            if file.path == inputs.path:
                return file.sha256
    return dataset.provenance.sha256
