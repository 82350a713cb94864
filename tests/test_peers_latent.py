"""CMT, LatEm and SSE, against their formulas in NumPy, sample by sample."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from zerokin.benchmark.peers import PEERS
from zerokin.benchmark.peers.bilinear import BATCH, MOMENTUM, START, rank_by_gradients
from zerokin.benchmark.peers.latem import mean_hinge
from zerokin.benchmark.peers.simplex import onto_simplex, simplex_mixtures
from zerokin.benchmark.peers.sse import SSE, margin_gradients
from zerokin.benchmark.peers.training_set import TrainingSet


@pytest.fixture
def problem():
    """Features (N, 5), labels with every one of 7 seen classes of 10, semantics (10, 4)."""
    rng = np.random.default_rng(12)
    y = np.concatenate([np.arange(7), rng.integers(7, size=153)])
    return rng.normal(size=(160, 5)), y, rng.normal(size=(10, 4)), rng.normal(size=(83, 5))


class Adam:
    """Adam as its paper writes it, with a learning rate that falls to zero linearly."""

    def __init__(self, *shapes, rate, n_steps):
        self.rate, self.n_steps, self.step = rate, n_steps, 0
        self.means = [np.zeros(shape) for shape in shapes]
        self.squares = [np.zeros(shape) for shape in shapes]

    def __call__(self, weights, slopes):
        rate = self.rate * (1 - self.step / self.n_steps)
        self.step += 1
        moved = []
        for i, (weight, slope) in enumerate(zip(weights, slopes, strict=True)):
            self.means[i] = 0.9 * self.means[i] + 0.1 * slope
            self.squares[i] = 0.999 * self.squares[i] + 0.001 * slope**2
            mean = self.means[i] / (1 - 0.9**self.step)
            square = self.squares[i] / (1 - 0.999**self.step)
            moved.append(weight - rate * mean / (np.sqrt(square) + 1e-8))
        return moved


def test_cmt_descends_on_its_squares(problem):
    F, y, Z, test = problem
    peer = PEERS["cmt"](n_hidden=6, n_epochs=3, learning_rate=0.05, decay=0.01)
    scores = peer.fit(F, y, Z, random_state=4).scores(test)

    training = TrainingSet.from_samples(F, y, Z)
    X, targets = training.F * 5**0.5, training.S * 4**0.5
    generator = torch.Generator().manual_seed(4)
    W1 = torch.randn(5, 6, generator=generator).numpy() / 5**0.5
    W2 = np.zeros((6, 4))
    adam = Adam(W1.shape, W2.shape, rate=0.05, n_steps=3 * 2)
    for _ in range(3):
        order = torch.randperm(160, generator=generator).numpy()
        for batch in (order[:BATCH], order[BATCH:]):
            slope1, slope2 = 2 * 0.01 * W1, 2 * 0.01 * W2
            for n in batch:
                hidden = np.tanh(X[n] @ W1)
                error = 2 * (hidden @ W2 - targets[training.labels[n]]) / (4 * len(batch))
                slope2 = slope2 + np.outer(hidden, error)
                slope1 = slope1 + np.outer(X[n], (W2 @ error) * (1 - hidden**2))
            W1, W2 = adam((W1, W2), (slope1, slope2))
    for f, row in zip(test / training.feature_scale * 5**0.5, scores, strict=True):
        place = np.tanh(f @ W1) @ W2 / 4**0.5
        expected = [-np.sum((place - z) ** 2) for z in Z / training.semantic_scale]
        np.testing.assert_allclose(row, expected, atol=1e-3)


def test_latem_has_the_gradient_of_its_loss():
    rng = np.random.default_rng(6)
    scores, labels = rng.normal(size=(19, 5)), rng.integers(5, size=19)
    scores[0, labels[0]] = 9.0  # beyond every margin: no loss

    def loss(row, label):
        return sum(max(0.0, 1 + row[c] - row[label]) for c in range(5) if c != label) / 4

    got = mean_hinge(torch.from_numpy(scores), torch.from_numpy(labels)).numpy()
    for row, label, found in zip(scores, labels, got, strict=True):
        for c in range(5):
            nudge = 1e-6 * (np.arange(5) == c)
            slope = (loss(row + nudge, label) - loss(row - nudge, label)) / 2e-6
            assert found[c] == pytest.approx(slope, abs=1e-4)
    assert not got[0].any()


@pytest.mark.parametrize("d_z", [3, 11])
def test_latem_moves_the_map_that_scored(d_z):
    """With fewer semantics than seen classes and with more."""
    rng = np.random.default_rng(7)
    F, y, Z = rng.normal(size=(300, 4)), rng.integers(6, size=300), rng.normal(size=(9, d_z))
    training = TrainingSet.from_samples(F, y, Z, random_state=5)
    [maps] = rank_by_gradients(
        training, mean_hinge, learning_rate=0.7, n_epochs=2, decays=[0.01], n_maps=3
    )
    found = [one.whole for one in maps]
    generator = torch.Generator().manual_seed(5)
    drawn = torch.randn(3, 4, d_z, generator=generator).double().numpy()
    rows = np.linalg.pinv(training.S) @ training.S  # the projection on the row space of S
    W, velocity, step = START * drawn @ rows, np.zeros((3, 4, d_z)), 0
    for _ in range(2):
        order = torch.randperm(300, generator=generator).numpy()
        for start in range(0, 300, BATCH):
            batch = order[start : start + BATCH]
            slope = 0.01 * W
            for n in batch:
                each = np.array([training.F[n] @ one @ training.S.T for one in W])  # (K, p)
                highest, label = each.max(axis=0), training.labels[n]
                for c in range(6):
                    if c != label and 1 + highest[c] - highest[label] > 0:
                        share = 1 / 5 / len(batch)
                        slope[each[:, c].argmax()] += share * np.outer(training.F[n], training.S[c])
                        slope[each[:, label].argmax()] -= share * np.outer(
                            training.F[n], training.S[label]
                        )
            velocity = MOMENTUM * velocity + slope
            W = W - 0.7 * (1 - step / 6) * velocity
            step += 1
    np.testing.assert_allclose(found, W, atol=1e-4 * np.abs(W).max())

    peer = PEERS["latem"](n_maps=3, decay=0.01, learning_rate=0.7, n_epochs=2)
    scores = peer.fit(F, y, Z, random_state=5).scores(F[:11])
    scaled, vectors = F[:11] / training.feature_scale, Z / training.semantic_scale
    expected = [[max(f @ one @ z for one in W) for z in vectors] for f in scaled]
    np.testing.assert_allclose(scores, expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("gamma", [0.003, 0.2, 5.0])
def test_mixtures_are_least_squares_on_the_simplex(gamma):
    rng = np.random.default_rng(8)
    S, Z = rng.normal(size=(7, 4)) + 3, rng.normal(size=(6, 4)) + 3
    found = simplex_mixtures(Z, S, gamma)
    for z, mixture in zip(Z, found, strict=True):
        other = minimize(
            lambda a, z=z: np.sum((z - a @ S) ** 2) + gamma * np.sum(a**2),
            np.full(7, 1 / 7),
            bounds=[(0, None)] * 7,
            constraints={"type": "eq", "fun": lambda a: a.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        np.testing.assert_allclose(mixture, other.x, atol=2e-4)
    assert np.all(found >= 0)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_nearest_points_of_the_simplex():
    rng = np.random.default_rng(9)
    rows = 2 * rng.normal(size=(13, 6))
    corners = np.eye(6)
    for row, near in zip(rows, onto_simplex(rows), strict=True):
        assert near.min() >= 0
        assert near.sum() == pytest.approx(1)
        # No direction towards a corner comes nearer: the condition of a projection.
        assert ((corners - near) @ (row - near)).max() <= 1e-12


def sse_loss(w, V, F, labels, S):
    """Return SSE's mean loss over samples, without decay."""
    d, total = len(w), 0.0
    for f, label in zip(F, labels, strict=True):
        scores = [w @ np.minimum(f, v) / d for v in V]
        for c in range(len(V)):
            if c != label:
                cosine = S[label] @ S[c] / np.linalg.norm(S[label]) / np.linalg.norm(S[c])
                total += max(0.0, 1 - cosine + scores[c] - scores[label])
    return total / len(F) / len(V)


