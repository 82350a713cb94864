"""When unsure of the class, name the superclass: the most specific answer that is safe enough.

Of a sample's possible answers (its likeliest class, the superclasses above it, and in the end
"anything", which is never wrong) the first, from the class up, is given whose estimated risk is at
most what the user accepts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.parameters import InstanceOf, Integer, Optional, Ranges, Real, check_arguments
from zerokin.recognizer.confidence.ancestors import Ancestors, find_ancestors, wrong_answers
from zerokin.recognizer.confidence.confidence import probabilities
from zerokin.recognizer.confidence.risk_map import RiskMap
from zerokin.recognizer.confidence.scored import Positions, Scored, Values, checked_scores

if TYPE_CHECKING:
    from zerokin.recognizer.confidence.confidence_model import ConfidenceModel

ANYTHING, NONE_OF_THESE = "anything", "none of these"
SHARE = Real(0, 1)


@dataclass(frozen=True, eq=False)
class SelectiveAnswers:
    """The answers to n samples.

    Parameters
    ----------
    layer
        (n,) 0 for a class, 1 … L for a superclass, L + 1 for anything.
    node
        (n,) the class or superclass within its layer.
    probability, risk
        (n,) how probable the answer is, and its estimated risk of being wrong.
    """

    layer: Positions
    node: Positions
    probability: Values
    risk: Values

    def __len__(self) -> int:
        return len(self.layer)

    def names(self, hierarchy: ClassHierarchy) -> list[str]:
        """Return what the answers are called."""
        known = [hierarchy.node_names(layer) for layer in range(hierarchy.n_layers + 1)]
        known.append((ANYTHING,))
        return [known[i][j] for i, j in zip(self.layer, self.node, strict=True)]


def ancestor_risks(steps: Ancestors, maps: Sequence[RiskMap]) -> Values:
    """Return the estimated risk of every possible answer (L + 2, n).

    An answer that holds the same candidates as one below it carries the same risk, and one that
    holds all candidates carries none.
    """
    if len(maps) != len(steps.node) - 1:
        raise InvalidInput(
            f"the calibration knows {len(maps) - 1} superclass layers, but the hierarchy has "
            f"{len(steps.node) - 2}: fit the answers with this hierarchy"
        )
    proper, risks = steps.proper, np.zeros(steps.probability.shape)
    for layer, risk_map in enumerate(maps):
        own = risk_map.at(steps.probability[layer])
        below = risks[layer - 1] if layer else own
        risks[layer] = np.where(proper[layer], own, below)
    risks[steps.leaves == steps.leaves[-1]] = 0
    return risks


def learn_risk_maps(
    parts: Sequence[Scored], hierarchy: ClassHierarchy | None, temperature: float
) -> tuple[RiskMap, ...]:
    """Return the risk maps of classes and superclass layers, learned from held-out samples."""
    layers = 1 if hierarchy is None else hierarchy.n_layers + 1
    found: list[list[tuple[Values, Values, Values]]] = [[] for _ in range(layers)]
    for part in parts:
        steps = find_ancestors(probabilities(part.scores, temperature), hierarchy, part.candidates)
        wrong, proper = wrong_answers(steps, hierarchy, part), steps.proper
        for layer, answers in enumerate(found):
            # Answers that hold no more candidates than one below them are judged there.
            own = proper[layer]
            answers.append((steps.probability[layer, own], wrong[layer, own], part.weights[own]))
    maps = [
        RiskMap.from_samples(*(np.concatenate(values) for values in zip(*answers, strict=True)))
        for answers in found
    ]
    return tuple(maps)


def predict_selectively(
    scores: ArrayLike,
    hierarchy: ClassHierarchy | None,
    candidates: ArrayLike,
    calibration: ConfidenceModel,
    max_risk: float,
    *,
    lowest_layer: int = 0,
) -> SelectiveAnswers:
    """Return the most specific answer to every sample whose risk is at most ``max_risk``.

    Parameters
    ----------
    scores
        (n, k) scores of the candidates, as the classifier gives them.
    hierarchy
        Superclasses of all classes; None leaves the class and anything.
    candidates
        (k,) positions of the candidates among all classes, ascending.
    calibration
        What `zerokin.recognizer.confidence.fitting.AnswerFitter` learned.
    max_risk
        The risk of being wrong that one answer may carry, 0 to 1. At 1 every answer is a class.
        ``calibration.each_risk(0.1)`` gives the value at which 10 % of all answers are wrong.
    lowest_layer
        Nothing more specific than this layer is answered.
    """
    from zerokin.recognizer.confidence.confidence_model import ConfidenceModel

    ranges: Ranges = {
        "max_risk": SHARE,
        "calibration": InstanceOf(ConfidenceModel, "a ConfidenceModel"),
        "hierarchy": Optional(InstanceOf(ClassHierarchy, "a ClassHierarchy")),
        "lowest_layer": Integer(0, len(getattr(calibration, "risk_maps", ()))),
    }
    check_arguments(
        ranges,
        max_risk=max_risk,
        calibration=calibration,
        hierarchy=hierarchy,
        lowest_layer=lowest_layer,
    )
    values, chosen = checked_scores(scores, candidates)
    steps = find_ancestors(probabilities(values, calibration.temperature), hierarchy, chosen)
    risks = ancestor_risks(steps, calibration.risk_maps)
    layer = lowest_layer + (risks[lowest_layer:] <= max_risk).argmax(axis=0)
    rows = np.arange(len(values))
    return SelectiveAnswers(
        layer, steps.node[layer, rows], steps.probability[layer, rows], risks[layer, rows]
    )
