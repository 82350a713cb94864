"""How prototypes are learned from images with several labels: whole images, regions, ranking."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from zerokin.classifiers.memo import RunStage, run_stage
from zerokin.classifiers.multi_label.refinement import refined_step
from zerokin.classifiers.multi_label.regions import assigned_regions, whole_images
from zerokin.classifiers.stages import TrainingSet, scale_samples, score_samples
from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.hierarchy import ClassHierarchy


class LabeledRegions(NamedTuple):
    """What is learned from: regions of images (N, R, d_f), labels (N, C), semantics and names.

    Parameters
    ----------
    regions
        (N, R, d_f) raw features.
    labels
        (N, C) which labels each image has; columns without any are unseen classes.
    semantics
        (C, d_z) unit semantics Z.
    names
        (C,) what the classes are called.
    """

    regions: NDArray[Any]
    labels: NDArray[np.bool_]
    semantics: NDArray[np.float64]
    names: NDArray[Any]


class Learned(NamedTuple):
    """A fitted classifier, and the pairs (M,) of features and a label that it was fitted to."""

    model: ZeroShotClassifier
    pairs: TrainingSet


def learn_prototypes(
    data: LabeledRegions,
    model: ZeroShotClassifier,
    hierarchy: ClassHierarchy | None,
    *,
    n_assignments: int,
    ranking_epochs: int,
    run: RunStage = run_stage,
) -> Learned:
    """Fit a classifier to whole images, then to the regions of each label, then by ranking.

    Parameters
    ----------
    data
        Images with their labels.
    model
        Unfitted; it is fitted, or copies of it are.
    hierarchy
        Superclasses, where they are not clustered.
    n_assignments, ranking_epochs
        Of `MultiLabelZeroShotClassifier`.
    run
        How stages are run: a search gives a `Memo`.
    """
    pairs = run(whole_image_pairs, *data)
    model._fit(pairs, hierarchy, run)
    labels = np.nonzero(data.labels)[1]
    for _ in range(n_assignments if data.regions.shape[1] > 1 else 0):
        features = assigned_regions(data.regions, data.labels, partial(region_scores, model))
        pairs = TrainingSet(features, labels, data.semantics, data.names)
        model = clone(model)._fit(pairs, hierarchy)
    if ranking_epochs:
        refine_by_ranking(model, data, ranking_epochs)
    return Learned(model, pairs)


def region_scores(model: ZeroShotClassifier, features: NDArray[Any]) -> NDArray[np.float64]:
    """Return scores (n, C) of raw features (n, d_f), without a penalty of seen classes."""
    F = scale_samples(model._normalizer, features, model.distance)
    return score_samples(F, model.prototypes_, model._offsets, distance=model.distance)


def refine_by_ranking(model: ZeroShotClassifier, data: LabeledRegions, n_epochs: int) -> None:
    """Move a fitted classifier's projection, and with it all prototypes, by `refined_step`."""
    N, R, d_f = data.regions.shape
    Z, seen, rule = data.semantics, model.seen_, model._rule
    kernel = model._kernel(Z, seen, model.hierarchy_)
    raw = replace(rule, unit=False).prototypes(Z, kernel)
    length = float(np.linalg.norm(raw[seen], axis=1).mean())
    step = refined_step(
        scale_samples(model._normalizer, data.regions.reshape(N * R, d_f)).reshape(N, R, -1),
        data.labels[:, seen],
        Z[seen],
        raw[seen] / length,
        n_epochs=n_epochs,
        random_state=model.random_state or 0,
    )
    model._rule = replace(rule, projection=rule.projection + length * step)
    prototypes = model._rule.prototypes(Z, kernel)
    model.prototypes_ = model._checked_prototypes(prototypes)
    model._offsets = model._hub_offsets(prototypes)


def whole_image_pairs(
    regions: NDArray[Any],
    labels: NDArray[np.bool_],
    semantics: NDArray[np.float64],
    names: NDArray[Any],
) -> TrainingSet:
    """Return pairs of an image and one of its labels, each with the whole image's features."""
    images, positions = np.nonzero(labels)
    return TrainingSet(whole_images(regions)[images], positions, semantics, names)
