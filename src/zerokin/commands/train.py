"""``train``: a feature network from images; ``ablation``: many, and what each brings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zerokin.commands.arguments import Data, Features, Semantics, SplitName, out
from zerokin.commands.usage import going_on_from
from zerokin.compute.processes import current
from zerokin.files import refuse_other_folder, refuse_unwritable, replacing

if TYPE_CHECKING:
    from zerokin.benchmark.ablation import AblationConfig
    from zerokin.data import Dataset


StopAfter = Annotated[
    float | None,
    typer.Option(help="minutes of training after which to stop, with a checkpoint", min=0.01),
]
Compact = Annotated[
    bool, typer.Option("--compact", help="smaller checkpoints: momenta in 8 bits, not exact")
]


def train(
    data: Data,
    folder: Annotated[Path, typer.Option("--out", help="for the model, checkpoints and the log")],
    config: Annotated[
        Path | None, typer.Option(help="YAML file: settings of the network, and its recipe")
    ] = None,
    split: SplitName = None,
    features: Features = None,
    semantics: Semantics = None,
    fold: Annotated[
        int | None, typer.Option(help="leave out this validation fold's classes")
    ] = None,
    patience: Annotated[
        int | None, typer.Option(help="with --fold: stop after so many epochs without a gain")
    ] = None,
    validate: Annotated[
        bool, typer.Option("--validate/--no-validate", help="with --fold: name its classes")
    ] = True,
    teacher: Annotated[
        Path | None, typer.Option(help="trained model to learn from, too (recipe: distillation)")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="in place of the recipe's")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda")] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="also log for it")] = False,
    stop_after: StopAfter = None,
    compact: Compact = False,
) -> None:
    """Train a feature network on images, or ready features, of seen classes; it goes on.

    OUT/model is for `zerokin extract --model`, OUT/training holds the checkpoint and the log.
    """
    from zerokin.data import load_dataset
    from zerokin.features.feature_learner import FeatureLearner
    from zerokin.features.network_config import read_network
    from zerokin.features.serialization import CONFIG
    from zerokin.features.training.distributed import leads

    refuse_unwritable(folder / "model")
    refuse_other_folder(folder / "model", CONFIG, "features")
    plan = read_network(config)
    learner = plan.learner(seed, device)
    taught_by = None if teacher is None else FeatureLearner.load(teacher, device=device)
    dataset = load_dataset(data, split=split, features=features, semantics=semantics)
    held_out = fold is not None and not validate
    if held_out:
        dataset = dataset.fold(fold, test_seen=0.0)  # type: ignore[arg-type]
    with going_on_from(folder / "training"):
        learner.fit(
            dataset,
            folder=folder / "training",
            validation_fold=None if held_out else fold,
            patience=patience,
            teacher=taught_by,
            tensorboard=tensorboard,
            stop_after=stop_after,
            compact=compact,
            quiet=False,
        )
    if not leads():
        return
    learner.save(folder / "model")
    out.print(f"wrote {folder / 'model'}", soft_wrap=True)


def ablation(
    config: Annotated[Path, typer.Argument(help="YAML file: networks to train, rows to measure")],
    data: Data,
    folder: Annotated[Path, typer.Option("--out", help="for checkpoints, features and tables")],
    split: SplitName = None,
    features: Features = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda")] = None,
    jobs: Annotated[int, typer.Option(help="processes that choose and measure")] = 1,
    row: Annotated[
        list[str] | None,
        typer.Option(help="only this row, or all of 'NAME*', in the tables too; repeatable"),
    ] = None,
    validation: Annotated[
        bool, typer.Option("--validation", help="only what folds say, to choose networks by")
    ] = False,
    tune: Annotated[
        bool, typer.Option("--tune/--no-tune", help="choose each row's hyper-parameters")
    ] = True,
    stop_after: StopAfter = None,
    compact: Compact = False,
) -> None:
    """Train networks from images or ready features, and show what every component brings."""
    from zerokin.benchmark.ablation import run_ablation
    from zerokin.benchmark.ablation.config import read_config
    from zerokin.data import load_dataset
    from zerokin.report.bars import ablation_panels, draw_bars
    from zerokin.report.comparison import Rows, as_json, caption, comparison_lines, fold_rows
    from zerokin.report.few_shot import few_shot_ablation_lines
    from zerokin.report.tables import Lines, in_markdown, on_screen

    def page(measured: Rows) -> str:
        said = "" if plan.setting == "few-shot" else caption(measured)
        return in_markdown(lines(measured)) + (f"\n{said}\n" if said else "")

    def lines(measured: Rows) -> Lines:
        if plan.setting == "few-shot":
            return few_shot_ablation_lines(measured)
        return comparison_lines([*measured, *fold_rows(measured)])

    plan = read_config(config)
    if row:
        plan = plan.only(row)
    table = folder / ("validation" if validation else "ablation")
    refuse_unwritable(table)
    order = [one.name for one in plan.rows]
    rows: list[dict[str, Any]] = []
    results = run_ablation(
        data,
        plan,
        folder,
        split=split,
        features=features,
        device=device,
        jobs=jobs,
        validation_only=validation,
        tune=tune,
        stop_after=stop_after,
        compact=compact,
    )
    with going_on_from(folder):
        for result in results:
            rows.append(result)
            rows.sort(key=lambda one: order.index(one["method"]))
            figures = ", ".join(f"{name} {value:.4g}" for name, value in result["metrics"].items())
            about = f"{result['method']}, {result['setting']}, seed {result['seed']}"
            out.print(f"{about}: {figures}", style="dim")
            if not current().leads:
                continue
            for suffix, text in ((".json", as_json(rows)), (".md", page(rows))):
                with replacing(table.with_suffix(suffix)) as temporary:
                    temporary.write_text(text, encoding="utf-8")
    if not current().leads:
        return
    title = f"{rows[0]['dataset']}, ablation"
    out.print(on_screen(lines(rows), title))
    draw_bars(ablation_panels(rows), table.with_suffix(".png"), title=title)
    drawn = [table.with_suffix(".png")]
    alone = any(len(one.networks) == 1 for one in plan.rows)
    if plan.setting == "zero-shot" and alone and not validation:
        drawn.append(_draw_planes(load_dataset(data, split=split, features=features), plan, folder))
    out.print(f"drew {', '.join(map(str, drawn))}", soft_wrap=True)


def _draw_planes(dataset: Dataset, plan: AblationConfig, folder: Path) -> Path:
    """Draw what every network that stands alone in a row makes of unseen classes."""
    import numpy as np

    from zerokin.benchmark.ablation.feature_cache import reading_file
    from zerokin.report.feature_planes import draw_feature_planes

    networks = dict.fromkeys(row.networks[0] for row in plan.rows if len(row.networks) == 1)
    unseen = dataset.split.test_unseen
    features = {
        name: np.load(reading_file(folder, name, f"seed-{plan.seeds[0]}"), mmap_mode="r")[unseen]
        for name in networks
    }
    path = folder / "features.png"
    title = f"{dataset.name}, images of unseen classes (t-SNE of features)"
    labels = dataset.evaluation_labels(unseen)
    draw_feature_planes(features, labels, dataset.classes.names, path, title=title)
    return path
