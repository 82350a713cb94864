"""Running an ablation: train, choose on classes that the networks have not seen, measure once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, as_completed
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from zerokin.benchmark.ablation import few_shot, zero_shot
from zerokin.benchmark.ablation.config import AblationConfig, RowPlan
from zerokin.benchmark.ablation.feature_cache import Files, Readings
from zerokin.benchmark.ablation.result_cache import MeasuredRows
from zerokin.compute.processes import alone, current
from zerokin.compute.workers import make_workers
from zerokin.data.class_semantics import with_semantics
from zerokin.data.dataset import Dataset
from zerokin.data.load import load_dataset
from zerokin.errors import InvalidInput
from zerokin.features.network_config import NetworkPlan

Results = list[dict[str, Any]]
Task = tuple[RowPlan, list[Files]]
"""A row to measure, and the files of features of each of its networks, those of shots last."""


def run_ablation(
    data: str,
    config: AblationConfig,
    folder: str | PathLike[str],
    *,
    split: str | None = None,
    features: str | None = None,
    device: str | None = None,
    jobs: int = 1,
    validation_only: bool = False,
    tune: bool = True,
    stop_after: float | None = None,
    compact: bool = False,
    quiet: bool = False,
) -> Iterator[dict[str, Any]]:
    """Train every network, and measure every row as soon as its networks are trained.

    Networks are trained in their order in the configuration, so that those whose rows take long to
    measure should come first.

    Hyper-parameters and seen penalty of a row are chosen on validation classes, with features of
    networks that were trained without them, and then used for all seeds.

    Parameters
    ----------
    data, split, features
        As for `zerokin.load_dataset`: images or ready features, with validation folds.
    config
        What to train and measure.
    folder
        For checkpoints, features and measured rows: called again, the ablation goes on where it
        stopped.
    device
        Where networks are trained; by default a GPU if there is one.
    jobs
        Processes that choose and measure while the next networks are trained. Those that torchrun
        started train together, and then measure rows side by side.
    validation_only
        Stop at what rows reach on the validation folds: for choosing networks and recipes, which
        test classes may have no say in. No network is trained on all seen classes.
    tune
        Choose each row's hyper-parameters; otherwise they are the defaults, and only the
        seen penalty is chosen.
    stop_after, compact
        Of `zerokin.features.training.train`, for all trainings together.
    quiet
        Show no progress.
    """
    way = few_shot if config.setting == "few-shot" else zero_shot
    dataset = load_dataset(data, split=split, features=features)
    way.check(dataset, config, validation_only=validation_only)
    readings = Readings(
        dataset,
        config.cache_size,
        Path(folder),
        device=device,
        stop_after=stop_after,
        compact=compact,
        quiet=quiet,
    )
    train = partial(way.train, readings, config, validation_only=validation_only)
    measure = partial(
        way.measure,
        data,
        split,
        config,
        validation_only=validation_only,
        tune=tune,
        features=features,
    )
    measured = MeasuredRows(
        Path(folder),
        config,
        _semantics_hashes(dataset, config),
        data=dataset.sha256,
        validation=validation_only,
        tune=tune,
    )
    if current().shared:
        if jobs > 1:
            raise InvalidInput("torchrun starts the processes: leave out jobs")
        current().refuse_different("data", dataset.sha256.encode())
        yield from _shared_results(_tasks(config, train), measure, measured)
        return
    yield from _results(_tasks(config, train), measure, measured, jobs)


def _semantics_hashes(dataset: Dataset, config: AblationConfig) -> dict[str, str]:
    """Return hashes of what rows' own semantics hold: what is missing is said before trainings."""
    named = dict.fromkeys(row.semantics for row in config.rows if row.semantics)
    vectors = {name: with_semantics(dataset, name).semantics for name in named}
    # Encoders differ in last digits from machine to machine.
    return {
        name: hashlib.sha256((np.round(found, 4) + 0.0).tobytes()).hexdigest()
        for name, found in vectors.items()
    }


def _tasks(config: AblationConfig, train: Callable[[NetworkPlan], Files]) -> Iterator[Task]:
    """Train the networks in their order; yield every row as soon as all of its own are trained."""
    left = list(config.rows)
    trained: dict[str, Files] = {}
    for plan in config.networks:
        if not any(plan.name in row.all_networks for row in left):
            continue
        trained[plan.name] = train(plan)
        ready = [row for row in left if set(row.all_networks) <= set(trained)]
        left = [row for row in left if row not in ready]
        yield from ((row, [trained[name] for name in row.all_networks]) for row in ready)


def _results(
    tasks: Iterator[Task],
    measure: Callable[[RowPlan, list[Files]], Results],
    measured: MeasuredRows,
    jobs: int,
) -> Iterator[dict[str, Any]]:
    """Measure rows in so many processes while the next networks are trained in this one.

    Whoever measures a row keeps it, too: a stop while a network is trained loses none.
    """
    pool = make_workers(jobs) if jobs > 1 else None
    waiting: set[Future[Results]] = set()
    try:
        for row, files in tasks:
            found = measured.find(row, files)
            if found is None and pool is not None:
                waiting.add(pool.submit(_measured, measure, measured, row, files))
            else:
                yield from found or _measured(measure, measured, row, files)
            for future in [one for one in waiting if one.done()]:
                waiting.remove(future)
                yield from future.result()
        for future in as_completed(waiting):
            yield from future.result()
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def _shared_results(
    tasks: Iterator[Task],
    measure: Callable[[RowPlan, list[Files]], Results],
    measured: MeasuredRows,
) -> Iterator[dict[str, Any]]:
    """Train networks with the other processes, then measure every so many-th row without them."""
    processes, everything = current(), list(tasks)
    with alone():
        for row, files in everything[processes.rank :: processes.size]:
            if measured.find(row, files) is None:
                _measured(measure, measured, row, files)
    processes.wait()
    for row, files in everything:
        yield from measured.find(row, files) or []


def _measured(
    measure: Callable[[RowPlan, list[Files]], Results],
    measured: MeasuredRows,
    row: RowPlan,
    files: list[Files],
) -> Results:
    results = measure(row, files)
    measured.keep(row, files, results)
    return results
