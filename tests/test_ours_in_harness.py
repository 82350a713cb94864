"""The sweep and the estimator are one method: same hyper-parameters, same scores."""

from __future__ import annotations

import numpy as np
import pytest

from zerokin.evaluation.method import TrainingData
from zerokin.evaluation.ours import DEFAULTS, Ours
from zerokin.recognition import ZeroShotClassifier

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
