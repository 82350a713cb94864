"""How fast does a network learn, and what does compiling win? As a ratio in one run.

Each network learns from noise of its own side, first as it is and then compiled
(`Recipe(compiled=True)`), by the very step that trainings take.
``python benchmarks/training_step.py resnet12 wrn28-10:stem_stride=2 conv4:flatten=True``, on a GPU.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import torch

from zerokin.features.input import open_source
from zerokin.features.networks import FeatureNetwork, HierarchyHead, create_backbone
from zerokin.features.training import Recipe, Targets
from zerokin.features.training.run import TrainingRun

CLASSES = 64


def speed(
    name: str, side: int | None, batch: int, steps: int, *, compiled: bool
) -> dict[str, float]:
    """Return seconds until the first step is done, and pictures per second from then on."""
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

    def learn(times: int) -> float:
        started = time.perf_counter()
        for step in range(times):
            run.learn_from(pictures, rows, step, 0)
            run.update()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - started

    first = learn(1)
    learn(3)
    return {"first_s": round(first, 1), "per_s": round(steps * batch / learn(steps))}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("networks", nargs="+", help="a backbone, with options: conv4:flatten=True")
    parser.add_argument("--side", type=int, help="by default each network's own")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--eager", action="store_true", help="do not compile")
    arguments = parser.parse_args()
    for name in arguments.networks:
        shape = (name, arguments.side, arguments.batch, arguments.steps)
        plain = speed(*shape, compiled=False)
        answer: dict[str, object] = {"network": name, "batch": arguments.batch, "eager": plain}
        if not arguments.eager:
            fast = speed(*shape, compiled=True)
            answer |= {"compiled": fast, "ratio": round(fast["per_s"] / plain["per_s"], 2)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
