"""Measures of several labels a sample as the field defines them, in percent."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.matrices import finite_matrix, real_array
from zerokin.parameters import Integer, OneOf, check_arguments

Average = Literal["micro", "macro"]
AVERAGES: tuple[Average, ...] = ("micro", "macro")


class PrecisionRecallF1(NamedTuple):
    """Precision, recall and F1, in percent.

    Parameters
    ----------
    precision, recall, f1
        In percent.
    """

    precision: float
    recall: float
    f1: float


def average_precision(truth: NDArray[Any], scores: NDArray[Any]) -> NDArray[np.float64]:
    """Return the average precision of every class (C,): NaN for a class that no sample has.

    Σ_n (R_n − R_{n−1}) P_n over the thresholds of a class, without interpolation. Samples of equal
    score are found together.

    Parameters
    ----------
    truth
        (n, C) which labels each sample has.
    scores
        (n, C) scores; higher is better.

    Examples
    --------
    >>> truth = np.array([[1, 0], [0, 0], [1, 0]])
    >>> average_precision(truth, np.array([[0.9, 0.1], [0.5, 0.2], [0.4, 0.3]])).round(1)
    array([83.3,  nan])
    """
    truth, scores = _checked(truth, scores)
    n = len(scores)
    order = np.argsort(-scores, axis=0, kind="stable")
    hits = np.take_along_axis(truth, order, axis=0)
    ranked = np.take_along_axis(scores, order, axis=0)
    precision = np.cumsum(hits, axis=0) / np.arange(1, n + 1)[:, None]
    # Of equal scores all are found at once: the precision is that at the last of them.
    last = np.ones(ranked.shape, dtype=bool)
    last[:-1] = ranked[:-1] != ranked[1:]
    rows = np.where(last, np.arange(n)[:, None], n)
    ends = np.minimum.accumulate(rows[::-1], axis=0)[::-1]
    at_end = np.take_along_axis(precision, ends, axis=0)
    positives = hits.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        values: NDArray[np.float64] = 100 * (at_end * hits).sum(axis=0) / positives
    return np.where(positives > 0, np.minimum(values, 100.0), np.nan)


def mean_average_precision(truth: NDArray[Any], scores: NDArray[Any]) -> float:
    """Return the mean average precision (mAP) over the classes that some sample has.

    Parameters
    ----------
    truth
        (n, C) which labels each sample has.
    scores
        (n, C) scores; higher is better.

    Examples
    --------
    >>> mean_average_precision(np.eye(2), np.array([[0.9, 0.7], [0.2, 0.8]]))
    100.0
    """
    values = average_precision(truth, scores)
    found = values[np.isfinite(values)]
    if not len(found):
        raise InvalidInput("truth has no label at all: there is no precision to average")
    return float(found.mean())


def precision_recall_f1_at_k(
    truth: NDArray[Any], scores: NDArray[Any], k: int, *, average: Average = "micro"
) -> PrecisionRecallF1:
    """Return precision, recall and F1 of the k best classes of every sample.

    Every sample is given exactly k labels, all classes if they are fewer; of equal scores the class
    that stands first. The field leaves out samples that have no label: so must the caller.

    Parameters
    ----------
    truth
        (n, C) which labels each sample has.
    scores
        (n, C) scores; higher is better.
    k
        Labels that a sample is given.
    average
        ``"micro"``: over all pairs of a sample and a class ("overall", as in Fast0Tag).
        ``"macro"``: of every class that some sample has, then the mean; F1 is the mean of the
        classes' F1.

    Examples
    --------
    >>> truth, scores = np.array([[1, 1, 0]]), np.array([[0.9, 0.1, 0.5]])
    >>> precision_recall_f1_at_k(truth, scores, 2)
    PrecisionRecallF1(precision=50.0, recall=50.0, f1=50.0)
    """
    check_arguments({"k": Integer(1), "average": OneOf(AVERAGES)}, k=k, average=average)
    truth, scores = _checked(truth, scores)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    given = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(given, best, True, axis=1)
    return precision_recall_f1(truth, given, average=average)


def precision_recall_f1(
    truth: NDArray[Any], given: NDArray[Any], *, average: Average = "micro"
) -> PrecisionRecallF1:
    """Return precision, recall and F1 of the labels that samples are given; 0 for 0 / 0.

    Parameters
    ----------
    truth
        (n, C) which labels each sample has.
    given
        (n, C) which labels it is given.
    average
        As for `precision_recall_f1_at_k`.

    Examples
    --------
    >>> precision_recall_f1(np.array([[1, 1, 0]]), np.array([[1, 0, 0]])).f1.__round__(1)
    66.7
    """
    check_arguments({"average": OneOf(AVERAGES)}, average=average)
    truth, given = label_matrix(truth, "truth"), label_matrix(given, "given")
    if truth.shape != given.shape:
        raise InvalidInput(f"truth is of shape {truth.shape}, but given of shape {given.shape}")
    axis = None if average == "micro" else 0
    right = np.atleast_1d((truth & given).sum(axis=axis)).astype(np.float64)
    told = np.atleast_1d(given.sum(axis=axis)).astype(np.float64)
    real = np.atleast_1d(truth.sum(axis=axis)).astype(np.float64)
    if average == "macro":
        right, told, real = right[real > 0], told[real > 0], real[real > 0]
    if not real.any():
        raise InvalidInput("truth has no label at all: there is nothing to recall")
    precision, recall = right / np.maximum(told, 1), right / np.maximum(real, 1)
    f1 = 2 * right / np.maximum(told + real, 1)
    return PrecisionRecallF1(*(float(100 * part.mean()) for part in (precision, recall, f1)))


def label_matrix(labels: Any, name: str) -> NDArray[np.bool_]:
    """Return an indicator matrix (n, C) of labels, refusing values that are neither 0 nor 1.

    Parameters
    ----------
    labels
        (n, C) zeros and ones, or truth values.
    name
        What the argument is called.
    """
    matrix = real_array(labels, name, "a matrix (n, C) of 0 and 1")
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidInput(f"{name} must be a matrix (n, C) of 0 and 1: got shape {matrix.shape}")
    if matrix.dtype.kind == "b":
        return matrix
    marked: NDArray[np.bool_] = matrix == 1
    strange = ~marked & (matrix != 0)
    if strange.any():
        row, column = np.argwhere(strange)[0]
        raise InvalidInput(
            f"{name} holds {matrix[row, column]} in row {row}, column {column}: a sample has a "
            "label (1) or has it not (0)"
        )
    return marked


def _checked(truth: Any, scores: Any) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    truth, scores = label_matrix(truth, "truth"), finite_matrix(scores, "scores")
    if truth.shape != scores.shape:
        raise InvalidInput(
            f"truth is of shape {truth.shape}, but scores of shape {scores.shape}: both have a row "
            "for each sample and a column for each class"
        )
    return truth, scores
