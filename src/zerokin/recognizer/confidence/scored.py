"""Scores of samples whose class is known: what calibration learns from and is measured on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zerokin.errors import InvalidInput, shown
from zerokin.matrices import real_array

Values = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Scored:
    """Samples with their scores among some candidates and their true class.

    Parameters
    ----------
    scores
        (n, k) scores, higher is better.
    candidates
        (k,) positions of the candidates among all classes, ascending.
    truth
        (n,) positions of the true classes, all of them candidates.
    weights
        (n,) what each sample counts; equal by default. They are scaled to sum to 1.

    Examples
    --------
    >>> Scored([[0.3, 0.1]], candidates=[2, 7], truth=[7]).columns
    array([1])
    """

    scores: Values
    candidates: Positions
    truth: Positions
    weights: Values

    def __init__(
        self,
        scores: ArrayLike,
        candidates: ArrayLike,
        truth: ArrayLike,
        weights: ArrayLike | None = None,
    ) -> None:
        values, chosen = checked_scores(scores, candidates)
        classes = class_positions(truth, "truth")
        if classes.shape != (len(values),):
            raise InvalidInput(f"truth has shape {classes.shape} for {len(values)} samples")
        missing = classes[~np.isin(classes, chosen)]
        if len(missing):
            raise InvalidInput(f"truth holds class {missing[0]}, which is no candidate")
        counts = np.ones(len(values))
        if weights is not None:
            counts = real_array(weights, "weights", "numbers").astype(np.float64)
        if (
            counts.shape != classes.shape
            or not (counts >= 0).all()
            or not 0 < counts.sum() < np.inf
        ):
            raise InvalidInput(
                f"weights must be {len(values)} numbers of at least 0, and not all 0"
            )
        for name, value in (
            ("scores", values),
            ("candidates", chosen),
            ("truth", classes),
            ("weights", counts / counts.sum()),
        ):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def columns(self) -> Positions:
        """(n,) the column of each sample's true class."""
        return np.searchsorted(self.candidates, self.truth).astype(np.int64)

    def where(self, chosen: NDArray[np.bool_]) -> Scored:
        """Return some of the samples (a mask), their weights scaled to sum to 1 again."""
        return Scored(
            self.scores[chosen], self.candidates, self.truth[chosen], self.weights[chosen]
        )


def class_positions(values: ArrayLike, name: str) -> Positions:
    """Return positions of classes (n,), refusing what is not a list of whole numbers from 0."""
    found = real_array(values, name, "positions of classes")
    if found.size and (found.dtype.kind not in "iu" or found.min() < 0):
        raise InvalidInput(
            f"{name} must be positions of classes, whole numbers from 0: got {shown(values)}"
        )
    return found.astype(np.int64)


def checked_scores(scores: ArrayLike, candidates: ArrayLike) -> tuple[Values, Positions]:
    """Return scores (n, k) and candidates (k,), refusing what does not fit together."""
    values = real_array(scores, "scores", "a matrix (n, k) of numbers").astype(np.float64)
    chosen = class_positions(candidates, "candidates")
    if values.ndim != 2 or not values.shape[1]:
        raise InvalidInput(f"scores must be a matrix (n, k): got shape {values.shape}")
    if chosen.shape != values.shape[1:]:
        raise InvalidInput(
            f"{chosen.size} candidates were given for scores of {values.shape[1]} classes"
        )
    if len(chosen) > 1 and not (np.diff(chosen) > 0).all():
        raise InvalidInput("candidates must be positions in ascending order, each once")
    if not np.isfinite(values).all():
        raise InvalidInput("scores must be finite: a class that is ruled out is no candidate")
    return values, chosen
