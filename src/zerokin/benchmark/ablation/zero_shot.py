"""An ablation of zero-shot recognition: networks for every validation fold and for every seed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from zerokin.benchmark.ablation.config import AblationConfig, RowPlan
from zerokin.benchmark.ablation.feature_cache import Files, Readings, joined_readings
from zerokin.benchmark.ablation.methods import method_for
from zerokin.benchmark.settings import Evaluation, Setting, refuse_unmeasurable
from zerokin.data.dataset import Dataset
from zerokin.data.load import load_dataset
from zerokin.errors import InvalidInput, ZerokinWarning
from zerokin.features.network_config import NetworkPlan
from zerokin.features.ready_features import refuse_other_inputs
from zerokin.selection.class_fold_search import ClassFoldSearch, refuse_without_folds
from zerokin.selection.staged_search import Goal

GOALS: tuple[Goal, ...] = ("pure", "generalized")
"""What rows are chosen for on the folds, which have test samples of seen classes in any case."""


def check(dataset: Dataset, config: AblationConfig, *, validation_only: bool) -> None:
    """Refuse data that could not be measured once networks are trained."""
    refuse_without_folds(dataset)
    refuse_inputs_of_others(dataset, config)
    numbers = range(1, len(dataset.split.folds) + 1)
    refuse_unfilled_episodes((dataset.fold(k, seed=config.seeds[0]) for k in numbers), config)
    for row in config.rows:
        refuse_without_semantics(dataset, row)
    if not validation_only:
        refuse_unmeasurable(dataset, "pure")
        if "generalized" not in measured_settings(dataset):
            warnings.warn(
                f"{dataset.name}'s {dataset.split_name} split has no test samples of seen classes: "
                "the generalized setting is not measured",
                ZerokinWarning,
                stacklevel=2,
            )


def measured_settings(dataset: Dataset) -> tuple[Setting, ...]:
    """Return the settings that the active split is for.

    The standard split is the paper's *standard* setting (per-sample accuracy), every other one
    *pure*; the generalized setting needs test samples of seen classes.
    """
    unseen: Setting = "standard" if dataset.split_name == "standard" else "pure"
    return (unseen, "generalized") if len(dataset.split.test_seen) else (unseen,)


def refuse_inputs_of_others(dataset: Dataset, config: AblationConfig) -> None:
    """Refuse networks that read images where there are features, and the other way round."""
    for name in dict.fromkeys(name for row in config.rows for name in row.all_networks):
        try:
            refuse_other_inputs(config.network(name).learner(None, None).settings, dataset)
        except InvalidInput as error:
            raise InvalidInput(f"network {name}: {error}") from error


def refuse_unfilled_episodes(trained_on: Iterable[Dataset], config: AblationConfig) -> None:
    """Refuse networks whose episodes cannot be filled by the images that they will learn from."""
    names = dict.fromkeys(name for row in config.rows for name in row.networks)
    learners = [config.network(name).learner(None, "cpu") for name in names]
    for dataset in trained_on:
        for learner in learners:
            learner.check_episodes(dataset)


def refuse_without_semantics(dataset: Dataset, row: RowPlan) -> None:
    """Refuse a row that needs vectors or a taxonomy of classes where there are none."""
    if row.semantics is None:
        dataset.semantics  # noqa: B018  says what is missing
    if row.method.endswith("-taxonomy") and dataset.classes.taxonomy is None:
        raise InvalidInput(
            f"row {row.name!r}: {row.method} needs a taxonomy, and {dataset.name} has none: take "
            "another method"
        )


def train(
    readings: Readings, config: AblationConfig, plan: NetworkPlan, *, validation_only: bool
) -> Files:
    """Train a network without each fold's validation classes, then on all seen classes."""
    folds = range(1, len(readings.dataset.split.folds) + 1)
    files: Files = {("fold", k): readings.fold(plan, k, config.seeds[0]) for k in folds}
    if not validation_only:
        files |= {("seed", seed): readings.final(plan, seed) for seed in config.seeds}
    return files


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
) -> list[dict[str, Any]]:
    """Choose on the folds and measure every seed in `measured_settings`; or only what folds say."""
    dataset = load_dataset(data, split=split, features=features, semantics=row.semantics)
    last = config.network(row.networks[-1])
    method = method_for(row.method, centered=last.learner(None, None).settings.centered)
    if not tune:
        method.stages = ([{}],)
    seed = config.seeds[0]
    folds = [
        dataset.fold(number, seed=seed).with_inputs(joined_readings(files, (kind, number)))
        for kind, number in files[0]
        if kind == "fold"
    ]
    search = ClassFoldSearch(method, random_state=seed, folds=folds, quiet=True).prepare(dataset)
    named = row.told
    if validation_only:
        best = {goal: search.choose(goal).best for goal in GOALS}
        return [
            {
                "dataset": dataset.name,
                "setting": "validation",
                **named,
                "seed": seed,
                "selection": {goal: trial.params for goal, trial in best.items()},
                "metrics": {
                    "per_class_top1": best["pure"].score("pure"),
                    "harmonic_mean": best["generalized"].score("generalized"),
                    **{f"fold {k}": v for k, v in enumerate(best["pure"].unseen, start=1)},
                },
            }
        ]
    results: list[dict[str, Any]] = []
    for number in config.seeds:
        evaluation = Evaluation(
            dataset.with_inputs(joined_readings(files, ("seed", number))),
            method,
            random_state=number,
            search=search,
        )
        settings = measured_settings(dataset)
        results += [{**evaluation.run(setting)[0].as_dict(), **named} for setting in settings]
    return results
