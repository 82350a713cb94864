"""What stands behind a mean: the accuracy of each class, and which superclasses are confused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.data.dataset import Dataset
from zerokin.hierarchy.from_dataset import build_hierarchy

Positions = NDArray[np.int64]
MOST_NODES = 20  # of a matrix that can be read


def per_class_accuracies(
    truth: Positions, named: Positions, dataset: Dataset
) -> dict[str, dict[str, float]]:
    """Return the accuracy of each class in percent, of seen classes and of unseen ones.

    Classes without samples are left out; the mean over the others is the per-class top-1.

    Parameters
    ----------
    truth, named
        (n,) true classes and answers, as positions.
    dataset
        Whose classes.
    """
    n_classes = len(dataset.classes)
    counts = np.bincount(truth, minlength=n_classes)
    right = np.bincount(truth[truth == named], minlength=n_classes)
    found: dict[str, dict[str, float]] = {}
    for kind, classes in (("seen", dataset.seen), ("unseen", dataset.unseen)):
        own = {
            dataset.classes.names[i]: round(float(100 * right[i] / counts[i]), 2)
            for i in classes[counts[classes] > 0].tolist()
        }
        if own:
            found[kind] = own
    return found


def superclass_confusions(
    truth: Positions, named: Positions, dataset: Dataset
) -> dict[str, Any] | None:
    """Return how often samples of each superclass were named as each; None without a hierarchy.

    The superclasses are those of the taxonomy, or clusters of the semantics: the lowest layer of
    at most 20 nodes, or the top one. Pairs that never occur are left out.

    Parameters
    ----------
    truth, named, dataset
        As for `per_class_accuracies`.
    """
    classes = dataset.classes
    if classes.taxonomy is None and classes.vectors is None:
        return None
    grouping = "kmeans" if classes.taxonomy is None else "taxonomy"
    tree = build_hierarchy(dataset, grouping)  # type: ignore[arg-type]
    if not tree.n_layers:
        return None
    layers = range(1, tree.n_layers + 1)
    layer = next((one for one in layers if tree.sizes[one - 1] <= MOST_NODES), tree.n_layers)
    nodes, labels = tree.node_names(layer), tree.labels(layer)
    pairs, counts = np.unique(np.stack([labels[truth], labels[named]]), axis=1, return_counts=True)
    found: dict[str, dict[str, int]] = {}
    for (true, other), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
        found.setdefault(nodes[true], {})[nodes[other]] = count
    return {"by": grouping, "layer": layer, "counts": found}
