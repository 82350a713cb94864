"""Training on images with several labels: loss and LSTM chain against transcriptions in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import test_networks_chain as of_chain
from zerokin import ClassHierarchy, load_dataset
from zerokin.errors import InvalidInput
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.networks import HierarchyHead
from zerokin.features.networks.head_outputs import HeadOutputs
from zerokin.features.networks.label_losses import asymmetric_loss, label_set_loss
from zerokin.features.training import Recipe
from zerokin.features.training.label_sets import label_set_targets

SIZES = np.random.default_rng(11).integers(2, 9, (4, 4)).tolist()
"""Drawn: positions of a map in height and width, classes, superclasses."""


def loss_of_one(logits, labels, focus, margin):
    """The asymmetric loss of one image, class by class."""
    total = 0.0
    for logit, label in zip(logits, labels, strict=True):
        p = 1 / (1 + np.exp(-logit))
        q = max(p - margin, 0.0)
        total -= label * np.log(p) + (1 - label) * q**focus * np.log(1 - q)
    return total


@pytest.mark.parametrize(("B", "n", "focus", "margin"), [
    (3, 7, 4.0, 0.05), (5, 2, 1.5, 0.2), (2, 13, 0.0, 0.0),
])  # fmt: skip
def test_the_asymmetric_loss_is_its_formula(B, n, focus, margin):
    rng = np.random.default_rng(n)
    logits, labels = 3 * rng.normal(size=(B, n)), rng.random((B, n)) < 0.4
    given = torch.tensor(logits, requires_grad=True)
    found = asymmetric_loss(
        given, torch.tensor(labels, dtype=given.dtype), focus=focus, margin=margin
    )
    one_by_one = [loss_of_one(*row, focus, margin) for row in zip(logits, labels, strict=True)]
    assert found.item() == pytest.approx(np.mean(one_by_one))
    if focus == margin == 0:
        usual = torch.nn.functional.binary_cross_entropy_with_logits(
            given, torch.tensor(labels, dtype=given.dtype), reduction="sum"
        )
        assert found.item() == pytest.approx(usual.item() / B)


def test_logits_of_any_size_have_finite_losses_and_gradients():
    logits = torch.tensor([[1e4, -1e4, 0.0]], requires_grad=True)
    for labels in (torch.zeros(1, 3), torch.ones(1, 3)):
        asymmetric_loss(logits, labels).backward()
        assert torch.isfinite(logits.grad).all()


def test_layers_are_weighted_and_named():
    rng = np.random.default_rng(3)
    classes, one, two, linear, linear_two = (rng.normal(size=(4, n)) for n in (7, 5, 3, 5, 3))
    Y, above = (rng.random((4, n)) < 0.5 for n in (7, 8))
    as_tensor = torch.from_numpy
    outputs = HeadOutputs(
        as_tensor(classes),
        (as_tensor(one), as_tensor(two)),
        (as_tensor(linear), as_tensor(linear_two)),
    )
    total, parts = label_set_loss(
        outputs, as_tensor(Y).double(), as_tensor(above).double(), (0.25, 2.0), class_weight=0.5
    )

    def mean(logits, labels):
        rows = zip(logits, labels, strict=True)
        return np.mean([loss_of_one(*row, 4.0, 0.05) for row in rows])

    expected = {
        "classes": mean(classes, Y),
        "layer 1": mean(one, above[:, :5]),
        "layer 2": mean(two, above[:, 5:]),
        "layer 1 linear": mean(linear, above[:, :5]),
        "layer 2 linear": mean(linear_two, above[:, 5:]),
    }
    assert {name: part.item() for name, part in parts.items()} == pytest.approx(expected)
    weights = dict(zip(expected, (0.5, 0.25, 2.0, 0.25, 2.0), strict=True))
    assert total.item() == pytest.approx(sum(weights[name] * expected[name] for name in expected))


@pytest.mark.parametrize("scaling", [False, True])
@pytest.mark.parametrize(("height", "width", "n_seen", "above"), SIZES)
def test_the_chain_reads_sigmoids_of_pooled_maps(
    monkeypatch, height, width, n_seen, above, scaling
):
    torch.manual_seed(0)
    layers = [above + 1, above]
    head = HierarchyHead(4, n_seen, layers, hidden=3, input_scaling=scaling, sigmoid=True).double()
    maps = torch.randn(2, 4, height, width, dtype=torch.float64)
    outputs = head(maps.mean(dim=(2, 3)), maps)
    values = {name: value.detach().numpy() for name, value in head.named_parameters()}

    def pooled(name, row):
        each = [
            of_chain.times(values[f"{name}.weight"], maps[row, :, y, x].numpy())
            + values[f"{name}.bias"]
            for y in range(height)
            for x in range(width)
        ]
        return np.log(np.mean(np.exp(each), axis=0))

    # The transcription of the chain, with sigmoids in the place of softmax; they are never scaled.
    monkeypatch.setattr(of_chain, "softmax", of_chain.sigmoid)
    for row in range(2):
        classes = pooled("class_head", row)
        own = [pooled(f"layer_heads.{layer}", row) for layer in range(2)]
        chained = of_chain.chained_logits(head, classes, own, scaling=False)
        for got, want in zip(
            (outputs.classes, *outputs.layers, *outputs.auxiliary),
            (classes, *chained, *own),
            strict=True,
        ):
            np.testing.assert_allclose(got[row].detach(), want, rtol=0, atol=1e-10)


def test_an_image_has_the_superclasses_of_its_classes():
    data = load_dataset("critters-scenes")
    tree = ClassHierarchy.from_semantics(data.semantics, 3)
    found = label_set_targets(data, tree)
    labels = data.training_label_matrix()
    np.testing.assert_array_equal(found.classes, labels[:, data.seen])
    start = 0
    for layer, size in enumerate(tree.sizes, start=1):
        nodes = tree.labels(layer)
        for row in range(0, len(labels), 97):
            expected = np.isin(np.arange(size), nodes[labels[row]])
            np.testing.assert_array_equal(found.layers[row, start : start + size], expected)
        start += size
    assert found.layers.shape == (len(labels), start)


@pytest.mark.parametrize("mode", ["cnn-rnn", "superclass-heads", "classes"])
def test_a_network_learns_several_labels_and_is_saved(tmp_path, mode):
    data = load_dataset("critters-scenes")
    recipe = Recipe(epochs=0, image_size=32)
    learner = FeatureLearner("conv4", mode, weights=None, recipe=recipe).prepare(data)
    assert learner.network_.head.sigmoid
    learner.save(tmp_path / "model")
    loaded = FeatureLearner.load(tmp_path / "model")
    assert loaded.network_.head.sigmoid
    images = torch.rand(2, 3, 32, 32)
    for got, want in zip(
        loaded.network_(images)[1], learner.network_.eval()(images)[1], strict=True
    ):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize(("mode", "recipe", "line"), [
    ("end-to-end", {}, "mode 'end-to-end' learns one label an image, and here are several: choose"),
    ("classes", {"label_smoothing": 0.1}, "label_smoothing 0.1 is for one label an image"),
    ("classes", {"distillation": 0.5}, "distillation 0.5 is for one label an image"),
])  # fmt: skip
def test_what_learns_one_label_alone_is_refused(mode, recipe, line):
    learner = FeatureLearner("conv4", mode, weights=None, recipe=Recipe(epochs=1, **recipe))
    with pytest.raises(InvalidInput, match=line):
        learner.fit(load_dataset("critters-scenes"))
