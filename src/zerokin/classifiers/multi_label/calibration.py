"""Probabilities and a threshold from seen classes that are held out of the training data.

Scores become probabilities by a logistic curve (Platt, Probabilistic Outputs for Support Vector
Machines, 1999). The curve, and the threshold at which F1 over all labels is best, are fitted to
images of which a part of the labels belongs to classes that the fold's classifier has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.auto_penalty import order_of_rows
from zerokin.data.label_rows import hold_out_rows
from zerokin.data.splits import draw_folds

N_FOLDS, FOLD_SHARE = 3, 5
TEST_SEEN = 0.2
LEAST_SLOPE = 1e-6
MOST_THRESHOLDS = 401

Fold = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
ScoreFold = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]
"""From images to fit on, images to score, and classes (k,) to scores (n, k)."""


class Calibration(NamedTuple):
    """The curve p = 1 / (1 + exp(−(slope · score + offset))), and the threshold for p.

    Parameters
    ----------
    slope, offset
        Of the curve; the slope is positive, so that probabilities rank classes as scores do.
    threshold
        At which F1 over all labels of held-out images is best.
    """

    slope: float
    offset: float
    threshold: float

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores as probabilities."""
        from scipy.special import expit

        found: NDArray[np.float64] = expit(self.slope * scores + self.offset)
        return found


def label_folds(
    labels: NDArray[np.bool_], semantics: NDArray[np.float64], random_state: int
) -> Iterator[Fold]:
    """Yield images to fit on, images to score and the classes that count, fold by fold.

    A fold's images to fit on hold none of its validation classes. Classes are drawn by their
    semantics, so that their order does not matter.
    """
    from scipy.sparse import csr_array

    seen = np.flatnonzero(labels.any(axis=0))
    rank = order_of_rows(semantics[seen]).argsort()
    names = [f"{number:09d}" for number in rank]
    masks = draw_folds(
        names, np.zeros(len(seen), dtype=bool), n_folds=FOLD_SHARE, seed=random_state
    )
    sparse = csr_array(labels)
    for number, mask in enumerate(masks[:N_FOLDS]):
        validation = seen[mask]
        holds = labels[:, validation].any(axis=1)
        fit, held = hold_out_rows(
            sparse, np.flatnonzero(~holds), fraction=TEST_SEEN, seed=random_state + number
        )
        known = np.flatnonzero(labels[fit].any(axis=0))
        if len(known) > 1:
            scored = np.sort(np.concatenate([held, np.flatnonzero(holds)]))
            yield fit, scored, np.union1d(known, validation)


def calibrate(
    labels: NDArray[np.bool_], folds: Iterator[Fold], score: ScoreFold
) -> Calibration | None:
    """Return the calibration that fits the folds best; None where there are none."""
    parts = [
        (score(fit, scored, classes).ravel(), labels[np.ix_(scored, classes)].ravel())
        for fit, scored, classes in folds
    ]
    if not parts:
        return None
    scores, truth = (np.concatenate(part) for part in zip(*parts, strict=True))
    return fitted_calibration(scores, truth)


def fitted_calibration(scores: NDArray[np.float64], truth: NDArray[np.bool_]) -> Calibration | None:
    """Return the calibration of scores (m,) of pairs of an image and a class that are true or not.

    None where all are true, or none.
    """
    from sklearn.linear_model import LogisticRegression

    if truth.all() or not truth.any():
        return None
    middle, spread = scores.mean(), scores.std() or 1.0
    standard = (scores - middle) / spread
    curve: Any = LogisticRegression(C=1e3).fit(standard[:, None], truth)
    slope = max(float(curve.coef_[0, 0]) / spread, LEAST_SLOPE)
    offset = float(curve.intercept_[0]) - slope * middle
    made = Calibration(slope, offset, 0.5)
    return made._replace(threshold=best_threshold(made.probabilities(scores), truth))


def best_threshold(probabilities: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """Return the threshold at which F1 of all pairs is best: the middle between two of them.

    Examples
    --------
    >>> best_threshold(np.array([0.1, 0.2, 0.6, 0.8]), np.array([False, True, False, True]))
    0.15000000000000002
    """
    order = np.argsort(-probabilities, kind="stable")
    ranked = probabilities[order]
    hits = np.cumsum(truth[order])
    f1 = 2 * hits / (np.arange(1, len(ranked) + 1) + hits[-1])
    f1[:-1][ranked[:-1] == ranked[1:]] = -1  # nothing lies between equal ones
    best = int(f1.argmax())
    below = ranked[best + 1] if best + 1 < len(ranked) else 0.0
    return float((ranked[best] + below) / 2)
