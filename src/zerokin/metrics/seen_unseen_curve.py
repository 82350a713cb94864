"""The trade-off of generalized recognition: accuracy on seen against accuracy on unseen classes.

Taking a constant κ off the scores of seen classes moves samples from the seen to the unseen side.
A sample's side depends only on the gap between its best seen and its best unseen score, so the
whole curve follows from one sort.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerokin.metrics.accuracy import class_weights, harmonic_mean

Values = NDArray[np.float64]


class Sides(NamedTuple):
    """The gap (n,) of each sample's best seen and best unseen score, and these two classes (n,)."""

    gaps: Values
    best_seen: NDArray[np.int64]
    best_unseen: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SeenUnseenCurve:
    """Seen-unseen curve (Chao et al. 2016): accuracies for every penalty κ of seen classes.

    Parameters
    ----------
    seen_gaps, seen_gains
        (n,) for test samples of seen classes, the gap between their best seen and best unseen
        score, above which they count as seen, and what they then add to the accuracy.
    unseen_gaps, unseen_gains
        The same for test samples of unseen classes, up to whose gap they count as unseen.
    """

    seen_gaps: Values
    seen_gains: Values
    unseen_gaps: Values
    unseen_gains: Values

    @classmethod
    def from_scores(
        cls,
        seen_scores: Values,
        seen_truth: NDArray[np.int64],
        unseen_scores: Values,
        unseen_truth: NDArray[np.int64],
        is_unseen: NDArray[np.bool_],
    ) -> SeenUnseenCurve:
        """Make the curve from scores (n, C) of test samples of seen and of unseen classes."""
        seen, unseen = best_sides(seen_scores, is_unseen), best_sides(unseen_scores, is_unseen)
        return cls.from_sides(seen, seen_truth, unseen, unseen_truth)

    @classmethod
    def from_sides(
        cls,
        seen: Sides,
        seen_truth: NDArray[np.int64],
        unseen: Sides,
        unseen_truth: NDArray[np.int64],
    ) -> SeenUnseenCurve:
        """Make the curve from what `best_sides` keeps of the scores."""
        return cls(
            seen.gaps,
            100 * class_weights(seen_truth) * (seen.best_seen == seen_truth),
            unseen.gaps,
            100 * class_weights(unseen_truth) * (unseen.best_unseen == unseen_truth),
        )

    def at(self, seen_penalty: float) -> tuple[float, float, float]:
        """Return accuracy on seen and on unseen classes, and their harmonic mean, at κ."""
        seen = float(self.seen_gains[self.seen_gaps > seen_penalty].sum())
        unseen = float(self.unseen_gains[self.unseen_gaps <= seen_penalty].sum())
        return seen, unseen, harmonic_mean(seen, unseen)

    def harmonic_means(self, seen_penalties: Values) -> Values:
        """Return the harmonic mean at every one of these seen penalties, all read off one sort."""
        ahead, of_seen = _ordered(self.seen_gaps, self.seen_gains)
        still = np.append(of_seen[::-1].cumsum()[::-1], 0.0)  # what is beyond each gap
        seen = still[np.searchsorted(ahead, seen_penalties, side="right")]
        behind, of_unseen = _ordered(self.unseen_gaps, self.unseen_gains)
        gained = np.append(0.0, of_unseen.cumsum())
        unseen = gained[np.searchsorted(behind, seen_penalties, side="right")]
        total = seen + unseen
        means: Values = 2 * seen * unseen / np.where(total > 0, total, 1.0)
        return means

    def quantiles(self, n: int) -> Values:
        """Return n seen penalties that spread over all gaps."""
        gaps = np.concatenate([self.seen_gaps, self.unseen_gaps])
        return np.asarray(np.quantile(gaps, np.linspace(0, 1, n)), dtype=np.float64)

    def area(self) -> float:
        """Return the area under the curve of seen over unseen accuracy, from 0 to 1."""
        gaps = np.concatenate([self.seen_gaps, self.unseen_gaps])
        order = np.argsort(gaps, kind="stable")
        lost = np.concatenate([self.seen_gains, np.zeros_like(self.unseen_gains)])[order]
        won = np.concatenate([np.zeros_like(self.seen_gains), self.unseen_gains])[order]
        # Samples with equal gaps change sides together.
        _, last = np.unique(gaps[order][::-1], return_index=True)
        ends = len(gaps) - 1 - last
        seen = np.concatenate([[0.0], np.cumsum(lost)[ends]])
        unseen = np.concatenate([[0.0], np.cumsum(won)[ends]])
        return float(np.trapezoid(self.seen_gains.sum() - seen, unseen)) / 1e4


def named_classes(
    scores: Values, is_unseen: NDArray[np.bool_], seen_penalty: float
) -> NDArray[np.int64]:
    """Return the classes (n,) that are named when all compete, as `SeenUnseenCurve.at` counts them.

    Parameters
    ----------
    scores
        (n, C) scores; higher is better.
    is_unseen
        Which classes (C,) are unseen.
    seen_penalty
        Subtracted from the scores of seen classes (calibrated stacking).
    """
    gaps, best_seen, best_unseen = best_sides(scores, is_unseen)
    return np.where(gaps > seen_penalty, best_seen, best_unseen)


def _ordered(gaps: Values, gains: Values) -> tuple[Values, Values]:
    order = np.argsort(gaps, kind="stable")
    return gaps[order], gains[order]


def best_sides(scores: Values, is_unseen: NDArray[np.bool_]) -> Sides:
    """Return what the curve needs of the scores (n, C) of samples."""
    seen, unseen = np.flatnonzero(~is_unseen), np.flatnonzero(is_unseen)
    best_seen = scores[:, seen].argmax(axis=1)
    best_unseen = scores[:, unseen].argmax(axis=1)
    rows = np.arange(len(scores))
    gaps = scores[rows, seen[best_seen]] - scores[rows, unseen[best_unseen]]
    return Sides(gaps, seen[best_seen], unseen[best_unseen])
