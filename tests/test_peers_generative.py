"""CVAE and f-CLSWGAN: their losses against transcriptions, and what they generate."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from zerokin.benchmark.peers import PEERS
from zerokin.benchmark.peers.conse import softmax_regression
from zerokin.benchmark.peers.cvae import negative_elbo
from zerokin.benchmark.peers.f_clswgan import (
    FCLSWGAN,
    critic_loss,
    feature_gradients,
    generator_loss,
)
from zerokin.benchmark.peers.generative import SLOPE, batches, descent, forward, random_layers
from zerokin.benchmark.peers.training_set import TrainingSet
from zerokin.errors import InvalidInput

both = pytest.mark.parametrize("name", ["cvae", "f-clswgan"])


@pytest.fixture(params=range(3))
def drawn(request):
    """Layers of a critic and a batch in float64, all sizes drawn."""
    rng = np.random.default_rng(request.param)
    n, d_f, d_z, width = rng.integers(2, 9, size=4)
    critic = [
        (rng.normal(size=(d_f + d_z, width)), rng.normal(size=width)),
        (rng.normal(size=(width, 1)), rng.normal(size=1)),
    ]
    real, made = rng.normal(size=(2, n, d_f))
    return rng, critic, real, made, rng.normal(size=(n, d_z))


def tensors(*arrays):
    return [torch.from_numpy(array) for array in arrays]


def layers_of(critic):
    return [tuple(tensors(W, b)) for W, b in critic]


def realness(critic, f, s):
    """Return what a critic says of one feature, unit by unit."""
    (W, b), (w, c) = critic
    said = c[0]
    for unit in range(len(b)):
        hidden = b[unit] + sum(x * W[i, unit] for i, x in enumerate([*f, *s]))
        said += w[unit, 0] * (hidden if hidden > 0 else SLOPE * hidden)
    return said


def slope(critic, f, s):
    """Return the gradient with respect to a feature by central differences."""
    steps = 1e-6 * np.eye(len(f))
    return np.array([realness(critic, f + h, s) - realness(critic, f - h, s) for h in steps]) / 2e-6


def test_layers_are_those_of_a_loop(drawn):
    _, critic, real, _, S = drawn
    said = forward(layers_of(critic), *tensors(real, S)).numpy()
    assert said.shape == (len(real), 1)
    for f, s, value in zip(real, S, said[:, 0], strict=True):
        assert value == pytest.approx(realness(critic, f, s))


def test_gradients_of_the_critic_are_finite_differences(drawn):
    _, critic, real, _, S = drawn
    found = feature_gradients(layers_of(critic), *tensors(real, S)).numpy()
    for f, s, gradient in zip(real, S, found, strict=True):
        np.testing.assert_allclose(gradient, slope(critic, f, s), atol=1e-6)


def test_loss_of_the_critic_is_its_formula(drawn):
    rng, critic, real, made, S = drawn
    share, penalty = rng.random((len(real), 1)), 3.0
    expected = 0.0
    for f, g, s, a in zip(real, made, S, share[:, 0], strict=True):
        steepness = np.linalg.norm(slope(critic, a * f + (1 - a) * g, s))
        distance = realness(critic, f, s) - realness(critic, g, s)
        expected += (penalty * (steepness - 1) ** 2 - distance) / len(real)
    loss = critic_loss(layers_of(critic), *tensors(real, made, S, share), penalty)
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_gradient_of_the_penalty_is_that_of_differentiating_twice(drawn):
    _, critic, real, _, S = drawn
    layers = layers_of(critic)
    for layer in layers:
        for weight in layer:
            weight.requires_grad_()
    F, S = tensors(real, S)
    F.requires_grad_()
    (twice,) = torch.autograd.grad(forward(layers, F, S).sum(), F, create_graph=True)
    weights = [layers[0][0], layers[1][0]]
    found, expected = (
        torch.autograd.grad(((slopes.norm(dim=1) - 1) ** 2).mean(), weights)
        for slopes in (feature_gradients(layers, F.detach(), S), twice)
    )
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_loss_of_the_generator_is_its_formula(drawn):
    rng, critic, _, made, S = drawn
    logits, labels = rng.normal(size=(len(made), 4)), rng.integers(4, size=len(made))
    expected = 0.0
    for g, s, row, label in zip(made, S, logits, labels, strict=True):
        probability = np.exp(row[label]) / sum(np.exp(value) for value in row)
        expected += (-2.5 * np.log(probability) - realness(critic, g, s)) / len(made)
    loss = generator_loss(layers_of(critic), *tensors(made, S, logits, labels), 2.5)
    assert loss.item() == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(3))
def test_elbo_is_the_integral_that_defines_it(seed):
    """Its divergence is E_q[log q − log p], a square: exact by three nodes of Gauss and Hermite."""
    rng = np.random.default_rng(seed)
    n, d_f, d = rng.integers(2, 9, size=3)
    F, decoded = rng.normal(size=(2, n, d_f))
    mean, log_variance = rng.normal(size=(2, n, d))
    nodes, shares = np.polynomial.hermite_e.hermegauss(3)
    shares = shares / shares.sum()
    expected = 0.0
    for row in range(n):
        expected += np.sum((F[row] - decoded[row]) ** 2) / (2 * 0.7 * n)
        for m, v in zip(mean[row], log_variance[row], strict=True):
            z = m + np.exp(v / 2) * nodes
            log_q, log_p = -(nodes**2) / 2 - v / 2, -(z**2) / 2
            expected += shares @ (log_q - log_p) / n
    loss = negative_elbo(*tensors(F, decoded, mean, log_variance), 0.7)
    assert loss.item() == pytest.approx(expected)


def test_descent_is_adam_whose_rate_falls_to_zero():
    draw = torch.Generator().manual_seed(0)
    layers = random_layers([3, 2], draw)
    start = [weight.detach().clone() for weight in layers[0]]
    step = descent(layers, 0.1, 4)
    for t in range(6):
        before = layers[0][1].detach().clone()
        step(layers[0][0].sum() + layers[0][1].sum())
        moved = before - layers[0][1].detach()  # a constant gradient: Adam moves by its rate
        torch.testing.assert_close(
            moved, torch.full((2,), 0.1 * max(0, 1 - t / 4)), atol=1e-6, rtol=0
        )
    torch.testing.assert_close(start[0] - layers[0][0], torch.full((3, 2), 0.25), atol=1e-5, rtol=0)


def test_batches_pass_over_all_samples_in_new_orders():
    draw = torch.Generator().manual_seed(1)
    rows = list(batches(11, 4, 2, draw))
    assert [len(batch) for batch in rows] == [4, 4, 3] * 2
    first, second = torch.cat(rows[:3]), torch.cat(rows[3:])
    assert sorted(first.tolist()) == sorted(second.tolist()) == list(range(11))
    assert first.tolist() != second.tolist()


@pytest.fixture(scope="module")
def linear():
    """Classes around a linear image of their semantics; five of them are unseen."""
    rng = np.random.default_rng(5)
    Z, image = rng.normal(size=(32, 4)), rng.normal(size=(4, 17))
    y = rng.permutation(np.repeat(np.arange(32), 21))
    F = Z[y] @ image + 0.4 * rng.normal(size=(len(y), 17))
    seen = y < 27
    return F[seen], y[seen], Z, F[~seen], y[~seen]


@both
def test_generated_features_lie_near_those_of_their_class(name, linear):
    F, y, Z, F_unseen, y_unseen = linear
    peer = PEERS[name](n_epochs=40).fit(F, y, Z)
    generated = peer.generate(Z[27:] / peer.training_.semantic_scale) * peer.training_.feature_scale
    assert generated.shape == (5, peer.n_generated, 17)
    means = np.stack([F_unseen[y_unseen == c].mean(axis=0) for c in range(27, 32)])
    distances = np.linalg.norm(generated[:, :, None] - means, axis=-1)  # (k, n, k)
    own = distances.argmin(axis=-1) == np.arange(5)[:, None]
    assert own.mean() > 0.8
    away = np.linalg.norm(generated.mean(axis=1) - means, axis=1)
    apart = np.linalg.norm(means[:, None] - means, axis=-1)[~np.eye(5, dtype=bool)]
    assert away.max() < apart.mean() / 2
    scores = peer.scores(F_unseen)
    assert np.mean(scores[:, 27:].argmax(axis=1) == y_unseen - 27) > 0.8
    # All classes compete, with real samples of seen classes: chance is 1/32.
    assert np.mean(scores.argmax(axis=1) == y_unseen) > 0.5
    assert np.mean(peer.scores(F).argmax(axis=1) == y) > 0.5


@both
def test_the_classifier_is_trained_once_for_a_fit(name, linear):
    F, y, Z, F_unseen, _ = linear
    peer = PEERS[name](n_epochs=1).fit(F, y, Z)
    assert peer.classifier_ is None
    first = peer.scores(F_unseen)
    classifier = peer.classifier_
    np.testing.assert_array_equal(peer.scores(F_unseen), first)
    assert peer.classifier_ is classifier
    again = peer.fit(F, y, Z, random_state=1).scores(F_unseen)
    assert peer.classifier_ is not classifier
    assert not np.array_equal(again, first)


@both
def test_other_draws_of_torch_change_nothing(name, linear):
    F, y, Z, F_unseen, _ = linear
    torch.manual_seed(0)
    first = PEERS[name](n_epochs=1).fit(F, y, Z).scores(F_unseen)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    np.testing.assert_array_equal(PEERS[name](n_epochs=1).fit(F, y, Z).scores(F_unseen), first)
    assert torch.equal(torch.get_rng_state(), state)


@both
def test_classes_may_all_be_seen(name, linear):
    F, y, Z, F_unseen, _ = linear
    assert PEERS[name](n_epochs=1).fit(F, y, Z[:27]).scores(F_unseen).shape == (len(F_unseen), 27)


@both
@pytest.mark.parametrize("value", [np.nan, -1e9])
def test_divergence_is_one_line(name, linear, value):
    F, y, Z, F_unseen, _ = linear
    peer = PEERS[name](n_epochs=1).fit(F, y, Z)
    peer.generator_[-1][1][3] = value
    with pytest.raises(InvalidInput, match=f"{name} diverged: lower its learning_rate"):
        peer.scores(F_unseen)


def test_classification_loss_pulls_generated_features_into_their_class(linear):
    F, y, Z, *_ = linear
    seen = softmax_regression(TrainingSet.from_samples(F, y, Z), 0.1)

    def cross_entropy(class_weight):
        peer = FCLSWGAN(n_epochs=10, class_weight=class_weight, penalty=0.0, learning_rate=3e-3)
        peer.fit(F, y, Z)
        made = peer.generate(peer.training_.S).reshape(-1, 17)
        scores = made @ seen[0] + seen[1]
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return -scores[np.arange(len(made)), np.arange(27).repeat(peer.n_generated)].mean()

    assert cross_entropy(100.0) < cross_entropy(0.0) / 2
