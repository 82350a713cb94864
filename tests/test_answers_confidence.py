"""Probabilities and their calibration against plain formulas."""

from __future__ import annotations

import numpy as np
import pytest

from zerokin.errors import InvalidInput
from zerokin.recognizer.confidence.confidence import (
    expected_calibration_error,
    fit_temperature,
    probabilities,
    surprise,
)
from zerokin.recognizer.confidence.scored import Scored

RNG = np.random.default_rng(3)


def drawn(n, k, temperature, seed=0):
    """Samples whose true class really is drawn from the softmax at a temperature."""
    rng = np.random.default_rng(seed)
    scores = 0.1 * rng.normal(size=(n, k))
    odds = np.exp(scores / temperature)
    edges = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    truth = (rng.uniform(size=(n, 1)) > edges).sum(axis=1)
    return Scored(scores, np.arange(k), truth)


def test_probabilities_of_worked_numbers():
    # odds e², e¹, e⁰ to 1
    e = np.e
    expected = np.array([e**2, e, 1]) / (e**2 + e + 1)
    assert probabilities([[0.4, 0.2, 0.0]], 0.2)[0] == pytest.approx(expected)


def test_probabilities_survive_extreme_scores_and_shifts():
    scores = RNG.normal(size=(40, 6))
    shares = probabilities(scores, 1e-3)
    assert np.isfinite(shares).all()
    assert shares.sum(axis=1) == pytest.approx(1)
    assert (shares.argmax(axis=1) == scores.argmax(axis=1)).all()
    shifted = probabilities(scores + RNG.normal(size=(40, 1)), 0.5)
    assert shifted == pytest.approx(probabilities(scores, 0.5))


def test_surprise_is_the_mean_log_loss():
    samples = drawn(30, 5, 0.1)
    shares = probabilities(samples.scores, 0.07)
    loss = -np.mean([np.log(row[t]) for row, t in zip(shares, samples.truth, strict=True)])
    assert surprise(samples, 0.07) == pytest.approx(loss)


def test_a_known_temperature_is_found():
    found = fit_temperature([drawn(6000, 8, 0.05)])
    assert found == pytest.approx(0.05, rel=0.05)


def test_the_temperature_is_the_best_of_a_fine_grid():
    parts = [drawn(400, 5, 0.03, seed=1), drawn(200, 9, 0.2, seed=2)]
    found = fit_temperature(parts)
    grid = found * np.geomspace(0.5, 2, 201)
    losses = [sum(surprise(part, t) for part in parts) for t in grid]
    assert grid[np.argmin(losses)] == pytest.approx(found, rel=0.01)


def test_weights_stand_for_repeated_samples():
    samples = drawn(50, 4, 0.1)
    counts = RNG.integers(0, 4, 50)
    weighted = Scored(samples.scores, samples.candidates, samples.truth, counts)
    rows = np.repeat(np.arange(50), counts)
    repeated = Scored(samples.scores[rows], samples.candidates, samples.truth[rows])
    assert surprise(weighted, 0.2) == pytest.approx(surprise(repeated, 0.2))
    sure = probabilities(samples.scores, 0.2).max(axis=1)
    right = samples.scores.argmax(axis=1) == samples.truth
    assert expected_calibration_error(sure, right, weights=counts) == pytest.approx(
        expected_calibration_error(sure[rows], right[rows])
    )


def test_calibration_error_equals_plain_bins():
    sure, right = RNG.uniform(size=300), RNG.uniform(size=300) < 0.6
    total = 0.0
    for i in range(10):
        inside = (sure >= i / 10) & (sure < (i + 1) / 10)
        if inside.any():
            total += inside.mean() * abs(sure[inside].mean() - right[inside].mean())
    assert expected_calibration_error(sure, right, n_bins=10) == pytest.approx(100 * total)


def test_full_confidence_falls_into_the_last_bin():
    assert expected_calibration_error([1.0, 1.0], [True, False]) == pytest.approx(50)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.1, 0.2]], [0, 1], [2]), "class 2, which is no candidate"),
        (([[0.1, 0.2]], [1, 0], [0]), "ascending"),
        (([[0.1, -np.inf]], [0, 1], [0]), "finite"),
        (([[0.1, 0.2]], [0, 1, 2], [0]), "3 candidates"),
        (([[0.1, 0.2]], [0, 1], [0, 1]), "truth has shape"),
        (([[0.1, 0.2]], [0, 1], [0], [0.0]), "weights"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        Scored(*arguments)


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.nan, np.inf])
def test_a_temperature_must_be_positive(temperature):
    with pytest.raises(InvalidInput, match="temperature"):
        probabilities([[0.0, 1.0]], temperature)
