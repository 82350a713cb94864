"""Prototype networks and the adaptive weight of semantics."""

from __future__ import annotations

import numpy as np
import pytest

from zerokin import FewShotClassifier, ZeroShotClassifier
from zerokin.classifiers.few_shot.semantic_trust import semantic_trust, trust_by_variance
from zerokin.classifiers.prototype_network import Training, network_prototypes
from zerokin.errors import InvalidInput


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def problem(seed, *, bent):
    """Classes whose means are a linear or a bent function of their semantics."""
    rng = np.random.default_rng(seed)
    d_z, d_f = int(rng.integers(3, 6)), int(rng.integers(9, 17))
    Z = rng.normal(size=(int(rng.integers(70, 90)), d_z))
    first, last = rng.normal(size=(d_z, d_f)), rng.normal(size=(d_z, d_f))
    means = np.abs(Z @ first) if bent else Z @ first + 0.1 * last[0]
    seen = np.sort(rng.permutation(len(Z))[: int(0.8 * len(Z))])
    return Z, means, seen


@pytest.mark.parametrize("seed", range(2))
def test_classes_that_were_not_seen_are_met_where_no_line_meets_them(seed):
    Z, means, seen = problem(seed, bent=True)
    new = np.setdiff1d(np.arange(len(Z)), seen)
    found = network_prototypes(unit(Z), means[seen], seen)
    W = np.linalg.lstsq(np.c_[unit(Z), np.ones(len(Z))][seen], unit(means[seen]), rcond=None)[0]
    line = unit(np.c_[unit(Z), np.ones(len(Z))] @ W)

    def cosine(prototypes):
        return (prototypes[new] * unit(means[new])).sum(axis=1).mean()

    assert cosine(found) > cosine(line) + 0.02
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)


def test_same_seed_same_prototypes_and_unseen_classes_have_no_say():
    Z, means, seen = problem(4, bent=False)
    found = network_prototypes(unit(Z), means[seen], seen, random_state=3)
    np.testing.assert_array_equal(
        found, network_prototypes(unit(Z), means[seen], seen, random_state=3)
    )
    assert not np.allclose(found, network_prototypes(unit(Z), means[seen], seen, random_state=5))
    other = unit(Z).copy()
    new = np.setdiff1d(np.arange(len(Z)), seen)
    other[new] = unit(np.random.default_rng(1).normal(size=other[new].shape))
    np.testing.assert_allclose(
        network_prototypes(other, means[seen], seen, random_state=3)[seen], found[seen], atol=1e-5
    )


def test_means_count_by_direction_and_order_does_not_count():
    Z, means, seen = problem(5, bent=False)
    lengths = np.random.default_rng(0).uniform(0.5, 4, (len(seen), 1))
    found = network_prototypes(unit(Z), means[seen], seen)
    np.testing.assert_allclose(
        network_prototypes(unit(Z), lengths * means[seen], seen), found, atol=1e-4
    )


def test_where_semantics_say_nothing_few_steps_or_a_strong_decay_are_chosen():
    rng = np.random.default_rng(7)
    noise = Training(rng.normal(size=(31, 6)), rng.normal(size=(31, 9)), 0).choose()
    Z = rng.normal(size=(90, 6))
    told = Training(Z, Z @ rng.normal(size=(6, 9)), 0).choose()
    assert noise.steps < told.steps
    assert noise.steps < 30


def test_every_class_is_held_out_once():
    for n in (2, 3, 23):
        folds = Training(np.eye(n), np.eye(n), 1).folds.numpy()
        assert set(np.unique(folds)) == set(range(min(n, 4)))
        assert np.ptp(np.bincount(folds)) <= 1


def test_one_class_alone_teaches_nothing():
    with pytest.raises(InvalidInput, match="at least two seen classes"):
        network_prototypes(np.eye(2), np.ones((1, 3)), np.array([0]))
    # Equal means, and equal semantics: there is no direction to learn, and none is made up.
    for Z, means in ((np.eye(3), np.ones((2, 4))), (np.ones((3, 2)), np.eye(4)[:2])):
        assert np.isfinite(network_prototypes(Z, means, np.array([0, 1]))).all()


