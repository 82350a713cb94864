"""The seen penalty by itself: calibrated stacking on classes held out of the training data.

A classifier of all classes favors those that it has seen. How much shows on seen classes that are
held out: the same method is fitted to the others, and samples of the held-out classes compete with
held-out samples of the others. The penalty is the one at which the harmonic mean of the accuracies
on both is best, on average over such folds (Chao et al., An Empirical Study and Analysis of
Generalized Zero-Shot Learning for Object Recognition in the Wild, ECCV 2016).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.stages import TrainingSet
from zerokin.data.splits import hold_out, repeat_folds
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.alignment import aligned_hierarchy
from zerokin.metrics.seen_unseen_curve import SeenUnseenCurve

Scorer = Callable[[NDArray[np.floating]], NDArray[np.float64]]
Learn = Callable[[TrainingSet, ClassHierarchy | None], Scorer]

HELD_OUT = 36
"""Classes held out in all: of few classes in several partitions, of many in a single one."""
TEST_SEEN = 0.2
MOST_PENALTIES = 401


def estimate_seen_penalty(
    data: TrainingSet, hierarchy: ClassHierarchy | None, learn: Learn, *, random_state: int = 0
) -> float:
    """Return the penalty that balances classes held out of the training data with the others.

    It is 0 where nothing can be held out: fewer than four seen classes, or single samples.

    Parameters
    ----------
    data
        What the classifier learns from.
    hierarchy
        Superclasses of all classes, where they are given.
    learn
        Fits the method to a part of the data, and returns what scores raw features (n, C).
    random_state
        Draws the folds.
    """
    return best_common_penalty(
        list(held_out_curves(data, hierarchy, learn, random_state=random_state))
    )


def held_out_curves(
    data: TrainingSet, hierarchy: ClassHierarchy | None, learn: Learn, *, random_state: int
) -> Iterator[SeenUnseenCurve]:
    """Yield the seen-unseen curve of every fold.

    Classes and samples are drawn by what they hold, so that neither names nor order matter.
    """
    seen = data.seen
    rank = order_of_rows(data.semantics[seen]).argsort()
    folds = repeat_folds(
        [f"{number:09d}" for number in rank],
        np.zeros(len(seen), dtype=bool),
        held_out=HELD_OUT,
        seed=random_state,
    )
    labels = np.searchsorted(seen, data.labels)
    samples = order_of_rows(data.features)
    numbers = np.arange(len(seen))
    tree = None
    if hierarchy is not None:  # matched once; the parts' classes go by number
        tree = aligned_hierarchy(hierarchy, data.names).select(seen)
    for number, unknown in enumerate(folds):
        known = samples[~unknown[labels[samples]]]
        train, held = hold_out(known, labels, fraction=TEST_SEEN, seed=random_state + number)
        if not len(held):
            return
        part = TrainingSet(data.features[train], labels[train], data.semantics[seen], numbers)
        scores, others = learn(part, tree), np.flatnonzero(unknown[labels])
        yield SeenUnseenCurve.from_scores(
            scores(data.features[held]),
            labels[held],
            scores(data.features[others]),
            labels[others],
            unknown,
        )


def order_of_rows(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return an order of rows (n, d) that depends on what they hold, not on where they stand.

    They are ordered by a fixed mixture of their columns, so that rounding hardly ever moves one.
    """
    mixture = np.cos(np.arange(1.0, rows.shape[1] + 1))
    return np.argsort(rows.astype(np.float64) @ mixture, kind="stable")


def best_common_penalty(curves: Sequence[SeenUnseenCurve]) -> float:
    """Return the penalty at which the mean of the curves' harmonic means is best; 0 without any."""
    if not curves:
        return 0.0
    gaps = [gaps for curve in curves for gaps in (curve.seen_gaps, curve.unseen_gaps)]
    penalties = np.quantile(np.concatenate(gaps), np.linspace(0, 1, MOST_PENALTIES))
    means = np.mean([curve.harmonic_means(penalties) for curve in curves], axis=0)
    return float(penalties[means.argmax()])
