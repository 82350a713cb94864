"""Spread over seeds: the half-width of the 95 % t-interval of a mean."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from zerokin.metrics.half_width import half_width95

__all__ = ["MEANING", "half_width95", "mean_with_spread"]

MEANING = "± is the half-width of the 95 % t-interval over seeds"


def mean_with_spread(values: Sequence[float], *, digits: int = 1) -> str:
    """Return a mean and, for several values, its half-width, as tables print them.

    Examples
    --------
    >>> mean_with_spread([61.24]), mean_with_spread([60.0, 61.0, 62.0]), mean_with_spread([])
    ('61.2', '61.0 ± 2.5', '')
    """
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{mean(values):.{digits}f} ± {half_width95(values):.{digits}f}"
