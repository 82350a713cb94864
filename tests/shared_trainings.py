"""Train in several processes at once: run under torchrun by test_training_processes.py."""

from __future__ import annotations

import json
import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import torch
from torch import distributed
from torch.nn import functional

from training_parts import epochs_seen, network, recipe, source, targets
from zerokin.errors import InvalidInput
from zerokin.features.networks import save_weights
from zerokin.features.training import run, train
from zerokin.features.training.sync_batch_norm import SyncBatchNorm

# Trained in one process and in two, which must end alike.
SCENARIOS = {
    "batch norm": ({}, {}),
    "end-to-end, averaged": ({"head": "end-to-end"}, {"ema_decay": 0.9}),
    "turned and taught": ({}, {"rotation_weight": 0.7, "distillation": 0.6}),
    "apply_cutmix": ({}, {"cutmix_prob": 0.8, "batch_size": 12}),
    "mixed": ({}, {"manifold_mixup": 2.0, "rotation_weight": 0.5, "batch_size": 12}),
    "accumulated": ({}, {"accumulation": 3, "clip_norm": 0.5, "frozen_batch_norm": True}),
}


def learn(name, folder):
    """Train one of the scenarios; every step is logged."""
    made, settings = SCENARIOS[name]
    learned = network(**made)
    train(
        learned,
        source(),
        targets(),
        recipe(**settings),
        folder=folder,
        device="cpu",
        log_every=1,
        teacher=network(seed=7) if "distillation" in settings else None,
        quiet=True,
    )
    return learned


def stop_early(rank, folder):
    """Let each process score otherwise; the leading one's best epoch is the second."""
    learned = network()
    scores = [[1.0, 5.0, 2.0, 2.0], [1.0, 2.0, 3.0, 4.0]][rank]
    history = train(
        learned,
        source(),
        targets(),
        recipe(epochs=4),
        folder=folder,
        device="cpu",
        validate=lambda trained: scores[epochs_seen(trained) - 1],
        patience=1,
        tensorboard=True,
        quiet=True,
    )
    return {"epochs": len(history), "kept": epochs_seen(learned)}


def save_by_the_clock(rank, folder):
    """Return the steps of the checkpoints where the leading process alone finds that time is up."""
    ticks, written = count(step=1000.0 if rank == 0 else 0.001), []
    save, clock = run.checkpoint.save_checkpoint, run.time
    run.checkpoint.save_checkpoint = lambda *given: written.append(given[2]["progress"]["step"])
    run.time, run.CLOCK_STEPS = SimpleNamespace(perf_counter=lambda: next(ticks)), 3
    once = recipe(epochs=1)
    try:
        train(network(), source(), targets(), once, folder=folder, device="cpu", quiet=True)
    finally:
        run.checkpoint.save_checkpoint, run.time = save, clock
    return written


def normalize(rank):
    """Compare batch norm over both halves of a batch with torch's over the whole."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(6, 3, 4, 5, generator=generator) * 3 + 1
    upstream = torch.randn(6, 3, 4, 5, generator=generator)
    weight, bias = torch.tensor([1.0, 2.0, -1.0]), torch.tensor([0.0, 1.0, 0.5])
    results = []
    for part, mode in ((slice(None), None), (slice(rank * 3, rank * 3 + 3), SyncBatchNorm)):
        given, w, b = (value.clone().requires_grad_() for value in (x[part], weight, bias))
        mean, variance = torch.zeros(3), torch.ones(3)
        if mode is None:
            out = functional.batch_norm(given, mean, variance, w, b, True, 0.1, 1e-5)
        else:
            with mode():
                out = functional.batch_norm(given, mean, variance, w, b, True, 0.1, 1e-5)
        (out * upstream[part]).sum().backward()
        results.append((out, given.grad, w.grad, b.grad, mean, variance))
    whole, shared = results
    mine = slice(rank * 3, rank * 3 + 3)
    for gradient in (shared[2], shared[3]):  # each process has the gradient of its own half
        distributed.all_reduce(gradient)
    expected = [whole[0][mine], whole[1][mine], *whole[2:]]
    return [float((a - b).abs().max()) for a, b in zip(expected, shared, strict=True)]


def main():
    root = Path(sys.argv[1])
    found = {}
    for name in SCENARIOS:
        learned = learn(name, root / name)
        rank = distributed.get_rank()
        save_weights(learned, root / name / f"final{rank}.safetensors")
    found["early"] = stop_early(rank, root / "early")
    found["checkpoints"] = save_by_the_clock(rank, root / "clock")
    found["batch norm"] = normalize(rank)
    try:
        train(network(), source(), targets(), recipe(batch_size=5), device="cpu", quiet=True)
    except InvalidInput as error:
        found["uneven"] = str(error)
    (root / f"found{rank}.json").write_text(json.dumps(found))
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
