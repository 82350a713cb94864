"""What names classes in an ablation: the paper's baseline, its method, ours, a network's scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.features.scaler import unit_length
from zerokin.selection.method import Method, Params, Scorer, Stage, TrainingData, product_of
from zerokin.selection.paper_space import VARIANTS, Paper
from zerokin.selection.zero_shot_space import OURS, Ours, OursByTaxonomy

ZERO_SHOT = {"zero-shot": Ours, "zero-shot-taxonomy": OursByTaxonomy}
"""What names classes without any shot in a few-shot ablation."""

FLAT: Params = {**Ours.defaults, "inference": "flat", "hub_weight": 0.0}

PLAIN: Params = {**FLAT, "feature_scaling": "center-unit"}


class ClassLevelProjection(Ours):
    """The paper's baseline: projection learning with class semantics alone, nearest prototype."""

    name = "projection"
    defaults: Params = FLAT
    stages: Sequence[Stage] = Ours.stages[:1]


class PlainProjection(ClassLevelProjection):
    """The same on features that are only centered and of unit length, and γ is chosen, too.

    The paper says nothing of the features' scale, and sets γ = 0.01.
    """

    name = "plain"
    defaults: Params = PLAIN
    stages: Sequence[Stage] = (
        product_of(alpha=[0.5, 0.8, 0.9, 0.95, 0.99], gamma=[0.01, 0.1, 1.0, 3.0, 10.0]),
    )


class NetworkScores(Method):
    """Cosines between the semantics that an end-to-end network estimates and those of classes."""

    name = "network"
    stages: Sequence[Stage] = ([{}],)

    def __init__(self, *, centered: bool) -> None:
        self.defaults = {"centered": centered}

    def fit_many(self, data: TrainingData, trials: Sequence[Params]) -> Iterator[Scorer]:
        """Yield the same scores for every trial: nothing is fitted here."""
        d_z = data.semantics.shape[1]
        center = data.semantics[np.unique(data.labels)].mean(axis=0)

        for params in trials:
            prototypes = unit_length(data.semantics - (center if params["centered"] else 0))

            def scores(features: NDArray[Any], to: NDArray[Any] = prototypes) -> NDArray[Any]:
                estimated: NDArray[Any] = features[:, -d_z:].astype(np.float64) @ to.T
                return estimated

            yield scores


def method_for(name: str, *, centered: bool) -> Method:
    """Return the method of a row; ``centered`` says what an end-to-end network compares."""
    if name == "network":
        return NetworkScores(centered=centered)
    if name in VARIANTS:
        return Paper(name)
    known: list[type[Ours]] = [PlainProjection, ClassLevelProjection, *OURS.values()]
    return {method.name: method for method in known}[name]()
