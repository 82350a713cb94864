"""Train, be killed by SIGKILL, and go on in another process: run by test_training_resume.py.

Every training is a process of its own, forked from this one, which never computes: torch is
imported once for all of them.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path

import accelerate  # noqa: F401  # slow, as is the next: once, not in every training
import torch._dynamo  # noqa: F401

from training_parts import EPISODES, epochs_seen, network, recipe, source, targets
from zerokin.features.input import ImageSource
from zerokin.features.networks import save_weights
from zerokin.features.training import checkpoint, run, train
from zerokin.features.training.log import TrainingLog

# What is trained, and the moment at which it is killed: there are 4 steps an epoch and a checkpoint
# after every third step and every epoch.
SCENARIOS = {
    "averaged": ({"recipe": {"ema_decay": 0.9, "warmup": 0.5}}, ("batch", 8)),
    "dropout": ({"network": {"dropout": 0.3}, "resident": False}, ("batch", 8)),
    "end-to-end": ({"network": {"head": "end-to-end"}, "recipe": {"momentum": 0.0}}, ("batch", 8)),
    "accumulated": (
        {"recipe": {"accumulation": 2, "clip_norm": 0.5}, "passes": 2},
        ("batch", 15),
    ),
    "early stopping": (
        {"scores": [10.0, 50.0, 30.0, 20.0, 90.0], "recipe": {"epochs": 5, "ema_decay": 0.5}},
        ("batch", 11),
    ),
    "validation": ({"scores": [10.0, 50.0, 30.0]}, ("validation", 2)),
    "adamw": ({"recipe": {"optimizer": "adamw", "frozen_batch_norm": True}}, ("batch", 8)),
    "turned": (
        {"recipe": {"rotation_weight": 0.7, "ema_decay": 0.9}, "scores": [1.0, 3.0, 2.0]},
        ("batch", 8),
    ),
    "turned and taught": (
        {
            "recipe": {"rotation_weight": 0.7, "distillation": 0.6},
            "network": {"dropout": 0.3},
            "teacher": 7,
        },
        ("batch", 8),
    ),
    "apply_cutmix": ({"recipe": {"cutmix_prob": 0.7, "rotation_weight": 0.5}}, ("batch", 8)),
    "mixed": (
        {"recipe": {"manifold_mixup": 2.0, "rotation_weight": 0.5, "restart_epochs": 2}},
        ("batch", 8),
    ),
    "episodes": (
        {
            "recipe": {**EPISODES, "ema_decay": 0.9},
            "network": {"head": "prototypical", "dropout": 0.3},
            "resident": False,
        },
        ("batch", 8),
    ),
    "no checkpoint yet": ({}, ("batch", 2)),
    "writing a checkpoint": ({}, ("checkpoint", 2)),
    "before an epoch's line": ({}, ("line", 2)),
    "after an epoch's line": ({}, ("after line", 2)),
}


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class MortalSource(ImageSource):
    """Die before the batch of some number."""

    def __init__(self, whole, last):
        super().__init__(whole.side, whole.device)
        self.whole, self.last, self.count = whole, last, 0

    def __len__(self):
        return len(self.whole)

    def batches(self, rows):
        for batch in self.whole.batches(rows):
            if self.count == self.last:
                die()
            self.count += 1
            yield batch


def mortal(moment, number):
    """Have this process killed when an epoch's line or a checkpoint is written."""
    write, save_file = TrainingLog.write, checkpoint.save_file

    def fatal_write(self, record):
        counted = record.get("epoch") == number
        if counted and moment == "line":
            die()
        write(self, record)
        if counted and moment == "after line":
            die()

    written = []

    def fatal_save(tensors, path, metadata):
        save_file(tensors, path, metadata=metadata)
        written.append(path)
        if len(written) == number and moment == "checkpoint":
            with open(path, "r+b") as file:  # noqa: PTH123
                file.truncate(100)
            die()

    TrainingLog.write, checkpoint.save_file = fatal_write, fatal_save


def learn(settings, folder, moment, number):
    images = source(resident=settings.get("resident", True))
    if moment == "batch":
        images = MortalSource(images, number)
    mortal(moment, number)
    scores = settings.get("scores")

    def validate(trained):
        epoch = epochs_seen(trained)
        if moment == "validation" and epoch == number:
            die()
        return scores[epoch - 1]

    learned = network(**settings.get("network", {}))
    taught_by = settings.get("teacher")
    train(
        learned,
        images,
        targets(),
        recipe(**settings.get("recipe", {})),
        folder=folder,
        device="cpu",
        validate=validate if scores else None,
        patience=2 if scores else None,
        teacher=None if taught_by is None else network(seed=taught_by),
        checkpoint_every=3,
        log_every=1,
        quiet=True,
    )
    save_weights(learned, folder / "final.safetensors")


def in_a_process(*arguments):
    """Return how a training in a process of its own ended."""
    child = os.fork()
    if child == 0:
        try:
            learn(*arguments)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def main():
    root = Path(sys.argv[1])
    assert run.CHECKPOINT_SECONDS > 60  # so that only steps decide
    for name, (settings, (moment, number)) in SCENARIOS.items():
        assert in_a_process(settings, root / name / "whole", None, 0) == 0, name
        ended = in_a_process(settings, root / name / "killed", moment, number)
        assert os.WIFSIGNALED(ended), (name, ended)
        assert os.WTERMSIG(ended) == signal.SIGKILL, (name, ended)
        left = sorted(path.name for path in (root / name / "killed").iterdir())
        (root / name / "left.txt").write_text("\n".join(left))
        assert in_a_process(settings, root / name / "killed", None, 0) == 0, name


if __name__ == "__main__":
    main()
