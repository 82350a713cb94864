"""Does the real input pipeline keep the device busy? Images per second, as a ratio in one run.

The same training step is timed twice: fed by the real pipeline (images decoded once, kept on the
device as bytes, cropped and recolored there) and on one view that lies ready on the device. The
target is at least 0.8. ``python benchmarks/pipeline.py cub=DIR --weights FILE``; without a GPU it
runs on the CPU, where a small ``--image-size`` and ``--backbone conv4 --weights none`` keep it
short.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
import torch

from zerokin.data import load_dataset
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.input import open_source, training_view
from zerokin.features.training import Recipe
from zerokin.features.training.rng import augmentation_generator
from zerokin.features.training.run import TrainingRun
from zerokin.features.training.training_batch import TrainingBatch


def images_per_second(
    step: Callable[[int], object], steps: int, batch: int, device: torch.device
) -> float:
    for warm in range(3):
        step(warm)
    _wait(device)
    started = time.perf_counter()
    for number in range(3, 3 + steps):
        step(number)
    _wait(device)
    return steps * batch / (time.perf_counter() - started)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--backbone", default="tf_efficientnet_lite2")
    parser.add_argument("--weights", default="packaged")
    parser.add_argument("--image-size", type=int, default=320)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--streamed", action="store_true", help="decode while training")
    arguments = parser.parse_args()

    dataset = load_dataset(arguments.data)
    recipe = Recipe(epochs=1, batch_size=arguments.batch, image_size=arguments.image_size)
    weights = None if arguments.weights == "none" else arguments.weights
    learner = FeatureLearner(
        arguments.backbone,
        "end-to-end",
        weights=weights,
        recipe=recipe,
        image_size=arguments.image_size,
    )
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    learner.prepare(dataset)
    started = time.perf_counter()
    source = open_source(
        dataset.images, learner.cache_size, device=device, resident=not arguments.streamed
    )
    decoded = time.perf_counter() - started
    source = source.select(dataset.split.train)
    run = TrainingRun(learner.network_, source, learner.targets(dataset), recipe, None, None)
    run.shared.train()
    rows = [
        np.random.default_rng(number).permutation(len(source))[: arguments.batch]
        for number in range(arguments.steps + 3)
    ]
    feed = source.batches(iter(rows))
    ready = training_view(
        source.batch(rows[0]),
        recipe.augmentation.draw(arguments.batch, augmentation_generator(seed=0, step=0)),
        arguments.image_size,
    ).contiguous(memory_format=torch.channels_last)

    def real(number: int) -> None:
        run.learn_from(next(feed), rows[number], number, 0)
        run.update()

    def ideal(number: int) -> None:
        run.backward(TrainingBatch(ready), rows[number])
        run.update()

    # In turn, twice: what is slow at first is slow for both.
    ideal_rate = images_per_second(ideal, arguments.steps, arguments.batch, device)
    real_rate = images_per_second(real, arguments.steps, arguments.batch, device)
    ideal_rate = max(ideal_rate, images_per_second(ideal, arguments.steps, arguments.batch, device))
    answer = {
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "image_size": arguments.image_size,
        "batch": arguments.batch,
        "decoding_s": round(decoded, 1),
        "ready_tensors_per_s": round(ideal_rate),
        "real_pipeline_per_s": round(real_rate),
        "ratio": round(real_rate / ideal_rate, 3),
        "target": 0.8,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
