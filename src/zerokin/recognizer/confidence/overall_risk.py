"""From the risk of each answer to the share of wrong answers overall.

Answers that each carry a risk of at most λ are wrong less often than λ taken together, because most
carry less. The share R(λ) of wrong answers rises with λ, since bolder answers are parts of the more
cautious ones. Conformal risk control takes the largest λ with (m R(λ) + 1) / (m + 1) ≤ the accepted
share; m counts validation classes, not samples, because what changes from validation to use is
the classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zerokin.declared import Declared, Shares
from zerokin.parameters import Real, check_arguments
from zerokin.recognizer.confidence.risk_map import refuse_unordered
from zerokin.recognizer.confidence.scored import Values


@dataclass(frozen=True)
class OverallRisk(Declared):
    """The cautious share of wrong answers for every bound on the risk of each.

    Parameters
    ----------
    each
        Bounds λ on the risk of one answer, ascending.
    overall
        (m R(λ) + 1) / (m + 1) for each, rising.

    Examples
    --------
    >>> overall = OverallRisk(each=(0.1, 0.3), overall=(0.02, 0.2))
    >>> overall.each_for(0.1), overall.each_for(0.25), overall.each_for(0.01)
    (0.1, 0.3, 0.0)
    """

    each: Shares
    overall: Shares

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unordered("each", self.each, "overall", self.overall, orders=(1, 1))

    @classmethod
    def from_samples(
        cls, risks: Values, wrong: ArrayLike, weights: ArrayLike, *, n_classes: int
    ) -> OverallRisk:
        """Learn from the risks (L + 2, n) of possible answers and whether they are wrong.

        The risks must come from maps that were learned without these samples.
        """
        mistakes, counts = np.asarray(wrong, dtype=bool), np.asarray(weights, dtype=np.float64)
        rows = np.arange(risks.shape[1])
        bounds = np.unique(risks[risks > 0])
        total = counts.sum()
        shares = np.array(
            [counts @ mistakes[(risks <= bound).argmax(axis=0), rows] / total for bound in bounds]
        )
        cautious = np.maximum.accumulate((n_classes * shares + 1) / (n_classes + 1))
        return cls(tuple(bounds.tolist()), tuple(cautious.tolist()))

    def each_for(self, share: float) -> float:
        """Return the bound on the risk of each answer that keeps the share of wrong ones."""
        ranges = {"the share of wrong answers": Real(0, 1)}
        check_arguments(ranges, **{"the share of wrong answers": share})
        allowed = int(np.searchsorted(self.overall, share, side="right"))
        return self.each[allowed - 1] if allowed else 0.0
