"""Candidate classes of single images in the generalized setting: the paper's last figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.pruning import PRUNED
from zerokin.classifiers.ranking import ranked
from zerokin.data.dataset import Dataset
from zerokin.data.splits import Indices, Split
from zerokin.parameters import Integer, check_arguments
from zerokin.selection.class_fold_search import ClassFoldSearch
from zerokin.selection.method import Method, TrainingData


@dataclass(frozen=True)
class Candidates:
    """The best classes of one image.

    Parameters
    ----------
    truth
        Position of its class.
    classes
        Positions of the best classes, best first; fewer where superclasses ruled others out.
    scores
        Their scores, the penalty of seen classes taken off.
    rank
        Place of the true class among all, from 1; None if superclasses ruled it out.
    """

    truth: int
    classes: tuple[int, ...]
    scores: tuple[float, ...]
    rank: int | None


def draw_samples(split: Split, each: int, seed: int) -> Indices:
    """Draw test samples at random: ``each`` of unseen classes, then ``each`` of seen ones.

    Where a split has fewer, all of them are taken. Labels and predictions play no part.

    Examples
    --------
    >>> import zerokin
    >>> critters = zerokin.load_dataset("critters")
    >>> drawn = draw_samples(critters.split, 2, seed=0)
    >>> critters.split.unseen[critters.evaluation_labels(drawn)].tolist()
    [True, True, False, False]
    """
    check_arguments({"each": Integer(1), "seed": Integer(0)}, each=each, seed=seed)
    rng = np.random.default_rng(seed)
    parts = (split.test_unseen, split.test_seen)
    return np.concatenate([np.sort(rng.permutation(part)[:each]) for part in parts])


def find_candidates(
    dataset: Dataset, method: Method, samples: Indices, *, k: int = 5, seed: int = 0
) -> list[Candidates]:
    """Choose for the generalized setting on the folds, fit, and rank all classes for samples.

    Parameters
    ----------
    dataset
        Features.
    method
        The method.
    samples
        Positions of test samples.
    k
        How many candidates of each.
    seed
        Seed of the method, and of what folds hold out.
    """
    chosen = ClassFoldSearch(method, random_state=seed).prepare(dataset).choose("generalized").best
    data = TrainingData.from_dataset(dataset, dataset.split.train, seed)
    scorer = next(iter(method.fit_many(data, [chosen.params])))
    scores = scorer(dataset.finite_features(samples))
    scores[:, dataset.seen] -= chosen.seen_penalty
    truth = dataset.evaluation_labels(samples)
    return rank_candidates(scores, truth, k, pruned=hasattr(scorer, "among"))


def rank_candidates(
    scores: NDArray[np.float64], truth: Sequence[int] | Indices, k: int, *, pruned: bool = False
) -> list[Candidates]:
    """Rank classes by their scores (n, C).

    Parameters
    ----------
    scores
        Higher is better.
    truth
        Position of the class of each sample, (n,).
    k
        How many candidates of each.
    pruned
        Whether classes that superclasses ruled out score `PRUNED` less; they are no candidates.

    Examples
    --------
    >>> rank_candidates(np.array([[0.2, 0.9, 0.5]]), [0], 2)
    [Candidates(truth=0, classes=(1, 2), scores=(0.9, 0.5), rank=3)]
    """
    order, values = ranked(scores, scores.shape[1])
    found = []
    for label, row, score in zip(np.asarray(truth).tolist(), order, values, strict=True):
        left = _survivors(score) if pruned else len(score)
        rank = int(np.flatnonzero(row == label)[0]) + 1
        best = slice(0, min(k, left))
        found.append(
            Candidates(
                label,
                tuple(row[best].tolist()),
                tuple(score[best].tolist()),
                rank if rank <= left else None,
            )
        )
    return found


def _survivors(values: NDArray[np.float64]) -> int:
    """Return how many of the sorted scores (C,) stand before the gap that pruning leaves.

    The gap is at least half of `PRUNED`, and wider than any among the survivors.
    """
    gaps = -np.diff(values)
    if not len(gaps) or gaps.max() < PRUNED / 2:
        return len(values)
    return int(gaps.argmax()) + 1
