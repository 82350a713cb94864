"""None of these: images that are like no known class, seen or unseen.

An image of something else has no prototype that stands out, so its best score over all known
classes is low. The threshold is set on held-out images of known classes, such that a chosen share
of them would be turned away: nothing needs to be known of what else there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zerokin.declared import Declared, ShareBelowOne
from zerokin.errors import InvalidInput
from zerokin.parameters import Real, check_arguments
from zerokin.recognizer.confidence.scored import Values

MEAN_WEIGHT = 0.5
REJECTED = Real(0, 1, closed="left")


def typicality(scores: ArrayLike) -> Values:
    """Return how much each sample (n,) is like a known class, from scores (n, C) of all classes.

    It is the best score less half the mean score: what all prototypes have in common says little
    about an image.

    Examples
    --------
    >>> typicality([[0.4, 0.0], [0.2, 0.2]])
    array([0.3, 0.1])
    """
    values = np.asarray(scores, dtype=np.float64)
    best: Values = values.max(axis=1) - MEAN_WEIGHT * values.mean(axis=1)
    return best


@dataclass(frozen=True)
class NoveltyRule(Declared):
    """Samples below the threshold are none of the known classes.

    Parameters
    ----------
    threshold
        Of `typicality`; None rejects nothing.
    share
        Of held-out samples of known classes, at most this share lies below it.

    Examples
    --------
    >>> rule = NoveltyRule.from_known([0.1, 0.2, 0.3, 0.4], share=0.5)
    >>> rule.rejects([0.19, 0.2])
    array([ True, False])
    """

    threshold: Annotated[float, Real()] | None
    share: ShareBelowOne

    @classmethod
    def from_known(
        cls, known: ArrayLike, *, share: float, weights: ArrayLike | None = None
    ) -> NoveltyRule:
        """Set the threshold by the typicality (n,) of held-out samples of known classes.

        A further known sample is rejected with a probability of at most ``share``: with n equal
        samples the threshold is the ⌊share (n + 1)⌋-th smallest value (none if that is 0).
        """
        check_arguments({"share": REJECTED}, share=share)
        values = np.asarray(known, dtype=np.float64)
        if not np.isfinite(values).all():
            raise InvalidInput("the typicality of held-out samples must be finite")
        if not len(values):
            raise InvalidInput("no held-out samples were given to set the threshold by")
        counts = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
        order = np.argsort(values, kind="stable")
        # The next sample counts as much as the mean of these, and might lie below all.
        reached = np.cumsum(counts[order]) / (counts.sum() + counts.mean())
        # Sums of equal weights may miss the share by rounding.
        inside = int(np.searchsorted(reached, share + 1e-12, side="right"))
        return cls(float(values[order[inside - 1]]) if inside else None, share)

    def rejects(self, typical: ArrayLike) -> NDArray[np.bool_]:
        """Return which samples (n,) are none of the known classes, by their typicality."""
        values = np.asarray(typical, dtype=np.float64)
        if self.threshold is None:
            return np.zeros(len(values), dtype=bool)
        below: NDArray[np.bool_] = values < self.threshold
        return below
