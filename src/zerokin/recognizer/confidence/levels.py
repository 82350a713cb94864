"""Marginal probabilities at every level: those of candidates, summed below each superclass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput, did_you_mean, listing, shown
from zerokin.hierarchy import ClassHierarchy
from zerokin.parameters import is_whole
from zerokin.recognizer.confidence.scored import Positions, Values

CLASS, EVERY = "class", "all"


@dataclass(frozen=True, eq=False)
class Level:
    """The nodes of one layer that hold candidates, m of them.

    Parameters
    ----------
    layer
        0 for classes, 1 … L for superclasses.
    rank
        What the layer is called, if it has a name.
    names
        (m,) what the nodes are called.
    member
        (k,) the node of each candidate, 0 … m - 1.
    """

    layer: int
    rank: str | None
    names: tuple[str, ...]
    member: Positions

    def sums(self, shares: Values) -> Values:
        """Return the probability of each node (m,) from those of the candidates (k,)."""
        total = np.bincount(self.member, weights=shares, minlength=len(self.names))
        return np.minimum(total, 1)

    def best_scores(self, scores: Values) -> Values:
        """Return the score of the best candidate below each node (m,)."""
        best = np.full(len(self.names), -np.inf)
        np.maximum.at(best, self.member, scores)
        return best


def rank_nodes(best: Values, sums: Values | None) -> Positions:
    """Return the nodes (m,) from the best on: by probability, then by their best candidate."""
    order = np.lexsort((-best,) if sums is None else (-best, -sums))
    return order[np.isfinite(best[order])]


def candidate_levels(
    names: NDArray[np.str_], hierarchy: ClassHierarchy | None, candidates: Positions
) -> tuple[Level, ...]:
    """Return the levels of candidates (k,) from the classes up; ``names`` (C,) are all classes'.

    Examples
    --------
    >>> tree = ClassHierarchy([[0, 0, 1]], names=["lynx", "puma", "wren"], ranks=["family"])
    >>> classes, families = candidate_levels(np.array(tree.names), tree, np.array([1, 2]))
    >>> classes.names, families.rank, families.sums(np.array([0.25, 0.75]))
    (('puma', 'wren'), 'family', array([0.25, 0.75]))
    """
    called = tuple(str(name) for name in names[candidates])
    levels = [Level(0, CLASS, called, np.arange(len(candidates)))]
    for layer in range(1, 1 + (0 if hierarchy is None else hierarchy.n_layers)):
        assert hierarchy is not None
        nodes, member = np.unique(hierarchy.labels(layer)[candidates], return_inverse=True)
        all_names = hierarchy.node_names(layer)
        rank = None if hierarchy.ranks is None else hierarchy.ranks[layer - 1]
        levels.append(Level(layer, rank, tuple(all_names[node] for node in nodes), member))
    return tuple(levels)


def level_number(level: int | str, hierarchy: ClassHierarchy | None) -> int:
    """Return the layer that a number or the name of a rank means; ``"all"`` and ``"class"`` are 0.

    Examples
    --------
    >>> tree = ClassHierarchy([[0, 0, 1]], ranks=["family"])
    >>> level_number("family", tree), level_number("class", tree), level_number("1", tree)
    (1, 0, 1)
    >>> level_number("famly", tree)
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: there is no level 'famly'; did you mean 'family'? (levels: 0 ...
    """
    n_layers = 0 if hierarchy is None else hierarchy.n_layers
    ranks = (None if hierarchy is None else hierarchy.ranks) or ("",) * n_layers
    # A taxonomy may have a rank of this name, such as the mammals'.
    numbers = {CLASS: 0, EVERY: 0} | {name.lower(): 1 + at for at, name in enumerate(ranks) if name}
    if isinstance(level, str) and level.strip().lower() in numbers:
        return numbers[level.strip().lower()]
    number = level
    if isinstance(level, str) and level.isascii() and level.isdigit() and len(level) < 10:
        number = int(level)
    if is_whole(number) and 0 <= int(number) <= n_layers:
        return int(number)
    called = [f"{1 + at} {name}".strip() for at, name in enumerate(ranks)]
    raise InvalidInput(
        f"there is no level {shown(level)}{did_you_mean(level, numbers)} "
        f"(levels: {listing([f'0 {CLASS}', *called], most=20)})"
    )
