"""Published zero-shot methods to compare with, all alike: fit on seen classes, score all classes.

To add one, write a file with a `Peer` and list it here.
"""

from __future__ import annotations

from zerokin.benchmark.peers.ale import ALE
from zerokin.benchmark.peers.cmt import CMT
from zerokin.benchmark.peers.conse import ConSE
from zerokin.benchmark.peers.cvae import CVAE
from zerokin.benchmark.peers.dap import DAP
from zerokin.benchmark.peers.dem import DEM
from zerokin.benchmark.peers.devise import DeViSE
from zerokin.benchmark.peers.eszsl import ESZSL
from zerokin.benchmark.peers.f_clswgan import FCLSWGAN
from zerokin.benchmark.peers.latem import LatEm
from zerokin.benchmark.peers.peer import Peer
from zerokin.benchmark.peers.ridge import Ridge, RidgeSemanticsToFeatures
from zerokin.benchmark.peers.sae import SAEFeaturesToSemantics, SAESemanticsToFeatures
from zerokin.benchmark.peers.sje import SJE
from zerokin.benchmark.peers.sse import SSE
from zerokin.benchmark.peers.sync import SynC

_METHODS: tuple[type[Peer], ...] = (
    Ridge,
    RidgeSemanticsToFeatures,
    DAP,
    ConSE,
    CMT,
    DeViSE,
    ALE,
    SSE,
    SJE,
    LatEm,
    ESZSL,
    SynC,
    SAEFeaturesToSemantics,
    SAESemanticsToFeatures,
    DEM,
    CVAE,
    FCLSWGAN,
)

PEERS: dict[str, type[Peer]] = {method.name: method for method in _METHODS}

__all__ = ["PEERS", "Peer"]
