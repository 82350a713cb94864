"""Manifold mixup: hidden states and losses of two images, interpolated alike."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from training_parts import (
    CLASSES,
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
from zerokin.features.networks import FeatureNetwork, HierarchyHead, create_backbone
from zerokin.features.networks.mixup import Stages, mix_neighbors
from zerokin.features.training import train
from zerokin.features.training.manifold_mixup import Mixup, draw_mixup
from zerokin.features.training.rng import augmentation_generator
from zerokin.features.training.run import TrainingRun

SWAPPED = [1, 0, 3, 2, 5, 4]
ROWS = np.array([3, 17, 8, 1, 20, 11])


def staged(*, head="superclass-heads", normalized=True, seed=0):
    """Return the tiny network as two stages, with a place to mix at between them."""
    learned = network(head=head, normalized=normalized, seed=seed)
    half = len(learned.backbone.model) // 2
    model = learned.backbone.model
    parts = [torch.nn.Sequential(*model[:half]), torch.nn.Sequential(*model[half:])]
    learned.backbone.model = Stages(*parts, mixed_before=(1,))
    learned.backbone.mixup_places = 2
    return learned


def learn(learned, settings, **options):
    return train(learned, source(), targets(), settings, device="cpu", quiet=True, **options)


def step_with(places, wanted):
    """Return a step that mixes at a place, not too little."""
    for step in range(200):
        found = draw_mixup(1.0, places, seed=0, step=step)
        if found.place == wanted and 0.1 < found.share < 0.9:
            return step, found
    raise AssertionError("no such step")


def mixed_by_hand(learned, view, mixup):
    """Pass images through backbone and head, mixing as the formula says."""
    x = learned.backbone.normalize(view)
    if mixup.place == 0:
        x = mixup.share * x + (1 - mixup.share) * x[SWAPPED]
    first, second = learned.backbone.model
    hidden = first(x)
    if mixup.place == 1:
        hidden = mixup.share * hidden + (1 - mixup.share) * hidden[SWAPPED]
    features = second(hidden).mean((2, 3))
    return features, learned.head(features)


@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_shares_are_of_the_beta_distribution_and_places_even(alpha):
    drawn = [draw_mixup(alpha, 3, seed=5, step=step) for step in range(4000)]
    shares = np.array([one.share for one in drawn])
    assert shares.mean() == pytest.approx(0.5, abs=0.02)
    assert shares.var() == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.08)
    places = np.bincount([one.place for one in drawn]) / len(drawn)
    np.testing.assert_allclose(places, 1 / 3, atol=0.03)
    assert drawn[:9] == [draw_mixup(alpha, 3, seed=5, step=step) for step in range(9)]


def test_mixing_is_the_formula_for_every_sample():
    rng = torch.Generator().manual_seed(0)
    hidden = torch.rand(6, 3, 2, 5, generator=rng, dtype=torch.float64)
    own = torch.tensor([0.3, 1.0, 0.0, 0.7, 0.5, 0.9], dtype=torch.float64)
    found = mix_neighbors(hidden, own).numpy()
    for k, other in enumerate(SWAPPED):
        expected = own[k] * hidden[k] + (1 - own[k]) * hidden[other]
        np.testing.assert_allclose(found[k], expected, atol=1e-12)


def test_mixed_states_stay_channels_last():
    hidden = torch.rand(6, 5, 4, 7).contiguous(memory_format=torch.channels_last)
    hidden.requires_grad_()
    mixed = mix_neighbors(hidden, torch.full((6,), 0.3))
    assert mixed.is_contiguous(memory_format=torch.channels_last)
    mixed.square().sum().backward()
    assert hidden.grad.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("name", ["conv4", "resnet12", "wrn28-10", "small", "resnet10t"])
def test_mixing_at_the_input_is_plain_mixup_of_the_images(name):
    options = {"width": 4} if name in ("conv4", "resnet12", "small") else {}
    backbone = create_backbone(name, weights=None, **options).eval()
    view = torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    shares = torch.ones(backbone.mixup_places, 4)
    shares[0] = 0.3
    mixed = 0.3 * view + 0.7 * view[[1, 0, 3, 2]]
    with torch.no_grad():
        found, expected = backbone(view, shares), backbone(mixed)
    torch.testing.assert_close(found.features, expected.features, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["conv4", "resnet12", "wrn28-10"])
def test_a_share_of_one_everywhere_changes_no_bit(name):
    options = {} if name == "wrn28-10" else {"width": 4}
    backbone = create_backbone(name, weights=None, **options)
    assert backbone.mixup_places == 4
    view = torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        assert torch.equal(backbone(view, torch.ones(4, 4)).features, backbone(view).features)


@pytest.mark.parametrize("place", [1, 2, 3])
def test_each_place_lies_between_two_blocks(place):
    backbone = create_backbone("resnet12", weights=None, width=4).eval()
    view = torch.rand(4, 3, 40, 40, generator=torch.Generator().manual_seed(1))
    shares = torch.ones(4, 4)
    shares[place] = 0.4
    with torch.no_grad():
        hidden = backbone.normalize(view)
        for number, block in enumerate(backbone.model):
            if number == place:
                hidden = 0.4 * hidden + 0.6 * hidden[[1, 0, 3, 2]]
            hidden = block(hidden)
        found = backbone(view, shares).maps
    torch.testing.assert_close(found, hidden, atol=1e-5, rtol=1e-5)


def cross_entropy(logits, wanted):
    """Mean of log Σ exp − the logit of the right one."""
    each = logits.logsumexp(1) - logits[torch.arange(len(logits)), torch.as_tensor(wanted)]
    return each.mean()


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("turns", [0.0, 0.6])
def test_losses_and_gradients_are_those_of_the_formula(place, turns):
    learned, expected = staged(), staged()
    step, mixup = step_with(2, place)
    settings = recipe(manifold_mixup=1.0, rotation_weight=turns, layer_weight=0.3)
    run = TrainingRun(learned, source(), targets(), settings, None, "cpu")
    shown = source().batch(ROWS)
    run.shared.train()
    found = run.learn_from(shown, ROWS, step=step, part=0)

    drawn = settings.augmentation.draw(6, augmentation_generator(seed=0, step=step))
    view = training_view(shown, drawn, SIDE)
    own = labels(24)[ROWS]
    other, lam = own[SWAPPED], mixup.share

    def supervised(outputs, wanted):
        return cross_entropy(outputs.classes, wanted) + 0.3 * cross_entropy(
            outputs.layers[0], PARENTS[wanted]
        )

    if not turns:
        _, outputs = mixed_by_hand(expected, view, mixup)
        total = lam * supervised(outputs, own) + (1 - lam) * supervised(outputs, other)
    else:
        # One pass over both halves: batch norm sees them together.
        quarters = [0, 1, 2, 3, 0, 1]
        copies = torch.stack(
            [torch.rot90(v, k, dims=(1, 2)) for v, k in zip(view, quarters, strict=True)]
        )
        x = expected.backbone.normalize(torch.cat([view, copies]))
        swapped = [*SWAPPED, *range(6, 12)]

        def mix(hidden):
            mixed = lam * hidden + (1 - lam) * hidden[swapped]
            return torch.cat([mixed[:6], hidden[6:]])

        first, second = expected.backbone.model
        hidden = first(mix(x) if place == 0 else x)
        features = second(mix(hidden) if place == 1 else hidden).mean((2, 3))
        outputs, turned = expected.head(features[:6]), expected.head(features[6:])
        telling = functional.linear(features[6:], torch.zeros(4, 8))  # it starts from zeros
        total = lam * supervised(outputs, own) + (1 - lam) * supervised(outputs, other)
        total = total + turns * (supervised(turned, own) + cross_entropy(telling, quarters))
        assert float(found["rotation"]) == pytest.approx(np.log(4), abs=1e-6)
        assert float(found["copies"]) == pytest.approx(supervised(turned, own).item(), abs=1e-5)
    total.backward()
    assert float(found["total"]) == pytest.approx(total.item(), abs=1e-5)
    wanted = {name: value.grad for name, value in expected.named_parameters()}
    assert max(value.abs().max() for value in wanted.values()) > 1e-2
    for name, value in learned.named_parameters():
        if not name.startswith("rotation_head."):
            torch.testing.assert_close(value.grad, wanted[name], atol=1e-5, rtol=1e-4)


def test_a_step_with_a_patch_is_not_mixed():
    settings = recipe(manifold_mixup=1.0, cutmix_prob=0.5)
    run = TrainingRun(staged(), source(), targets(), settings, None, "cpu")
    shown = source().batch(ROWS)
    views = [run.augmenter.make_batch(shown, step, 0) for step in range(40)]
    patched = [one.cutmix is not None for one in views]
    assert 5 < sum(patched) < 35
    for one, has_patch in zip(views, patched, strict=True):
        assert (one.mixup == Mixup(place=0, share=1.0)) == has_patch
        assert one.shares(2).min() == (1.0 if has_patch else pytest.approx(one.mixup.share))
        own = one.cutmix.share(SIDE) if has_patch else 1 - one.mixup.share
        assert one.others_share() == pytest.approx(own)


@pytest.mark.parametrize("cut", [2, 3])
@pytest.mark.parametrize("turns", [0.0, 0.7])
def test_parts_of_a_batch_add_up_to_it(cut, turns):
    ends = []
    for accumulation in (1, cut):
        learned = staged(normalized=False)
        settings = recipe(
            accumulation=accumulation,
            manifold_mixup=2.0,
            rotation_weight=turns,
            batch_size=12,
            lr=0.05,
        )
        learn(learned, settings)
        ends.append(weights(learned))
    assert furthest(ends[0], weights(staged(normalized=False))) > 1e-2
    assert furthest(*ends) < 1e-6


@pytest.mark.parametrize("head", ["cnn-rnn", "end-to-end", "classes"])
def test_all_heads_learn_from_mixed_images(head):
    learned = network(head=head)
    history = learn(
        learned,
        recipe(
            manifold_mixup=2.0,
            rotation_weight=0.5,
            epochs=25,
            batch_size=12,
            lr=0.05,
            schedule="constant",
        ),
    )
    assert history[-1].loss["total"] < 0.85 * history[0].loss["total"]
    assert learned.rotation_head is None


def test_a_teacher_is_shown_the_same_mixture():
    learned, teacher = staged(), staged(seed=3)
    settings = recipe(manifold_mixup=1.0, distillation=1.0, temperature=1.0, layer_weight=0.0)
    step, mixup = step_with(2, 1)
    run = TrainingRun(learned, source(), targets(), settings, None, "cpu", None, teacher)
    shown = source().batch(ROWS)
    run.shared.train()
    found = run.learn_from(shown, ROWS, step=step, part=0)["distillation"]
    drawn = settings.augmentation.draw(6, augmentation_generator(seed=0, step=step))
    view = training_view(shown, drawn, SIDE)
    said = mixed_by_hand(teacher.eval(), view, mixup)[1].classes.log_softmax(1)
    answer = mixed_by_hand(staged().train(), view, mixup)[1].classes.log_softmax(1)
    expected = (said.exp() * (said - answer)).sum(1).mean()
    assert float(found) == pytest.approx(expected.item(), abs=1e-5)
    assert float(found) > 1e-3


@pytest.mark.parametrize(("batch_size", "accumulation"), [(7, 1), (12, 4)])
def test_odd_parts_are_refused(batch_size, accumulation):
    settings = recipe(manifold_mixup=1.0, batch_size=batch_size, accumulation=accumulation)
    with pytest.raises(InvalidInput, match="manifold_mixup goes from image to image in pairs"):
        learn(network(), settings)


def test_drop_block_works_beside():
    backbone = create_backbone("resnet12", weights=None, width=4, drop_block=0.2, dropout=0.1)
    learned = FeatureNetwork(backbone, HierarchyHead(40, CLASSES, [2], mode="superclass-heads"))
    settings = recipe(
        manifold_mixup=2.0, rotation_weight=0.5, label_smoothing=0.1, epochs=1, image_size=40
    )
    history = learn(learned, settings)
    assert np.isfinite(list(history[0].loss.values())).all()


def test_another_mixup_is_another_training(tmp_path):
    learn(network(), recipe(epochs=1), folder=tmp_path)
    with pytest.raises(InvalidInput, match=r"manifold_mixup 0\.0 there, 2\.0 here"):
        learn(network(), recipe(epochs=1, manifold_mixup=2.0), folder=tmp_path)
