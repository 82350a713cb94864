"""What a step does beside its arithmetic: nothing that a GPU is waited for, nothing twice."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from training_parts import EPISODES, network, pixels, recipe, source, targets
from zerokin.features.input import Augmentation, open_source, training_view
from zerokin.features.input.augmentation import apply_transform
from zerokin.features.training.rng import augmentation_generator
from zerokin.features.training.run import TrainingRun
from zerokin.features.training.step_augmentation import AHEAD, StepAugmentation

COLORS = Augmentation(area=(0.2, 0.9), brightness=0.3, contrast=0.4, saturation=0.5)
RECIPES = [
    {},
    {"augmentation": COLORS, "rotation_weight": 0.5},
    {"ema_decay": 0.9, "clip_norm": 1.0, "accumulation": 2},
    {"cutmix_prob": 1.0, "rotation_weight": 0.5},
    {"manifold_mixup": 2.0, "rotation_weight": 0.5, "label_smoothing": 0.1},
]
HEADS = ["cnn-rnn", "superclass-heads", "end-to-end"]
EPISODIC = (EPISODES, "prototypical")
ON_CPUS = [*product(RECIPES, HEADS), EPISODIC]
# On CPUs AdamW counts its steps in tensors there, and reads them.
ON_GPUS = [*product([*RECIPES, {"optimizer": "adamw"}], HEADS), EPISODIC]
ROWS = np.array([3, 17, 8, 1, 20, 11])


class Operators(TorchDispatchMode):
    """Count operators by name."""

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.counts[func.name()] += 1
        return func(*args, **(kwargs or {}))


def prepared(settings, device="cpu", head="cnn-rnn"):
    """Return a training that has taken its first step, and a function that takes another."""
    shown = open_source(pixels(), 20, device=device, resident=True, quiet=True)
    run = TrainingRun(network(dropout=0.2, head=head), shown, targets(), settings, None, device)
    run.shared.train()

    def step(number):
        for part in range(settings.accumulation):
            rows = ROWS[run.sampler.share(part)]
            run.learn_from(next(shown.batches([rows])), rows, number, part)
        run.update()
        if run.ema is not None:
            run.ema.update(number + 1)

    step(0)
    return step


@pytest.mark.parametrize(("settings", "head"), ON_CPUS)
def test_no_step_asks_a_tensor_for_a_number(settings, head):
    step = prepared(recipe(**settings), head=head)
    with Operators() as operators:
        step(1)
    assert operators.counts["aten::grid_sampler_2d"] > 0
    asked = ("_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal", "unique")
    assert not [name for name in operators.counts if any(a in name for a in asked)]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
@pytest.mark.parametrize(("settings", "head"), ON_GPUS)
def test_no_step_waits_for_the_gpu(settings, head):
    step = prepared(recipe(**settings), "cuda", head)
    torch.cuda.set_sync_debug_mode("error")
    try:
        for number in range(1, 4):
            step(number)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("augmentation", [Augmentation(), COLORS])
@pytest.mark.parametrize("n", [6, 13])
def test_every_step_has_the_variations_of_its_own_generator(augmentation, n):
    images = source().batch(np.arange(n))
    variations = StepAugmentation(augmentation, n, seed=4, device=torch.device("cpu"))
    share = slice(2, 5)
    # Not in order, and over the edges of what is drawn at once.
    for step in (0, AHEAD - 1, AHEAD, 3 * AHEAD + 7, 1):
        drawn = augmentation.draw(n, augmentation_generator(seed=4, step=step))
        expected = training_view(images, drawn, 11)[share]
        found = apply_transform(images[share], variations.at(step, share), 11)
        assert torch.equal(found, expected)


def test_colors_that_stay_need_no_factors():
    variations = {
        name: StepAugmentation(given, 6, seed=0, device=torch.device("cpu")).at(0, slice(0, 6))
        for name, given in (("stay", Augmentation()), ("change", Augmentation(contrast=0.1)))
    }
    assert variations["stay"].factors is None
    assert variations["change"].factors.shape == (6, 3)
    assert torch.equal(variations["stay"].maps, variations["change"].maps)
