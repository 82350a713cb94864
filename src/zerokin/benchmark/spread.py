"""Spread over seeds: the half-width of the 95 % t-interval of a mean."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev

MEANING = "± is the half-width of the 95 % t-interval over seeds"


def half_width95(values: Sequence[float]) -> float:
    """Return the half-width of the 95 % t-interval of a mean; 0 for one value, which tells none.

    The standard deviation of three seeds understates what a fourth may do: with three, this is
    2.5 times as wide.

    Examples
    --------
    >>> round(half_width95([60.0, 61.0, 62.0]), 2)
    2.48
    """
    from scipy.stats import t

    count = len(values)
    if count < 2:
        return 0.0
    width: float = float(t.ppf(0.975, count - 1)) * stdev(values) / count**0.5
    return width


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
