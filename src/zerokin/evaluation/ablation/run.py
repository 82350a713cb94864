"""Running an ablation: train, choose on folds that the networks have not seen, measure once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from zerokin.data.load import load_dataset
from zerokin.evaluation.ablation.config import AblationConfig, RowPlan
from zerokin.evaluation.ablation.methods import method_for
from zerokin.evaluation.ablation.readings import Readings, joined_readings
from zerokin.evaluation.selection import Goal, Selector
from zerokin.evaluation.settings import Evaluation
from zerokin.features.feature_learner import NetworkSettings
from zerokin.features.input.sources import open_source

MEASURED: tuple[Goal, ...] = ("pure", "generalised")


class Task(NamedTuple):
    """A row to measure, and the files that hold its features."""

    row: RowPlan
    on_folds: list[list[Path]]
    """of every network, for every fold"""
    on_all: dict[int, list[Path]]
    """of every network, by seed"""
    centred: bool


def run_ablation(
    data: str,
    config: AblationConfig,
    folder: str | PathLike[str],
    *,
    split: str | None = None,
    device: str | None = None,
    jobs: int = 1,
    validation_only: bool = False,
    tune: bool = True,
    quiet: bool = False,
) -> Iterator[dict[str, Any]]:
    """Train every network, and measure every row as soon as its networks are trained.

    Networks are trained in their order in the configuration, so that those whose rows take long to
    measure should come first.

    Hyper-parameters and calibration of a row are chosen on validation folds, with features of
    networks that were trained without that fold's validation classes, and then used for all seeds.

    Parameters
    ----------
    data, split
        As for `zerokin.load_dataset`: pictures, with validation folds.
    config
        What to train and measure.
    folder
        For checkpoints and features: called again, the ablation goes on where it stopped.
    device
        Where networks are trained; by default a GPU if there is one.
    jobs
        Processes that choose and measure while the next networks are trained.
    validation_only
        Stop at what rows reach on the validation folds: for choosing networks and recipes, which
        test classes may have no say in. No network is trained on all seen classes.
    tune
        Choose each row's hyper-parameters; otherwise they are the defaults, and only the
        calibration is chosen.
    quiet
        Show no progress.
    """
    import torch

    folder = Path(folder)
    dataset = load_dataset(data, split=split)
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    source = open_source(dataset.pictures, config.stored_side, device=where, quiet=quiet)
    readings = Readings(dataset, source, folder, device=device, quiet=quiet)
    folds = range(1, len(dataset.split.folds) + 1)
    first = config.seeds[0]
    tasks = _tasks(config, readings, folds, validation_only=validation_only)
    if jobs == 1:
        for task in tasks:
            yield from _measured(data, split, *task, first, tune)
        return
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    waiting: list[Future[list[dict[str, Any]]]] = []
    try:
        for task in tasks:
            waiting.append(pool.submit(_measured, data, split, *task, first, tune))
            while waiting and waiting[0].done():
                yield from waiting.pop(0).result()
        for future in waiting:
            yield from future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _tasks(
    config: AblationConfig, readings: Readings, folds: range, *, validation_only: bool
) -> Iterator[Task]:
    """Train the networks in their order; yield every row as soon as all of its own are trained."""
    seeds = () if validation_only else config.seeds
    left = list(config.rows)
    trained: dict[str, tuple[list[Path], list[Path]]] = {}
    for plan in config.networks:
        if not any(plan.name in row.networks for row in left):
            continue
        on_folds = [readings.fold(plan, k, config.seeds[0]) for k in folds]
        trained[plan.name] = on_folds, [readings.final(plan, seed) for seed in seeds]
        ready = [row for row in left if set(row.networks) <= set(trained)]
        left = [row for row in left if row not in ready]
        for row in ready:
            files = [trained[name] for name in row.networks]
            yield Task(
                row,
                on_folds=[list(paths) for paths in zip(*(f for f, _ in files), strict=True)],
                on_all={seed: [paths[i] for _, paths in files] for i, seed in enumerate(seeds)},
                centred=NetworkSettings(**config.network(row.networks[-1]).settings).centred,
            )


def _measured(
    data: str,
    split: str | None,
    row: RowPlan,
    on_folds: list[list[Path]],
    on_all: dict[int, list[Path]],
    centred: bool,
    seed: int,
    tune: bool,
) -> list[dict[str, Any]]:
    """Choose on the folds and measure every seed, in both settings; without seeds, the folds."""
    dataset = load_dataset(data, split=split)
    method = method_for(row.method, centred=centred)
    if not tune:
        method.stages = ([{}],)
    folds = [
        dataset.fold(number, seed=seed).with_inputs(joined_readings(paths))
        for number, paths in enumerate(on_folds, start=1)
    ]
    selector = Selector(dataset, method, random_state=seed, folds=folds, quiet=True)
    results: list[dict[str, Any]] = []
    if not on_all:
        best = {goal: selector.choose(goal).best for goal in MEASURED}
        return [
            {
                "dataset": dataset.name,
                "setting": "validation",
                "method": row.name,
                "by": row.method,
                "seed": seed,
                "selection": {goal: trial.params for goal, trial in best.items()},
                "metrics": {
                    "per_class_top1": best["pure"].score("pure"),
                    "harmonic_mean": best["generalised"].score("generalised"),
                    **{f"fold {k}": v for k, v in enumerate(best["pure"].unseen, start=1)},
                },
            }
        ]
    for number, paths in on_all.items():
        evaluation = Evaluation(
            dataset.with_inputs(joined_readings(paths)),
            method,
            random_state=number,
            selector=selector,
        )
        for setting in MEASURED:
            measured = evaluation.run(setting)[0]
            results.append({**measured.as_dict(), "method": row.name, "by": row.method})
    return results
