"""Scores that are no numbers name no class: they are refused, not ranked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput


def finite_scores(scores: NDArray[Any], *, hint: str = "") -> NDArray[Any]:
    """Return scores (..., n, C), refusing any that is NaN or infinite.

    Parameters
    ----------
    scores
        Of n samples for C classes.
    hint
        What to look at.

    Examples
    --------
    >>> finite_scores(np.array([[0.1, 0.2], [np.nan, 0.3]]), hint="look at the features")
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: the scores of sample 1 are not finite (1 such sample): look at ...
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(scores.sum()):  # most often it is, and no mask as large is needed
            return scores
    unfit = ~np.isfinite(scores).all(axis=-1).ravel()
    if not unfit.any():
        return scores
    count = int(unfit.sum())
    raise InvalidInput(
        f"the scores of sample {int(unfit.argmax())} are not finite ({count:,} such "
        f"{'sample' if count == 1 else 'samples'})"
        f": {hint or 'look at the scale of the features and at the parameters'}"
    )


def refuse_no_candidate(scores: NDArray[Any]) -> NDArray[Any]:
    """Return scores (n, k), minus infinity marking what was ruled out, if every row keeps one."""
    lost = ~np.isfinite(scores).any(axis=1)
    if lost.any():
        raise InvalidInput(
            f"no candidate is left for sample {int(lost.argmax())}: raise top_k, or choose "
            "inference='residual'"
        )
    return scores


def refuse_without_direction(F: NDArray[Any], what: str = "X") -> NDArray[Any]:
    """Return normalized features (n, d_f), refusing samples of length zero.

    A sample without a direction is as near to one class as to any other.
    """
    empty = ~F.any(axis=1)
    if empty.any():
        count = int(empty.sum())
        raise InvalidInput(
            f"{what}: sample {int(empty.argmax())} is all zero once it is normalized "
            f"({count:,} such {'sample' if count == 1 else 'samples'}): nothing can be told of "
            "it, so leave it out"
        )
    return F
