"""Ours and its peers on data with several labels a sample, chosen and measured alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from zerokin.benchmark.multi_label.evaluation import LabelEvaluation, refuse_other_setting
from zerokin.benchmark.multi_label.peer_method import MultiLabelPeerMethod
from zerokin.benchmark.multi_label.peers import PEERS
from zerokin.benchmark.settings import Row, Setting
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.errors import InvalidInput, did_you_mean
from zerokin.selection.multi_label.method import MultiLabelMethod
from zerokin.selection.multi_label.ours import OURS, MultiLabelOurs


def label_methods() -> Mapping[str, Callable[[], MultiLabelMethod]]:
    """Return the methods by name; ours comes last, and what it is without its parts before it."""
    peers = {name: partial(MultiLabelPeerMethod, peer) for name, peer in PEERS.items()}
    ours = {name: partial(MultiLabelOurs, name) for name in OURS}
    return {**peers, **{name: ours[name] for name in reversed(ours)}}


def compared_by_default() -> list[str]:
    """Return the methods of a comparison of all: peers and ours."""
    return [*PEERS, "ours"]


def find_label_methods(names: Sequence[str]) -> list[MultiLabelMethod]:
    """Return the methods of these names; unknown ones are refused.

    Examples
    --------
    >>> [method.name for method in find_label_methods(["fast0tag", "ours"])]
    ['fast0tag', 'ours']
    >>> find_label_methods(["fast0tags"])
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: unknown method 'fast0tags' for several labels; did you mean ...
    """
    known = label_methods()
    for name in names:
        if name not in known:
            raise InvalidInput(
                f"unknown method {name!r} for several labels{did_you_mean(name, known)} "
                f"(known: {', '.join(known)})"
            )
    return [known[name]() for name in dict.fromkeys(names)]


def measure_labels(
    dataset: MultiLabelDataset,
    methods: Sequence[str],
    settings: Sequence[Setting],
    seeds: Sequence[int],
    *,
    quiet: bool = False,
) -> Iterator[Row]:
    """Measure every method in every setting for every seed, yielding each row as it is done.

    Parameters
    ----------
    dataset
        Features with several labels.
    methods
        Names of methods.
    settings
        Settings.
    seeds
        Seeds.
    quiet
        Show no progress.
    """
    found = find_label_methods(methods)
    for setting in settings:
        refuse_other_setting(setting)
    dataset.features  # noqa: B018  refuses images before anything is done
    for method in found:
        for seed in seeds:
            evaluation = LabelEvaluation(dataset, method, random_state=seed, quiet=quiet)
            for setting in settings:
                yield evaluation.run(setting)[0]
