"""Published methods for several labels a sample, all alike: fit on seen classes, score all.

To add one, write a file with a `MultiLabelPeer` and list it here.
"""

from __future__ import annotations

from zerokin.benchmark.multi_label.peers.conse import MultiLabelConSE
from zerokin.benchmark.multi_label.peers.devise import MultiLabelDeViSE
from zerokin.benchmark.multi_label.peers.fast0tag import Fast0Tag
from zerokin.benchmark.multi_label.peers.logistic_transfer import LogisticTransfer
from zerokin.benchmark.multi_label.peers.peer import MultiLabelPeer

_METHODS: tuple[type[MultiLabelPeer], ...] = (
    LogisticTransfer,
    MultiLabelConSE,
    MultiLabelDeViSE,
    Fast0Tag,
)

PEERS: dict[str, type[MultiLabelPeer]] = {method.name: method for method in _METHODS}

__all__ = ["PEERS", "MultiLabelPeer"]
