"""Scores of many episodes at once: those of prototypes that are made one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from zerokin.classifiers.few_shot.episode_scores import (
    ShotSettings,
    gather,
    relate_to_base,
    score_episodes,
)
from zerokin.classifiers.few_shot.shots import (
    combined_scores,
    mixed_prototypes,
    nearest_base,
    semantic_weight,
    with_lent_means,
)
from zerokin.errors import InvalidInput


class Episodes(NamedTuple):
    classes: np.ndarray
    shots: np.ndarray
    queries: np.ndarray


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


class Problem:
    """Samples of a pool, base samples, projections, and episodes, all of sizes drawn by a seed."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(6, 11))
        n_classes, way = int(rng.integers(5, 9)), int(rng.integers(2, 5))
        n_shots, n_queries, count = (int(rng.integers(1, 5)) for _ in range(3))
        per_class = n_shots + n_queries + 2
        labels = rng.permutation(np.repeat(np.arange(n_classes), per_class))
        centers = rng.normal(size=(n_classes, d))
        self.F = unit(centers[labels] + 0.7 * rng.normal(size=(len(labels), d)))
        self.projected = unit(centers + 0.5 * rng.normal(size=centers.shape))
        # Called by numbers with gaps, and in no order.
        self.base_labels = rng.permutation(np.repeat([1, 4, 5, 9, 12], 7))
        around = rng.normal(size=(13, d))[self.base_labels]
        self.base = unit(around + 0.6 * rng.normal(size=around.shape))
        classes = np.stack([rng.permutation(n_classes)[:way] for _ in range(count)])
        drawn = np.array(
            [
                [rng.permutation(np.flatnonzero(labels == c))[: n_shots + n_queries] for c in row]
                for row in classes
            ]
        )
        self.episodes = Episodes(classes, drawn[..., :n_shots], drawn[..., n_shots:])
        self.n_base = 5
        self.trust = rng.uniform(0.2, 3, n_classes)

    def found(self, settings, *, semantics=True, trust=None):
        pool = relate_to_base(self.F, self.base, self.base_labels)
        projected = self.projected if semantics else None
        return score_episodes(self.episodes, pool, projected, settings, trust=trust)

    def expected(self, settings, *, semantics=True, trust=None):
        """The same by prototypes (κ p + Σ x + λ b̄) / (κ + n + λ), episode by episode."""
        bases = [self.base[self.base_labels == c].mean(axis=0) for c in (1, 4, 5, 9, 12)]
        scores = []
        for classes, shots, queries in zip(*self.episodes, strict=True):
            columns = []
            for c, of_class in zip(classes, shots, strict=True):
                summed = self.F[of_class].sum(axis=0)
                if semantics:
                    factor = 1 if trust is None else trust[c]
                    summed = summed + factor * settings.kappa * self.projected[c]
                if settings.base_weight:
                    near = sorted(bases, key=lambda b: -unit(b) @ summed)
                    lent = np.mean(near[: settings.base_neighbors], axis=0)
                    summed = summed + settings.base_weight * lent
                prototype = unit(summed)
                closest = sorted(unit(b) @ prototype for b in bases)[-settings.hub_neighbors :]
                penalty = settings.hub_weight * np.mean(closest)
                columns.append(self.F[queries.ravel()] @ prototype - penalty)
            scores.append(np.stack(columns, axis=1))
        return np.stack(scores)


