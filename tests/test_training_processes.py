"""Several processes learn what one learns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import distributed
from torch.nn import functional

from shared_trainings import SCENARIOS, learn
from training_parts import furthest, network, recipe, records, source, targets, weights
from zerokin.errors import InvalidInput
from zerokin.features.networks import read_weights
from zerokin.features.training import train
from zerokin.features.training.distributed import make_accelerator
from zerokin.features.training.sync_batch_norm import SyncBatchNorm

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    root = tmp_path_factory.mktemp("shared")
    paths = [str(HERE), str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    said = root / "said.txt"
    with said.open("w") as file:
        ran = subprocess.Popen(
            [*launch, HERE / "shared_trainings.py", root],
            env=environment,
            stdout=file,
            stderr=file,
        )
    try:
        ended = ran.wait(timeout=120)
    except subprocess.TimeoutExpired:
        ran.terminate()  # torchrun ends what it started: a process that waits, waits for ever
        ran.wait(timeout=60)
        raise
    assert ended == 0, said.read_text()[-3000:]
    return root


@pytest.fixture(scope="module")
def found(shared):
    return [json.loads((shared / f"found{rank}.json").read_text()) for rank in (0, 1)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_two_processes_follow_one(shared, name, tmp_path):
    alone = learn(name, tmp_path)
    first, second = (read_weights(shared / name / f"final{rank}.safetensors") for rank in (0, 1))
    assert furthest(weights(alone), first) < 1e-4
    assert furthest(first, second) == 0
    expected, there = records(tmp_path), records(shared / name)
    assert [line["step"] for line in there] == [line["step"] for line in expected]
    for line, other in zip(expected, there, strict=True):
        assert other["loss"] == pytest.approx(line["loss"], abs=1e-4)


def test_all_processes_stop_where_the_leading_one_does(found):
    assert [answers["early"] for answers in found] == [{"epochs": 3, "kept": 2}] * 2


def test_the_leading_process_alone_writes_for_tensorboard(shared, found):
    assert len(list((shared / "early" / "tensorboard").iterdir())) == 1


def test_the_leading_clock_decides_when_to_save(found):
    # After steps 3 of 4, when the clock is looked at, and after the epoch; the leader alone writes.
    assert [answers["checkpoints"] for answers in found] == [[3, 4], []]


def test_batch_norm_over_two_processes_is_that_of_the_whole_batch(found):
    for answers in found:
        assert max(answers["batch norm"]) < 1e-5


def test_a_batch_that_cannot_be_shared_is_refused(found):
    assert "a batch of 5 cannot be shared evenly by 2 processes" in found[0]["uneven"]


@pytest.fixture
def one_process(tmp_path):
    store = distributed.FileStore(str(tmp_path / "store"), 1)
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


@pytest.mark.parametrize("shape", [(7, 3), (5, 3, 6), (4, 3, 2, 5)])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_in_one_process_is_that_of_torch(one_process, shape, affine):
    x = torch.randn(shape, dtype=torch.float32) * 2 + 5
    upstream = torch.randn(shape)
    outcomes = []
    for mode in (None, SyncBatchNorm()):
        given = x.clone().requires_grad_()
        w, b = (torch.full((3,), value).requires_grad_() for value in (1.5, -0.5))
        scale = (w, b) if affine else (None, None)
        mean, variance = torch.full((3,), 0.3), torch.full((3,), 0.7)
        if mode is None:
            out = functional.batch_norm(given, mean, variance, *scale, True, 0.2, 1e-3)
        else:
            with mode:
                out = functional.batch_norm(given, mean, variance, *scale, True, 0.2, 1e-3)
        (out * upstream).sum().backward()
        gradients = [given.grad, *(s.grad for s in scale if s is not None)]
        outcomes.append([out, *gradients, mean, variance])
    for theirs, ours in zip(*outcomes, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_frozen_statistics_are_left_alone(one_process):
    x, mean, variance = torch.randn(4, 3), torch.ones(3), torch.full((3,), 2.0)
    with SyncBatchNorm():
        out = functional.batch_norm(x, mean, variance, training=False)
    torch.testing.assert_close(out, (x - 1) / (2 + 1e-5) ** 0.5)
    assert torch.equal(mean, torch.ones(3))


def test_parts_of_a_batch_add_up_to_it():
    ends = []
    for accumulation in (1, 2, 3):
        learned = network()
        settings = recipe(accumulation=accumulation, frozen_batch_norm=True, lr=0.05)
        train(learned, source(), targets(), settings, device="cpu", quiet=True)
        ends.append(weights(learned))
    assert furthest(ends[0], weights(network())) > 1e-2  # it learned something
    assert furthest(ends[0], ends[1]) < 1e-5
    assert furthest(ends[0], ends[2]) < 1e-5


@pytest.mark.parametrize("device", ["gpu", "cuda:1", "mps"])
def test_a_device_that_cannot_be_chosen_is_refused(device):
    with pytest.raises(InvalidInput, match=f"device must be 'cpu' or 'cuda'.*{device}"):
        make_accelerator(device=device)


def test_bfloat16_leaves_the_network_as_it_was():
    learned = network()
    train(learned, source(), targets(), recipe(precision="bfloat16"), device="cpu", quiet=True)
    images = torch.rand(2, 3, 16, 16)
    assert "forward" not in vars(learned)
    features = learned.backbone(images).features
    torch.testing.assert_close(learned(images).classes, learned.head(features).classes)
