"""A training that was killed ends as if it had not been."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from killed_trainings import SCENARIOS
from training_parts import records
from zerokin.features.networks import read_weights

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def trainings(tmp_path_factory):
    root = tmp_path_factory.mktemp("trainings")
    paths = [str(HERE), str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    ran = subprocess.run(
        [sys.executable, HERE / "killed_trainings.py", root],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return root


@pytest.mark.parametrize("name", SCENARIOS)
def test_ends_with_the_very_weights_of_an_uninterrupted_training(trainings, name):
    whole = read_weights(trainings / name / "whole" / "final.safetensors")
    resumed = read_weights(trainings / name / "killed" / "final.safetensors")
    assert whole.keys() == resumed.keys()
    assert [key for key in whole if not torch.equal(whole[key], resumed[key])] == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_has_every_line_of_the_log_once(trainings, name):
    whole, resumed = (records(trainings / name / kind) for kind in ("whole", "killed"))
    assert resumed == whole
    epochs = [line["epoch"] for line in whole if "epoch" in line]
    steps = [line["step"] for line in whole if "epoch" not in line]
    assert epochs == list(range(1, len(epochs) + 1))
    assert steps == list(range(1, 4 * len(epochs) + 1))


def test_early_stopping_ends_with_the_best_epoch_across_the_kill(trainings):
    folder = trainings / "early stopping" / "killed"
    scores = [line["validation"] for line in records(folder) if "epoch" in line]
    assert scores == [10.0, 50.0, 30.0, 20.0]  # of five epochs: the fourth was the last straw
    best, final = (read_weights(folder / f"{kind}.safetensors") for kind in ("best", "final"))
    assert int(final["backbone.model.1.num_batches_tracked"]) == 2 * 4
    assert all(torch.equal(best[key], final[key]) for key in best)


def test_half_a_checkpoint_is_not_left_behind(trainings):
    name = "writing a checkpoint"
    left = (trainings / name / "left.txt").read_text().splitlines()
    assert [file for file in left if ".part" in file]  # the kill came while it was written
    after = [path.name for path in (trainings / name / "killed").iterdir()]
    assert sorted(after) == ["checkpoint.safetensors", "final.safetensors", "log.jsonl"]
