"""Hyper-parameters and the seen penalty for several labels a sample, chosen on class folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.data.multi_label import MultiLabelDataset
from zerokin.metrics.multi_label import mean_average_precision, precision_recall_f1_at_k
from zerokin.selection.class_fold_search import refuse_without_folds
from zerokin.selection.multi_label.method import LabeledData, MultiLabelMethod, regions_of
from zerokin.selection.staged_search import Goal, Key, Selection, Trial, search_stages

SEEN_PENALTIES = 25
K = 3


class LabelFoldSearch:
    """Staged search on the folds of a `MultiLabelDataset`.

    ``"pure"`` is mAP over the validation classes. ``"generalized"`` is the mean of mAP and of F1 at
    3, both over all classes, at the best penalty of seen classes. Trials are remembered, so that
    a second goal tries only what the first did not.

    Parameters
    ----------
    method
        What is chosen for.
    dataset
        Features with several labels; its test samples and unseen classes are never touched.
    random_state
        Seed.
    quiet
        Show no progress.
    """

    def __init__(
        self,
        method: MultiLabelMethod,
        dataset: MultiLabelDataset,
        *,
        random_state: int = 0,
        quiet: bool = False,
    ) -> None:
        refuse_without_folds(dataset)
        self.method, self.quiet = method, quiet
        numbers = range(1, len(dataset.split.folds) + 1)
        self._folds = [
            LabelFold(dataset.fold(number, seed=random_state), random_state) for number in numbers
        ]
        self.described_folds = f"{len(self._folds)} ({dataset.split.folds_version})"
        self.tried: dict[Key, Trial] = {}

    def choose(self, goal: Goal) -> Selection:
        """Return the best for a goal, and what was tried."""
        return search_stages(
            self.method,
            self._folds,
            self._measure,
            goal=goal,
            tried=self.tried,
            title=f"{self.method.name}: choosing ({goal})",
            quiet=self.quiet,
        )

    def _measure(self, fold: LabelFold, trials: Sequence[Trial]) -> Iterator[Trial]:
        scorers = self.method.fit_many(fold.training, [trial.params for trial in trials])
        for trial, scorer in zip(trials, scorers, strict=True):
            scores = scorer(fold.regions)
            unseen, truth = fold.unseen, fold.truth
            trial.unseen.append(mean_average_precision(truth[:, unseen], scores[:, unseen]))
            if trial.seen_penalties is None:
                # The first fold sets the grid; the others are read at the same penalties.
                trial.seen_penalties = penalty_grid(scores, unseen)
            f1 = [
                precision_recall_f1_at_k(truth, lowered(scores, ~unseen, penalty), K).f1
                for penalty in trial.seen_penalties
            ]
            trial.harmonic.append((np.array(f1) + mean_average_precision(truth, scores)) / 2)
            yield trial


class LabelFold:
    """A fold's arrays, read once.

    Parameters
    ----------
    dataset
        The fold.
    random_state
        Seed of methods that draw.
    """

    def __init__(self, dataset: MultiLabelDataset, random_state: int) -> None:
        self.training = LabeledData.from_dataset(dataset, random_state)
        self.regions, self.truth = held_out_samples(dataset)
        self.unseen = dataset.split.unseen


def held_out_samples(dataset: MultiLabelDataset) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return regions and labels of all test samples, those with seen labels alone first."""
    samples = np.concatenate([dataset.split.test_seen, dataset.split.test_unseen])
    return regions_of(dataset, samples), dataset.evaluation_label_matrix(samples)


def lowered(
    scores: NDArray[np.float64], seen: NDArray[np.bool_], penalty: float
) -> NDArray[np.float64]:
    """Return scores (n, C) with a penalty taken off those of seen classes (calibrated stacking)."""
    return scores - penalty * seen


def penalty_grid(scores: NDArray[np.float64], unseen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return penalties that spread over how far the best seen class is ahead of the best unseen."""
    ahead = scores[:, ~unseen].max(axis=1) - scores[:, unseen].max(axis=1)
    return np.append(0.0, np.quantile(ahead, np.linspace(0, 1, SEEN_PENALTIES - 1)))
