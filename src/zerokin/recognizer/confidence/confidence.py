"""From scores to probabilities: a softmax whose temperature is learned on validation classes.

Scores are cosines, and differences of a few hundredths between them decide. The probability of
class c among the candidates is exp(s_c / T) / Σ_d exp(s_d / T). A temperature T that suits seen
classes need not suit unseen ones, whose prototypes were only guessed, so T is learned where
validation classes play the unseen ones. T changes no ranking: the likeliest class stays the
classifier's answer. Where seen and unseen classes compete, the classifier's own ``seen_penalty``
balances them before the softmax.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zerokin.errors import InvalidInput
from zerokin.matrices import finite_matrix
from zerokin.parameters import Real, check_arguments
from zerokin.recognizer.confidence.scored import Scored, Values

COLDEST, HOTTEST = 1e-4, 1e4


def probabilities(scores: ArrayLike, temperature: float) -> Values:
    """Return the probability of every candidate (n, k) from their scores (n, k).

    Examples
    --------
    >>> probabilities([[0.2, 0.1, 0.1]], temperature=0.1).round(3)
    array([[0.576, 0.212, 0.212]])
    """
    ranges = {"temperature": Real(0, closed="neither")}
    check_arguments(ranges, temperature=temperature)
    values = finite_matrix(scores, "scores").astype(np.float64, copy=False)
    odds = np.exp((values - values.max(axis=1, keepdims=True)) / temperature)
    shares: Values = odds / odds.sum(axis=1, keepdims=True)
    return shares


def surprise(samples: Scored, temperature: float) -> float:
    """Return the mean negative log-likelihood of the true classes.

    Examples
    --------
    >>> round(surprise(Scored([[0.0, 0.0]], candidates=[0, 1], truth=[0]), 1.0), 4)     # log 2
    0.6931
    """
    heated = samples.scores / temperature
    top = heated.max(axis=1)
    total = top + np.log(np.exp(heated - top[:, None]).sum(axis=1))
    own = np.take_along_axis(heated, samples.columns[:, None], axis=1)[:, 0]
    return float(samples.weights @ (total - own))


def fit_temperature(parts: Sequence[Scored]) -> float:
    """Return the temperature at which the true classes of all parts are likeliest.

    Parameters
    ----------
    parts
        Held-out samples, such as one part per validation fold; each part counts alike.
    """
    from scipy.optimize import minimize_scalar

    if not parts:
        raise InvalidInput("no samples were given to learn a temperature from")

    # In 1/T the surprise is convex, so it has one valley in log T too.
    found = minimize_scalar(
        lambda heat: sum(surprise(part, float(np.exp(heat))) for part in parts),
        bounds=(np.log(COLDEST), np.log(HOTTEST)),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return float(np.exp(found.x))


def expected_calibration_error(
    confidence: ArrayLike,
    right: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    n_bins: int = 15,
) -> float:
    """Return how far confidence is from accuracy, in points of 0..100.

    Samples are put into bins of equal width by confidence (n,); the gap between the mean
    confidence and the share that is right (n,) is averaged over the bins by their weight.

    Examples
    --------
    >>> round(expected_calibration_error([0.9, 0.9, 0.5, 0.5], [True, True, True, False]), 6)
    5.0
    """
    sure, hits = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    share = np.ones(len(sure)) if weights is None else np.asarray(weights, dtype=np.float64)
    bins: NDArray[np.int64] = np.minimum((sure * n_bins).astype(np.int64), n_bins - 1)
    gaps = np.bincount(bins, weights=share / share.sum() * (sure - hits), minlength=n_bins)
    return float(100 * np.abs(gaps).sum())
