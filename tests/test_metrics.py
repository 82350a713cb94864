"""Metrics against plain loops, on drawn sizes and with ties."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from zerokin.errors import InvalidInput
from zerokin.metrics import (
    SeenUnseenCurve,
    class_weights,
    harmonic_mean,
    hit_at,
    per_class_top1,
    top1,
)
from zerokin.metrics.half_width import half_width95
from zerokin.metrics.seen_unseen_curve import named_classes


def drawn(seed):
    rng = np.random.default_rng(seed)
    return rng, int(rng.integers(3, 60)), int(rng.integers(2, 9))


@pytest.mark.parametrize("seed", range(20))
def test_accuracies_equal_plain_counting(seed):
    rng, n, classes = drawn(seed)
    truth, predicted = rng.integers(classes, size=n), rng.integers(classes, size=n)
    right = sum(int(t) == int(p) for t, p in zip(truth, predicted, strict=True))
    assert top1(truth, predicted) == pytest.approx(100 * right / n)
    shares = [np.mean(predicted[truth == c] == c) for c in set(truth.tolist())]
    assert per_class_top1(truth, predicted) == pytest.approx(100 * np.mean(shares))
    weights = class_weights(truth)
    for c in set(truth.tolist()):
        assert weights[truth == c].sum() == pytest.approx(1 / len(shares))
        assert np.ptp(weights[truth == c]) == 0


def test_all_right_is_a_hundred_and_no_more():
    for n in range(1, 60):  # shares such as 1/49 sum past 1
        truth = np.arange(n)
        assert per_class_top1(truth, truth) == pytest.approx(100)
        assert per_class_top1(truth, truth) <= 100
        assert top1(truth, truth) == 100


@pytest.mark.parametrize("seed", range(20))
def test_hits_equal_plain_counting_with_ties_against_the_class(seed):
    rng, n, classes = drawn(seed)
    truth = rng.integers(classes, size=n)
    for scores in (rng.normal(size=(n, classes)), rng.integers(3, size=(n, classes)).astype(float)):
        for k in range(1, classes + 1):
            hits = 0
            for t, row in zip(truth, scores, strict=True):
                others = [other for c, other in enumerate(row) if c != t]
                hits += sum(other >= row[t] for other in others) < k
            assert hit_at(truth, scores, k) == pytest.approx(100 * hits / n)


def test_harmonic_mean_of_nothing_is_nothing():
    assert harmonic_mean(0.0, 0.0) == 0
    assert harmonic_mean(0.0, 0.3) == 0
    assert harmonic_mean(0.2, 0.3) == pytest.approx(0.24)
    assert harmonic_mean(70.0, 30.0) == pytest.approx(1 / np.mean([1 / 70, 1 / 30]))


def test_classes_by_name():
    truth = np.array(["lynx", "otter", "lynx"])
    assert top1(truth, np.array(["lynx", "lynx", "lynx"])) == pytest.approx(200 / 3)
    assert per_class_top1(truth, ["lynx", "lynx", "lynx"]) == 50


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: top1([], []), "truth must be a list of at least one class"),
        (lambda: top1([1.5], [1]), "truth must be a list of at least one class"),
        (lambda: top1([[1]], [1]), "truth must be a list of at least one class"),
        (lambda: top1([1], [0.5]), "predicted must be a list of at least one class"),
        (lambda: top1([1, 2], [1]), "there are 1 answers for 2 true classes"),
        (lambda: per_class_top1([1], [1, 2]), "there are 2 answers for 1 true classes"),
        (lambda: top1(["a"], [1]), "both be names, or both positions"),
        (lambda: per_class_top1([1], ["a"]), "both be names, or both positions"),
        (lambda: hit_at([0], np.eye(2), 1), "there are 2 answers for 1 true classes"),
        (lambda: hit_at([0, 2], np.eye(2), 1), "truth must hold columns of scores, 0 to 1"),
        (lambda: hit_at([0, -1], np.eye(2), 1), "truth must hold columns of scores, 0 to 1"),
        (lambda: hit_at(["a", "b"], np.eye(2), 1), "truth must hold columns of scores"),
        (lambda: hit_at([0, 1], np.eye(2), 0), "k must be"),
        (lambda: harmonic_mean(-1.0, 2.0), "seen must be"),
        (lambda: harmonic_mean(2.0, -1.0), "unseen must be"),
    ],
)
def test_what_cannot_be_measured_is_named(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def shifted(scores, truth, is_unseen, seen_penalty):
    """Accuracy once κ is taken off the scores of seen classes; of ties, unseen classes win."""
    answers = []
    for row in scores:
        best_seen = max((s, -c) for c, s in enumerate(row) if not is_unseen[c])
        best_unseen = max((s, -c) for c, s in enumerate(row) if is_unseen[c])
        seen_wins = best_seen[0] - best_unseen[0] > seen_penalty
        answers.append(-(best_seen if seen_wins else best_unseen)[1])
    return per_class_top1(truth, np.array(answers))


def drawn_curve(seed):
    """Scores of whole numbers, so that many gaps are equal."""
    rng, n, classes = drawn(seed)
    is_unseen = np.zeros(classes + 2, dtype=bool)
    is_unseen[rng.permutation(classes + 2)[: 1 + classes // 2]] = True
    sides = []
    for kind in (~is_unseen, is_unseen):
        truth = rng.choice(np.flatnonzero(kind), size=n + int(rng.integers(5)))
        scores = rng.integers(6, size=(len(truth), len(kind))) + 2.0 * np.eye(len(kind))[truth]
        sides.append((scores, truth))
    return sides, is_unseen


@pytest.mark.parametrize("seed", range(15))
def test_the_curve_equals_shifting_the_scores(seed):
    sides, is_unseen = drawn_curve(seed)
    curve = SeenUnseenCurve.from_scores(*sides[0], *sides[1], is_unseen)
    for seen_penalty in np.arange(-9, 9, 0.5):
        seen, unseen, mean = curve.at(seen_penalty)
        assert seen == pytest.approx(shifted(*sides[0], is_unseen, seen_penalty))
        assert unseen == pytest.approx(shifted(*sides[1], is_unseen, seen_penalty))
        assert mean == pytest.approx(harmonic_mean(seen, unseen))
    values = np.arange(-9, 9, 0.5)
    means = curve.harmonic_means(values)
    np.testing.assert_allclose(means, [curve.at(value)[2] for value in values])


@pytest.mark.parametrize("seed", range(15))
def test_the_area_equals_trapezoids_between_all_gaps(seed):
    sides, is_unseen = drawn_curve(seed)
    curve = SeenUnseenCurve.from_scores(*sides[0], *sides[1], is_unseen)
    points = [
        [shifted(*side, is_unseen, seen_penalty) for side in sides]
        for seen_penalty in np.arange(-10.5, 11)
    ]
    area = sum((u2 - u1) * (s1 + s2) / 2 for (s1, u1), (s2, u2) in pairwise(points))
    assert curve.area() == pytest.approx(area / 1e4)


def test_quantiles_spread_over_the_gaps_of_both_sides():
    sides, is_unseen = drawn_curve(3)
    curve = SeenUnseenCurve.from_scores(*sides[0], *sides[1], is_unseen)
    gaps = np.concatenate([curve.seen_gaps, curve.unseen_gaps])
    found = curve.quantiles(7)
    np.testing.assert_allclose(found, [np.quantile(gaps, share / 6) for share in range(7)])
    assert (found[0], found[-1]) == (gaps.min(), gaps.max())
    single = [(scores.astype(np.float32), truth) for scores, truth in sides]
    rough = SeenUnseenCurve.from_scores(*single[0], *single[1], is_unseen).quantiles(7)
    assert rough.dtype == np.float64


def test_the_half_width_is_that_of_the_t_interval():
    rng = np.random.default_rng(11)
    for n in (2, 3, 7):
        values = rng.normal(size=n).tolist()
        low, high = stats.t.interval(0.95, n - 1, loc=np.mean(values), scale=stats.sem(values))
        assert half_width95(values) == pytest.approx((high - low) / 2)
    assert half_width95([61.0]) == 0.0


def test_named_classes_are_the_best_after_the_penalty():
    rng = np.random.default_rng(8)
    scores, unseen = rng.standard_normal((211, 17)), rng.random(17) < 0.4
    for penalty in (-0.7, 0.0, 0.31, 9.0):
        best = (scores - penalty * ~unseen).argmax(axis=1)
        assert (named_classes(scores, unseen, penalty) == best).all()
