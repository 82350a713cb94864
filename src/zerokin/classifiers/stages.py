"""The zero-shot method, stage by stage: scale features → project → correct prototypes → score.

Arrays in, arrays out. `ZeroShotClassifier.fit` runs the stages in this order; a search runs them
with a `Memo`, so that trials share the stages in which they do not differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.class_kernel import ClassKernel, is_large
from zerokin.classifiers.finite_scores import finite_scores
from zerokin.classifiers.hubness import hubness
from zerokin.classifiers.memo import RunStage
from zerokin.classifiers.nearness import Distance, nearness
from zerokin.classifiers.prototypes import PrototypeRule
from zerokin.classifiers.residual_correction import semantic_kernel, superclass_kernel
from zerokin.compute.processes import current
from zerokin.errors import InvalidInput
from zerokin.features.class_means import class_means
from zerokin.features.row_sources import blocks_of
from zerokin.features.scaler import FeatureScaler, unit_length
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.alignment import aligned_hierarchy
from zerokin.projection import FeatureSpectrum, ProjectionLearner
from zerokin.projection.rows import FeatureRows
from zerokin.projection.scratch import scratch_copy

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """What is learned from: samples of seen classes, and semantics of all classes.

    Of several processes each has samples of its own.

    Parameters
    ----------
    features
        (N, d_f) raw features: an array, or ``FeatureRows`` to be read by blocks.
    labels
        (N,) positions of their classes.
    semantics
        (C, d_z) unit semantics Z.
    names
        (C,) what the classes are called.
    """

    features: Any
    labels: NDArray[np.int64]
    semantics: Matrix
    names: NDArray[Any]

    @cached_property
    def seen(self) -> NDArray[np.int64]:
        """(p,) positions of the classes that have samples, in whichever process."""
        return current().union(self.labels)


class ScaledFeatures(NamedTuple):
    """Training features (N, d_f) once scaled, how, and means of seen classes (p, d_f)."""

    normalizer: FeatureScaler
    features: NDArray[Any]
    means: Matrix


class Projection(NamedTuple):
    """A projection W (d_f, d_z) and the iterations it took."""

    W: NDArray[Any]
    n_iter: int


def scale_features(features: Any, labels: NDArray[np.int64], steps: str) -> ScaledFeatures:
    """Learn the steps of `FeatureScaler` from training features (N, d_f), and apply them."""
    normalizer, processes = FeatureScaler(steps), current()
    F = normalizer.fit_transform(features, labels)
    if isinstance(features, FeatureRows):  # scaled once, and not each time they are read
        F = scratch_copy(F)
    seen = processes.union(labels)
    means = class_means(F, labels, int(seen[-1]) + 1, processes)[seen]
    return ScaledFeatures(normalizer, F, means)


def scale_samples(
    normalizer: FeatureScaler, features: NDArray[Any], distance: Distance = "cosine"
) -> NDArray[Any]:
    """Return new samples (n, d_f), scaled as the training features were; for cosines, unit."""
    return as_compared(normalizer.transform(features), distance)


def as_compared(vectors: NDArray[Any], distance: Distance) -> NDArray[Any]:
    """Return vectors (n, d_f) as they are compared: of unit length for cosines."""
    return unit_length(vectors) if distance == "cosine" else vectors


def factor_features(
    scaled: ScaledFeatures, device: str = "cpu", memory_budget: int | None = None
) -> FeatureSpectrum:
    """Return the spectrum of scaled features, which projections of all settings share."""
    refuse_all_zero(scaled.features, scaled.normalizer.steps)
    return FeatureSpectrum(scaled.features, device=device, memory_budget=memory_budget)


def refuse_all_zero(F: NDArray[Any], steps: str) -> None:
    """Refuse scaled training features (N, d_f) from which nothing can be learned."""
    if not current().any(any(F[rows].any() for rows in blocks_of(F))):
        raise InvalidInput(
            f"X is all zero once it is normalized by {steps!r}: nothing can be learned from it"
        )


def build_superclasses(
    semantics: Matrix,
    names: NDArray[Any],
    hierarchy: ClassHierarchy | None,
    *,
    branching: int,
    grouping: Any,
    random_state: int,
) -> ClassHierarchy | None:
    """Return the hierarchy of classes: the one given, or clusters of their semantics (C, d_z).

    With fewer than ``branching``² classes there are no clusters, and None is returned.
    """
    if hierarchy is not None:
        return aligned_hierarchy(hierarchy, names)
    if len(names) < branching**2:
        return None
    return ClassHierarchy.from_semantics(
        semantics, branching, random_state, names=[str(name) for name in names], method=grouping
    )


def learn_projection(
    spectrum: FeatureSpectrum,
    vectors: Matrix,
    labels: NDArray[np.int64],
    *,
    alpha: float,
    beta: float,
    epsilon: float,
    gamma: float,
    n_neighbors: int,
    max_iter: int,
    tol: float,
    device: str,
    memory_budget: int | None = None,
) -> Projection:
    """Learn the projection between features and the vectors (k, d_z) of classes or superclasses.

    ``labels`` (N,) is the row of each sample's vector. With ``beta=0`` vectors stay fixed.
    """
    learner = ProjectionLearner(
        alpha,
        beta or 0.5,
        epsilon,
        gamma,
        n_neighbors,
        max_iter,
        tol,
        learn_semantics=beta > 0,
        device=device,
        memory_budget=memory_budget,
    )
    learner.fit(spectrum.features, vectors, labels=labels, spectrum=spectrum)
    return Projection(learner.W_, learner.n_iter_)


def relate_classes(
    semantics: Matrix,
    seen: NDArray[np.int64],
    hierarchy: ClassHierarchy | None,
    *,
    decay: float,
    semantic_weight: float,
    width: float,
    run: RunStage,
) -> Matrix | ClassKernel:
    """Return the kernel of related classes: covariances of all classes with seen ones, (C, p).

    The sum of a squared-exponential kernel over semantics and of one for each superclass layer.
    """
    if is_large(len(semantics), len(seen)):
        settings: dict[str, Any] = {"semantic_weight": semantic_weight, "width": width}
        return ClassKernel(semantics, seen, hierarchy, decay=decay, **settings)
    kernel = semantic_weight * run(_with_seen_semantics, semantics, seen, width)
    if hierarchy is None:
        return kernel
    total: Matrix = kernel + run(_with_seen_superclasses, hierarchy, seen, decay)
    return total


def _with_seen_semantics(semantics: Matrix, seen: NDArray[np.int64], width: float) -> Matrix:
    return semantic_kernel(semantics, semantics[seen], width=width)


def _with_seen_superclasses(
    hierarchy: ClassHierarchy, seen: NDArray[np.int64], decay: float
) -> Matrix:
    return superclass_kernel(hierarchy, decay=decay, columns=seen)


def correct_prototypes(
    projection: Projection,
    means: Matrix,
    semantics: Matrix,
    seen: NDArray[np.int64],
    kernel: Matrix | ClassKernel | None,
    *,
    noise: float,
    distance: Distance = "cosine",
) -> tuple[PrototypeRule, Matrix]:
    """Learn how semantics become prototypes; return the rule and the prototypes (C, d_f).

    Projected semantics, corrected by the residuals of related seen classes. Without a ``kernel``
    (C, p), projected semantics alone.
    """
    rule = PrototypeRule.learn(
        projection.W,
        semantics[seen],
        means,
        None if kernel is None else kernel[seen],
        noise=noise,
        unit=distance == "cosine",
    )
    return rule, rule.prototypes(semantics, kernel)


def project_superclasses(
    spectrum: FeatureSpectrum,
    semantics: Matrix,
    labels: NDArray[np.int64],
    hierarchy: ClassHierarchy,
    settings: dict[str, Any],
    run: RunStage,
    distance: Distance = "cosine",
) -> tuple[list[Matrix], int]:
    """Return projections of the nodes (r_l, d_f) of every layer, and the most iterations.

    A node's vector is the mean of the classes under it; each layer has a projection of its own.
    """
    layers, n_iter = [], 1
    for layer in range(1, hierarchy.n_layers + 1):
        vectors, nodes = run(_node_vectors, semantics, labels, hierarchy, layer)
        projection = run(learn_projection, spectrum, vectors, nodes, **settings)
        layers.append(as_compared(vectors @ projection.W.T, distance))
        n_iter = max(n_iter, projection.n_iter)
    return layers, n_iter


def _node_vectors(
    semantics: Matrix, labels: NDArray[np.int64], hierarchy: ClassHierarchy, layer: int
) -> tuple[Matrix, NDArray[np.int64]]:
    """Return the mean semantics of a layer's nodes, and the node of every sample."""
    # From the classes' own vectors: a taxonomy may come without any.
    nodes = hierarchy.labels(layer)
    return class_means(semantics, nodes, hierarchy.sizes[layer - 1]), nodes[labels]


def penalize_hubs(
    prototypes: Matrix,
    means: Matrix,
    *,
    weight: float,
    n_neighbors: int,
    distance: Distance = "cosine",
) -> Matrix:
    """Return what hubness takes off the scores of classes (n,), by prototypes and seen means."""
    if not weight:
        return np.zeros(len(prototypes))
    return weight * hubness(prototypes, means, n_neighbors=n_neighbors, distance=distance)


def score_samples(
    F: NDArray[Any],
    prototypes: Matrix,
    hub_penalties: Matrix,
    seen: NDArray[np.int64] | Sequence[int] = (),
    seen_penalty: float = 0.0,
    distance: Distance = "cosine",
) -> Matrix:
    """Return scores (n, C) of samples (n, d_f): nearness, less penalties of hubs and seen classes.

    The ``seen_penalty`` is that of calibrated stacking (Chao et al., ECCV 2016).
    """
    scores: Matrix = nearness(F, prototypes, distance) - hub_penalties
    if seen_penalty:
        scores[:, seen] -= seen_penalty
    return finite_scores(scores)
