"""When unsure of the class, name the superclass: the most specific answer that is safe enough.

The probabilities of classes are summed up the hierarchy. A sample's possible answers are its
likeliest class, the superclasses above it, and in the end "anything", which is never wrong. They
contain one another, so a more cautious answer never contradicts a bolder one. The answer given is
the first of them, from the class up, whose estimated risk is at most what the user accepts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.recognition.confidence import probabilities
from zerokin.recognition.scored import Positions, Values, checked_scores

if TYPE_CHECKING:
    from zerokin.recognition.answer_calibration import AnswerCalibration

ANYTHING = "anything"


@dataclass(frozen=True, eq=False)
class Ladder:
    """The possible answers of n samples, from the class (row 0) over L superclasses to anything.

    Parameters
    ----------
    node
        (L + 2, n) the node of each layer; 0 for anything.
    probability
        (L + 2, n) their probabilities, rising.
    leaves
        (L + 2, n) how many candidates they hold, rising from 1 to k.
    """

    node: Positions
    probability: Values
    leaves: Positions

    @property
    def proper(self) -> NDArray[np.bool_]:
        """(L + 2, n) answers that hold more candidates than those below and not all of them."""
        grows = np.diff(self.leaves, axis=0, prepend=0) > 0
        inside: NDArray[np.bool_] = grows & (self.leaves < self.leaves[-1])
        return inside

    @property
    def information(self) -> Values:
        """(L + 2, n) what an answer tells: 1 − log leaves / log k; 1 for a class, 0 for all."""
        if self.leaves[-1].max(initial=1) == 1:
            return np.ones(self.leaves.shape)
        told: Values = 1 - np.log(self.leaves) / np.log(self.leaves[-1])
        return told


@dataclass(frozen=True, eq=False)
class HedgedAnswers:
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


def ladder(
    shares: Values, hierarchy: ClassHierarchy | None, candidates: NDArray[np.int64]
) -> Ladder:
    """Return the possible answers for class probabilities (n, k) of the candidates (k,).

    Examples
    --------
    >>> tree = ClassHierarchy([[0, 0, 1, 1]])
    >>> steps = ladder(np.array([[0.5, 0.3, 0.2]]), tree, np.array([0, 1, 2]))
    >>> steps.node[:, 0], steps.probability[:, 0], steps.leaves[:, 0]
    (array([0, 0, 0]), array([0.5, 0.8, 1. ]), array([1, 2, 3]))
    """
    if len(candidates) and hierarchy is not None and candidates[-1] >= hierarchy.n_classes:
        raise InvalidInput(
            f"candidate {candidates[-1]} is not among the hierarchy's {hierarchy.n_classes} classes"
        )
    rows = np.arange(len(shares))
    best = shares.argmax(axis=1)
    nodes, sums, leaves = [candidates[best]], [shares[rows, best]], [np.ones_like(best)]
    for layer in range(1, 0 if hierarchy is None else hierarchy.n_layers + 1):
        assert hierarchy is not None
        _, group = np.unique(hierarchy.labels(layer)[candidates], return_inverse=True)
        member = np.zeros((len(candidates), group.max() + 1))
        member[np.arange(len(candidates)), group] = 1
        own = group[best]
        nodes.append(hierarchy.labels(layer)[candidates[best]])
        # Rounding must not let a sum pass 1 or fall below that of its part.
        sums.append(np.clip((shares @ member)[rows, own], sums[-1], 1))
        leaves.append(np.bincount(group)[own])
    nodes.append(np.zeros_like(best))
    sums.append(np.ones(len(shares)))
    leaves.append(np.full_like(best, len(candidates)))
    return Ladder(np.array(nodes), np.array(sums), np.array(leaves))


def ladder_risks(steps: Ladder, calibration: AnswerCalibration) -> Values:
    """Return the estimated risk of every possible answer (L + 2, n).

    An answer that holds the same candidates as one below it carries the same risk, and one that
    holds all candidates carries none.
    """
    maps = calibration.risk_maps
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


def hedge(
    scores: ArrayLike,
    hierarchy: ClassHierarchy | None,
    candidates: ArrayLike,
    calibration: AnswerCalibration,
    max_risk: float,
) -> HedgedAnswers:
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
        What `zerokin.evaluation.answers.fit_answers` learned.
    max_risk
        The risk of being wrong that one answer may carry, 0 to 1. At 1 every answer is a class.
        ``calibration.each_risk(0.1)`` gives the value at which 10 % of all answers are wrong.
    """
    if not 0 <= max_risk <= 1:
        raise InvalidInput(f"max_risk must lie between 0 and 1: got {max_risk}")
    values, chosen = checked_scores(scores, candidates)
    steps = ladder(probabilities(values, calibration.temperature), hierarchy, chosen)
    risks = ladder_risks(steps, calibration)
    layer = (risks <= max_risk).argmax(axis=0)
    rows = np.arange(len(values))
    return HedgedAnswers(
        layer, steps.node[layer, rows], steps.probability[layer, rows], risks[layer, rows]
    )
