"""How fast does a network learn, and what does compiling win? As a ratio in one run.

Each network learns from noise of its own side, first as it is and then compiled
(`Recipe(compiled=True)`), by the very step that trainings take.
``python benchmarks/training_step.py resnet12 wrn28-10:stem_stride=2 conv4:flatten=True``, on a GPU.
``--side 60 64 72 84`` shows pictures that grow (`Recipe(first_side=60)`), one side after the other.

``--host`` tells what a step costs the thread that issues it, whatever the device: how many
operators it calls, and how long it takes with eight tiny pictures, which take a GPU no time.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from zerokin.features.input import open_source
from zerokin.features.networks import FeatureNetwork, HierarchyHead, create_backbone
from zerokin.features.training import Recipe, Targets
from zerokin.features.training.run import TrainingRun

CLASSES = 64
TINY = 16


class Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Count operators that compute something: neither views nor empty tensors."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        idle = func.is_view or "empty" in func.name() or func.name().startswith("profiler::")
        self.count += not idle
        return func(*args, **(kwargs or {}))


def learner(
    name: str, side: int | None, batch: int, *, compiled: bool
) -> Callable[[int, int | None], float]:
    """Return a function that learns for some steps at a side, and returns their seconds."""
    backbone_name, *given = name.split(":")
    pairs = dict(option.split("=") for option in given)
    options = {key: json.loads(value.lower()) for key, value in pairs.items()}
    backbone = create_backbone(backbone_name, weights=None, **options)
    network = FeatureNetwork(backbone, HierarchyHead(backbone.d_f, CLASSES, [], mode="classes"))
    shown = side or backbone.input_size
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (batch, shown, shown, 3), dtype=np.uint8)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    source = open_source(pixels, shown, device=device, resident=True, quiet=True)
    targets = Targets(rng.integers(0, CLASSES, batch), np.zeros((batch, 0), np.int64))
    recipe = Recipe(epochs=1, batch_size=batch, side=shown, compiled=compiled)
    run = TrainingRun(network, source, targets, recipe, None, device)
    run.shared.train()
    rows = np.arange(batch)
    pictures = source.batch(rows)
    taken = 0

    def learn(times: int, side: int | None = None) -> float:
        nonlocal taken
        run.views.side = side or shown
        started = time.perf_counter()
        for step in range(taken, taken + times):
            run.learn_from(pictures, rows, step, 0)
            run.update()
        if device == "cuda":
            torch.cuda.synchronize()
        taken += times
        return time.perf_counter() - started

    return learn


def speed(
    name: str, sides: Sequence[int | None], batch: int, steps: int, *, compiled: bool
) -> dict[str, float]:
    """Return seconds that first steps take, and pictures per second in all others."""
    learn = learner(
        name, max((side for side in sides if side), default=None), batch, compiled=compiled
    )
    first = total = 0.0
    for side in sides:
        first += learn(1, side)
        learn(3, side)
        total += learn(steps, side)
    shown = len(sides) * steps * batch
    return {"first_s": round(first, 1), "per_s": round(shown / total)}


def host(name: str, steps: int) -> dict[str, float]:
    """Return the operators of a step, and the milliseconds that issuing it takes."""
    learn = learner(name, TINY, 8, compiled=False)
    learn(4, TINY)
    seconds = min(learn(steps, TINY) for _ in range(3))
    with Operators() as operators:  # type: ignore[no-untyped-call]
        learn(steps, TINY)
    return {
        "operators": round(operators.count / steps, 1),
        "host_ms": round(1000 * seconds / steps, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("networks", nargs="+", help="a backbone, with options: conv4:flatten=True")
    parser.add_argument("--side", type=int, nargs="+", help="by default each network's own")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--eager", action="store_true", help="do not compile")
    parser.add_argument("--host", action="store_true", help="what issuing a step takes, no more")
    arguments = parser.parse_args()
    for name in arguments.networks:
        if arguments.host:
            print(json.dumps({"network": name, **host(name, arguments.steps)}), flush=True)
            continue
        shape = (name, arguments.side or [None], arguments.batch, arguments.steps)
        plain = speed(*shape, compiled=False)
        answer: dict[str, object] = {"network": name, "batch": arguments.batch, "eager": plain}
        if not arguments.eager:
            fast = speed(*shape, compiled=True)
            answer |= {"compiled": fast, "ratio": round(fast["per_s"] / plain["per_s"], 2)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