@pytest.mark.parametrize("seed", range(3))
def test_variance_is_that_of_the_gaussian_process(seed):
    """Against the joint covariance: by Schur complement, one class left out in turn."""
    rng = np.random.default_rng(seed)
    n, noise = int(rng.integers(9, 14)), float(rng.uniform(0.3, 2))
    places = rng.normal(size=(n, 2))
    K = 3 * np.exp(-((places[:, None] - places) ** 2).sum(axis=2))
    seen = np.sort(rng.permutation(n)[: n - 4])
    new = np.setdiff1d(np.arange(n), seen)

    def variance(c, known):
        A = K[np.ix_(known, known)] + noise * np.eye(len(known))
        return K[c, c] + noise - K[c, known] @ np.linalg.solve(A, K[known, c])

    left_out = np.mean([variance(c, seen[seen != c]) for c in seen])
    for exponent in (0.5, 1.0):
        found = trust_by_variance(K[:, seen], seen, 3.0, noise, exponent)
        expected = [(left_out / variance(c, seen)) ** exponent for c in new]
        np.testing.assert_allclose(found[new], expected)
        np.testing.assert_array_equal(found[seen], 1)


def test_a_class_with_kin_is_trusted_more():
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(12, 5))
    Z[10] = Z[0] + 0.05 * rng.normal(size=5)
    Z = np.c_[Z, np.zeros(12)]
    Z[11] = np.eye(6)[5]
    y = np.repeat(np.arange(10), 6)
    X = Z[y] @ rng.normal(size=(6, 14)) + 0.2 * rng.normal(size=(60, 14))
    model = ZeroShotClassifier(feature_scaling="unit", seen_penalty=0.0).fit(X, y, semantics=Z)
    assert semantic_trust(model, 0.0) is None
    trust = semantic_trust(model, 1.0)
    assert trust[10] > 1.2 * trust[11]
    shots, labels = X[[0, 7]] + 0.1, [10, 11]
    prototypes = {}
    for exponent in (0.0, 1.0):
        few = FewShotClassifier(model, kappa=2.0, variance_exponent=exponent)
        few.fit(X, y, semantics=Z, shots=shots, shot_labels=labels)
        prototypes[exponent] = few.prototypes_
        np.testing.assert_array_equal(few.prototypes_[:10], prototypes[0.0][:10])
    F = unit(shots)
    for c, shot in ((10, F[0]), (11, F[1])):
        mixed = unit(2.0 * trust[c] * model.prototypes_[c] + shot)
        np.testing.assert_allclose(prototypes[1.0][c], mixed, atol=1e-9)


def test_network_and_average_take_the_place_of_projected_semantics():
    rng = np.random.default_rng(9)
    Z = rng.normal(size=(15, 4))
    y = np.repeat(np.arange(11), 7)
    X = Z[y] @ rng.normal(size=(4, 13)) + 0.3 * rng.normal(size=(77, 13))
    settings = ZeroShotClassifier(feature_scaling="center-unit", hub_weight=0.0)
    of = {
        kind: FewShotClassifier(settings, semantic_prototypes=kind, kappa=1e12)
        .fit(X, y, semantics=Z)
        .prototypes_
        for kind in ("projection", "network", "average")
    }
    F = unit(X - X.mean(axis=0))
    means = np.array([F[y == c].mean(axis=0) for c in range(11)])
    network = network_prototypes(unit(Z), means, np.arange(11))
    np.testing.assert_allclose(of["network"][11:], network[11:], atol=1e-4)
    assert not np.allclose(of["network"][11:], of["projection"][11:], atol=1e-3)
    np.testing.assert_allclose(
        of["average"][11:], unit(of["projection"] + of["network"])[11:], atol=1e-6
    )
    with pytest.raises(InvalidInput, match="semantic_prototypes must be one of projection"):
        FewShotClassifier(semantic_prototypes="networks").fit(X, y, semantics=Z)
