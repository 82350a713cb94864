"""How well a network under training serves classes that it has not seen: validation classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from zerokin.data.dataset import Dataset
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.features.input.sources import Source
from zerokin.features.networks.network import FeatureNetwork
from zerokin.features.networks.semantic_head import SemanticHead
from zerokin.features.reading import Reading, View, read_all, read_images
from zerokin.features.scaler import unit_length
from zerokin.metrics.multi_label import mean_average_precision

RIDGE = 1.0


def unseen_accuracy(network: FeatureNetwork, fold: Dataset, source: Source, view: View) -> float:
    """Return per-class top-1, %, on the unseen classes of a validation fold.

    Where images have several labels, mean average precision (mAP) over these classes.

    A network with a semantic head names them itself. The features of others are centered, scaled
    to unit length and compared by cosine with class semantics projected by ridge regression.

    Parameters
    ----------
    network
        As it is now.
    fold
        What `Dataset.fold` made; its unseen classes are validation classes.
    source
        All images of the data set.
    view
        How images are shown.
    """
    split = fold.split
    shown = source.select(split.test_unseen)
    if isinstance(network.head, SemanticHead):
        scores = _own_scores(network.head, read_images(network, shown, view), fold)
    else:
        train = read_all(network, source.select(split.train), view)
        scores = _projected_scores(train, read_all(network, shown, view), fold)
    if isinstance(fold, MultiLabelDataset):
        marked = fold.evaluation_label_matrix(split.test_unseen)[:, fold.unseen]
        return mean_average_precision(marked, scores)
    truth = fold.evaluation_labels(split.test_unseen)
    right = fold.unseen[scores.argmax(axis=1)] == truth
    return float(100 * np.mean([right[truth == c].mean() for c in np.unique(truth)]))


@torch.no_grad()
def _own_scores(head: SemanticHead, readings: Iterator[Reading], fold: Dataset) -> np.ndarray:
    semantics = fold.semantics[fold.unseen]
    parts = []
    for features, estimates in readings:
        assert estimates is not None
        parts.append(head.compare(features, estimates, semantics).cpu().numpy())
    scores: np.ndarray = np.concatenate(parts)
    return scores


def _projected_scores(train: np.ndarray, test: np.ndarray, fold: Dataset) -> np.ndarray:
    mean = train.mean(axis=0, dtype=np.float64).astype(train.dtype)
    F, X = unit_length(train - mean), unit_length(test - mean)
    if isinstance(fold, MultiLabelDataset):
        images, labels = np.nonzero(fold.training_label_matrix())
        F, E = F[images], fold.semantics[labels]
    else:
        E = fold.semantics[fold.training_labels()]
    gram = E.T @ E + RIDGE * np.eye(E.shape[1])
    prototypes = unit_length(fold.semantics[fold.unseen] @ np.linalg.solve(gram, E.T @ F))
    scores: np.ndarray = X @ prototypes.T
    return scores
