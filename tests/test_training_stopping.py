"""Early stopping, and trainings that cannot begin."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from training_parts import epochs_seen, furthest, network, recipe, source, targets, weights
from zerokin.errors import InvalidInput
from zerokin.features.input import ImageSource
from zerokin.features.training import Targets, train


def learn(scores, *, folder=None, patience=None, learned=None, **settings):
    """Train with scripted scores; return the network, its history, and it after each epoch."""
    learned = learned or network()
    after = []

    def validate(shown):
        assert not shown.training
        after.append(weights(shown))
        return scores[epochs_seen(shown) - 1]

    history = train(
        learned,
        source(),
        targets(),
        recipe(epochs=len(scores), **settings),
        folder=folder,
        device="cpu",
        validate=validate,
        patience=patience,
        quiet=True,
    )
    return learned, history, after


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("average", [0.0, 0.5])
@pytest.mark.parametrize(
    ("scores", "patience", "stopped", "best"),
    [
        ([1, 9, 3, 4, 99], 2, 4, 2),
        ([1, 9, 3, 10, 4], 2, 5, 4),
        ([5, 4, 3, 2], 1, 2, 1),
        ([5, 5, 6, 6, 6], 2, 5, 3),  # as good is no better
        ([1, 2, 3], 1, 3, 3),
    ],
)
def test_the_best_epoch_is_kept(tmp_path, kept, average, scores, patience, stopped, best):
    learned, history, after = learn(
        scores, patience=patience, folder=tmp_path if kept else None, ema_decay=average
    )
    assert [epoch.validation for epoch in history] == scores[:stopped]
    assert len(after) == stopped
    found = weights(learned)
    assert all(torch.equal(found[name], after[best - 1][name]) for name in found)


def test_without_patience_the_last_epoch_counts(tmp_path):
    learned, history, after = learn([9, 1, 1], folder=tmp_path)
    assert len(history) == 3
    found = weights(learned)
    assert all(torch.equal(found[name], after[-1][name]) for name in found)
    assert not learned.training


def test_scores_that_are_no_numbers_are_never_best():
    learned, history, _ = learn([float("nan"), 3.0, float("nan"), 1.0], patience=2)
    assert len(history) == 4
    assert epochs_seen(learned) == 2


def test_an_early_stopped_training_comes_back_at_once(tmp_path):
    first, history, _ = learn([1, 9, 3, 4, 99], patience=2, folder=tmp_path)
    again, same, after = learn(
        [1, 9, 3, 4, 99], patience=2, folder=tmp_path, learned=network(seed=3)
    )
    assert same == history
    assert after == []
    found, expected = weights(again), weights(first)
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_validation_changes_nothing():
    watched, _, _ = learn([1, 2, 3])
    plain = network()
    train(plain, source(), targets(), recipe(), device="cpu", quiet=True)
    found, expected = weights(watched), weights(plain)
    assert all(torch.equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"patience": 2}, "patience= needs validate="),
        ({"patience": 0, "validate": lambda _: 1.0}, "patience must be at least 1: got 0"),
        ({"log_every": 0}, "log_every must be at least 1"),
        ({"checkpoint_every": 0}, "checkpoint_every must be at least 1"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        train(network(), source(), targets(), recipe(), device="cpu", quiet=True, **options)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (targets(23), r"24 images but 23 labels \(classes\)"),
        (Targets(targets().classes, targets(20).layers), r"24 images but 20 labels \(layers\)"),
    ],
)
def test_every_image_needs_a_label(labels, message):
    with pytest.raises(InvalidInput, match=message):
        train(network(), source(), labels, recipe(), device="cpu", quiet=True)


def test_no_images_are_refused():
    nothing = Targets(np.zeros(0, np.int64), np.zeros((0, 1), np.int64))
    with pytest.raises(InvalidInput, match="no training images"):
        train(network(), source().select(np.arange(0)), nothing, recipe(), device="cpu")


def test_a_batch_that_parts_do_not_share_is_refused():
    uneven = recipe(batch_size=6, accumulation=4)
    with pytest.raises(InvalidInput, match="a batch of 6 cannot be shared evenly"):
        train(network(), source(), targets(), uneven, device="cpu", quiet=True)


def test_a_batch_larger_than_the_data_is_all_of_it():
    history = train(
        network(), source(), targets(), recipe(batch_size=100), device="cpu", quiet=True
    )
    assert [epoch.step for epoch in history] == [1, 2, 3]


def test_losses_fall():
    made = recipe(epochs=15, lr=0.05)
    history = train(network(), source(), targets(), made, device="cpu", quiet=True)
    assert history[-1].loss["classes"] < 0.6 * history[0].loss["classes"]


def test_an_epoch_is_told_in_a_line(capsys):
    train(network(), source(), targets(), recipe(epochs=2), device="cpu", validate=lambda _: 12.34)
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in said] == ["epoch 1/2", "epoch 2/2"]
    assert all("total " in line and "validation classes 12.3 %" in line for line in said)
    train(network(), source(), targets(), recipe(epochs=1), device="cpu", quiet=True)
    assert capsys.readouterr() == ("", "")


class Interrupted(ImageSource):
    """Ctrl-C at the sixth batch."""

    def __init__(self, whole):
        super().__init__(whole.side, whole.device)
        self.whole, self.count = whole, 0

    def __len__(self):
        return len(self.whole)

    def batches(self, rows):
        for batch in self.whole.batches(rows):
            self.count += 1
            if self.count == 6:
                raise KeyboardInterrupt
            yield batch


def test_an_interrupted_training_goes_on_in_the_same_process(tmp_path):
    learned, whole = network(), network()
    train(whole, source(), targets(), recipe(), device="cpu", quiet=True)
    state = torch.get_rng_state()
    with pytest.raises(KeyboardInterrupt):
        train(
            learned,
            Interrupted(source(resident=False)),
            targets(),
            recipe(),
            folder=tmp_path,
            device="cpu",
            quiet=True,
        )
    assert torch.equal(torch.get_rng_state(), state)
    train(learned, source(), targets(), recipe(), folder=tmp_path, device="cpu", quiet=True)
    found, expected = weights(learned), weights(whole)
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_a_loss_that_is_no_longer_finite_stops_the_training(tmp_path):
    hopeless = recipe(epochs=3, lr=1e30)
    with pytest.raises(InvalidInput, match=r"no longer finite at step .*: lower lr"):
        train(network(), source(), targets(), hopeless, device="cpu", quiet=True)


def test_every_layer_may_have_its_own_weight():
    def learned(weight):
        trained = network()
        train(trained, source(), targets(), recipe(layer_weight=weight), device="cpu", quiet=True)
        return weights(trained)

    same, other = learned(0.4), learned([0.0])
    assert furthest(same, learned([0.4])) == 0
    assert furthest(same, other) > 0
    with pytest.raises(InvalidInput, match="layer_weight has 2 numbers, but there are 1"):
        learned([0.1, 0.1])


@pytest.mark.parametrize("weight", [0.3, [0.3, 0.3]])
def test_a_network_of_classes_alone_learns_whatever_layers_the_data_have(weight):
    alone = network(head="classes")
    train(alone, source(), targets(), recipe(layer_weight=weight), device="cpu", quiet=True)
    assert furthest(weights(alone), weights(network(head="classes"))) > 0


def test_a_compiled_training_learns_the_same_and_leaves_the_network_as_it_came(monkeypatch):
    compiled = []

    def traced(module, **options):
        compiled.append(module)
        assert options == {"mode": None, "dynamic": False}
        module._compiled_call_impl = torch.compile(module._call_impl, backend="eager")

    monkeypatch.setattr(torch.nn.Module, "compile", traced)
    plain, fast = network(), network()
    for learned, chosen in ((plain, False), (fast, True)):
        train(learned, source(), targets(), recipe(epochs=2, compiled=chosen), quiet=True)
    assert compiled == [fast.backbone.model]
    assert fast.backbone.model._compiled_call_impl is None
    expected = weights(plain)
    for name, value in weights(fast).items():
        torch.testing.assert_close(value, expected[name], atol=1e-6, rtol=0)
