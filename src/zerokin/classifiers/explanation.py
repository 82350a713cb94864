"""Why a class was named: its superclasses, what else was possible, and its nearest seen kin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier

KIN_SHOWN = 3


@dataclass(frozen=True)
class Explanation:
    """One answer.

    Parameters
    ----------
    name, score, seen
        The class, its score, and whether it was seen in training.
    path
        Its superclasses from the top down as (name, score); a superclass scores as the best of its
        candidates.
    survivors
        The candidates that were compared to the end, best first.
    kin
        The seen classes that share most superclass with it, then most semantics, as (name, cosine).
    """

    name: Any
    score: float
    seen: bool
    path: tuple[tuple[str, float], ...]
    survivors: tuple[Any, ...]
    kin: tuple[tuple[Any, float], ...]


def explain_sample(
    model: ZeroShotClassifier, candidates: NDArray[np.int64], scores: NDArray[np.float64]
) -> Explanation:
    """Explain the best of one sample's candidate scores, minus infinity marking the pruned ones."""
    order = np.argsort(-scores, kind="stable")
    answer = int(candidates[order[0]])
    return Explanation(
        name=model.classes_[answer],
        score=float(scores[order[0]]),
        seen=bool(answer in model.seen_),
        path=_path(model, answer, candidates, scores),
        survivors=tuple(model.classes_[candidates[order[np.isfinite(scores[order])]]]),
        kin=nearest_kin(model, answer),
    )


def _path(
    model: ZeroShotClassifier,
    answer: int,
    candidates: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> tuple[tuple[str, float], ...]:
    tree = model.hierarchy_
    if tree is None:
        return ()
    steps = []
    for layer in range(tree.n_layers, 0, -1):
        nodes = tree.labels(layer)
        below = nodes[candidates] == nodes[answer]
        steps.append((tree.node_names(layer)[nodes[answer]], float(scores[below].max())))
    return tuple(steps)


def nearest_kin(model: ZeroShotClassifier, answer: int) -> tuple[tuple[Any, float], ...]:
    """Return the seen classes nearest to a class (its position), as (name, cosine)."""
    others = model.seen_[model.seen_ != answer]
    cosines = model.semantics_[others] @ model.semantics_[answer]
    shared = np.zeros(len(others))
    if model.hierarchy_ is not None:
        for layer in range(1, model.hierarchy_.n_layers + 1):
            nodes = model.hierarchy_.labels(layer)
            shared += nodes[others] == nodes[answer]
    order = np.lexsort((-cosines, -shared))[:KIN_SHOWN]
    return tuple((model.classes_[others[i]], float(cosines[i])) for i in order)
