"""Ours and its peers on one data set, chosen and measured alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from zerokin.data.load import load_dataset
from zerokin.errors import InvalidInput, did_you_mean
from zerokin.evaluation.method import Method
from zerokin.evaluation.ours import Ours
from zerokin.evaluation.peer_method import PeerMethod
from zerokin.evaluation.peers import PEERS
from zerokin.evaluation.settings import Evaluation, Row


def known_methods() -> dict[str, Callable[[], Method]]:
    """Return every method by name; ours comes last, as in the field's tables."""
    peers: dict[str, Callable[[], Method]] = {
        name: lambda peer=peer: PeerMethod(peer)  # type: ignore[misc]
        for name, peer in PEERS.items()
    }
    return {**peers, "ours": Ours}


def find_methods(names: Sequence[str]) -> list[Method]:
    """Return the methods of these names, or of all; unknown ones are refused.

    Examples
    --------
    >>> [method.name for method in find_methods(["ours"])]
    ['zerokin']
    >>> find_methods(["eszl"])
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: unknown method 'eszl'; did you mean 'eszsl'? ...
    """
    known = known_methods()
    if list(names) == ["all"]:
        names = list(known)
    for name in names:
        if name not in known:
            listed = ", ".join(known)
            raise InvalidInput(
                f"unknown method {name!r}{did_you_mean(name, known)} (known: {listed})"
            )
    return [known[name]() for name in dict.fromkeys(names)]


def parse_seeds(seeds: str) -> list[int]:
    """Read seeds joined by commas.

    Examples
    --------
    >>> parse_seeds("0,1,2")
    [0, 1, 2]
    """
    try:
        numbers = [int(seed) for seed in seeds.split(",")]
    except ValueError as error:
        raise InvalidInput(f"seeds {seeds!r} are not whole numbers joined by commas") from error
    if min(numbers) < 0:
        raise InvalidInput(f"seeds must not be negative: got {seeds!r}")
    return numbers


def measure(
    data: str,
    methods: Sequence[Method],
    settings: Sequence[str],
    seeds: Sequence[int],
    *,
    split: str | None = None,
    features: str | None = None,
    semantics: str | None = None,
) -> Iterator[Row]:
    """Measure every method in every setting for every seed, yielding each row as it is done."""
    base = load_dataset(data, features=features, semantics=semantics)
    for method in methods:
        for seed in seeds:
            evaluations: dict[str, Any] = {}
            for setting in settings:
                name = split or _split_for(setting, base.splits)
                if name not in evaluations:
                    dataset = base.with_split(name)
                    evaluations[name] = Evaluation(dataset, method, random_state=seed)
                yield evaluations[name].run(setting)[0]


def _split_for(setting: str, splits: dict[str, Any]) -> str:
    """Return the split that a setting is defined on."""
    wanted = "standard" if setting == "standard" else "pure"
    if wanted not in splits:
        raise InvalidInput(
            f"the {setting} setting needs a {wanted} split, but this data has only "
            f"{', '.join(splits)}: choose one with split="
        )
    return wanted
