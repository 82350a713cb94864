"""The sweep and the estimator are one method: same hyper-parameters, same scores."""

from __future__ import annotations

import numpy as np
import pytest

from zerokin.classifiers import ZeroShotClassifier
from zerokin.projection import FeatureSpectrum
from zerokin.selection import zero_shot_space as ours
from zerokin.selection.method import TrainingData
from zerokin.selection.zero_shot_space import DEFAULTS, Ours

RNG = np.random.default_rng(0)
Z = RNG.uniform(size=(20, 9))
Z /= np.linalg.norm(Z, axis=1, keepdims=True)
LABELS = np.repeat(np.arange(15), 12)
WORLD = RNG.normal(size=(9, 30))
FEATURES = Z[LABELS] @ WORLD + 0.3 * RNG.normal(size=(180, 30))
NEW = Z[RNG.integers(15, 20, size=40)] @ WORLD + 0.3 * RNG.normal(size=(40, 30))

TRIALS = [
    DEFAULTS,
    DEFAULTS | {"inference": "flat"},
    DEFAULTS | {"normalisation": "centre-unit", "hub_weight": 0.0},
    DEFAULTS | {"grouping": "kmeans", "branching": 3, "kin_decay": 1.0, "kin_semantics": 0.0},
    DEFAULTS | {"beta": 0.1, "epsilon": 0.03, "alpha": 0.5},
    DEFAULTS | {"branching": 6},
]


@pytest.mark.parametrize("number", range(len(TRIALS)))
def test_sweep_equals_estimator(number):
    data = TrainingData(FEATURES, LABELS, Z)
    scorer = list(Ours().fit_many(data, TRIALS))[number]
    model = ZeroShotClassifier(**TRIALS[number]).fit(FEATURES, LABELS, semantics=Z)
    np.testing.assert_allclose(scorer(NEW), model.decision_function(NEW), atol=1e-10)


def test_later_stages_make_nothing_again_and_score_the_same(monkeypatch):
    made = []

    class Noted(FeatureSpectrum):
        def __init__(self, F):
            made.append(F)
            super().__init__(F)

    monkeypatch.setattr(ours, "FeatureSpectrum", Noted)
    data = TrainingData(FEATURES, LABELS, Z)
    first = [DEFAULTS | {"normalisation": name} for name in ("centre-unit", "unit", "power-unit")]
    then = [DEFAULTS | {"normalisation": "unit", "hub_weight": weight} for weight in (0.0, 0.3)]
    list(Ours().fit_many(data, first))
    assert len(made) == 3
    scorers = list(Ours().fit_many(data, then))
    assert len(made) == 3
    fresh = list(Ours().fit_many(TrainingData(FEATURES, LABELS, Z), then))
    assert len(made) == 4
    for again, expected in zip(scorers, fresh, strict=True):
        np.testing.assert_array_equal(again(NEW), expected(NEW))
    # What the stage between did not need is gone, and made again.
    list(Ours().fit_many(data, first[:1]))
    assert len(made) == 5


def test_large_features_are_not_kept_between_stages(monkeypatch):
    monkeypatch.setattr(ours, "KEPT_BYTES", FEATURES.nbytes)
    data = TrainingData(FEATURES, LABELS, Z)
    list(Ours().fit_many(data, [DEFAULTS]))
    assert data.kept["ours"]._made  # one normalisation is as much as may be kept
    list(Ours().fit_many(data, [DEFAULTS, DEFAULTS | {"normalisation": "unit"}]))
    assert not data.kept["ours"]._made
