"""Few-shot methods to compare with, all alike: learn from base classes, score episodes.

To add one, write a file with a `FewShotPeer` and list it here.
"""

from __future__ import annotations

from zerokin.benchmark.few_shot.peers.am3 import AM3
from zerokin.benchmark.few_shot.peers.distribution_calibration import DistributionCalibration
from zerokin.benchmark.few_shot.peers.easy import Easy
from zerokin.benchmark.few_shot.peers.logistic_regression import LogisticRegression
from zerokin.benchmark.few_shot.peers.nearest_neighbor import NearestNeighbor
from zerokin.benchmark.few_shot.peers.peer import BaseClasses, FewShotPeer, SemanticFewShotPeer
from zerokin.benchmark.few_shot.peers.prototypical import Prototypical
from zerokin.benchmark.few_shot.peers.semfew import SemFew
from zerokin.benchmark.few_shot.peers.simple_shot import SimpleShot

_METHODS: tuple[type[FewShotPeer], ...] = (
    NearestNeighbor,
    Prototypical,
    SimpleShot,
    Easy,
    LogisticRegression,
    DistributionCalibration,
    AM3,
    SemFew,
)

PEERS: dict[str, type[FewShotPeer]] = {method.name: method for method in _METHODS}

__all__ = ["PEERS", "BaseClasses", "FewShotPeer", "SemanticFewShotPeer"]
