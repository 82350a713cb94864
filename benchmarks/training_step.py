"""How fast does a network learn, and what does compiling win? As a ratio in one run.

Each network learns from noise of its own side, first as it is and then compiled
(`Recipe(compiled=True)`), by the very step that trainings take.
``python benchmarks/training_step.py resnet12 wrn28-10:stem_stride=2 conv4:flatten=True``, on a GPU.
``--image-size 60 64 72 84`` shows images that grow (`Recipe(initial_image_size=60)`), one
size after the other.

``--modes eager default reduce-overhead max-autotune --batch 128 256`` measures each mode of
`torch.compile` with each size of a batch, a line as soon as it is known. ``--recipe`` adds
settings, as JSON: ``'{"manifold_mixup": 2, "rotation_weight": 0.5}'``. ``--layers 17`` adds
superclass heads, ``--separate`` computes those one by one. ``--budget 80`` begins nothing after so
many seconds.

``--host`` tells what a step costs the thread that issues it, whatever the device: how many
operators it calls, and how long it takes with eight tiny images, which take a GPU no time.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from zerokin.features.input import open_source
from zerokin.features.networks import FeatureNetwork, HierarchyHead, create_backbone
from zerokin.features.training import Recipe, Targets
from zerokin.features.training.compilation import convolutions_measured
from zerokin.features.training.run import TrainingRun

CLASSES = 64
SUPERCLASSES = 90
TINY = 16


class Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Count operators that compute something: neither views nor empty tensors."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        idle = func.is_view or "empty" in func.name() or func.name().startswith("profiler::")
        self.count += not idle
        return func(*args, **(kwargs or {}))


def learner(
    name: str,
    side: int | None,
    batch: int,
    *,
    compiled: bool | str = False,
    settings: Mapping[str, Any] | None = None,
    layers: int = 0,
    joint: bool | None = None,
) -> Callable[[int, int | None], float]:
    """Return a function that learns for some steps at a side, and returns their seconds."""
    backbone_name, *given = name.split(":")
    pairs = dict(option.split("=") for option in given)
    options = {key: json.loads(value.lower()) for key, value in pairs.items()}
    backbone = create_backbone(backbone_name, weights=None, **options)
    mode = "superclass-heads" if layers else "classes"
    sizes = np.linspace(SUPERCLASSES, 2, layers).astype(int).tolist()
    head = HierarchyHead(backbone.d_f, CLASSES, sizes, mode=mode)
    head.joint = joint
    network = FeatureNetwork(backbone, head)
    shown = side or backbone.input_size
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (batch, shown, shown, 3), dtype=np.uint8)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    source = open_source(pixels, shown, device=device, resident=True, quiet=True)
    above = rng.integers(0, sizes, (batch, layers)) if layers else np.zeros((batch, 0), np.int64)
    targets = Targets(rng.integers(0, CLASSES, batch), above)
    given = {"epochs": 1, "batch_size": batch, "image_size": shown, "compiled": compiled}
    recipe = Recipe.from_dict({**given, **(settings or {})})
    run = TrainingRun(network, source, targets, recipe, None, device)
    run.shared.train()
    rows = np.arange(batch)
    images = source.batch(rows)
    taken = 0

    def learn(times: int, side: int | None = None) -> float:
        nonlocal taken
        run.augmenter.image_size = side or shown
        started = time.perf_counter()
        with convolutions_measured(run.device):
            for step in range(taken, taken + times):
                run.learn_from(images, rows, step, 0)
                run.update()
                if run.ema is not None:
                    run.ema.update(step + 1)
            if device == "cuda":
                torch.cuda.synchronize()
        taken += times
        return time.perf_counter() - started

    return learn


def speed(
    name: str, sides: Sequence[int | None], batch: int, steps: int, **options: Any
) -> dict[str, float]:
    """Return seconds that first steps take, and images per second in all others."""
    torch._dynamo.reset()
    learn = learner(name, max((side for side in sides if side), default=None), batch, **options)
    first = total = 0.0
    for side in sides:
        first += learn(4, side)  # CUDA graphs are recorded in the second or third
        total += learn(steps, side)
    shown = len(sides) * steps * batch
    return {"first_s": round(first, 1), "per_s": round(shown / total)}


def host(name: str, steps: int, **options: Any) -> dict[str, float]:
    """Return the operators of a step, and the milliseconds that issuing it takes."""
    learn = learner(name, TINY, 8, **options)
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
    parser.add_argument("--image-size", type=int, nargs="+", help="by default each network's own")
    parser.add_argument("--batch", type=int, nargs="+", default=[128])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--eager", action="store_true", help="do not compile")
    parser.add_argument("--host", action="store_true", help="what issuing a step takes, no more")
    parser.add_argument("--modes", nargs="+", help="eager, and modes of torch.compile")
    parser.add_argument("--recipe", type=json.loads, help="settings of the recipe, as JSON")
    parser.add_argument("--layers", type=int, default=0, help="of superclasses")
    parser.add_argument("--separate", action="store_true", help="superclass heads one by one")
    parser.add_argument("--budget", type=float, help="seconds after which nothing is begun")
    arguments = parser.parse_args()
    options = {
        "settings": arguments.recipe,
        "layers": arguments.layers,
        "joint": False if arguments.separate else None,
    }
    started = time.perf_counter()
    for name, batch in product(arguments.networks, arguments.batch):
        if arguments.host:
            found = host(name, arguments.steps, **options)
            print(json.dumps({"network": name, **found}), flush=True)
            continue
        shape = (name, arguments.image_size or [None], batch, arguments.steps)
        if arguments.modes:
            for mode in arguments.modes:
                if arguments.budget and time.perf_counter() - started > arguments.budget:
                    return
                found = speed(*shape, compiled=False if mode == "eager" else mode, **options)
                answer = {"network": name, "batch": batch, "mode": mode, **found}
                print(json.dumps(answer), flush=True)
            continue
        plain = speed(*shape, **options)
        answer = {"network": name, "batch": batch, "eager": plain}
        if not arguments.eager:
            fast = speed(*shape, compiled=True, **options)
            answer |= {"compiled": fast, "ratio": round(fast["per_s"] / plain["per_s"], 2)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
