"""An ablation of few-shot recognition: networks trained on base classes alone."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from zerokin.benchmark.ablation.config import AblationConfig, RowPlan
from zerokin.benchmark.ablation.feature_cache import Files, Readings, joined_readings
from zerokin.benchmark.ablation.methods import ZERO_SHOT
from zerokin.benchmark.ablation.zero_shot import (
    refuse_inputs_of_others,
    refuse_unfilled_episodes,
    refuse_without_semantics,
)
from zerokin.benchmark.few_shot.comparison import find_few_shot_methods
from zerokin.benchmark.few_shot.evaluation import (
    EpisodePlan,
    FewShotEvaluation,
    held_out_base_parts,
)
from zerokin.benchmark.few_shot.selection import choose_on_episodes
from zerokin.benchmark.settings import Evaluation, refuse_unmeasurable
from zerokin.data.dataset import Dataset
from zerokin.data.load import load_dataset
from zerokin.errors import InvalidInput, ZerokinWarning
from zerokin.features.network_config import NetworkPlan
from zerokin.selection.class_fold_search import ClassFoldSearch
from zerokin.selection.method import Params

Results = list[dict[str, Any]]


def check(dataset: Dataset, config: AblationConfig, *, validation_only: bool) -> None:
    """Refuse data without validation classes apart from all training, or too small for episodes."""
    if len(dataset.split.folds) != 1:
        raise InvalidInput(
            f"{dataset.name} has {len(dataset.split.folds)} validation folds: a few-shot ablation "
            "needs exactly one, as mini-ImageNet has"
        )
    refuse_inputs_of_others(dataset, config)
    refuse_unfilled_episodes([dataset.fold(1, test_seen=0.0)], config)
    zero_shot = [row for row in config.rows if row.method in ZERO_SHOT]
    for row in zero_shot:
        refuse_without_semantics(dataset, row)
    if zero_shot and not validation_only:
        refuse_unmeasurable(dataset, "pure")
    if len(zero_shot) < len(config.rows):
        blank = dataset.with_inputs(np.zeros((len(dataset), 1), np.float32))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZerokinWarning)  # it comes when the row is measured
            for shots in config.shots:
                # Draws episodes, or says why there cannot be any.
                FewShotEvaluation(
                    blank, EpisodePlan(shots=shots, episodes=1, validation_episodes=1), quiet=True
                )


def train(
    readings: Readings, config: AblationConfig, plan: NetworkPlan, *, validation_only: bool
) -> Files:
    """Train a network on the classes that neither validate nor test; it serves both.

    Where rows choose on base classes by fold networks, it is also trained without parts of these.
    """
    seeds = config.seeds[:1] if validation_only else config.seeds
    files: Files = {("seed", seed): readings.base(plan, seed) for seed in seeds}
    rows = [row for row in config.rows if plan.name in row.all_networks]
    if config.base_fold_networks and any(row.chooses_on_base for row in rows):
        for seed in seeds:
            parts = held_out_base_parts(readings.dataset, "training", seed)
            for number, part in enumerate(parts, start=1):
                made = readings.base_fold(plan, part, number, seed)
                files[_fold_key(seed, number)] = made
    return files


def _fold_key(seed: int, number: int) -> tuple[str, int]:
    return f"base fold of seed {seed}", number


def _fold_features(row: RowPlan, files: list[Files], seed: int) -> list[Any]:
    """Return features for every part of the base classes, and those of shots; none without any."""
    if not row.chooses_on_base:
        return []
    n, number, found = len(row.networks), 1, []
    while (key := _fold_key(seed, number)) in files[0]:
        of_shots = joined_readings(files[n:], key) if files[n:] else None
        found.append((joined_readings(files[:n], key), of_shots))
        number += 1
    return found


def measure(
    data: str,
    split: str | None,
    config: AblationConfig,
    row: RowPlan,
    files: list[Files],
    *,
    validation_only: bool,
    tune: bool,
    features: str | None = None,
) -> Results:
    """Choose on validation classes, then measure on episodes of test classes; for every seed."""
    results: Results = []
    whole = load_dataset(data, split=split, features=features, semantics=row.semantics)
    for part in [key for key in files[0] if key[0] == "seed"]:
        of_queries, of_shots = files[: len(row.networks)], files[len(row.networks) :]
        dataset = whole.with_inputs(joined_readings(of_queries, part))
        shown = whole.with_inputs(joined_readings(of_shots, part)) if of_shots else None
        stages: Any = None if tune else ([{}],)
        if row.method in ZERO_SHOT:
            found = _zero_shot(dataset, row, part[1], stages, validation_only)
        else:
            inputs = _Inputs(dataset, shown, _fold_features(row, files, part[1]))
            found = _few_shot(inputs, config, row, part[1], stages, validation_only)
        results += [{**one, **row.told} for one in found]
    return results


class _Inputs(NamedTuple):
    """Features of queries, of shots where these have their own, and for parts of base classes."""

    dataset: Dataset
    shown: Dataset | None
    of_folds: list[Any]


def _few_shot(
    inputs: _Inputs,
    config: AblationConfig,
    row: RowPlan,
    seed: int,
    stages: Any,
    validation_only: bool,
) -> Results:
    method = find_few_shot_methods([row.method])[0]
    method.stages = stages or method.stages
    results: Results = []
    for shots in config.shots:
        plan = EpisodePlan(shots=shots, episodes=config.episodes)
        evaluation = FewShotEvaluation(
            inputs.dataset,
            plan,
            choose_on=row.choose_on or "validation",
            shot_features=inputs.shown,
            fold_features=inputs.of_folds,
            random_state=seed,
            quiet=True,
        )
        if not validation_only:
            results.append(evaluation.run(method)[0].as_dict())
            continue
        best = choose_on_episodes(method, evaluation.choices, quiet=True).best
        figures = {"top1": best.score("pure"), "shots": shots, "way": plan.way}
        results.append(_validated(inputs.dataset, seed, best.params, figures))
    return results


def _zero_shot(
    dataset: Dataset,
    row: RowPlan,
    seed: int,
    stages: Any,
    validation_only: bool,
) -> Results:
    method = ZERO_SHOT[row.method]()
    method.stages = stages or method.stages
    search = ClassFoldSearch(method, random_state=seed, quiet=True).prepare(dataset)
    if validation_only:
        best = search.choose("pure").best
        return [_validated(dataset, seed, best.params, {"top1": best.score("pure")})]
    evaluation = Evaluation(dataset, method, random_state=seed, search=search)
    return [evaluation.run("pure")[0].as_dict()]


def _validated(
    dataset: Dataset, seed: int, params: Params, metrics: dict[str, float]
) -> dict[str, Any]:
    """Return a row of what validation classes say."""
    about = {"dataset": dataset.name, "setting": "validation", "seed": seed}
    return {**about, "selection": dict(params), "metrics": metrics}
