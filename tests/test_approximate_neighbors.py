"""Approximate neighbors: recall as reported, graphs that are as good, and when they are taken."""

from __future__ import annotations

import numpy as np
import pytest

from zerokin.errors import InvalidInput
from zerokin.projection import (
    FeatureSpectrum,
    ProjectionLearner,
    approximate,
    nearest_neighbors,
    neighbor_graph,
    neighbors,
)
from zerokin.projection.neighbors import find_neighbors

with_library = pytest.mark.skipif(
    approximate.library() is None, reason="pynndescent is not installed"
)


def clustered(n, d=48, *, seed=0):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n // 40, d)) + rng.normal(size=d)
    F = np.maximum(means[rng.integers(len(means), size=n)] + rng.normal(size=(n, d)), 0)
    return F.astype(np.float32)


@pytest.mark.slow
@with_library
def test_recall_is_that_of_the_neighbors_found():
    F, k = clustered(2753), 9
    true, cosine = nearest_neighbors(F, k)
    found = find_neighbors(F, k, search="approximate")
    assert np.all(found.neighbors != np.arange(len(F))[:, None])
    assert all(len(set(row)) == k for row in found.neighbors.tolist())
    assert np.all(np.diff(found.similarity, axis=1) <= 0)
    share = np.mean([len(set(a) & set(b)) / k for a, b in zip(true, found.neighbors, strict=True)])
    # Measured on 1,000 of 2,753 rows: four standard errors of their mean.
    assert found.recall == pytest.approx(share, abs=0.01)
    assert share > 0.95
    unit = F.astype(float) / np.linalg.norm(F.astype(float), axis=1, keepdims=True)
    own = np.einsum("ij,ikj->ik", unit[:300], unit[found.neighbors[:300]])
    np.testing.assert_allclose(found.similarity[:300], own, atol=1e-6)
    assert np.all(found.similarity <= cosine + 1e-9)
    again = find_neighbors(F, k, search="approximate")
    np.testing.assert_array_equal(again.neighbors, found.neighbors)


@pytest.mark.slow
@with_library
def test_learner_reports_the_recall_of_its_graph(monkeypatch):
    monkeypatch.setattr(neighbors, "APPROXIMATE_FROM", 1200)
    F = clustered(1231)
    labels = np.arange(len(F)) % 7
    settings = {"max_iter": 2, "tol": 0.0}
    learner = ProjectionLearner(**settings).fit(F, np.eye(7), labels=labels)
    assert 0.9 < learner.graph_recall_ <= 1.0
    spectrum = FeatureSpectrum(F, neighbor_search="exact")
    exact = ProjectionLearner(**settings).fit(F, np.eye(7), labels=labels, spectrum=spectrum)
    assert exact.graph_recall_ == 1.0
    np.testing.assert_allclose(learner.W_, exact.W_, atol=0.02 * np.abs(exact.W_).max())
    bound = ProjectionLearner(**settings, memory_budget="1GiB").fit(F, np.eye(7), labels=labels)
    np.testing.assert_allclose(bound.W_, learner.W_, atol=1e-4 * np.abs(exact.W_).max())
    own = ProjectionLearner(**settings).fit(
        F, np.eye(7), labels=labels, laplacian=spectrum.laplacian(10)
    )
    assert own.graph_recall_ is None


@pytest.mark.slow
@with_library
def test_rows_of_zeros_and_crowds_of_equal_rows_have_neighbors():
    F = clustered(1583)
    F[::9] = F[0]
    F[::13] = 0
    found = find_neighbors(F, 5, search="approximate")
    assert np.isfinite(found.similarity).all()
    assert np.all(found.neighbors != np.arange(len(F))[:, None])
    np.testing.assert_allclose(found.similarity[::13], 0)
    graph = neighbor_graph(F, 5, search="approximate")
    assert abs(graph - graph.T).max() == 0


def test_candidates_that_lack_are_made_up_for(monkeypatch):
    F, k = clustered(211), 6
    rng = np.random.default_rng(3)

    def few(unit, n_neighbors):
        candidates = rng.integers(-1, len(unit), size=(len(unit), 9))
        candidates[::5, 2:] = -1
        candidates[3] = 3
        return candidates

    monkeypatch.setattr(neighbors, "approximate_neighbors", few)
    monkeypatch.setattr(neighbors, "library", lambda: "made up")
    found = find_neighbors(F, k, search="approximate")
    assert all(len(set(row)) == k for row in found.neighbors.tolist())
    assert np.all(found.neighbors != np.arange(len(F))[:, None])
    assert found.recall < 0.6


def test_few_samples_and_machines_without_the_library_search_exactly(monkeypatch):
    def forbidden(*_):
        raise AssertionError("searched approximately")

    F = clustered(301)
    monkeypatch.setattr(neighbors, "approximate_neighbors", forbidden)
    assert find_neighbors(F, 4, search="auto").recall == 1.0
    monkeypatch.setattr(neighbors, "APPROXIMATE_FROM", 300)
    monkeypatch.setattr(neighbors, "library", lambda: None)
    assert find_neighbors(F, 4, search="auto").recall == 1.0
    with pytest.raises(InvalidInput, match="needs pynndescent: pip install"):
        nearest_neighbors(F, 4, search="approximate")
    monkeypatch.setattr(neighbors, "library", lambda: "made up")
    assert find_neighbors(F, 4, search="auto", device="torch:cpu").recall == 1.0
    with pytest.raises(InvalidInput, match="needs device='cpu', and memory"):
        nearest_neighbors(F, 4, search="approximate", device="torch:cpu")
    with pytest.raises(InvalidInput, match="search must be one of auto, exact, approximate"):
        nearest_neighbors(F, 4, search="fast")
