"""A small recognition problem that the generated inputs are tried on."""

from __future__ import annotations

import numpy as np

from zerokin.hierarchy import ClassHierarchy
from zerokin.recognizer.confidence import ConfidenceModel
from zerokin.recognizer.confidence.novelty import NoveltyRule
from zerokin.recognizer.confidence.overall_risk import OverallRisk
from zerokin.recognizer.confidence.risk_map import RiskMap

RNG = np.random.default_rng(7)
C, SEEN, D_Z, D_F = 9, 6, 5, 7
Z = RNG.uniform(0.1, 1, size=(C, D_Z))
WORLD = RNG.normal(size=(D_Z, D_F))
Y = np.repeat(np.arange(SEEN), 4)
X = Z[Y] @ WORLD + 0.2 * RNG.normal(size=(len(Y), D_F))
NEW = Z[RNG.integers(SEEN, C, size=5)] @ WORLD + 0.2 * RNG.normal(size=(5, D_F))
SHOTS = Z[[6, 7, 8]] @ WORLD + 0.1
NAMES = [f"kind {letter}" for letter in "rstabcxyz"]
TREE = ClassHierarchy.from_semantics(Z, names=NAMES)
UNNAMED = ClassHierarchy.from_semantics(Z)
CALIBRATION = ConfidenceModel(
    "unseen",
    0.1,
    tuple(RiskMap((0.2, 0.6), (0.5, 0.1)) for _ in range(TREE.n_layers + 1)),
    OverallRisk((0.1, 0.4), (0.05, 0.3)),
    NoveltyRule(-0.5, 0.02),
)
