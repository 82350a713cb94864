"""DAP, ConSE and SynC, against scikit-learn and their formulas written as loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from zerokin.benchmark.peers import PEERS
from zerokin.benchmark.peers.conse import softmax_regression
from zerokin.benchmark.peers.linear_models import fit_linear_models
from zerokin.benchmark.peers.sync import one_vs_others
from zerokin.benchmark.peers.training_set import TrainingSet

P, C, D_F, D_Z = 6, 8, 5, 7


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(C, D_Z))
    y = np.repeat(np.arange(P), 12)
    F = Z[y] @ rng.normal(size=(D_Z, D_F)) + 1.5 * rng.normal(size=(len(y), D_F)) + 2.0
    return F, y, Z, rng.normal(size=(9, D_F)) + 2.0


@pytest.mark.parametrize("ridge", [0.3, 5.0])
def test_softmax_regression_is_scikit_learns(problem, ridge):
    training = TrainingSet.from_samples(*problem[:3])
    W, b = softmax_regression(training, ridge)
    other = LogisticRegression(C=1 / ridge, tol=1e-10, max_iter=5000).fit(
        training.F, training.labels
    )
    np.testing.assert_allclose(W, other.coef_.T, atol=0.01 * np.abs(W).max())
    np.testing.assert_allclose(b - b.mean(), other.intercept_ - other.intercept_.mean(), atol=0.05)


@pytest.mark.parametrize("curvature", [1e-5, 0.03, 40.0])
def test_lbfgs_reaches_the_minimum_from_any_guess_of_the_curvature(problem, curvature):
    """Much too low, so that first steps overshoot, and much too high."""
    training = TrainingSet.from_samples(*problem[:3])
    truth = torch.eye(P)[torch.from_numpy(training.labels)]
    W, _ = fit_linear_models(
        training,
        lambda scores: torch.softmax(scores, dim=1) - truth,
        P,
        curvature=curvature,
        bounded=False,
        ridge=0.6,
        tol=1e-4,
    )
    other = LogisticRegression(C=1 / 0.6, tol=1e-10, max_iter=5000)
    other.fit(training.F, training.labels)
    np.testing.assert_allclose(W, other.coef_.T, atol=0.01 * np.abs(W).max())


@pytest.mark.parametrize("lam", [0.5, 8.0])
def test_one_against_others_minimizes_its_objective(problem, lam):
    training = TrainingSet.from_samples(*problem[:3])
    W, b = one_vs_others(training, lam)

    def objective(W, b):
        total = lam / 2 * np.sum(W**2)
        for f, label in zip(training.F, training.labels, strict=True):
            signs = np.where(np.arange(P) == label, 1, -1)
            total += np.sum(np.maximum(0, 1 - signs * (f @ W + b)) ** 2)
        return total

    # liblinear minimizes ‖w‖²/2 + C Σ hinge², so C = 1 / λ; its bias is penalised a little.
    other = LinearSVC(C=1 / lam, dual=False, tol=1e-8, intercept_scaling=1000, max_iter=100_000)
    other.fit(training.F, training.labels)
    assert objective(W, b) <= objective(other.coef_.T, other.intercept_) * (1 + 1e-4)


def test_dap_is_the_product_of_its_attributes(problem):
    F, y, Z, test = problem
    Z = Z.copy()
    Z[:P, 2] = 1.0  # an attribute all seen classes share tells nothing
    peer = PEERS["dap"](ridge=0.8).fit(F, y, Z)
    training = TrainingSet.from_samples(F, y, Z)
    S, scale = training.S, training.semantic_scale
    expected = np.zeros((len(test), C))
    for m in range(D_Z):
        if m == 2:
            continue
        has = S[:, m] > S[:, m].mean()
        model = LogisticRegression(C=1 / 0.8, tol=1e-10, max_iter=5000)
        model.fit(training.F, has[training.labels])
        probability = model.predict_proba(test / training.feature_scale)[:, 1]
        for c in range(C):
            if Z[c, m] / scale > S[:, m].mean():
                expected[:, c] += np.log(probability / has.mean())
            else:
                expected[:, c] += np.log((1 - probability) / (1 - has.mean()))
    np.testing.assert_allclose(peer.scores(test), expected, atol=0.03)


@pytest.mark.parametrize("n_top", [1, 3, 100])
def test_conse_is_a_convex_combination(problem, n_top):
    F, y, Z, test = problem
    peer = PEERS["conse"](ridge=1.0, n_top=n_top).fit(F, y, Z)
    training = TrainingSet.from_samples(F, y, Z)
    for f, scores in zip(test / training.feature_scale, peer.scores(test), strict=True):
        logits = f @ peer.W_ + peer.b_
        probability = np.exp(logits) / np.exp(logits).sum()
        top = sorted(range(P), key=lambda c: -probability[c])[:n_top]
        place = sum(probability[c] * training.S[c] for c in top)
        place = place / sum(probability[c] for c in top)
        for z, score in zip(Z, scores, strict=True):
            cosine = place @ z / np.linalg.norm(place) / np.linalg.norm(z)
            assert score == pytest.approx(cosine, abs=1e-9)


@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_sync_mixes_phantoms_by_nearness(problem, sigma):
    F, y, Z, test = problem
    peer = PEERS["sync"](sigma=sigma, lam=2.0).fit(F, y, Z)
    training = TrainingSet.from_samples(F, y, Z)
    W, b = one_vs_others(training, 2.0)
    pairs = [np.sum((s - t) ** 2) for i, s in enumerate(training.S) for t in training.S[:i]]

    def weights(z):
        near = np.exp([-np.sum((z - s) ** 2) / (sigma**2 * np.mean(pairs)) for s in training.S])
        return near / near.sum()

    seen_weights = np.array([weights(s) for s in training.S])
    phantoms = np.linalg.solve(seen_weights, np.vstack([W, b]).T)
    scores = peer.scores(test)
    for c, z in enumerate(Z / training.semantic_scale):
        classifier = weights(z) @ phantoms
        expected = test / training.feature_scale @ classifier[:-1] + classifier[-1]
        np.testing.assert_allclose(scores[:, c], expected, atol=1e-6)
    # A seen class keeps the classifier it was fitted with.
    np.testing.assert_allclose(scores[:, :P], test / training.feature_scale @ W + b, atol=1e-6)
