"""Training where images have several labels: what is learned, and what cannot be."""

from __future__ import annotations

import numpy as np

from zerokin.data.multi_label import MultiLabelDataset
from zerokin.errors import InvalidInput
from zerokin.features.networks.backbone import Backbone
from zerokin.features.training.recipe import Recipe
from zerokin.features.training.records import Targets
from zerokin.hierarchy import ClassHierarchy

MODES = ("cnn-rnn", "superclass-heads", "classes")


def label_set_targets(dataset: MultiLabelDataset, hierarchy: ClassHierarchy | None) -> Targets:
    """Return which seen classes the training images have, and which superclasses of all layers.

    An image has a superclass if it has any class below.
    """
    labels = dataset.training_label_matrix()
    layers = []
    for layer in range(1, 1 + (0 if hierarchy is None else hierarchy.n_layers)):
        nodes = hierarchy.labels(layer)  # type: ignore[union-attr]
        below = np.arange(nodes.max() + 1) == nodes[:, None]
        layers.append(labels @ below)
    whole = np.concatenate(layers, axis=1) if layers else np.zeros((len(labels), 0))
    return Targets(labels[:, dataset.seen].astype(np.float32), whole.astype(np.float32))


def refuse_for_label_sets(mode: str, recipe: Recipe) -> None:
    """Refuse what a network cannot learn from images with several labels."""
    if mode not in MODES:
        raise InvalidInput(
            f"mode {mode!r} learns one label an image, and here are several: choose "
            f"{', '.join(MODES[:-1])} or {MODES[-1]}"
        )
    for name in ("distillation", "label_smoothing"):
        if value := getattr(recipe, name):
            raise InvalidInput(f"{name} {value} is for one label an image: set it to 0")


def refuse_without_maps(backbone: Backbone) -> None:
    """Refuse to train a network whose features are not the averages of its maps."""
    if backbone.flatten or backbone.channels != backbone.d_f:
        raise InvalidInput(
            f"{backbone.name} has no maps as wide as its features, which labels are learned "
            "from: choose another backbone, or leave it as it is (epochs: 0)"
        )
