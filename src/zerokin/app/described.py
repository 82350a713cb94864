"""What a recognizer knows, as plain data for JSON: classes, superclasses and how to add one."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from zerokin.data.classes import ClassTable
from zerokin.recognizer import Recognizer

KnownBy = Literal["attributes", "text", "vector"]


def known_by(classes: ClassTable) -> KnownBy:
    """Tell what a new class has to be given by.

    Examples
    --------
    >>> known_by(ClassTable(("okapi",), np.ones((1, 2)), attribute_names=("hooves", "neck")))
    'attributes'
    """
    if classes.attribute_names is not None:
        return "attributes"
    return "text" if classes.text_encoder else "vector"


def attribute_range(classes: ClassTable) -> tuple[float, float]:
    """Return the least and the greatest value of attributes, 0 included.

    Examples
    --------
    >>> attribute_range(ClassTable(("okapi",), np.array([[0.2, 7.0]])))
    (0.0, 7.0)
    """
    if classes.vectors is None or not classes.vectors.size:
        return 0.0, 1.0
    low, high = min(0.0, float(classes.vectors.min())), max(0.0, float(classes.vectors.max()))
    return (low, high) if high > low else (0.0, 1.0)


def superclass_path(recognizer: Recognizer, position: int) -> list[str]:
    """Return the superclasses of a class from the top down."""
    tree = recognizer.hierarchy
    if tree is None:
        return []
    return [
        tree.node_names(layer)[tree.labels(layer)[position]]
        for layer in range(tree.n_layers, 0, -1)
    ]


def described_classes(recognizer: Recognizer, *, read_only: bool) -> dict[str, Any]:
    """Return all classes, and what one more would have to be given by."""
    classes, seen = recognizer.classes, recognizer.seen.tolist()
    low, high = attribute_range(classes)
    return {
        "takes": recognizer.takes,
        "features": recognizer.classifier.n_features_in_,
        "known_by": known_by(classes),
        "attributes": None if classes.attribute_names is None else list(classes.attribute_names),
        "attribute_range": [low, high],
        "vector_length": int(recognizer.classifier.semantics_.shape[1]),
        "read_only": read_only,
        "classes": [
            {
                "name": name,
                "seen": seen[i],
                "shots": recognizer.shots.get(name, 0),
                "superclasses": superclass_path(recognizer, i),
            }
            for i, name in enumerate(classes.names)
        ],
    }


def described_hierarchy(recognizer: Recognizer) -> dict[str, Any]:
    """Return the superclasses, layer by layer from the top."""
    tree = recognizer.hierarchy
    if tree is None:
        return {"layers": []}
    layers = []
    for layer in range(tree.n_layers, 0, -1):
        labels = tree.labels(layer)
        parents = None if layer == tree.n_layers else tree.parents(layer).tolist()
        nodes = [
            {
                "name": name,
                "parent": None if parents is None else tree.node_names(layer + 1)[parents[node]],
                "classes": [tree.names[i] for i in np.flatnonzero(labels == node).tolist()],
            }
            for node, name in enumerate(tree.node_names(layer))
        ]
        layers.append({"layer": layer, "nodes": nodes})
    return {"layers": layers}
