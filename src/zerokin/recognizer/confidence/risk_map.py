"""How often an answer of some probability is wrong, learned from held-out samples.

Probabilities of superclasses are sums, and their errors add up differently on every layer. So each
layer has its own map from probability to risk: the falling step function that fits the errors of
held-out samples best (isotonic regression). With n samples and e errors on a step the risk is taken
as (e + 1) / (n + 1), as if the next sample were wrong: a step that rests on few samples promises
little, and no risk is ever 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zerokin.declared import Declared, Shares
from zerokin.errors import InvalidInput
from zerokin.recognizer.confidence.scored import Values


@dataclass(frozen=True)
class RiskMap(Declared):
    """A falling step function from probability to risk.

    Parameters
    ----------
    probability
        Where each step begins, ascending; below the first, the first step counts.
    risk
        The risk on each step, falling.

    Examples
    --------
    >>> steps = RiskMap.from_samples([0.2, 0.3, 0.8, 0.9], wrong=[True, True, False, False])
    >>> steps.probability, steps.risk            # (2 + 1) / (2 + 1) and (0 + 1) / (2 + 1)
    ((0.2, 0.8), (1.0, 0.333...))
    >>> steps.at([0.1, 0.79, 0.8, 1.0]).round(3)
    array([1.   , 1.   , 0.333, 0.333])
    """

    probability: Shares
    risk: Shares

    def __post_init__(self) -> None:
        super().__post_init__()
        if not len(self.probability):
            raise InvalidInput("probability must hold one step or more: got none")
        refuse_unordered("probability", self.probability, "risk", self.risk, orders=(1, -1))

    @classmethod
    def from_samples(
        cls, probability: ArrayLike, wrong: ArrayLike, weights: ArrayLike | None = None
    ) -> RiskMap:
        """Learn from held-out answers: their probability (n,) and whether they are wrong (n,).

        Without any answers, every risk is 1.
        """
        from scipy.optimize import isotonic_regression

        given = np.asarray(probability, dtype=np.float64)
        counts = np.ones(len(given)) if weights is None else np.asarray(weights, dtype=np.float64)
        counted = counts > 0
        if not counted.any():
            return cls((0.0,), (1.0,))
        given, counts = given[counted], counts[counted]
        errors = counts * np.asarray(wrong, dtype=np.float64)[counted]
        # Answers of one probability share a step.
        starts, places = np.unique(given, return_inverse=True)
        total = np.bincount(places, weights=counts)
        fitted = isotonic_regression(
            np.bincount(places, weights=errors) / total, weights=total, increasing=False
        )
        blocks = np.asarray(fitted.blocks)[:-1]
        # Unequal weights are worth (Σw)² / Σw² equal samples.
        n = np.add.reduceat(total, blocks) ** 2 / np.add.reduceat(
            np.bincount(places, weights=counts**2), blocks
        )
        cautious = (n * np.clip(fitted.x[blocks], 0, 1) + 1) / (n + 1)
        # Caution lifts small steps most, so the function is made to fall again.
        again = isotonic_regression(cautious, weights=n, increasing=False)
        first = np.asarray(again.blocks)[:-1]
        return cls(
            tuple(starts[blocks][first].tolist()),
            tuple(np.clip(again.x[first], 0, 1).tolist()),
        )

    def at(self, probability: ArrayLike) -> Values:
        """Return the risk of answers of these probabilities."""
        step: NDArray[np.intp] = np.searchsorted(self.probability, probability, side="right") - 1
        return np.asarray(self.risk)[np.maximum(step, 0)]


def refuse_unordered(
    one_name: str,
    one: Sequence[float],
    other_name: str,
    other: Sequence[float],
    *,
    orders: tuple[int, int],
) -> None:
    """Refuse two lists of unequal length, and one that does not rise (1) or fall (-1)."""
    if len(one) != len(other):
        raise InvalidInput(f"{other_name} has {len(other)} values for {len(one)} of {one_name}")
    for name, values, order in ((one_name, one, orders[0]), (other_name, other, orders[1])):
        if (order * np.diff(values) < 0).any():
            raise InvalidInput(f"{name} must {'rise' if order > 0 else 'fall'} along it")
