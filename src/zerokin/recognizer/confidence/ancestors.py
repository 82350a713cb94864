"""A sample's possible answers: its likeliest class, the superclasses above it, and anything.

The probabilities of classes are summed up the hierarchy. The answers contain one another, so a more
cautious one never contradicts a bolder one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.recognizer.confidence.scored import Positions, Scored, Values


@dataclass(frozen=True, eq=False)
class Ancestors:
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


def find_ancestors(
    shares: Values, hierarchy: ClassHierarchy | None, candidates: NDArray[np.int64]
) -> Ancestors:
    """Return the possible answers for class probabilities (n, k) of the candidates (k,).

    Examples
    --------
    >>> tree = ClassHierarchy([[0, 0, 1, 1]])
    >>> steps = find_ancestors(np.array([[0.5, 0.3, 0.2]]), tree, np.array([0, 1, 2]))
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
    return Ancestors(np.array(nodes), np.array(sums), np.array(leaves))


def wrong_answers(steps: Ancestors, hierarchy: ClassHierarchy | None, samples: Scored) -> Values:
    """Return 1 for each possible answer (L + 2, n) that does not hold the true class, else 0."""
    wrong = np.zeros(steps.node.shape)
    wrong[0] = steps.node[0] != samples.truth
    if hierarchy is not None:
        for layer in range(1, hierarchy.n_layers + 1):
            wrong[layer] = steps.node[layer] != hierarchy.labels(layer)[samples.truth]
    return wrong
