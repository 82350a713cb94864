"""Ours and its peers on one data set, chosen and measured alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from functools import partial
from typing import NamedTuple

from zerokin.benchmark.clip_methods import CLIP_METHODS
from zerokin.benchmark.multi_label.comparison import compared_by_default, measure_labels
from zerokin.benchmark.peer_method import PeerMethod
from zerokin.benchmark.peers import PEERS
from zerokin.benchmark.settings import SETTINGS, Evaluation, Row, Setting, refuse_unmeasurable
from zerokin.compute.workers import make_workers
from zerokin.data.dataset import Dataset
from zerokin.data.load import load_dataset
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.data.splits import Split
from zerokin.errors import InvalidInput, did_you_mean
from zerokin.parameters import check_arguments
from zerokin.projection.memory import MEMORY_BUDGET
from zerokin.selection.class_fold_search import refuse_in_memory, refuse_without_folds
from zerokin.selection.method import Method
from zerokin.selection.paper_space import VARIANTS, Paper
from zerokin.selection.zero_shot_space import OURS, Ours

Evaluations = dict[tuple[str, int], Evaluation]
"""Evaluations of one method by split and seed."""


def known_methods() -> dict[str, Callable[[], Method]]:
    """Return the methods of a comparison by name; ours comes last, as in the field's tables."""
    peers: dict[str, Callable[[], Method]] = {
        name: lambda peer=peer: PeerMethod(peer)  # type: ignore[misc]
        for name, peer in PEERS.items()
    }
    return {**peers, "paper": Paper, "ours": Ours}


def all_methods(dataset: Dataset) -> list[str]:
    """Return the names of the methods that are compared on this data by default."""
    return compared_by_default() if dataset.multi_label else list(known_methods())


def find_methods(names: Sequence[str]) -> list[Method]:
    """Return the methods of these names; unknown ones are refused.

    Examples
    --------
    >>> [method.name for method in find_methods(["ours"])]
    ['ours']
    >>> find_methods(["eszl"])
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: unknown method 'eszl'; did you mean 'eszsl'? ...
    """
    variants = {name: partial(Paper, name) for name in VARIANTS}
    known: dict[str, Callable[[], Method]]
    known = {**known_methods(), **OURS, **variants, **CLIP_METHODS}
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
    methods: Sequence[str],
    settings: Sequence[Setting],
    seeds: Sequence[int],
    *,
    jobs: int = 1,
    per_class: bool = False,
    split: str | None = None,
    features: str | None = None,
    semantics: str | None = None,
    memory_budget: str | None = None,
) -> Iterator[Row]:
    """Measure every method in every setting for every seed, yielding each row as it is done.

    Parameters
    ----------
    data, split, features, semantics
        As for `zerokin.load_dataset`; without a split, each setting uses the one it is defined on.
    methods
        Names of methods.
    settings
        Settings.
    seeds
        Seeds.
    jobs
        Processes that work side by side, each on one method and seed.
    per_class
        Rows also tell the accuracy of each class, and which superclasses are confused.
    memory_budget
        Most memory of each process: see `ClassFoldSearch`. Peers hold all features in memory.
    """
    check_arguments({"memory_budget": MEMORY_BUDGET}, memory_budget=memory_budget)
    # What is wrong with the data is said before any process is started.
    dataset = load_dataset(data, split=split, features=features, semantics=semantics)
    if isinstance(dataset, MultiLabelDataset):
        if memory_budget is not None:
            raise InvalidInput("memory_budget is for one label a sample: leave it out")
        yield from measure_labels(dataset, methods, settings, seeds)
        return
    found = find_methods(methods)
    for setting in settings:
        _split_for(setting, dataset.splits, split)
    for method in found:
        method.refuse(dataset)
        refuse_in_memory(method, memory_budget)
    options = {"split": split, "features": features, "semantics": semantics}
    tasks = [
        _Task(data, method, settings, seed, options, per_class, memory_budget)
        for seed in seeds
        for method in methods
    ]
    if jobs == 1:
        lenders: Evaluations = {}
        for task in tasks:
            yield from _rows(task, lenders, quiet=False)
        return
    with make_workers(jobs) as pool:
        try:
            submitted = [pool.submit(_all_rows, task) for task in tasks]
            for done in as_completed(submitted):
                yield from done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def check_measurable(
    dataset: Dataset, methods: str, settings: Sequence[str], split: str | None
) -> None:
    """Refuse methods that are unknown, and data whose splits lack what a setting is measured on.

    Parameters
    ----------
    dataset
        What is to be measured on.
    methods
        Names joined by commas, or ``"all"``.
    settings
        Settings, few-shot ones included.
    split
        The split that was chosen, if any.
    """
    from zerokin.benchmark.few_shot.comparison import find_few_shot_methods

    names = methods.split(",")
    if any(setting.endswith("few-shot") for setting in settings):
        find_few_shot_methods(names, generalized=settings[0].startswith("generalized"))
        return
    find_methods([] if names == ["all"] else names)
    for setting in SETTINGS:
        if setting in settings:
            chosen = dataset.with_split(_split_for(setting, dataset.splits, split))
            refuse_unmeasurable(chosen, setting)
            refuse_without_folds(chosen)


_lenders: Evaluations = {}
"""Of a process that works beside others: what its tasks share."""


class _Task(NamedTuple):
    """One method with one seed; the rest is as for `measure`."""

    data: str
    method: str
    settings: Sequence[Setting]
    seed: int
    options: Mapping[str, str | None]
    per_class: bool
    memory_budget: str | None


def _all_rows(task: _Task) -> list[Row]:
    return list(_rows(task, _lenders, quiet=True))


def _rows(task: _Task, lenders: Evaluations, *, quiet: bool) -> Iterator[Row]:
    """Measure one method with one seed; settings on the same split share what was tried.

    Methods with the same seed share what ``lenders`` hold: features that were read, scaled and
    factored. Lenders themselves never choose.
    """
    method = find_methods([task.method])[0]
    for other in [key for key in lenders if key[1] != task.seed]:
        del lenders[other]  # the arrays of all seeds would fill the memory
    base = (
        next(iter(lenders.values())).dataset
        if lenders
        else load_dataset(
            task.data, features=task.options["features"], semantics=task.options["semantics"]
        )
    )
    evaluations: Evaluations = {}
    for setting in task.settings:
        key = _split_for(setting, base.splits, task.options["split"]), task.seed
        if key not in lenders:
            lenders[key] = Evaluation(
                base.with_split(key[0]),
                method,
                random_state=task.seed,
                memory_budget=task.memory_budget,
            )
        if key not in evaluations:
            lender = lenders[key]
            evaluations[key] = Evaluation(
                lender.dataset,
                method,
                random_state=task.seed,
                beside=lender,
                per_class=task.per_class,
                memory_budget=task.memory_budget,
                quiet=quiet,
            )
        yield evaluations[key].run(setting)[0]


def _split_for(setting: Setting, splits: Mapping[str, Split], chosen: str | None) -> str:
    """Return the split that was chosen, or that a setting is defined on."""
    wanted = chosen or ("standard" if setting == "standard" else "pure")
    if wanted not in splits:
        raise InvalidInput(
            f"the {setting} setting needs a {wanted} split, but this data has only "
            f"{', '.join(splits)}: choose one with split="
        )
    return wanted
