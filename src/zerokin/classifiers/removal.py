"""A classifier without one of its unseen classes."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from zerokin.hierarchy import ClassHierarchy

if TYPE_CHECKING:
    from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier


def without_class(model: ZeroShotClassifier, position: int) -> ZeroShotClassifier:
    """Return a classifier that does not know one of the unseen classes; nothing is fitted again.

    Parameters
    ----------
    model
        Fitted; it stays as it is.
    position
        Of an unseen class. Other classes learned nothing from it, so that they keep their scores.
    """
    kept = np.delete(np.arange(len(model.classes_)), position)
    smaller = copy(model)
    smaller.classes_ = model.classes_[kept]
    smaller.semantics_ = model.semantics_[kept]
    smaller.prototypes_ = model.prototypes_[kept]
    smaller._offsets = model._offsets[kept]
    gone = model.classes_[position]
    smaller._shots = {name: one for name, one in model._shots.items() if name != gone}
    smaller.seen_ = model.seen_ - (model.seen_ > position)
    if model.hierarchy_ is not None:
        smaller.hierarchy_ = model.hierarchy_.select(kept.tolist())
        smaller._layer_prototypes = [
            nodes[_former_nodes(smaller.hierarchy_, model.hierarchy_, kept, layer)]
            for layer, nodes in enumerate(model._layer_prototypes, start=1)
        ]
    return smaller


def _former_nodes(
    new: ClassHierarchy, old: ClassHierarchy, kept: np.ndarray, layer: int
) -> np.ndarray:
    """Return what every node of a layer was numbered before."""
    former = np.empty(new.sizes[layer - 1], dtype=np.int64)
    former[new.labels(layer)] = old.labels(layer)[kept]
    return former
