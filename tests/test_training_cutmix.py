"""Patches of other images, and labels that share the loss by their area."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from training_parts import (
    PARENTS,
    SIDE,
    furthest,
    labels,
    network,
    recipe,
    source,
    targets,
    weights,
)
from zerokin.errors import InvalidInput
from zerokin.features.input import training_view
from zerokin.features.training import train
from zerokin.features.training.cutmix import CutMixBox, apply_cutmix, draw_cutmix_box, neighbors
from zerokin.features.training.rng import augmentation_generator
from zerokin.features.training.run import TrainingRun


def learn(learned, settings, **options):
    return train(learned, source(), targets(), settings, device="cpu", quiet=True, **options)


def drawn_patches(probability, steps=2000):
    return [draw_cutmix_box(probability, seed=3, step=step) for step in range(steps)]


def test_patches_come_as_often_as_asked_for_and_the_same_again():
    share = np.mean([box is not None for box in drawn_patches(0.3)])
    assert share == pytest.approx(0.3, abs=0.04)
    assert drawn_patches(1.0, 50) == drawn_patches(1.0, 50)
    assert drawn_patches(0.0, 50) == [None] * 50
    # The probability decides whether there is one, not which.
    always = drawn_patches(1.0, 50)
    assert all(
        found in (None, there) for found, there in zip(drawn_patches(0.5, 50), always, strict=True)
    )


def test_patches_are_squares_of_even_area_cut_off_at_the_rim():
    patches = drawn_patches(1.0)
    rims = np.array([(p.top, p.left, p.bottom, p.right) for p in patches])
    assert rims.min() == 0
    assert rims.max() == 1
    whole = rims[(rims[:, :2] > 0).all(1) & (rims[:, 2:] < 1).all(1)]
    height, width = whole[:, 2] - whole[:, 0], whole[:, 3] - whole[:, 1]
    np.testing.assert_allclose(height, width, atol=1e-12)
    # The middle of each side is anywhere: as many patches touch one rim as its opposite.
    touching = (rims[:, :2] == 0).mean(0) - (rims[:, 2:] == 1).mean(0)
    assert np.abs(touching).max() < 0.05


@pytest.mark.parametrize("side", [4, 7, 20])
def test_a_share_is_the_share_of_pixels_that_change(side):
    view = torch.stack([torch.zeros(3, side, side), torch.ones(3, side, side)])
    for box in drawn_patches(1.0, 40):
        found = apply_cutmix(view, box)
        assert found[0].mean().item() == pytest.approx(box.share(side), abs=1e-6)
        assert found[1].mean().item() == pytest.approx(1 - box.share(side), abs=1e-6)


def test_pixels_come_from_the_other_one_of_the_pair():
    view = torch.rand(6, 3, 5, 5, generator=torch.Generator().manual_seed(1))
    given = view.clone()
    found = apply_cutmix(view, CutMixBox(0.2, 0.4, 0.6, 1.0)).numpy()
    expected = view.numpy().copy()
    for k, other in enumerate([1, 0, 3, 2, 5, 4]):
        expected[k, :, 1:3, 2:5] = view[other, :, 1:3, 2:5]
    assert np.array_equal(found, expected)
    assert torch.equal(view, given)
    assert neighbors(torch.empty(4, 0)).shape == (4, 0)  # no superclass layers


@pytest.mark.parametrize("options", [{}, {"rotation_weight": 0.7}])
def test_the_loss_is_shared_by_area_between_the_labels_of_both(options):
    learned = network(head="superclass-heads")
    settings = recipe(cutmix_prob=1.0, layer_weight=0.3, **options)
    run = TrainingRun(learned, source(), targets(), settings, None, "cpu")
    rows = np.array([3, 17, 8, 1, 20, 11])
    shown = source().batch(rows)
    run.shared.train()
    losses = run.learn_from(shown, rows, step=4, part=0)

    drawn = settings.augmentation.draw(6, augmentation_generator(seed=0, step=4))
    box = draw_cutmix_box(1.0, seed=0, step=4)
    view = training_view(shown, drawn, SIDE).numpy()
    y, x = box.pixels(SIDE)
    mixed = view.copy()
    mixed[:, :, y, x] = view[[1, 0, 3, 2, 5, 4]][:, :, y, x]
    share = np.mean(mixed != view) if box.share(SIDE) else 0.0
    assert 0.01 < share < 0.99
    if options:  # the whole image is turned, box and all
        quarters = (0, 1, 0, 2, 0, 3)
        mixed = np.stack(
            [np.rot90(v, k, axes=(1, 2)) for v, k in zip(mixed, quarters, strict=True)]
        )
    outputs = learned(torch.from_numpy(mixed))
    own = labels(24)[rows]
    other = own[[1, 0, 3, 2, 5, 4]]
    expected = {}
    for name, logits, mapped in (
        ("classes", outputs.classes, np.arange(10)),
        ("layer 1", outputs.layers[0], PARENTS),
    ):
        z = logits.detach().double().numpy()
        each = np.log(np.exp(z).sum(1, keepdims=True)) - z
        every, w = np.arange(6), box.share(SIDE)
        expected[name] = np.mean(
            (1 - w) * each[every, mapped[own]] + w * each[every, mapped[other]]
        )
    expected["total"] = expected["classes"] + 0.3 * expected["layer 1"]
    if options:  # the layer starts from zeros: all four are alike
        expected["rotation"] = np.log(4)
        expected["total"] += 0.7 * np.log(4)
    assert {k: float(v) for k, v in losses.items()} == pytest.approx(expected, abs=1e-5)


def test_parts_of_a_batch_add_up_to_it():
    ends = []
    for accumulation in (1, 3):
        learned = network(normalized=False)
        learn(learned, recipe(accumulation=accumulation, cutmix_prob=0.8, batch_size=12, lr=0.05))
        ends.append(weights(learned))
    plain = network(normalized=False)
    learn(plain, recipe(batch_size=12, lr=0.05))
    assert furthest(ends[0], weights(plain)) > 1e-3
    assert furthest(*ends) < 1e-6


def test_parts_that_do_not_fall_into_pairs_are_refused():
    with pytest.raises(InvalidInput, match=r"learns from 3 at a time: give an even batch_size"):
        learn(network(), recipe(cutmix_prob=0.5, batch_size=12, accumulation=4))
    learn(network(), recipe(epochs=1, batch_size=12, accumulation=4))


def test_other_patches_are_another_training(tmp_path):
    learn(network(), recipe(epochs=1), folder=tmp_path)
    with pytest.raises(InvalidInput, match=r"cutmix_prob 0\.0 there, 0\.5 here"):
        learn(network(), recipe(epochs=1, cutmix_prob=0.5), folder=tmp_path)
