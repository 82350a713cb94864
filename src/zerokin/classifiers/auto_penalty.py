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
from zerokin.compute.processes import current
from zerokin.data.splits import hold_out, repeat_folds
from zerokin.features.row_sources import blocks_of, some_rows
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.alignment import aligned_hierarchy
from zerokin.metrics.seen_unseen_curve import SeenUnseenCurve, Sides, best_sides
from zerokin.projection.rows import FeatureRows

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
    seen, processes = data.seen, current()
    rank = order_of_rows(data.semantics[seen]).argsort()
    folds = repeat_folds(
        [f"{number:09d}" for number in rank],
        np.zeros(len(seen), dtype=bool),
        held_out=HELD_OUT,
        seed=random_state,
    )
    # Of several processes each has samples of its own, and all draw the same of all samples.
    labels = processes.gather(np.searchsorted(seen, data.labels))
    samples = np.argsort(processes.gather(keys_of_rows(data.features)), kind="stable")
    start = sum(processes.gather(np.array([len(data.labels)]))[: processes.rank])
    numbers = np.arange(len(seen))
    tree = None
    if hierarchy is not None:  # matched once; the parts' classes go by number
        tree = aligned_hierarchy(hierarchy, data.names).select(seen)
    for number, unknown in enumerate(folds):
        known = samples[~unknown[labels[samples]]]
        train, held = hold_out(known, labels, fraction=TEST_SEEN, seed=random_state + number)
        if not len(held):
            return
        others = np.flatnonzero(unknown[labels])
        if processes.shared:
            train, held, others = (
                rows[(rows >= start) & (rows < start + len(data.labels))]
                for rows in (train, held, others)
            )
        if not isinstance(data.features, np.ndarray):
            train = np.sort(train)  # in the order of the file
        features, classes = some_rows(data.features, train - start), labels[train]
        if not isinstance(data.features, np.ndarray):
            features = FeatureRows(features)
        elif processes.shared:
            features, classes = processes.balance(features), processes.balance(classes)
        part = TrainingSet(features, classes, data.semantics[seen], numbers)
        scores = learn(part, tree)
        known_sides = _sides(scores, some_rows(data.features, held - start), unknown)
        other_sides = _sides(scores, some_rows(data.features, others - start), unknown)
        yield SeenUnseenCurve.from_sides(
            Sides(*map(processes.gather, known_sides)),
            processes.gather(labels[held]),
            Sides(*map(processes.gather, other_sides)),
            processes.gather(labels[others]),
        )


def _sides(scores: Scorer, features: Any, is_unseen: NDArray[np.bool_]) -> Sides:
    """Return what the curve needs of samples, of which a process may have none."""
    if not len(features):
        return Sides(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))
    parts = [best_sides(scores(features[rows]), is_unseen) for rows in blocks_of(features)]
    return Sides(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def order_of_rows(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return an order of rows (n, d) that depends on what they hold, not on where they stand."""
    return np.argsort(keys_of_rows(rows), kind="stable")


def keys_of_rows(rows: Any) -> NDArray[np.float64]:
    """Return a fixed mixture of the columns of rows (n, d), by which rounding hardly moves one."""
    mixture = np.cos(np.arange(1.0, rows.shape[1] + 1))
    parts = [rows[part].astype(np.float64) @ mixture for part in blocks_of(rows)]
    return np.concatenate(parts)


def best_common_penalty(curves: Sequence[SeenUnseenCurve]) -> float:
    """Return the penalty at which the mean of the curves' harmonic means is best; 0 without any."""
    if not curves:
        return 0.0
    gaps = [gaps for curve in curves for gaps in (curve.seen_gaps, curve.unseen_gaps)]
    penalties = np.quantile(np.concatenate(gaps), np.linspace(0, 1, MOST_PENALTIES))
    means = np.mean([curve.harmonic_means(penalties) for curve in curves], axis=0)
    return float(current().leading(penalties[means.argmax()]))
