"""Tiny images, labels and networks that train in a moment."""

from __future__ import annotations

import json

import numpy as np
import torch
from torch import nn

from zerokin.features.input import open_source
from zerokin.features.networks import (
    FeatureNetwork,
    HierarchyHead,
    PrototypicalHead,
    SemanticHead,
)
from zerokin.features.networks.backbone import IMAGENET, Backbone
from zerokin.features.training import Recipe, Targets

CLASSES = 4
SIDE = 16
PARENTS = np.array([0, 0, 1, 1])
EPISODES = {"episode_way": 3, "episode_shots": 1, "episode_queries": 1}
"""Of a recipe that draws episodes of six images: as many as its batches have."""


def labels(n):
    return np.arange(n) % CLASSES


def pixels(n=24, side=20, seed=0):
    """Noise over a color of each class, (n, side, side, 3)."""
    rng = np.random.default_rng(seed)
    colors = np.random.default_rng(1).integers(40, 200, (CLASSES, 1, 1, 3))
    return (colors[labels(n)] + rng.integers(0, 50, (n, side, side, 3))).astype(np.uint8)


def source(n=24, *, resident=True):
    return open_source(pixels(n), 20, resident=resident, workers=2, quiet=True)


def targets(n=24):
    return Targets(classes=labels(n), layers=PARENTS[labels(n)][:, None])


def network(*, dropout=0.0, head="cnn-rnn", normalized=True, seed=0):
    """Two convolutions of 6 and 8 channels, with batch norm and dropout, under a head."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = []
        for before, width in ((3, 6), (6, 8)):
            layers += [nn.Conv2d(before, width, 3, stride=2, padding=1, bias=False)]
            layers += [nn.BatchNorm2d(width)] if normalized else []
            layers += [nn.ReLU(), nn.Dropout(dropout)]
        backbone = Backbone(
            "tiny",
            nn.Sequential(*layers),
            channels=8,
            d_f=8,
            input_size=SIDE,
            normalization=IMAGENET,
        )
        if head == "end-to-end":
            semantics = np.eye(CLASSES)
            above = np.stack([semantics[k == PARENTS].mean(axis=0) for k in (0, 1)])
            return FeatureNetwork(backbone, SemanticHead(8, semantics, [above], map_channels=8))
        if head == "prototypical":
            way, shots = EPISODES["episode_way"], EPISODES["episode_shots"]
            return FeatureNetwork(backbone, PrototypicalHead(8, way, shots))
        return FeatureNetwork(backbone, HierarchyHead(8, CLASSES, [2], hidden=5, mode=head))


def recipe(**settings):
    """Three epochs of four steps, over 24 images."""
    return Recipe(**{"epochs": 3, "batch_size": 6, "lr": 0.01, **settings})


def epochs_seen(trained, steps_per_epoch=4, passes=1):
    """Count the epochs a network has trained for by what its batch norm counted."""
    return int(trained.backbone.model[1].num_batches_tracked) // (steps_per_epoch * passes)


def records(folder):
    """Return the log's lines without what a clock wrote."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    clock = ("seconds", "images_per_second")
    return [{k: v for k, v in line.items() if k not in clock} for line in lines]


def weights(trained):
    return {name: value.detach().clone() for name, value in trained.state_dict().items()}


def furthest(first, second):
    """Return the largest difference between two sets of weights."""
    assert first.keys() == second.keys()
    return max(float((first[k].double() - second[k].double()).abs().max()) for k in first)
