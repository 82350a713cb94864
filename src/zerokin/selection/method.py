"""What a method must offer to be chosen on validation classes and measured beside others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Params = Mapping[str, Any]
Scorer = Callable[[NDArray[Any]], NDArray[np.float64]]
Stage = Sequence[Params]

FEATURE_NORMALISATIONS = (
    "unit",
    "centre-unit",
    "power-unit",
    "power-centre-unit",
    "power-whiten3-unit",
    "power-centre-whiten3-unit",
)
"""Steps of `FeatureNormaliser` on offer to every method alike."""


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What a method may learn from: features and labels of seen classes, semantics of all."""

    features: NDArray[Any]
    labels: NDArray[np.int64]
    semantics: NDArray[np.float64]
    random_state: int = 0
    taxonomy: Sequence[Sequence[str | None]] | None = None
    """of all classes, where the data knows one: see `ClassHierarchy.from_taxonomy`"""
    kept: dict[str, Any] = field(default_factory=dict, repr=False)
    """what a method computed from this data and may need again for further trials"""


class Method(ABC):
    """A zero-shot method with hyper-parameters to choose.

    ``stages`` says how: each stage is a list of changes, all of which are tried on top of the best
    so far. The first stage starts from ``defaults``.
    """

    name: str
    defaults: Params
    stages: Sequence[Stage]

    @abstractmethod
    def fit_many(self, data: TrainingData, trials: Sequence[Params]) -> Iterator[Scorer]:
        """Fit with each of these hyper-parameters; what they share is computed once.

        Yields, in the order of ``trials``, functions from raw features (n, d_f) to scores (n, C).
        """


def product_of(**choices: Sequence[Any]) -> Stage:
    """Return all combinations of choices as a stage.

    Examples
    --------
    >>> product_of(a=[1, 2], b=["x"])
    [{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'x'}]
    """
    combined: list[dict[str, Any]] = [{}]
    for name, values in choices.items():
        combined = [{**start, name: value} for start in combined for value in values]
    return combined
