"""Measures of several labels a sample, against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, precision_recall_fscore_support

from zerokin.errors import InvalidInput
from zerokin.metrics import (
    average_precision,
    mean_average_precision,
    precision_recall_f1,
    precision_recall_f1_at_k,
)


def drawn(seed):
    """Draw labels and scores, some of them equal, of a size that is not round."""
    rng = np.random.default_rng(seed)
    n, c = int(rng.integers(2, 61)), int(rng.integers(1, 19))
    truth = rng.random((n, c)) < rng.uniform(0.05, 0.6)
    truth[int(rng.integers(n)), int(rng.integers(c))] = True
    scores = rng.normal(size=(n, c))
    return truth, np.round(scores, 1) if seed % 2 else scores


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_average_precision_is_that_of_scikit_learn_ties_included(seed):
    truth, scores = drawn(seed)
    found = average_precision(truth, scores)
    some = truth.any(axis=0)
    assert np.isnan(found[~some]).all()
    expected = [100 * average_precision_score(truth[:, c], scores[:, c]) for c in some.nonzero()[0]]
    np.testing.assert_allclose(found[some], expected, rtol=1e-12)
    np.testing.assert_allclose(
        mean_average_precision(truth, scores),
        100 * average_precision_score(truth[:, some], scores[:, some], average="macro"),
        rtol=1e-12,
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 20), st.sampled_from(["micro", "macro"]))
def test_precision_recall_and_f1_at_k_are_those_of_scikit_learn(seed, k, average):
    truth, scores = drawn(2 * (seed // 2))  # without ties, whose order is a convention
    best = np.zeros_like(truth)
    for row, values in enumerate(scores):
        best[row, sorted(range(len(values)), key=lambda c: -values[c])[:k]] = True
    used = truth.any(axis=0) if average == "macro" else np.ones(truth.shape[1], dtype=bool)
    # In its form of one row a label scikit-learn takes a single column for a binary problem.
    wide = (np.pad(truth[:, used], ((0, 0), (0, 1))), np.pad(best[:, used], ((0, 0), (0, 1))))
    labels = list(range(int(used.sum())))
    expected = precision_recall_fscore_support(
        *wide, average=average, labels=labels, zero_division=0
    )[:3]
    found = precision_recall_f1_at_k(truth, scores, k, average=average)
    np.testing.assert_allclose(found, 100 * np.array(expected), rtol=1e-12)


def test_scores_that_are_all_equal_are_worth_the_share_of_positives():
    truth = np.arange(35).reshape(7, 5) % 3 == 0
    np.testing.assert_allclose(
        average_precision(truth, np.zeros((7, 5))), 100 * truth.mean(axis=0), rtol=1e-12
    )


def test_f1_by_hand():
    truth = np.array([[1, 0, 1], [0, 0, 1]])
    told = np.array([[1, 1, 0], [0, 0, 1]])
    found = precision_recall_f1(truth, told)
    np.testing.assert_allclose(found, [200 / 3, 200 / 3, 200 / 3])
    assert precision_recall_f1(truth, np.zeros((2, 3))).f1 == 0


def test_macro_averages_are_over_the_classes_that_some_sample_has():
    truth = np.array([[1, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])
    told = np.array([[1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 1, 0]])
    found = precision_recall_f1(truth, told, average="macro")
    by_hand = [(1 / 2, 1, 2 / 3), (1 / 2, 1 / 2, 1 / 2), (1, 2 / 3, 4 / 5)]
    np.testing.assert_allclose(found, 100 * np.mean(by_hand, axis=0))


@pytest.mark.parametrize(
    ("truth", "scores", "line"),
    [
        ([[0, 2]], [[0.1, 0.2]], "truth holds 2 in row 0, column 1"),
        ([[0, 1]], [[0.1, 0.2, 0.3]], r"truth is of shape \(1, 2\), but scores"),
        ([[0, 1]], [[0.1, float("nan")]], "scores holds nan"),
        ([[0, 0]], [[0.1, 0.2]], "no label at all"),
        ([0, 1], [[0.1, 0.2]], "truth must be a matrix"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(truth, scores, line):
    with pytest.raises(InvalidInput, match=line):
        mean_average_precision(np.array(truth), np.array(scores))
    with pytest.raises(InvalidInput, match=line):
        precision_recall_f1_at_k(np.array(truth), np.array(scores), 1)
