"""Learning rates worked out by hand, and draws that depend on seed and step alone."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training_parts import network, recipe, records, source, targets, weights
from zerokin.errors import InvalidInput
from zerokin.features.training import Recipe, train
from zerokin.features.training.display import TrainingDisplay
from zerokin.features.training.ema import WeightEMA
from zerokin.features.training.log import TrainingLog
from zerokin.features.training.rng import augmentation_generator, epoch_order, seed_dropout
from zerokin.features.training.run import TrainingRun
from zerokin.features.training.schedule import image_size_at, rate

STEPS = 4


def rates(group="backbone", n=None, **settings):
    made = Recipe(lr=1.0, **settings)
    return [rate(made, s, STEPS, group=group) for s in range(n or made.epochs * STEPS)]


def test_cosine_by_hand():
    # cos 0, π/4, π/2, 3π/4 over the four steps of one epoch.
    half = sqrt(0.5)
    assert rates(epochs=1) == pytest.approx([1, (1 + half) / 2, 0.5, (1 - half) / 2])


def test_warm_restarts_by_hand():
    half = sqrt(0.5)
    cycle = [1, (1 + half) / 2, 0.5, (1 - half) / 2]
    found = rates(epochs=3, restart_epochs=1, restart_decay=0.9)
    assert found == pytest.approx([0.9**k * lr for k in range(3) for lr in cycle])


@given(
    st.integers(1, 40), st.integers(1, 9), st.floats(0.1, 1), st.integers(1, 30), st.floats(0, 0.9)
)
def test_warm_restarts_are_cosines_of_their_own(epochs, period, decay, steps, started):
    """Each cycle is a whole cosine schedule, the first one with the warm-up."""
    warmup = started * period
    made = Recipe(lr=0.3, epochs=epochs, warmup=warmup, restart_epochs=period, restart_decay=decay)
    for step in range(epochs * steps):
        cycle = step // (period * steps)
        alone = Recipe(lr=0.3, epochs=period, warmup=0 if cycle else warmup)
        expected = decay**cycle * rate(
            alone, step - cycle * period * steps, steps, group="backbone"
        )
        assert rate(made, step, steps, group="backbone") == pytest.approx(expected, abs=1e-12)


def test_heads_learn_faster():
    assert rates("head", epochs=2, head_multiplier=7) == pytest.approx(
        [7 * lr for lr in rates(epochs=2)]
    )


def test_constant_stays():
    assert rates(epochs=2, schedule="constant") == [1.0] * 8


def test_steps_fall_at_their_shares_of_the_training():
    found = rates(epochs=2, schedule="steps", milestones=(0.5, 0.75))
    assert found == pytest.approx([1, 1, 1, 1, 0.1, 0.1, 0.01, 0.01])


def test_warmup_rises_then_the_schedule_begins():
    # Halfway through each of four steps: 1/8, 3/8, 5/8, 7/8; then one epoch of cosine.
    half = sqrt(0.5)
    expected = [0.125, 0.375, 0.625, 0.875, 1, (1 + half) / 2, 0.5, (1 - half) / 2]
    assert rates(epochs=2, warmup=1) == pytest.approx(expected)
    assert rates(epochs=2, warmup=0.5, schedule="constant") == pytest.approx([0.25, 0.75] + [1] * 6)


def test_the_head_alone_learns_first():
    assert rates(epochs=2, head_first=1, schedule="constant") == [0.0] * 4 + [1.0] * 4
    assert rates("head", epochs=2, head_first=1, schedule="constant") == [10.0] * 8


def test_a_training_moves_the_head_alone_at_first():
    learned = network()
    before = weights(learned)
    made = recipe(epochs=1, head_first=1, frozen_batch_norm=True)
    train(learned, source(), targets(), made, device="cpu", quiet=True)
    after = weights(learned)
    assert all(torch.equal(before[k], after[k]) for k in before if k.startswith("backbone."))
    assert not torch.equal(before["head.class_head.weight"], after["head.class_head.weight"])


def test_the_logged_rates_are_those_of_the_last_step(tmp_path):
    made = recipe(epochs=2, warmup=0.25)
    train(network(), source(), targets(), made, folder=tmp_path, device="cpu", quiet=True)
    logged = [line["lr"] for line in records(tmp_path)]
    for number, line in enumerate(logged, start=1):
        for group in ("backbone", "head"):
            assert line[group] == rate(made, number * STEPS - 1, STEPS, group=group)


@given(n=st.integers(1, 200), seed=st.integers(0, 2**40), epoch=st.integers(0, 1000))
def test_an_epoch_shows_every_image_once(n, seed, epoch):
    order = epoch_order(n, seed=seed, epoch=epoch)
    assert np.array_equal(np.sort(order), np.arange(n))
    assert np.array_equal(order, epoch_order(n, seed=seed, epoch=epoch))


def test_orders_differ_between_epochs_and_seeds():
    orders = {tuple(epoch_order(30, seed=s, epoch=e)) for s in range(4) for e in range(4)}
    assert len(orders) == 16


def test_variations_and_dropout_differ_between_steps_and_seeds():
    numbers = []
    for seed in range(3):
        for step in range(3):
            generator = augmentation_generator(seed=seed, step=step)
            numbers.append(float(torch.rand(1, generator=generator)))
            for process in range(2):
                for part in range(2):
                    with torch.random.fork_rng(devices=[]):
                        seed_dropout(seed=seed, step=step, process=process, part=part)
                        numbers.append(float(torch.rand(1)))
    assert len(set(numbers)) == len(numbers) == 9 * 5


def test_a_training_leaves_the_callers_randomness_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(network(dropout=0.5), source(), targets(), recipe(), device="cpu", quiet=True)
    assert torch.equal(torch.rand(3), expected)


def test_every_seed_trains_otherwise():
    ends = []
    for seed in (0, 0, 1):
        learned = network(dropout=0.2)
        train(learned, source(), targets(), recipe(seed=seed), device="cpu", quiet=True)
        ends.append(weights(learned)["head.class_head.weight"])
    assert torch.equal(ends[0], ends[1])
    assert not torch.equal(ends[0], ends[2])


def test_an_average_follows_its_formula():
    module = torch.nn.Linear(1, 1, bias=False)
    module.weight.data.fill_(0.0)
    average = WeightEMA(module, 0.15)
    expected = 0.0
    for step, value in enumerate((10.0, 20.0, 30.0), start=1):
        module.weight.data.fill_(value)
        average.update(step)
        kept = min(0.15, step / (step + 9))  # 0.1, then 0.15
        expected = kept * expected + (1 - kept) * value
    assert average.tensors["weight"].item() == pytest.approx(expected)
    with average.in_place():
        assert module.weight.item() == pytest.approx(expected)
    assert module.weight.item() == 30.0


def test_an_average_is_given_back_when_validation_fails():
    module = torch.nn.BatchNorm1d(2)
    average = WeightEMA(module, 0.9)
    module.weight.data.fill_(7.0)

    def validate():
        with average.in_place():
            assert (module.weight == 1).all()
            raise KeyError

    with pytest.raises(KeyError):
        validate()
    assert (module.weight == 7).all()


def test_the_average_takes_the_weights_place():
    plain, averaged = network(), network()
    train(plain, source(), targets(), recipe(epochs=1), device="cpu", quiet=True)
    # Kept by hand: the average of the weights after each of the four steps.
    expected = weights(network())
    for step in range(1, STEPS + 1):
        partial = network()
        _steps(partial, step)
        kept = min(0.9, step / (step + 9))
        for name, value in weights(partial).items():
            expected[name] = kept * expected[name] + (1 - kept) * value
    train(averaged, source(), targets(), recipe(epochs=1, ema_decay=0.9), device="cpu", quiet=True)
    for name, value in weights(averaged).items():
        if value.is_floating_point():
            torch.testing.assert_close(value, expected[name], atol=1e-6, rtol=1e-5)
    assert not torch.equal(
        weights(plain)["head.class_head.weight"], expected["head.class_head.weight"]
    )


class _Enough(Exception):
    pass


def _steps(learned, n):
    """Train a network for some steps of an epoch and stop."""
    run = TrainingRun(learned, source(), targets(), recipe(epochs=1), None, "cpu")
    update, done = run.update, []

    def counted():
        update()
        done.append(1)
        if len(done) == n:
            raise _Enough

    run.update = counted
    with pytest.raises(_Enough), torch.random.fork_rng(devices=[]):
        run.epoch(_Silent(), _Silent(), 50, None)


class _Silent:
    def __getattr__(self, name):
        return lambda *_: None


def test_sides_by_hand():
    assert [image_size_at(e, 4, first=16, last=40) for e in range(4)] == [16, 24, 32, 40]
    assert [image_size_at(e, 3, first=15, last=17) for e in range(3)] == [15, 16, 17]


@given(st.integers(1, 300), st.integers(0, 300), st.integers(1, 40))
def test_sides_grow_from_the_first_to_the_last(first, more, epochs):
    sides = [image_size_at(e, epochs, first=first, last=first + more) for e in range(epochs)]
    assert sides == sorted(sides)
    assert sides[-1] == first + more
    assert epochs == 1 or sides[0] == first
    assert all(first <= side <= first + more for side in sides)


def test_images_grow_while_a_network_learns_and_after_a_stop_go_on_growing(tmp_path):
    seen = []

    class Watched(torch.nn.Module):
        def forward(self, x):
            seen.append(x.shape[-1])
            return x

    def learn(folder, n=None):
        made = network()
        made.backbone.model.insert(0, Watched())
        run = TrainingRun(
            made, source(), targets(), recipe(initial_image_size=8, image_size=16), folder, "cpu"
        )
        run.resume()
        with TrainingLog(folder) as log, TrainingDisplay(12, 3, quiet=True) as display:
            for _ in range(n or 3 - run.progress.step // 4):
                run.epoch(log, display, 50, None)
                run.finish_epoch(None, log)
        return weights(made)

    learn(tmp_path, n=1)
    found = learn(tmp_path)
    assert seen == [8] * 4 + [12] * 4 + [16] * 4
    whole = learn(tmp_path / "whole")
    assert all(torch.equal(found[name], whole[name]) for name in whole)


def test_images_cannot_shrink():
    made = network()
    own = made.backbone.input_size
    with pytest.raises(InvalidInput, match=f"above the size it grows to, {own}: give a smaller"):
        train(
            made,
            source(),
            targets(),
            recipe(image_size=None, initial_image_size=own + 1),
            quiet=True,
        )


@given(st.integers(1, 60), st.integers(2, 9), st.integers(8, 40), st.integers(0, 60))
def test_stages_are_equally_long_and_end_at_the_last_side(epochs, stages, first, more):
    last = first + more
    sides = [image_size_at(e, epochs, first=first, last=last, stages=stages) for e in range(epochs)]
    assert sides == sorted(sides)
    assert sides[-1] == last
    assert epochs == 1 or sides[0] == first
    whole = [image_size_at(k, stages, first=first, last=last) for k in range(stages)]
    if epochs >= stages:
        starts = [-(-k * epochs // stages) for k in range(stages + 1)]
        lengths = np.diff(starts)
        assert sides == [side for side, n in zip(whole, lengths, strict=True) for _ in range(n)]


def test_a_training_in_stages_shows_their_sides():
    made = recipe(epochs=3, initial_image_size=8, image_size=16, resize_stages=2)
    run = TrainingRun(network(), source(), targets(), made, None, "cpu")
    shown = source().batch(np.arange(6))
    sides = [run.augmenter.make_batch(shown, step, 0).view.shape[-1] for step in range(12)]
    assert sides == [8] * 8 + [16] * 4
