"""Trainings that stop when their time is up, in a folder that can be carried elsewhere."""

from __future__ import annotations

import shutil

import pytest
import torch

from training_parts import furthest, network, recipe, records, source, targets, weights
from zerokin.errors import InvalidInput
from zerokin.features.training import TrainingPaused, run, train
from zerokin.features.training.checkpoint import load_checkpoint
from zerokin.features.training.compact import compress, expand

PARTS = {"manifold_mixup": 2.0, "rotation_weight": 0.5, "restart_epochs": 1, "restart_decay": 0.8}


def learn(learned, folder=None, settings=None, **options):
    made = recipe(**(settings or {}))
    return train(
        learned, source(), targets(), made, folder=folder, device="cpu", quiet=True, **options
    )


class Clock:
    """A clock that goes on by a second whenever a training looks at it."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr("time.perf_counter", self.tick)

    def tick(self):
        self.now += 1.0
        return self.now


def paused(learned, folder, settings, **options):
    """Train in as many pieces as it takes; return how often it paused, and the history."""
    pieces = 0
    while pieces < 99:
        try:
            return pieces, learn(learned(), folder, settings, **options)
        except TrainingPaused:
            pieces += 1
    raise AssertionError("it gets nowhere")


@pytest.mark.parametrize("settings", [{}, PARTS])
def test_pieces_end_with_the_very_weights_of_one_training(tmp_path, monkeypatch, settings):
    whole = network(dropout=0.2)
    learn(whole, tmp_path / "whole", settings, log_every=1)
    Clock(monkeypatch)
    made = []

    def another():
        made.append(network(dropout=0.2))
        return made[-1]

    pieces, history = paused(another, tmp_path / "cut", settings, stop_after=0.2, log_every=1)
    assert pieces > 1
    assert [epoch.epoch for epoch in history] == [1, 2, 3]
    found, expected = weights(made[-1]), weights(whole)
    assert [name for name in found if not torch.equal(found[name], expected[name])] == []
    assert records(tmp_path / "cut") == records(tmp_path / "whole")


def test_the_folder_can_be_moved(tmp_path, monkeypatch):
    whole, cut = network(), network()
    learn(whole)
    Clock(monkeypatch)
    with pytest.raises(TrainingPaused, match=r"stopped after \d\.\d+ of 3 epochs"):
        learn(network(), tmp_path / "here", stop_after=0.2)
    shutil.move(tmp_path / "here", tmp_path / "elsewhere" / "there")
    learn(cut, tmp_path / "elsewhere" / "there")
    assert furthest(weights(whole), weights(cut)) == 0
    for path in (tmp_path / "elsewhere" / "there").iterdir():
        assert str(tmp_path).encode() not in path.read_bytes()


def test_random_weights_that_a_processor_rounds_otherwise_are_the_same_origin(
    tmp_path, monkeypatch
):
    whole, cut = network(), network()
    learn(whole)
    Clock(monkeypatch)
    with pytest.raises(TrainingPaused):
        learn(network(), tmp_path, stop_after=0.2, origin="random 1f3a, validated with tta_crops 2")
    with torch.no_grad():
        cut.head.class_head.weight.mul_(1 + 1e-6)
    with pytest.raises(InvalidInput, match=r"of another training .origin random 1f3a, validated"):
        learn(cut, tmp_path, origin="random 90c2, validated with tta_crops 4")
    with pytest.raises(InvalidInput, match=r"of another training .origin"):
        learn(cut, tmp_path, origin="90c2, validated with tta_crops 2")
    learn(cut, tmp_path, origin="random 90c2, validated with tta_crops 2")
    assert furthest(weights(whole), weights(cut)) == 0


def test_time_that_is_left_is_not_used_up(tmp_path):
    learn(network(), tmp_path, stop_after=60.0)
    assert len(records(tmp_path)) == 3


@pytest.mark.parametrize("name", ["momentum_buffer", "exp_avg"])
def test_compact_momenta_are_near_and_small(tmp_path, name):
    optimizer = "sgd" if name == "momentum_buffer" else "adamw"
    groups = {}
    for compact in (False, True):
        learn(network(), tmp_path / f"{compact}", {"optimizer": optimizer}, compact=compact)
        groups[compact], _ = load_checkpoint(tmp_path / f"{compact}" / "checkpoint.safetensors")
    exact, small = (groups[compact]["optimizer"] for compact in (False, True))
    key = f"0/{name}"
    assert small[key].dtype == torch.int8
    restored = expand(small)
    assert restored.keys() == exact.keys()
    for k, value in exact.items():
        if value.ndim < 2 or not k.endswith(name):
            assert torch.equal(restored[k], value)
            continue
        rows = value.flatten(1)
        most = rows.abs().amax(1, keepdim=True) / 254
        assert ((restored[k] - value).abs().flatten(1) <= 1.001 * most).all()
    for k, value in groups[False]["network"].items():
        assert torch.equal(groups[True]["network"][k], value)


def test_a_training_goes_on_from_a_compact_checkpoint(tmp_path, monkeypatch):
    whole = network()
    learn(whole)
    clock = Clock(monkeypatch)
    with pytest.raises(TrainingPaused):
        learn(network(), tmp_path, stop_after=0.2, compact=True)
    clock.now = 0.0
    cut = network()
    learn(cut, tmp_path, compact=True)
    assert 0 < furthest(weights(whole), weights(cut)) < 1e-3


def test_what_has_no_rows_is_not_compressed():
    given = {"0/step": torch.tensor(3.0), "0/exp_avg_sq": torch.rand(2, 3)}
    given["0/momentum_buffer"] = torch.rand(5)
    found = expand(compress(given))
    assert all(torch.equal(found[name], value) for name, value in given.items())
    zeros = {"1/momentum_buffer": torch.zeros(3, 4)}
    assert torch.equal(expand(compress(zeros))["1/momentum_buffer"], torch.zeros(3, 4))


@pytest.mark.parametrize("options", [{"stop_after": 1.0}, {"compact": True}])
def test_without_a_folder_there_is_nothing_to_go_on_from(options):
    with pytest.raises(InvalidInput, match="needs a folder for the checkpoint"):
        learn(network(), **options)


@pytest.mark.parametrize("minutes", [0, -1.0, float("nan")])
def test_no_time_at_all_is_refused(tmp_path, minutes):
    with pytest.raises(InvalidInput, match="stop_after must be a number of minutes above 0"):
        learn(network(), tmp_path, stop_after=minutes)


def test_the_network_is_left_as_it_came(tmp_path, monkeypatch):
    learned = network()
    monkeypatch.setattr(run, "CLOCK_STEPS", 1)
    Clock(monkeypatch)
    with pytest.raises(TrainingPaused):
        learn(learned, tmp_path, PARTS, stop_after=0.2)
    assert learned.rotation_head is None
    assert "forward" not in learned.__dict__
