"""Ours and its peers on the same episodes of one data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from zerokin.benchmark.few_shot.evaluation import Base, ChooseOn, EpisodePlan, FewShotEvaluation
from zerokin.benchmark.few_shot.generalized import GENERALIZED, GeneralizedFewShotEvaluation
from zerokin.benchmark.few_shot.method import FewShotMethod
from zerokin.benchmark.few_shot.ours import (
    OursByTaxonomy,
    OursFewShot,
    OursWithoutSemantics,
    OursWithoutSuperclasses,
)
from zerokin.benchmark.few_shot.peer_method import FewShotPeerMethod
from zerokin.benchmark.few_shot.peers import PEERS
from zerokin.benchmark.few_shot.peers.easy import Easy
from zerokin.benchmark.settings import Row
from zerokin.data.load import load_dataset
from zerokin.errors import InvalidInput, did_you_mean
from zerokin.selection.staged_search import Selection

VARIANTS = (OursByTaxonomy, OursWithoutSuperclasses, OursWithoutSemantics)
"""What is measured by name only: to see what semantics and superclasses bring."""


def known_few_shot_methods() -> dict[str, Callable[[], FewShotMethod]]:
    """Return every few-shot method by name; ours comes last, as in the field's tables."""
    peers: dict[str, Callable[[], FewShotMethod]] = {
        name: lambda peer=peer: FewShotPeerMethod(peer)  # type: ignore[misc]
        for name, peer in PEERS.items()
    }
    return {**peers, "ours": OursFewShot}


def find_few_shot_methods(
    names: Sequence[str],
    *,
    generalized: bool = False,
    has_semantics: bool = True,
    has_shot_features: bool = False,
) -> list[FewShotMethod]:
    """Return the methods of these names, or every one that the data serve for ``["all"]``.

    Parameters
    ----------
    names
        As users give them.
    generalized
        Those of the generalized setting.
    has_semantics
        Whether classes have any: some peers need them.
    has_shot_features
        Whether shots have features of their own: ``easy`` is ``simple-shot`` otherwise.

    Examples
    --------
    >>> [method.name for method in find_few_shot_methods(["ours"])]
    ['ours']
    >>> find_few_shot_methods(["simpleshot"])
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: unknown few-shot method 'simpleshot'; did you mean 'simple-shot'...
    """
    known: Mapping[str, Callable[[], FewShotMethod]]
    known = GENERALIZED if generalized else known_few_shot_methods()
    wanted = list(dict.fromkeys(names))
    if wanted == ["all"]:
        without = [
            name for name, peer in PEERS.items() if peer.uses_semantics and not has_semantics
        ]
        without += [] if has_shot_features else [Easy.name]
        wanted = [name for name in known if name not in without]
    if not generalized:
        known = {**known, **{variant.name: variant for variant in VARIANTS}}
    for name in wanted:
        if name not in known:
            raise InvalidInput(
                f"unknown {'generalized ' * generalized}few-shot method {name!r}"
                f"{did_you_mean(name, known)} (known: all, {', '.join(known)})"
            )
    return [known[name]() for name in wanted]


def parse_shots(shots: str) -> list[int]:
    """Read numbers of shots joined by commas.

    Examples
    --------
    >>> parse_shots("1,5")
    [1, 5]
    """
    try:
        numbers = [int(number) for number in shots.split(",")]
    except ValueError as error:
        raise InvalidInput(f"shots {shots!r} are not whole numbers joined by commas") from error
    if min(numbers) < 1:
        raise InvalidInput(f"shots must be at least 1: got {shots!r}; without any, use pure")
    return list(dict.fromkeys(numbers))


def measure_few_shot(
    data: str,
    methods: Sequence[str],
    seeds: Sequence[int],
    *,
    shots: Sequence[int] = (1, 5),
    way: int = EpisodePlan.way,
    queries: int = EpisodePlan.queries,
    episodes: int = EpisodePlan.episodes,
    base: Base = "training",
    choose_on: ChooseOn = "validation",
    generalized: bool = False,
    split: str | None = None,
    features: str | None = None,
    semantics: str | None = None,
    shot_features: str | None = None,
) -> Iterator[tuple[Row, Selection]]:
    """Measure every method for every number of shots and every seed, each row as it is done.

    Parameters
    ----------
    data, split, features, semantics
        As for `zerokin.load_dataset`.
    shot_features
        Features that samples have as shots, such as averages over many random crops, as
        ``features``; None for the same as of queries.
    methods
        Names of methods, or ``["all"]``.
    seeds
        Seeds of the episodes.
    shots, way, queries, episodes
        Of the episodes; ``way=0`` means all test classes at once.
    base, choose_on
        What methods learn from, and whose episodes choose: see `FewShotEvaluation`.
    generalized
        Name samples of novel and of base classes among both: see `GeneralizedFewShotEvaluation`,
        for which ``episodes`` are draws of shots of all test classes.
    """
    find_few_shot_methods(methods, generalized=generalized)  # refuses names before data are read
    options: dict[str, Any] = {"split": split, "features": features, "semantics": semantics}
    dataset = load_dataset(data, **options)
    found = find_few_shot_methods(
        methods,
        generalized=generalized,
        has_semantics=dataset.classes.vectors is not None,
        has_shot_features=shot_features is not None,
    )
    of_shots = None
    if shot_features is not None:
        of_shots = load_dataset(data, **{**options, "features": shot_features})
    for number in shots:
        novel = len(dataset.unseen)
        # All novel classes are tested at once in the generalized setting: episodes only choose.
        asked = min(way or novel, novel) if generalized else way or novel
        plan = EpisodePlan(asked, number, queries, episodes)
        for seed in seeds:
            evaluation = FewShotEvaluation(
                dataset,
                plan,
                base=base,
                choose_on=choose_on,
                shot_features=of_shots,
                random_state=seed,
            )
            run = GeneralizedFewShotEvaluation(evaluation).run if generalized else evaluation.run
            for method in found:
                yield run(method)
