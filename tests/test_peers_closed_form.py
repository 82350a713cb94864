"""Peers with a closed form, against solvers that know nothing of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_sylvester

from zerokin.benchmark.peers import PEERS
from zerokin.benchmark.peers.training_set import TrainingSet

N, D_F, D_Z, P = 60, 7, 5, 9


@pytest.fixture(params=["fewer semantics than classes", "fewer classes than semantics"])
def problem(request):
    d_z = D_Z if request.param.startswith("fewer semantics") else P + 4
    rng = np.random.default_rng(4)
    y = np.concatenate([np.arange(P), rng.integers(P, size=N - P)])
    return rng.normal(size=(N, D_F)), y, rng.normal(size=(P, d_z)), rng.normal(size=(11, D_F))


def scaled(F, y, Z, test):
    """Return the arrays as a peer sees them, and E, the semantics of each sample."""
    training = TrainingSet.from_samples(F, y, Z)
    return training.F, training.S[y], training.S, test / training.feature_scale


def cosines(A, B):
    return np.array([[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in B] for a in A])


def stationary(objective, W, *, step=1e-4, tol=1e-5):
    """Tell whether no coordinate of W lowers the objective: central differences are zero."""
    slopes = []
    for at in np.ndindex(W.shape):
        up, down = W.copy(), W.copy()
        up[at] += step
        down[at] -= step
        slopes.append((objective(up) - objective(down)) / (2 * step))
    return np.abs(slopes).max() < tol * max(1, abs(objective(W)))


@pytest.mark.parametrize("lam", [0.05, 1.0, 20.0])
def test_sae_solves_its_sylvester_equation(problem, lam):
    F, E, S, test = scaled(*problem)
    W = solve_sylvester(lam * F.T @ F, E.T @ E, (1 + lam) * F.T @ E)
    encoded = PEERS["sae-f2s"](lam=lam).fit(*problem[:3])
    decoded = PEERS["sae-s2f"](lam=lam).fit(*problem[:3])
    np.testing.assert_allclose(encoded.map_.whole, W, atol=1e-8)
    np.testing.assert_allclose(encoded.scores(problem[3]), cosines(test @ W, S), atol=1e-8)
    np.testing.assert_allclose(decoded.scores(problem[3]), cosines(test, S @ W.T), atol=1e-8)


def test_sae_minimizes_its_objective(problem):
    F, E, _, _ = scaled(*problem)
    W = PEERS["sae-f2s"](lam=0.7).fit(*problem[:3]).map_.whole
    assert stationary(lambda W: np.sum((F - E @ W.T) ** 2) + 0.7 * np.sum((F @ W - E) ** 2), W)


def test_eszsl_minimizes_its_objective(problem):
    F, _, S, test = scaled(*problem)
    Y = np.array([[float(label == c) for c in range(P)] for label in problem[1]])
    peer = PEERS["eszsl"](gamma=2.0, lam=0.3).fit(*problem[:3])

    def objective(V):
        fit = np.sum((F @ V @ S.T - Y) ** 2)
        return fit + 2 * np.sum((V @ S.T) ** 2) + 0.3 * np.sum((F @ V) ** 2) + 0.6 * np.sum(V**2)

    assert stationary(objective, peer.map_.whole)
    np.testing.assert_allclose(peer.scores(problem[3]), test @ peer.map_.whole @ S.T, atol=1e-10)


def test_ridges_are_least_squares_with_rows_added(problem):
    F, E, S, test = scaled(*problem)

    def ridge(inputs, targets, gamma):
        d = inputs.shape[1]
        rows = np.vstack([inputs, np.sqrt(gamma) * np.eye(d)])
        return np.linalg.lstsq(rows, np.vstack([targets, np.zeros((d, targets.shape[1]))]))[0]

    forward = PEERS["ridge"](gamma=3.0).fit(*problem[:3]).scores(problem[3])
    np.testing.assert_allclose(forward, cosines(test @ ridge(F, E, 3.0), S), atol=1e-8)
    backward = PEERS["ridge-s2f"](gamma=3.0).fit(*problem[:3]).scores(problem[3])
    np.testing.assert_allclose(backward, cosines(test, S @ ridge(E, F, 3.0)), atol=1e-8)