def test_sse_has_the_gradients_of_its_loss():
    rng = np.random.default_rng(10)
    F, S, labels = rng.normal(size=(13, 5)), rng.normal(size=(4, 3)), rng.integers(4, size=13)
    w, V = rng.normal(size=5), rng.normal(size=(4, 5))
    unit = S / np.linalg.norm(S, axis=1, keepdims=True)
    arrays = map(torch.from_numpy, (w, V, F, labels, 1 - unit @ unit.T))
    of_w, of_V = (slope.numpy() for slope in margin_gradients(*arrays))
    assert np.any(of_w)
    assert np.any(of_V)
    for m in range(5):
        nudge = 1e-6 * (np.arange(5) == m)
        up, down = (sse_loss(w + by * nudge, V, F, labels, S) for by in (1, -1))
        assert of_w[m] == pytest.approx((up - down) / 2e-6, abs=1e-6)
    for at in np.ndindex(V.shape):
        nudge = np.zeros_like(V)
        nudge[at] = 1e-6
        up, down = (sse_loss(w, V + by * nudge, F, labels, S) for by in (1, -1))
        assert of_V[at] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_sse_scores_mixtures_and_seen_classes_are_corners(problem):
    F, y, Z, test = problem
    peer = SSE(n_steps=9, gamma=0.2).fit(F, y, Z)
    training = TrainingSet.from_samples(F, y, Z)
    mixtures = np.vstack(
        [np.eye(7), simplex_mixtures(Z[7:] / training.semantic_scale, training.S, 0.2)]
    )
    for f, row in zip(test / training.feature_scale * 5**0.5, peer.scores(test), strict=True):
        mixed = [peer.w_ @ np.minimum(f, v) / 5 for v in peer.V_]
        np.testing.assert_allclose(row, mixtures @ mixed, atol=1e-4 * np.abs(row).max())


