"""Semantic prototypes: what a class's semantics alone say of where it lies in feature space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.memo import RunStage, run_stage
from zerokin.classifiers.prototype_network import network_prototypes
from zerokin.features.scaler import unit_length

if TYPE_CHECKING:
    from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier

SemanticPrototypes = Literal["projection", "network", "average"]
Matrix = NDArray[np.float64]


def semantic_prototypes(
    model: ZeroShotClassifier,
    kind: SemanticPrototypes,
    means: Any = None,
    run: RunStage = run_stage,
) -> Matrix:
    """Return unit prototypes of all classes (C, d_f).

    Parameters
    ----------
    model
        Fitted: its prototypes are projected semantics, corrected as its inference says.
    kind
        ``"projection"`` (those), ``"network"`` (of a prototype network) or ``"average"`` of both.
    means
        (p, d_f) means of the seen classes; by default the model's own.
    run
        Runs the stages.
    """
    if kind == "projection":
        return model.prototypes_
    network = run(
        network_prototypes,
        model.semantics_,
        model._means if means is None else means,
        model.seen_,
        random_state=model.random_state or 0,
    )
    return network if kind == "network" else run(_average, model.prototypes_, network)


def _average(one: Matrix, other: Matrix) -> Matrix:
    return unit_length(one + other)
