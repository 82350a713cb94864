"""Checkpoints and logs: what was written comes back, and what does not fit is named."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from training_parts import network, recipe, records, source, targets, weights
from zerokin.errors import InvalidInput
from zerokin.features.input import Augmentation
from zerokin.features.training import Targets, train
from zerokin.features.training.checkpoint import (
    load_checkpoint,
    optimizer_tensors,
    restore_optimizer,
    save_checkpoint,
)
from zerokin.features.training.log import TrainingLog


def learn(folder, *, made=None, shown=None, labels=None, **settings):
    learned = made or network()
    history = train(
        learned,
        shown or source(),
        labels or targets(),
        recipe(**{"epochs": 1, **settings}),
        folder=folder,
        device="cpu",
        log_every=1,
        quiet=True,
    )
    return learned, history


def test_a_checkpoint_comes_back(tmp_path):
    groups = {
        "network": {"a.weight": torch.randn(2, 3), "count": torch.tensor(7)},
        "ema": {},
        "optimizer": {"0/momentum_buffer": torch.randn(2, 3, 4, 5).permute(0, 3, 1, 2)},
    }
    state = {"step": 3, "sums": {"total": 0.1 + 0.2}, "best": float("-inf"), "name": "é"}
    save_checkpoint(tmp_path / "c.safetensors", groups, state)
    there, read = load_checkpoint(tmp_path / "c.safetensors")
    assert read == state
    assert {group: there[group].keys() for group in there} == {
        group: members.keys() for group, members in groups.items() if members
    }
    for group, members in there.items():
        assert all(torch.equal(value, groups[group][name]) for name, value in members.items())
    assert [path.name for path in tmp_path.iterdir()] == ["c.safetensors"]


@pytest.mark.parametrize("kind", ["sgd", "adamw"])
def test_an_optimiser_goes_on_as_it_was(kind):
    def made():
        weight = torch.randn(4, 3, 3, 3, generator=torch.Generator().manual_seed(0))
        weight = weight.contiguous(memory_format=torch.channels_last).requires_grad_()
        scale = torch.ones((), requires_grad=True)
        groups = [{"params": [weight], "name": "backbone"}, {"params": [scale], "name": "head"}]
        if kind == "sgd":
            return (weight, scale), torch.optim.SGD(groups, lr=0.1, momentum=0.9, nesterov=True)
        return (weight, scale), torch.optim.AdamW(groups, lr=0.1)

    def step(values, optimizer, number):
        for value in values:
            value.grad = torch.full_like(value, number + 1.0) * value.detach()
        optimizer.step()

    values, optimizer = made()
    for number in range(3):
        step(values, optimizer, number)
    others, resumed = made()
    for value, other in zip(values, others, strict=True):
        other.data.copy_(value.data)
    restore_optimizer(resumed, {k: v.clone() for k, v in optimizer_tensors(optimizer).items()})
    for number in range(3, 6):
        step(values, optimizer, number)
        step(others, resumed, number)
    assert all(torch.equal(a, b) for a, b in zip(values, others, strict=True))
    for memory in resumed.state_dict()["state"][0].values():
        if memory.ndim == 4:  # laid out as the weight is
            assert memory.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("content", [b"", b"nonsense", None])
def test_a_damaged_checkpoint_is_said_to_be(tmp_path, content):
    learn(tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.raises(InvalidInput, match=r"checkpoint\.safetensors cannot be read.*remove it"):
        learn(tmp_path)


def test_another_file_is_no_checkpoint(tmp_path):
    save_file({"a": torch.zeros(1)}, tmp_path / "checkpoint.safetensors")
    with pytest.raises(InvalidInput, match="no checkpoint of this version"):
        learn(tmp_path)


def other_labels():
    classes, layers = targets()
    return Targets(np.roll(classes, 1), layers)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"lr": 0.5}, r"lr 0\.01 there, 0\.5 here"),
        ({"epochs": 2}, "epochs 1 there, 2 here"),
        ({"seed": 3}, "seed 0 there, 3 here"),
        ({"augmentation": Augmentation(area=(0.2, 1))}, r"augmentation\.area \[0\.5, 1\.0\] there"),
        ({"ema_decay": 0.9}, r"ema_decay 0\.0 there, 0\.9 here"),
        ({"shown": source(20), "labels": targets(20)}, "images 24 there, 20 here"),
        ({"labels": other_labels()}, "targets [0-9a-f]+ there"),
        ({"made": network(head="superclass-heads")}, "parameters [0-9]+ there"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused_by_name(tmp_path, changed, message):
    learn(tmp_path)
    with pytest.raises(InvalidInput, match=rf"is of another training \({message}.*remove the file"):
        learn(tmp_path, **changed)


def test_a_checkpoint_of_other_semantics_is_refused(tmp_path):
    learn(tmp_path, made=network(head="end-to-end"))
    other = network(head="end-to-end")
    other.head.prototypes_0.mul_(-1)
    with pytest.raises(InvalidInput, match=r"another training \(semantics"):
        learn(tmp_path, made=other)


def test_statistics_inside_a_head_are_not_its_semantics(tmp_path):
    made = network(head="end-to-end")
    made.head.standardize = torch.nn.BatchNorm1d(8, affine=False)
    learn(tmp_path, made=made)
    made.head.standardize.running_mean.fill_(3.0)
    learn(tmp_path, made=made)
    assert (made.head.standardize.running_mean == 0).all()  # as the checkpoint has it


def test_a_finished_training_comes_back_at_once(tmp_path):
    first, history = learn(tmp_path, ema_decay=0.9)
    log = (tmp_path / "log.jsonl").read_bytes()
    again, same = learn(tmp_path, ema_decay=0.9, made=network(seed=5))
    assert same == history
    assert all(torch.equal(a, b) for a, b in zip(*map(_values, (first, again)), strict=True))
    assert (tmp_path / "log.jsonl").read_bytes() == log


def _values(learned):
    return weights(learned).values()


def test_an_epochs_losses_are_the_means_of_its_steps(tmp_path):
    _, history = learn(tmp_path, epochs=2)
    lines = records(tmp_path)
    for epoch in history:
        steps = [r["loss"] for r in lines if "epoch" not in r and 0 <= epoch.step - r["step"] < 4]
        assert len(steps) == 4
        for name, value in epoch.loss.items():
            assert value == pytest.approx(np.mean([loss[name] for loss in steps]), abs=1e-6)
    parts = history[0].loss
    # λ = 0.3 for the superclass layer, of the LSTM chain and of the linear head below it.
    assert parts["total"] == pytest.approx(
        parts["classes"] + 0.3 * (parts["layer 1"] + parts["layer 1 linear"]), abs=1e-5
    )


@pytest.mark.parametrize("half", ["", '{"step": 3, "lo', "\0\0\0", "17\n"])
def test_a_log_forgets_what_came_after_and_half_a_line(tmp_path, half):
    lines = [json.dumps({"step": step, "loss": {"total": step / 3}}) + "\n" for step in (1, 2, 3)]
    (tmp_path / "log.jsonl").write_text("".join(lines) + half)
    with TrainingLog(tmp_path, after=2) as log:
        log.write({"step": 3, "loss": {}})
    assert (tmp_path / "log.jsonl").read_text() == lines[0] + lines[1] + '{"step": 3, "loss": {}}\n'


def test_a_last_line_without_its_end_is_whole(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"step": 1}\n{"step": 2}')
    TrainingLog(tmp_path, after=2).write({"step": 3})
    assert [r["step"] for r in records(tmp_path)] == [1, 2, 3]


def events(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = EventAccumulator(str(folder / "tensorboard")).Reload()
    return {tag: [event.step for event in board.Scalars(tag)] for tag in board.Tags()["scalars"]}


def test_tensorboard_reads_the_same_losses(tmp_path):
    train(
        network(),
        source(),
        targets(),
        recipe(epochs=2),
        folder=tmp_path,
        device="cpu",
        validate=lambda _: 50.0,
        log_every=1,
        tensorboard=True,
        quiet=True,
    )
    found = events(tmp_path)
    assert Counter(found["loss/total"]) == Counter([*range(1, 9), 4, 8])
    assert found["validation"] == found["lr/head"] == [4, 8]


def test_tensorboard_forgets_what_came_after(tmp_path):
    for after, steps in ((0, (1, 2, 3)), (2, (3, 4))):
        with TrainingLog(tmp_path, after=after, tensorboard=True) as log:
            for step in steps:
                log.write({"step": step, "loss": {"total": 0.5}})
    assert events(tmp_path)["loss/total"] == [1, 2, 3, 4]


def test_tensorboard_needs_a_folder():
    with pytest.raises(InvalidInput, match="tensorboard=True needs a folder"):
        train(network(), source(), targets(), recipe(), device="cpu", tensorboard=True)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InvalidInput, match=r"cannot write to folder .*taken"):
        learn(tmp_path / "taken")