def test_sse_descends_from_the_class_means_to_a_lower_loss(problem):
    F, y, Z, _ = problem
    training = TrainingSet.from_samples(F, y, Z)
    X = training.F * 5**0.5
    means = training.class_sums / training.counts[:, None] * 5**0.5
    at_start = sse_loss(np.zeros(5), means, X, training.labels, training.S)
    peer = SSE(n_steps=60, decay=0.0).fit(F, y, Z)
    assert sse_loss(peer.w_, peer.V_, X, training.labels, training.S) < 0.99 * at_start
    # A decay that outweighs the loss keeps w near zero.
    heavy = SSE(n_steps=60, decay=100.0).fit(F, y, Z)
    assert np.linalg.norm(heavy.w_) < 0.5 * np.linalg.norm(peer.w_)


def test_rectified_differences_would_rank_as_minima_do():
    """max(0, f − v) = f − min(f, v), and mixtures sum to one: the same for all classes."""
    rng = np.random.default_rng(11)
    f, w, V = rng.normal(size=5), rng.normal(size=5), rng.normal(size=(7, 5))
    mixtures = rng.dirichlet(np.ones(7), size=3)
    rectified = mixtures @ np.maximum(0, f - V) @ w
    minima = mixtures @ np.minimum(f, V) @ -w
    np.testing.assert_allclose(rectified - rectified[0], minima - minima[0], atol=1e-12)
