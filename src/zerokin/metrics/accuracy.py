"""Accuracies as the field defines them, in percent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput, shown
from zerokin.matrices import finite_matrix, plain_array
from zerokin.parameters import Integer, Real, check_arguments


def top1(truth: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Return the share of samples that are right: the standard setting's measure.

    Parameters
    ----------
    truth
        (n,) true classes, as positions.
    predicted
        (n,) answers.

    Examples
    --------
    >>> top1(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    75.0
    """
    truth, predicted = _checked(truth, "truth"), _checked(predicted, "predicted")
    _refuse_other_length(truth, predicted)
    return float(100 * np.mean(truth == predicted))


def per_class_top1(truth: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Return the mean over classes of the share of their samples that are right.

    Every class counts alike, however many samples it has: the pure setting's measure.

    Parameters
    ----------
    truth
        (n,) true classes, as positions.
    predicted
        (n,) answers.

    Examples
    --------
    >>> per_class_top1(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    50.0
    """
    truth, predicted = _checked(truth, "truth"), _checked(predicted, "predicted")
    _refuse_other_length(truth, predicted)
    # Rounding must not let a sum of shares pass 100.
    return float(100 * min(1.0, np.sum(class_weights(truth)[truth == predicted])))


def hit_at(truth: NDArray[np.int64], scores: NDArray[np.floating], k: int) -> float:
    """Return the share of samples whose class (a column of scores) is among the k best.

    Of equal scores, the class counts as worse than all it ties with.

    Parameters
    ----------
    truth
        (n,) true classes, as columns of the scores.
    scores
        (n, C) scores; higher is better.
    k
        How many best classes count.

    Examples
    --------
    >>> hit_at(np.array([0, 2]), np.array([[0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]), 2)
    50.0
    """
    check_arguments({"k": Integer(1)}, k=k)
    truth, scores = _checked(truth, "truth"), finite_matrix(scores, "scores")
    _refuse_other_length(truth, scores)
    if truth.dtype.kind not in "iu" or truth.min() < 0 or truth.max() >= scores.shape[1]:
        raise InvalidInput(
            f"truth must hold columns of scores, 0 to {scores.shape[1] - 1}: got {shown(truth)}"
        )
    own = np.take_along_axis(scores, truth[:, None], axis=1)
    ahead = np.count_nonzero(scores >= own, axis=1) - 1
    return float(100 * np.mean(ahead < k))


def harmonic_mean(seen: float, unseen: float) -> float:
    """Return the harmonic mean of the accuracies on seen and on unseen classes.

    Parameters
    ----------
    seen, unseen
        Accuracies in percent.

    Examples
    --------
    >>> harmonic_mean(60.0, 40.0)
    48.0
    """
    check_arguments({"seen": Real(0), "unseen": Real(0)}, seen=seen, unseen=unseen)
    return 2 * seen * unseen / (seen + unseen) if seen + unseen > 0 else 0.0


def class_weights(truth: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return weights (N,) that sum to 1 and give every class the same share.

    Parameters
    ----------
    truth
        (N,) true classes, as positions.
    """
    _, members, counts = np.unique(truth, return_inverse=True, return_counts=True)
    weights: NDArray[np.float64] = 1 / (counts[members] * len(counts))
    return weights


def _checked(classes: object, name: str) -> NDArray[Any]:
    """Return classes (n,), refusing what is not a list of some."""
    found = plain_array(classes, name)
    if found.ndim != 1 or not len(found) or found.dtype.kind not in "iuU":
        raise InvalidInput(
            f"{name} must be a list of at least one class, by position or name: got "
            f"{found.dtype} of shape {found.shape}"
        )
    return found


def _refuse_other_length(truth: NDArray[Any], answers: NDArray[Any]) -> None:
    if len(truth) != len(answers):
        raise InvalidInput(f"there are {len(answers):,} answers for {len(truth):,} true classes")
    if answers.ndim == 1 and (truth.dtype.kind == "U") != (answers.dtype.kind == "U"):
        raise InvalidInput("truth and predicted must both be names, or both positions")
