"""DeViSE, ALE, SJE and DEM, against their losses written as loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from zerokin.benchmark.peers import PEERS
from zerokin.benchmark.peers.ale import weighted_ranking
from zerokin.benchmark.peers.bilinear import BATCH, MOMENTUM, rank_by_gradients
from zerokin.benchmark.peers.dem import DEM
from zerokin.benchmark.peers.devise import hinge_rank
from zerokin.benchmark.peers.sje import structured_hinge
from zerokin.benchmark.peers.training_set import TrainingSet


def shortfalls(scores, label, margin):
    """Return max(0, margin + wrong − right) for every wrong class."""
    return [
        max(0.0, margin + score - scores[label]) for c, score in enumerate(scores) if c != label
    ]


def devise_loss(scores, label):
    return sum(shortfalls(scores, label, 0.1))


def sje_loss(scores, label):
    return max(shortfalls(scores, label, 1.0))


def ale_loss(scores, label):
    short = shortfalls(scores, label, 1.0)
    rank = sum(value > 0 for value in short)
    return sum(1 / k for k in range(1, rank + 1)) / rank * sum(short) if rank else 0.0


LOSSES = {
    "devise": (hinge_rank, devise_loss),
    "ale": (weighted_ranking, ale_loss),
    "sje": (structured_hinge, sje_loss),
}


@pytest.mark.parametrize("name", LOSSES)
def test_ranking_gradients_are_those_of_the_loss(name):
    gradient, loss = LOSSES[name]
    rng = np.random.default_rng(6)
    scores, labels = rng.normal(size=(20, 5)), rng.integers(5, size=20)
    scores[0, labels[0]] = 9.0  # beyond every margin: no loss
    got = gradient(torch.from_numpy(scores), torch.from_numpy(labels)).numpy()
    for row, label, found in zip(scores, labels, got, strict=True):
        for c in range(5):
            up, down = row.copy(), row.copy()
            up[c] += 1e-6
            down[c] -= 1e-6
            slope = (loss(up, label) - loss(down, label)) / 2e-6
            assert found[c] == pytest.approx(slope, abs=1e-4)
    assert not got[0].any()


def test_sje_shares_the_gradient_among_ties():
    tied = structured_hinge(torch.zeros(1, 4), torch.tensor([2]))
    np.testing.assert_allclose(tied.numpy(), [[1 / 3, 1 / 3, -1, 1 / 3]], rtol=1e-6)


@pytest.mark.parametrize("d_z", [3, 11])
def test_descent_in_the_row_space_is_descent_on_the_whole_matrix(d_z):
    rng = np.random.default_rng(7)
    F, y, Z = rng.normal(size=(300, 4)), rng.integers(6, size=300), rng.normal(size=(6, d_z))
    training = TrainingSet.from_samples(F, y, Z, random_state=5)
    [[found]] = rank_by_gradients(
        training, weighted_ranking, learning_rate=0.3, n_epochs=2, decays=[0.01]
    )
    W, velocity, step = np.zeros((4, d_z)), np.zeros((4, d_z)), 0
    generator = torch.Generator().manual_seed(5)
    n_steps = 2 * int(np.ceil(300 / BATCH))
    for _ in range(2):
        order = torch.randperm(300, generator=generator).numpy()
        for start in range(0, 300, BATCH):
            rows = order[start : start + BATCH]
            slope = np.zeros_like(W)
            scores = training.F[rows] @ W @ training.S.T
            residual = weighted_ranking(
                torch.from_numpy(scores), torch.from_numpy(training.labels[rows])
            ).numpy()
            for f, weights in zip(training.F[rows], residual, strict=True):
                for weight, s in zip(weights, training.S, strict=True):
                    slope += weight * np.outer(f, s) / len(rows)
            velocity = MOMENTUM * velocity + slope + 0.01 * W
            W = W - 0.3 * (1 - step / n_steps) * velocity
            step += 1
    np.testing.assert_allclose(found.whole, W, atol=1e-4 * np.abs(W).max())


@pytest.mark.parametrize("n_maps", [1, 3])
def test_decays_side_by_side_descend_as_each_does_alone(n_maps):
    rng = np.random.default_rng(17)
    F, y, Z = rng.normal(size=(211, 5)), rng.integers(7, size=211), rng.normal(size=(7, 4))
    training = TrainingSet.from_samples(F, y, Z, random_state=3)
    given = {"learning_rate": 0.7, "n_epochs": 3, "n_maps": n_maps}
    decays = [0.003, 0.05, 0.4]
    together = rank_by_gradients(training, weighted_ranking, decays=decays, **given)
    for decay, found in zip(decays, together, strict=True):
        [alone] = rank_by_gradients(training, weighted_ranking, decays=[decay], **given)
        assert len(found) == n_maps
        for one, other in zip(found, alone, strict=True):
            np.testing.assert_allclose(one.whole, other.whole, atol=1e-5 * np.abs(other.A).max())


@pytest.mark.parametrize("name", ["devise", "ale", "sje", "latem"])
def test_a_grid_learned_together_scores_as_single_fits_do(name):
    rng = np.random.default_rng(18)
    F, y, Z = rng.normal(size=(150, 5)), rng.integers(6, size=150), rng.normal(size=(6, 4))
    peer = PEERS[name]
    for point, fitted in peer.sweep(F, y, Z, random_state=2):
        alone = peer(**point).fit(F, y, Z, random_state=2).scores(F)
        np.testing.assert_allclose(fitted.scores(F), alone, atol=1e-4 * np.abs(alone).max())


def test_devise_ranks_unit_class_vectors():
    rng = np.random.default_rng(8)
    F, y, Z = rng.normal(size=(80, 4)), rng.integers(5, size=80), rng.normal(size=(5, 3))
    lengthened = Z * np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
    plain = PEERS["devise"]().fit(F, y, Z).scores(F)
    np.testing.assert_allclose(PEERS["devise"]().fit(F, y, lengthened).scores(F), plain, atol=1e-4)


def test_dem_among_few_classes_reaches_their_means():
    """It descends in coordinates of what the means span, and places classes among all features."""
    rng = np.random.default_rng(12)
    F, y, Z = rng.normal(size=(60, 23)), np.repeat(np.arange(5), 12), rng.normal(size=(5, 7))
    peer = DEM(n_hidden=40, n_steps=700, learning_rate=0.01, decay=0.0).fit(F, y, Z)
    means = np.array([F[y == c].mean(axis=0) for c in range(5)]) / peer._feature_scale
    far = F[::7] / peer._feature_scale
    squares = ((far[:, None] - means) ** 2).sum(axis=2)
    np.testing.assert_allclose(peer.scores(F[::7]), -squares, atol=0.01)
    # A decay that outweighs the loss leaves all classes at their common mean.
    heavy = DEM(n_hidden=40, n_steps=700, learning_rate=0.01, decay=10.0).fit(F, y, Z)
    assert np.ptp(heavy.scores(F[::7]), axis=1).max() < 0.01


def test_dem_on_class_means_is_dem_on_samples():
    """Its descent on means follows torch's own on the samples, layer by layer."""
    rng = np.random.default_rng(9)
    F, y, Z = rng.normal(size=(50, 4)), rng.integers(5, size=50), rng.normal(size=(6, 3))
    y[:5] = np.arange(5)
    peer = DEM(n_hidden=8, n_steps=30, learning_rate=0.02, decay=0.01)
    scores = peer.fit(F, y, Z, random_state=2).scores(F)

    training = TrainingSet.from_samples(F, y, Z)
    inputs = torch.from_numpy(training.S[training.labels] * 3**0.5).float()
    targets = torch.from_numpy(training.F * 4**0.5).float()
    network = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    first, _, last = network
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        first.weight.copy_((torch.randn(3, 8, generator=generator) * (2 / 3) ** 0.5).T)
        for zero in (first.bias, last.weight, last.bias):
            zero.zero_()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    for step in range(30):
        optimizer.param_groups[0]["lr"] = 0.02 * (1 - step / 30)
        squares = (first.weight**2).sum() + (last.weight**2).sum()
        loss = ((network(inputs) - targets) ** 2).mean() + 0.01 * squares
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        whole = torch.from_numpy(Z / training.semantic_scale * 3**0.5).float()
        placed = network(whole).numpy() / 4**0.5
    for f, row in zip(F / training.feature_scale, scores, strict=True):
        for place, score in zip(placed, row, strict=True):
            assert score == pytest.approx(-np.sum((f - place) ** 2), abs=1e-3)