SETTINGS = [
    ShotSettings(0.0, 0.0, 2),
    ShotSettings(1.7, 0.0, 2),
    ShotSettings(0.0, 0.8, 1),
    ShotSettings(0.6, 2.3, 3),
    ShotSettings(0.0, 0.0, 2, 0.4, 2),
    ShotSettings(2.2, 0.0, 2, 0.4, 1),
    ShotSettings(0.0, 1.4, 2, 0.7, 3),
    ShotSettings(0.9, 1.1, 2, 0.3, 4),
    ShotSettings(0.9, 1.1, 99, 0.3, 99),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_scores_are_those_of_prototypes_made_one_by_one(seed, settings):
    problem = Problem(seed)
    for semantics in (True, False):
        np.testing.assert_allclose(
            problem.found(settings, semantics=semantics),
            problem.expected(settings, semantics=semantics),
            atol=1e-10,
        )


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_semantics_may_count_more_for_some_classes_than_for_others(seed, settings):
    problem = Problem(seed + 20)
    found = problem.found(settings, trust=problem.trust)
    np.testing.assert_allclose(found, problem.expected(settings, trust=problem.trust), atol=1e-10)
    same = np.allclose(found, problem.found(settings), atol=1e-6)
    assert same == (settings.kappa == 0)


def test_hubness_is_off_by_default_and_counts_three_neighbors():
    problem = Problem(5)
    plain = problem.found(ShotSettings(1.0, 0.0, 2))
    np.testing.assert_allclose(plain, problem.expected(ShotSettings(1.0, 0.0, 2, 0.0, 1)))
    found = problem.found(ShotSettings(1.0, 0.0, 2, 0.5))
    np.testing.assert_allclose(found, problem.expected(ShotSettings(1.0, 0.0, 2, 0.5, 3)))


def test_a_base_class_without_a_direction_lends_and_takes_nothing():
    """Its mean is zero: no division by its length, and no neighbor while others are nearer."""
    problem = Problem(6)
    problem.base[problem.base_labels == 4] = 0
    for settings in (ShotSettings(1.0, 0.0, 1, 0.5, 5), ShotSettings(1.0, 2.0, 1)):
        with np.errstate(all="raise"):
            found = problem.found(settings)
        assert np.isfinite(found).all()
    lengths = np.array([0.0, 2.0, 1.0])
    assert nearest_base(np.array([[0.0, 3.0, 1.0]]), lengths, 1).tolist() == [[1]]
    assert nearest_base(np.array([[0.0, -3.0, -1.0]]), lengths, 1).tolist() == [[0]]


@pytest.mark.parametrize("seed", range(4))
def test_features_are_gathered_sample_by_sample(seed):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(11, int(rng.integers(2, 6))))
    samples = rng.integers(11, size=(2, 3, int(rng.integers(1, 5))))
    found = gather(F, samples)
    for place in np.ndindex(samples.shape):
        np.testing.assert_array_equal(found[place], F[samples[place]])


def test_weight_of_semantics_is_their_share_of_all_shots():
    np.testing.assert_allclose(semantic_weight([0, 1, 4], 2.0), [1, 2 / 3, 1 / 3])
    np.testing.assert_array_equal(semantic_weight([0, 3], 0.0), [0, 0])
    mixed = mixed_prototypes(np.array([[4.0, 0.0]]), np.array([[0.0, 8.0]]), [0.25])
    np.testing.assert_array_equal(mixed, [[1.0, 6.0]])


def test_means_are_lent_in_proportion_to_shots():
    prototypes, base = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[3.0, 0.3], [0.0, 5.0]])
    counts = np.array([1.0, 4.0])
    moved = with_lent_means(prototypes, counts, base, weight=2.0, n_neighbors=1)
    expected = [(prototypes[0] + 2 * base[0]) / 3, (4 * prototypes[1] + 2 * base[1]) / 6]
    np.testing.assert_allclose(moved, expected)
    for weight, some in ((0, prototypes), (2.0, prototypes[:0])):
        assert with_lent_means(some, counts, base, weight=weight, n_neighbors=1) is some
    with pytest.raises(InvalidInput, match=r"^base_weight must be a number from 0 to 1e\+12"):
        with_lent_means(prototypes, counts, base, weight=-1, n_neighbors=1)
    with pytest.raises(InvalidInput, match="base_neighbors must be a whole number from 1: got 0"):
        nearest_base(np.ones((1, 2)), np.ones(2), 0)
    assert nearest_base(np.ones((1, 2)), np.ones(2), 1).shape == (1, 1)


def test_cosines_with_weighted_sums_of_three_parts():
    rng = np.random.default_rng(8)
    samples, weights = rng.normal(size=(5, 4)), [0.2, 0.5, 0.3]
    parts = rng.normal(size=(3, 6, 4))
    to_parts = [samples @ part.T for part in parts]
    products = [[(parts[i] * parts[j]).sum(axis=1) for j in range(i + 1)] for i in range(3)]
    expected = samples @ unit(np.tensordot(weights, parts, axes=1)).T
    np.testing.assert_allclose(combined_scores(to_parts, products, weights), expected)
    zero = [np.zeros((5, 6))]
    assert not combined_scores(zero, [[np.zeros(6)]], [1.0]).any()  # of length zero: no division
