"""Published zero-shot methods to compare with, all alike: fit on seen classes, score all classes.

To add one, write a file with a `Peer` and list it here.
"""

from __future__ import annotations

from zerokin.evaluation.peers.ale import ALE
from zerokin.evaluation.peers.conse import ConSE
from zerokin.evaluation.peers.dap import DAP
from zerokin.evaluation.peers.dem import DEM
from zerokin.evaluation.peers.devise import DeViSE
from zerokin.evaluation.peers.eszsl import ESZSL
from zerokin.evaluation.peers.peer import Peer
from zerokin.evaluation.peers.ridge import Ridge, RidgeSemanticsToFeatures
from zerokin.evaluation.peers.sae import SAEFeaturesToSemantics, SAESemanticsToFeatures
from zerokin.evaluation.peers.sje import SJE
from zerokin.evaluation.peers.sync import SynC

_METHODS: tuple[type[Peer], ...] = (
    Ridge,
    RidgeSemanticsToFeatures,
    DAP,
    ConSE,
    DeViSE,
    ALE,
    SJE,
    ESZSL,
    SynC,
    SAEFeaturesToSemantics,
    SAESemanticsToFeatures,
    DEM,
)

PEERS: dict[str, type[Peer]] = {method.name: method for method in _METHODS}

__all__ = ["PEERS", "Peer"]
