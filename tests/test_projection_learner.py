"""The estimator: shared state, ways to give semantics, both projections, errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from zerokin.errors import InvalidInput
from zerokin.projection import FeatureSpectrum, ProjectionLearner, spectrum


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    labels = rng.integers(6, size=120)
    prototypes = rng.normal(size=(6, 9))
    F = prototypes[labels] @ rng.normal(size=(9, 15)) + rng.normal(size=(120, 15))
    return F, prototypes, labels


def learned(learner):
    return learner.W_, learner.E_, learner.objective_


def assert_same(one, other, **tolerance):
    for a, b in zip(learned(one), learned(other), strict=True):
        np.testing.assert_allclose(a, b, **(tolerance or {"rtol": 1e-9, "atol": 1e-9}))


def test_shared_state_gives_what_a_fresh_fit_gives(data, monkeypatch):
    F, prototypes, labels = data
    shared = FeatureSpectrum(F)
    ProjectionLearner(0.3, 0.6, 0.2).fit(F, prototypes, labels=labels, spectrum=shared)

    def forbidden(*args, **kwargs):
        raise AssertionError("the graph was built twice")

    with monkeypatch.context() as patch:
        patch.setattr(spectrum, "linked_samples", forbidden)
        second = ProjectionLearner(0.7, 0.4, 0.5).fit(
            F.copy(), prototypes, labels=labels, spectrum=shared
        )
    assert_same(second, ProjectionLearner(0.7, 0.4, 0.5).fit(F, prototypes, labels=labels), rtol=0)


def test_samples_semantics_and_prototypes_with_labels_are_the_same_problem(data):
    F, prototypes, labels = data
    with_labels = ProjectionLearner().fit(F, prototypes, labels=labels)
    assert_same(with_labels, ProjectionLearner().fit(F, prototypes[labels]))
    unused = np.vstack([np.ones((1, 9)), prototypes])
    assert_same(with_labels, ProjectionLearner().fit(F, unused, labels=labels + 1))
    assert with_labels.E_.shape == (120, 9)


def test_any_rank_past_half_the_features_is_learned():
    rng = np.random.default_rng(7)
    F, E = rng.normal(size=(175, 18)), rng.normal(size=(11, 10))[rng.integers(11, size=175)]
    learner = ProjectionLearner(0.5, 0.5, 0.1, n_neighbors=6, max_iter=3, tol=0.0).fit(F, E)
    W, found, L = learner.W_, learner.E_, learner.laplacian_
    left = found @ (0.25 * W.T @ W + 0.5 * np.eye(10)) + 0.1 * (L @ found)
    np.testing.assert_allclose(left, 0.5 * F @ W + 0.25 * E, atol=1e-8)


def test_arrays_take_the_type_asked_for_or_that_of_the_features(data):
    F, prototypes, labels = data
    for given, asked, expected in (
        (np.float64, None, np.float64),
        (np.float32, None, np.float32),
        (np.float64, "float32", np.float32),
        (np.float32, "float64", np.float64),
    ):
        learner = ProjectionLearner(dtype=asked).fit(F.astype(given), prototypes, labels=labels)
        assert {learner.W_.dtype, learner.E_.dtype} == {np.dtype(expected)}


def test_semantics_that_differ_for_every_sample(data):
    F, prototypes, labels = data
    E = prototypes[labels] + 0.1 * np.random.default_rng(1).normal(size=(120, 9))
    learner = ProjectionLearner(epsilon=0.0, max_iter=1).fit(F, E)
    W = learner.W_
    system = 0.25 * W.T @ W + 0.5 * np.eye(9)
    np.testing.assert_allclose(learner.E_ @ system, 0.5 * F @ W + 0.25 * E, atol=1e-9)


def test_order_of_samples_does_not_matter(data):
    F, prototypes, labels = data
    order = np.random.default_rng(1).permutation(len(F))
    straight = ProjectionLearner().fit(F, prototypes, labels=labels)
    mixed = ProjectionLearner().fit(F[order], prototypes, labels=labels[order])
    np.testing.assert_allclose(mixed.W_, straight.W_, atol=1e-8)
    np.testing.assert_allclose(mixed.E_, straight.E_[order], atol=1e-8)
    np.testing.assert_allclose(mixed.objective_, straight.objective_, rtol=1e-10)


def test_stops_when_the_objective_stands_still_or_at_the_limit(data):
    F, prototypes, labels = data
    learner = ProjectionLearner(max_iter=200, tol=1e-3).fit(F, prototypes, labels=labels)
    values = learner.objective_
    share = -np.diff(values) / values[:-1]
    assert len(values) // 2 == learner.n_iter_ < 200
    assert np.all(share[:-1] > 1e-3)
    assert share[-1] <= 1e-3
    limited = ProjectionLearner(max_iter=2, tol=0.0).fit(F, prototypes, labels=labels)
    assert limited.n_iter_ == 2
    assert len(limited.objective_) == 5


def test_fixed_semantics_take_one_exact_step(data):
    F, prototypes, labels = data
    learner = ProjectionLearner(0.4, learn_semantics=False, epsilon=0.0, gamma=0.1)
    learner.fit(F, prototypes, labels=labels)
    E = prototypes[labels]
    left = 0.6 * F.T @ F + 0.1 * np.eye(15)
    residual = left @ learner.W_ + learner.W_ @ (0.4 * E.T @ E) - F.T @ E
    np.testing.assert_allclose(residual, 0, atol=1e-9)
    np.testing.assert_allclose(learner.E_, E, atol=1e-12)
    assert len(learner.objective_) == 2
    assert learner.laplacian_ is None


def test_projects_both_ways(data):
    F, prototypes, labels = data
    learner = ProjectionLearner().fit(F, prototypes, labels=labels)
    np.testing.assert_array_equal(learner.transform(F), F @ learner.W_)
    np.testing.assert_array_equal(learner.project_semantics(prototypes), prototypes @ learner.W_.T)
    nearest = np.linalg.norm(F[:, None] - learner.project_semantics(prototypes), axis=2)
    assert np.mean(nearest.argmin(axis=1) == labels) > 0.9


def test_a_graph_of_ones_own(data):
    F, prototypes, labels = data
    shared = FeatureSpectrum(F)
    own = ProjectionLearner(n_neighbors=3).fit(
        F, prototypes, labels=labels, laplacian=shared.laplacian(8)
    )
    assert_same(own, ProjectionLearner(n_neighbors=8).fit(F, prototypes, labels=labels), rtol=0)
    assert own.laplacian_.shape == (120, 120)


def test_is_a_scikit_learn_estimator(data):
    F, prototypes, labels = data
    learner = ProjectionLearner(0.3, 0.4, 0.0, gamma=0.5, max_iter=3)
    copy = clone(learner).set_params(alpha=0.6)
    assert copy.get_params() == {**learner.get_params(), "alpha": 0.6}
    with pytest.raises(NotFittedError, match="call fit first"):
        copy.transform(F)
    assert copy.fit(F, prototypes, labels=labels) is copy
    assert copy.n_features_in_ == 15


def test_graph_duplicates_and_integers(data):
    F, prototypes, labels = data
    twice = np.repeat(np.rint(F * 10).astype(int), 20, axis=0)
    learner = ProjectionLearner(n_neighbors=5).fit(twice, prototypes, labels=labels.repeat(20))
    assert np.isfinite(learner.W_).all()
    assert np.all(np.diff(learner.objective_) <= 1e-12 * learner.objective_[0])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"alpha": 1.0}, "alpha must be a number from 0 to below 1: got 1.0"),
        ({"alpha": -0.1}, "alpha must be a number from 0 to below 1"),
        ({"alpha": "half"}, "alpha must be a number from 0 to below 1: got 'half'"),
        ({"alpha": float("nan")}, "alpha must be a number from 0 to below 1: got nan"),
        ({"beta": 0}, "beta must be a number above 0 and at most 1: got 0"),
        ({"beta": 1.5}, "beta must be a number above 0 and at most 1"),
        ({"epsilon": -1}, "epsilon must be a number of at least 0: got -1"),
        ({"gamma": -1}, "gamma must be a number of at least 0: got -1"),
        ({"max_iter": 0}, "max_iter must be a whole number from 1: got 0"),
        ({"tol": -1e-3}, "tol must be a number of at least 0"),
        ({"n_neighbors": 0}, "n_neighbors must be a whole number"),
        ({"dtype": "float16"}, "dtype must be one of float32, float64"),
        ({"device": "gpu"}, "device='gpu' cannot be used"),
    ],
)
def test_wrong_parameters_are_named(data, wrong, message):
    F, prototypes, labels = data
    with pytest.raises(InvalidInput, match=message):
        ProjectionLearner(**wrong).fit(F, prototypes, labels=labels)


def test_wrong_arrays_are_named(data):
    F, prototypes, labels = data
    learner = ProjectionLearner()
    broken = F.copy()
    broken[7, 3] = np.nan
    with pytest.raises(InvalidInput, match="F holds nan in row 7, column 3"):
        learner.fit(broken, prototypes, labels=labels)
    with pytest.raises(InvalidInput, match="F must be a matrix"):
        learner.fit(F[:, 0], prototypes, labels=labels)
    with pytest.raises(InvalidInput, match="E has 6 rows but F 120"):
        learner.fit(F, prototypes)
    with pytest.raises(InvalidInput, match="labels must be 120 whole numbers"):
        learner.fit(F, prototypes, labels=labels[:-1])
    with pytest.raises(InvalidInput, match=r"labels\[2\] is 6, but E has rows 0 to 5"):
        learner.fit(F, prototypes, labels=np.r_[0, 0, 6, labels[3:]])
    with pytest.raises(InvalidInput, match="E is zero everywhere"):
        learner.fit(F, 0 * prototypes, labels=labels)
    with pytest.raises(InvalidInput, match="spectrum was made of other features"):
        learner.fit(F, prototypes, labels=labels, spectrum=FeatureSpectrum(F + 1))
    with pytest.raises(InvalidInput, match="spectrum has dtype 'float32' but the learner"):
        ProjectionLearner(dtype="float64").fit(
            F, prototypes, labels=labels, spectrum=FeatureSpectrum(F, dtype="float32")
        )
    learner.fit(F, prototypes, labels=labels)
    with pytest.raises(InvalidInput, match=r"F has 14 columns, but .* learned for 15 features"):
        learner.transform(F[:, 1:])


def test_wrong_laplacians_are_named(data):
    F, prototypes, labels = data

    def fit(laplacian):
        ProjectionLearner().fit(F, prototypes, labels=labels, laplacian=laplacian)

    with pytest.raises(InvalidInput, match="must be a SciPy sparse array"):
        fit(np.eye(120))
    with pytest.raises(InvalidInput, match=r"shape \(3, 3\), but F has 120 rows"):
        fit(sp.eye_array(3))
    with pytest.raises(InvalidInput, match="not symmetric"):
        fit(sp.csr_array(np.triu(np.full((120, 120), -1.0))))
    for wrong in (5, 1 + 1e-5, -1e-9):
        with pytest.raises(InvalidInput, match="not that of a graph, normalized"):
            fit(wrong * sp.eye_array(120))
    beside = sp.eye_array(120) + sp.csr_array(([1e-5, 1e-5], ([0, 1], [1, 0])), shape=(120, 120))
    with pytest.raises(InvalidInput, match="not that of a graph, normalized"):
        fit(beside)
    with pytest.raises(InvalidInput, match="values that are not finite"):
        fit(sp.eye_array(120) * np.inf)


def test_laplacians_are_taken_up_to_rounding(data):
    F, prototypes, labels = data
    exact = FeatureSpectrum(F).laplacian(4)
    rough = exact.tocsr(copy=True)
    rough.data *= 1 + 1e-7 * np.random.default_rng(0).uniform(size=len(rough.data))
    one = ProjectionLearner().fit(F, prototypes, labels=labels, laplacian=exact)
    other = ProjectionLearner().fit(F, prototypes, labels=labels, laplacian=rough)
    assert_same(one, other, rtol=1e-4, atol=1e-4)
    alone = sp.csr_array((120, 120))  # no links at all: nothing to be smooth over
    free = ProjectionLearner(epsilon=0.3).fit(F, prototypes, labels=labels, laplacian=alone)
    assert_same(free, ProjectionLearner(epsilon=0.0).fit(F, prototypes, labels=labels))
