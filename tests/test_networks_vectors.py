"""Networks over ready features: against formulas in NumPy, their gradients and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from zerokin.errors import InvalidInput
from zerokin.features.networks import create_backbone, save_weights

DRAWN = np.random.default_rng(7)


@pytest.fixture
def float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def numbers(backbone):
    return {name: value.detach().numpy() for name, value in backbone.model.state_dict().items()}


def drawn(name, *, scaling="standardize", depth=1, seed=0, **options):
    """A backbone of drawn sizes whose weights are all drawn, and features for it."""
    rng = np.random.default_rng(seed)
    d_in, width, n = (int(size) for size in rng.integers(3, 12, 3))
    torch.manual_seed(seed)
    backbone = create_backbone(
        name, d_in=d_in, width=width, depth=depth, scaling=scaling, **options
    )
    with torch.no_grad():
        for value in backbone.parameters():
            value.normal_()
    features = rng.normal(3, 2, (n, d_in))
    backbone.model.scaling.learn(features, np.arange(n))
    return backbone.eval(), features


def plain_scaled(features, scaling):
    """Sample by sample, number by number."""
    n, d_in = features.shape
    if scaling == "none":
        return features
    if scaling == "unit":
        lengths = [sum(number**2 for number in row) ** 0.5 for row in features]
        return np.array([row / ln * d_in**0.5 for row, ln in zip(features, lengths, strict=True)])
    means = [sum(column) / n for column in features.T]
    spreads = [
        (sum((x - m) ** 2 for x in column) / n) ** 0.5
        for column, m in zip(features.T, means, strict=True)
    ]
    return np.array(
        [[(x - m) / s for x, m, s in zip(row, means, spreads, strict=True)] for row in features]
    )


def plain_layers(x, weights, depth):
    for layer in range(depth):
        W, b = (weights[f"layers.{3 * layer}.{part}"] for part in ("weight", "bias"))
        x = np.maximum(W @ x + b, 0)
    return x


@pytest.mark.parametrize("scaling", ["standardize", "unit", "none"])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("name", ["adapter", "mlp"])
def test_features_are_those_of_the_formula(float64, name, depth, scaling):
    backbone, features = drawn(name, depth=depth, scaling=scaling, seed=depth)
    found = backbone(torch.from_numpy(features))
    weights = numbers(backbone)
    for row, x in enumerate(plain_scaled(features, scaling)):
        expected = plain_layers(x, weights, depth)
        if name == "adapter":
            last = f"layers.{3 * depth}"
            expected = x + weights[f"{last}.weight"] @ expected + weights[f"{last}.bias"]
        np.testing.assert_allclose(found.features[row].detach().numpy(), expected, rtol=1e-9)
    assert found.maps.shape == (*found.features.shape, 1, 1)
    assert found.features.shape[1] == backbone.d_f


@pytest.mark.parametrize("name", ["adapter", "mlp"])
def test_gradients(float64, name):
    backbone, features = drawn(name, depth=2, seed=11)
    assert torch.autograd.gradcheck(
        lambda x: backbone(x).features, torch.from_numpy(features).requires_grad_()
    )


@pytest.mark.parametrize("scaling", ["standardize", "unit", "none"])
def test_an_adapter_begins_with_the_features_as_they_are_scaled(float64, scaling):
    rng = np.random.default_rng(3)
    features = rng.normal(5, 3, (13, 6))
    backbone = create_backbone("adapter", d_in=6, scaling=scaling)
    backbone.model.scaling.learn(features, np.arange(13))
    found = backbone(torch.from_numpy(features)).features.detach().numpy()
    np.testing.assert_allclose(found, plain_scaled(features, scaling), rtol=1e-12)


def test_only_the_rows_given_say_how_features_are_scaled():
    rng = np.random.default_rng(5)
    features = rng.normal(size=(9_001, 3))  # over two blocks
    rows = np.flatnonzero(rng.random(9_001) < 0.9)
    backbone = create_backbone("mlp", d_in=3, width=2)
    backbone.model.scaling.learn(features, rows)
    np.testing.assert_allclose(backbone.model.scaling.mean, features[rows].mean(0), atol=1e-6)
    np.testing.assert_allclose(backbone.model.scaling.std, features[rows].std(0), rtol=1e-6)


def test_a_number_that_is_always_the_same_becomes_0():
    features = np.array([[2.0, 1.0], [2.0, 3.0]])
    backbone = create_backbone("adapter", d_in=2)
    backbone.model.scaling.learn(features, np.arange(2))
    assert backbone(torch.tensor(features).float()).features.tolist() == [[0, -1], [0, 1]]


@pytest.mark.parametrize("option", [{"noise": 0.7}, {"dropout": 0.6}])
def test_noise_and_dropout_are_of_the_training_alone(option):
    backbone, features = drawn("mlp", seed=2, **option)
    x = torch.from_numpy(features).float()
    assert torch.equal(backbone(x).features, backbone(x).features)
    backbone.train()
    assert not torch.equal(backbone(x).features, backbone(x).features)


def test_noise_has_the_spread_that_was_asked_for():
    backbone = create_backbone("adapter", d_in=40, noise=0.7, scaling="none").train()
    torch.manual_seed(0)
    found = backbone(torch.zeros(5_000, 40)).features
    assert found.std().item() == pytest.approx(0.7, abs=0.01)


def test_mixup_interpolates_the_features_that_are_given(float64):
    backbone, features = drawn("adapter", depth=2, seed=4)
    x = torch.from_numpy(np.resize(features, (6, features.shape[1])))
    share = 0.3
    pairs = x[[1, 0, 3, 2, 5, 4]]
    mixed = backbone(x, torch.full((1, 6), share)).features
    assert torch.allclose(mixed, backbone(share * x + (1 - share) * pairs).features)


def test_weights_come_back_with_the_scaling(tmp_path):
    backbone, features = drawn("adapter", seed=9)
    save_weights(backbone.model, tmp_path / "a.safetensors")
    again = create_backbone(
        "adapter",
        d_in=backbone.d_in,
        width=backbone.model.layers[0].out_features,
        weights=tmp_path / "a.safetensors",
    ).eval()
    x = torch.from_numpy(features).float()
    assert torch.equal(again(x).features, backbone(x).features)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"name": "adaptor", "d_in": 4}, "unknown backbone 'adaptor'; did you mean 'adapter'"),
        ({"name": "adapter"}, "adapter has to know the width of the features that it reads"),
        ({"name": "mlp", "d_in": 0}, "d_in must be a whole number from 1 to 32,768: got 0"),
        ({"name": "mlp", "d_in": 4, "dropout": 1.0}, "dropout must be .* below 1: got 1.0"),
        ({"name": "mlp", "d_in": 4, "noise": -1}, "noise must be .*: got -1"),
        ({"name": "mlp", "d_in": 4, "depth": 0}, "depth must be a whole number from 1 to 16"),
        ({"name": "mlp", "d_in": 4, "width": 2.5}, "width must be .*: got 2.5"),
        ({"name": "mlp", "d_in": 4, "scaling": "units"}, "scaling must be .*did you mean 'unit'"),
        ({"name": "mlp", "d_in": 4, "widths": 3}, "mlp does not take that option"),
        ({"name": "mlp", "d_in": 4, "input_size": 224}, "leave out input_size"),
        ({"name": "mlp", "d_in": 4, "weights": "hub"}, "the hub has no weights for mlp"),
        ({"name": "mlp", "d_in": 4, "weights": "packaged"}, "no packaged weights for 'mlp'"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(settings, line):
    settings = dict(settings)
    with pytest.raises(InvalidInput, match=line) as refused:
        create_backbone(settings.pop("name"), **settings)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("shape", [(3,), (3, 5), (2, 3, 8, 8)])
def test_other_inputs_are_refused(shape):
    backbone = create_backbone("adapter", d_in=4)
    with pytest.raises(InvalidInput, match=r"this adapter reads features \(B, 4\): got"):
        backbone(torch.zeros(shape))
