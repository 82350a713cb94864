"""``evaluate`` and ``compare``: methods chosen on validation classes, then measured on the test."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from zerokin.commands.arguments import Data, Features, MemoryBudget, Semantics, SplitName, out
from zerokin.errors import InvalidInput
from zerokin.files import refuse_unwritable, replacing


class SettingName(StrEnum):
    """How recognition is measured."""

    standard = "standard"
    pure = "pure"
    generalized = "generalized"
    few_shot = "few-shot"
    generalized_few_shot = "generalized-few-shot"


PerClass = Annotated[
    bool,
    typer.Option(
        "--per-class",
        help="rows also tell each class's accuracy and which superclasses are confused",
    ),
]
FEW_SHOT = (SettingName.few_shot, SettingName.generalized_few_shot)


def evaluate(
    data: Data,
    setting: Annotated[list[SettingName], typer.Option(help="once or several times")] = [  # noqa: B006
        SettingName.pure
    ],
    method: Annotated[
        str, typer.Option(help="ours, paper, a variant such as paper-flat, or a peer's name")
    ] = "ours",
    seeds: Annotated[str, typer.Option(help="seeds joined by ,")] = "0",
    split: SplitName = None,
    features: Features = None,
    semantics: Semantics = None,
    report: Annotated[Path | None, typer.Option("--json", help="write the rows")] = None,
    per_class: PerClass = False,
    shots: Annotated[str, typer.Option(help="few-shot: shots of a class, joined by ,")] = "1,5",
    way: Annotated[
        int | None, typer.Option(help="few-shot: classes of an episode; 0: all; by default 5")
    ] = None,
    queries: Annotated[
        int | None, typer.Option(help="few-shot: queries of a class; by default 15")
    ] = None,
    episodes: Annotated[
        int | None, typer.Option(help="few-shot: episodes to test on; by default 600")
    ] = None,
    base: Annotated[str, typer.Option(help="few-shot: learn from training or all seen")] = (
        "training"
    ),
    choose_on: Annotated[
        str, typer.Option(help="few-shot: choose on validation classes, held-out base, or both")
    ] = "validation",
    shot_features: Annotated[
        str | None, typer.Option(help="few-shot: features that samples have as shots")
    ] = None,
    tried: Annotated[
        Path | None, typer.Option("--tried", help="few-shot: write all that was tried as CSV")
    ] = None,
    memory_budget: MemoryBudget = None,
) -> None:
    """Measure one method: chosen on validation classes, then tested once on the test classes.

    For the few-shot settings, --method may also be all, or names joined by ,
    """
    options: dict[str, Any] = {"split": split, "features": features, "semantics": semantics}
    few_shot = [one for one in setting if one in FEW_SHOT]
    if few_shot:
        if memory_budget is not None:
            raise InvalidInput("--memory-budget is for settings without shots: leave it out")
        if len(setting) > 1:
            raise InvalidInput(f"--setting {few_shot[0]} stands alone: run the others separately")
        if per_class:
            raise InvalidInput("--per-class is for settings without shots: leave it out")
        plan = {"way": way, "queries": queries, "episodes": episodes, "base": base}
        plan |= {"choose_on": choose_on, "shot_features": shot_features}
        options |= {name: value for name, value in plan.items() if value is not None}
        options["generalized"] = few_shot[0] == SettingName.generalized_few_shot
        run_few_shot(data, method, seeds, shots, report, tried, options)
        return
    reports = [] if report is None else [report]
    settings = [one.value for one in setting]
    options["memory_budget"] = memory_budget
    run_comparison(data, [method], settings, seeds, reports, options, per_class=per_class)


def run_few_shot(
    data: str,
    method: str,
    seeds: str,
    shots: str,
    report: Path | None,
    tried: Path | None,
    options: dict[str, Any],
) -> None:
    """Measure methods on the same episodes, printing as they finish and writing after every one."""
    from zerokin.benchmark.comparison import parse_seeds
    from zerokin.benchmark.few_shot.comparison import measure_few_shot, parse_shots
    from zerokin.report.comparison import as_json
    from zerokin.report.few_shot import few_shot_table, tried_lines, write_tried

    for path in (report, tried):
        if path is not None:
            refuse_unwritable(path)
    rows: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for row, selection in measure_few_shot(
        data, method.split(","), parse_seeds(seeds), shots=parse_shots(shots), **options
    ):
        rows.append(row.as_dict())
        lines += tried_lines(rows[-1], selection.trials)
        if report is not None:
            with replacing(report) as temporary:
                temporary.write_text(as_json(rows), encoding="utf-8")
        if tried is not None:
            write_tried(lines, tried)
        figures = ", ".join(f"{name} {value:.4g}" for name, value in row.metrics.items())
        out.print(f"{row.method}, seed {row.seed}: {figures}", style="dim")
    out.print(few_shot_table(rows, f"{rows[0]['dataset']}, {rows[0]['features']}"))
    for path in (report, tried):
        if path is not None:
            out.print(f"wrote {path}")


def compare(
    data: Data,
    setting: Annotated[list[SettingName], typer.Option(help="once or several times")] = [  # noqa: B006
        SettingName.pure,
        SettingName.generalized,
    ],
    methods: Annotated[str, typer.Option(help="all, or names joined by ,")] = "all",
    seeds: Annotated[str, typer.Option(help="seeds joined by ,")] = "0",
    split: SplitName = None,
    features: Features = None,
    semantics: Semantics = None,
    tables: Annotated[
        list[Path] | None, typer.Option("--out", help="table.csv, .json, .md or .tex; repeatable")
    ] = None,
    jobs: Annotated[int, typer.Option(help="processes side by side")] = 1,
    per_class: PerClass = False,
    memory_budget: MemoryBudget = None,
) -> None:
    """Run ours beside its peers, all tuned alike, and print one table."""
    from zerokin.benchmark.comparison import all_methods
    from zerokin.data.load import load_dataset

    if any(one in FEW_SHOT for one in setting):
        raise InvalidInput("few-shot is compared by: evaluate --setting few-shot --method all")
    options: dict[str, str | None]
    options = {"split": split, "features": features, "semantics": semantics}
    names = methods.split(",")
    if methods == "all":  # what they are depends on the data
        names = all_methods(load_dataset(data, features=features))
    options["memory_budget"] = memory_budget
    run_comparison(
        data,
        names,
        [one.value for one in setting],
        seeds,
        tables or [],
        options,
        jobs=jobs,
        per_class=per_class,
    )


def run_comparison(
    data: str,
    methods: list[str],
    settings: list[Any],
    seeds: str,
    tables: list[Path],
    options: dict[str, str | None],
    *,
    jobs: int = 1,
    per_class: bool = False,
) -> None:
    """Measure methods on a data set, printing as they finish and writing after every one."""
    from zerokin.benchmark.comparison import measure, parse_seeds
    from zerokin.report.comparison import refuse_unknown_format, screen_table, write_comparison

    for path in tables:
        refuse_unknown_format(path)
        refuse_unwritable(path)
    rows: list[dict[str, Any]] = []
    for row in measure(
        data, methods, settings, parse_seeds(seeds), jobs=jobs, per_class=per_class, **options
    ):
        rows.append(row.as_dict())
        rows.sort(key=lambda done: (methods.index(done["method"]), done["seed"]))
        for path in tables:
            write_comparison(rows, path)
        figures = ", ".join(f"{name} {value:.4g}" for name, value in row.metrics.items())
        out.print(f"{row.method}, {row.setting}, seed {row.seed}: {figures}", style="dim")
    out.print(screen_table(rows, f"{rows[0]['dataset']}, {rows[0]['features']}"))
    for path in tables:
        out.print(f"wrote {path}")
