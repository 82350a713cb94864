"""Episodes: what is drawn, what is refused, and that batches equal a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zerokin.benchmark.few_shot import Episodes, batches, draw_episodes, mean_with_ci95
from zerokin.benchmark.few_shot.episodes import draw_distinct
from zerokin.errors import ZerokinError

LABELS = np.random.default_rng(0).permutation(
    np.repeat([2, 3, 5, 7, 11, 13], [9, 10, 11, 12, 8, 40])
)


@given(
    way=st.integers(1, 6), shots=st.integers(1, 4), queries=st.integers(1, 4), seed=st.integers(0)
)
@settings(max_examples=30, deadline=None)
def test_drawn_episodes_are_what_was_asked_for(way, shots, queries, seed):
    drawn = draw_episodes(
        LABELS, way=way, shots=shots, queries=queries, episodes=7, random_state=seed
    )
    assert drawn.shots.shape == (7, way, shots)
    assert drawn.queries.shape == (7, way, queries)
    for classes, shown, asked in zip(drawn.classes, drawn.shots, drawn.queries, strict=True):
        assert len(set(classes)) == way
        samples = [*shown.ravel(), *asked.ravel()]
        assert len(set(samples)) == len(samples)
        assert (LABELS[shown] == classes[:, None]).all()
        assert (LABELS[asked] == classes[:, None]).all()
    drawn.check(LABELS)


def test_the_seed_alone_decides():
    one, same, other = (draw_episodes(LABELS, queries=4, random_state=seed) for seed in (3, 3, 4))
    for name in ("classes", "shots", "queries"):
        assert np.array_equal(getattr(one, name), getattr(same, name))
        assert not np.array_equal(getattr(one, name), getattr(other, name))


def test_every_class_and_sample_is_as_likely():
    drawn = draw_episodes(LABELS, way=3, shots=2, queries=3, episodes=20_000)
    shares = np.bincount(drawn.classes.ravel(), minlength=14)[[2, 3, 5, 7, 11, 13]] / 60_000
    np.testing.assert_allclose(shares, 1 / 6, atol=0.006)
    for samples in (drawn.shots, drawn.queries):
        of_class = np.flatnonzero(LABELS == 7)
        drawn_of_class = samples[np.isin(samples, of_class)]
        each = np.bincount(drawn_of_class, minlength=len(LABELS))[of_class] / len(drawn_of_class)
        np.testing.assert_allclose(each, 1 / 12, atol=0.005)


def test_distinct_numbers_come_in_every_order():
    drawn = draw_distinct(np.full(24_000, 4), 3, np.random.default_rng(0))
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 24
    np.testing.assert_allclose(counts, 1000, atol=150)


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        ({"way": 7}, "7-way episodes need 7 classes, but there are 6: lower way"),
        (
            {"shots": 5, "queries": 4},
            "5 shots and 4 queries need 9 samples of a class, but class 11 has 8",
        ),
        (
            {"shots": 0},
            "shots must be a whole number from 1: got 0; without any shots, use ZeroShotClassifier",
        ),
        ({"queries": 0}, "queries must be a whole number from 1: got 0"),
        ({"way": 0}, "way must be a whole number from 1: got 0"),
        ({"episodes": 0}, "episodes must be a whole number from 1: got 0"),
    ],
)
def test_episodes_that_cannot_be_drawn(wanted, line):
    with pytest.raises(ZerokinError, match=line) as caught:
        draw_episodes(LABELS, **wanted)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("classes", "shots", "queries", "line"),
    [
        (
            [[0, 1]],
            [[[0], [1]]],
            [[[2, 0], [3, 4]]],
            "episode 0: sample 0 is both a shot and a query",
        ),
        (
            [[0, 1], [0, 1]],
            [[[0], [1]], [[0], [1]]],
            [[[2, 5], [3, 4]], [[0, 1], [7, 9]]],
            "episode 1: samples 0, 1 are both shots and queries",
        ),
        ([[0, 0]], [[[0], [1]]], [[[2], [3]]], "episode 0: class 0 is in it twice"),
        ([[0, 1]], [[[4], [4]]], [[[2], [3]]], "episode 0: sample 4 is a shot twice"),
        ([[0, 1]], [[[0], [1]]], [[[2]]], r"got \(1, 2\), \(1, 2, 1\) and \(1, 1, 1\)"),
        ([[0, 1]], np.empty((1, 2, 0), int), [[[2], [3]]], "none of them 0"),
        ([[0, 1]], [[[0.5], [1]]], [[[2], [3]]], "shots must be positions, whole numbers"),
    ],
)
def test_given_episodes_that_cannot_be_used(classes, shots, queries, line):
    with pytest.raises(ZerokinError, match=line) as caught:
        Episodes(classes, shots, queries)
    assert "\n" not in str(caught.value)


def test_given_episodes_are_checked_against_labels():
    labels = np.array([0, 1, 0, 1])
    Episodes([[0, 1]], [[[0], [1]]], [[[2], [3]]]).check(labels)
    with pytest.raises(ZerokinError, match="episode 0: query 3 is of class 1, but stands for cl"):
        Episodes([[0, 1]], [[[0], [1]]], [[[3], [2]]]).check(labels)
    with pytest.raises(ZerokinError, match="query 4 does not exist: there are 4 samples"):
        Episodes([[0, 1]], [[[0], [1]]], [[[2], [4]]]).check(labels)


def test_the_same_query_twice_is_allowed():
    assert len(Episodes([[0, 1]], [[[0], [1]]], [[[2, 2], [3, 3]]])) == 1


def test_confidence_interval_by_hand():
    mean, ci95 = mean_with_ci95(np.array([50.0, 60.0, 70.0, 80.0]))
    # deviations -15, -5, 5, 15: variance 500 / 3
    assert (mean, ci95) == (65.0, pytest.approx(1.96 * np.sqrt(500 / 3) / 2))


@pytest.mark.parametrize("size", [1, 300, 1 << 30])
def test_accuracies_do_not_depend_on_chunks(monkeypatch, size):
    drawn = draw_episodes(LABELS, way=4, shots=2, queries=3, episodes=23)
    table = np.random.default_rng(1).normal(size=(len(LABELS), 14)) + np.eye(14)[LABELS]

    def scorer(episodes):
        asked = episodes.queries.reshape(len(episodes), -1)
        return table[asked[:, :, None], episodes.classes[:, None, :]]

    monkeypatch.setattr(batches, "CHUNK_BYTES", size)
    for top in (1, 2):
        found = batches.episode_accuracies(scorer, drawn, d_f=10, top=top)
        expected = []
        for classes, asked in zip(drawn.classes, drawn.queries, strict=True):
            right = 0
            for place, samples in enumerate(asked):
                for sample in samples:
                    best = np.argsort(-table[sample, classes])[:top]
                    right += place in best
            expected.append(100 * right / 12)
        np.testing.assert_allclose(found, expected)
