"""Running an ablation: train, choose on folds that the networks have not seen, measure once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from os import PathLike
from pathlib import Path
from typing import Any

from zerokin.data.load import load_dataset
from zerokin.evaluation.ablation.config import AblationConfig, RowPlan
from zerokin.evaluation.ablation.methods import method_for
from zerokin.evaluation.ablation.readings import Readings, joined_readings
from zerokin.evaluation.selection import Selector
from zerokin.evaluation.settings import Evaluation, Setting
from zerokin.features.feature_learner import NetworkSettings
from zerokin.features.input.sources import open_source

MEASURED: tuple[Setting, ...] = ("pure", "generalised")


def run_ablation(
    data: str,
    config: AblationConfig,
    folder: str | PathLike[str],
    *,
    split: str | None = None,
    device: str | None = None,
    jobs: int = 1,
    quiet: bool = False,
) -> Iterator[dict[str, Any]]:
    """Train every network, then measure every row, yielding the row's results as they are done.

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
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    waiting: list[Future[list[dict[str, Any]]]] = []
    try:
        for row in config.rows:
            plans = [config.network(name) for name in row.networks]
            on_folds = [[readings.fold(plan, k, first) for plan in plans] for k in folds]
            on_all = {s: [readings.final(plan, s) for plan in plans] for s in config.seeds}
            centred = NetworkSettings(**plans[-1].settings).centred
            waiting.append(
                pool.submit(_measured, data, split, row, on_folds, on_all, first, centred)
            )
            while waiting and waiting[0].done():
                yield from waiting.pop(0).result()
        for future in waiting:
            yield from future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _measured(
    data: str,
    split: str | None,
    row: RowPlan,
    on_folds: list[list[Path]],
    on_all: dict[int, list[Path]],
    seed: int,
    centred: bool,
) -> list[dict[str, Any]]:
    """Choose on the folds and measure every seed, in both settings."""
    dataset = load_dataset(data, split=split)
    method = method_for(row.method, centred=centred)
    folds = [
        dataset.fold(number, seed=seed).with_inputs(joined_readings(paths))
        for number, paths in enumerate(on_folds, start=1)
    ]
    selector = Selector(dataset, method, random_state=seed, folds=folds, quiet=True)
    results = []
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
