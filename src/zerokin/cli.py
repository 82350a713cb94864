"""The command line: what each command takes, and which room does it."""

from __future__ import annotations

import errno
import json
import os
import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from zerokin._version import __version__
from zerokin.commands.arguments import Data, Features, Semantics, SplitName, out
from zerokin.commands.candidates import candidates
from zerokin.commands.classes import add_class, init, remove_class, undo
from zerokin.commands.fit import GroupingName, fit
from zerokin.commands.predict import predict
from zerokin.commands.report import report
from zerokin.commands.reproduce import reproduce
from zerokin.commands.serve import serve
from zerokin.commands.train import ablation, train
from zerokin.commands.usage import Interrupted, OneLineGroup, going_on_from, one_line_warnings
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.files import refuse_unwritable, replacing, unwritable
from zerokin.locales import print_anything

INTERRUPTED = 130

app = typer.Typer(
    cls=OneLineGroup,
    help="Recognize classes you have no images of, through the superclasses they share.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class SettingName(StrEnum):
    """How recognition is measured."""

    standard = "standard"
    pure = "pure"
    generalized = "generalized"
    few_shot = "few-shot"
    generalized_few_shot = "generalized-few-shot"


FEW_SHOT = (SettingName.few_shot, SettingName.generalized_few_shot)


class ImageFormat(StrEnum):
    """File format of drawings."""

    png = "png"
    svg = "svg"


class FeatureFormat(StrEnum):
    """Form of extracted features."""

    native = "native"
    xlsa17 = "xlsa17"


class FeatureType(StrEnum):
    """Type of number in a feature file."""

    float16 = "float16"
    float32 = "float32"


class ResizeModeName(StrEnum):
    """How images become squares."""

    whole = "whole"
    center_crop = "center"


@app.callback(invoke_without_command=True)
def version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Take the options that stand before a command."""
    if version:
        print(f"zerokin {__version__}")
        raise typer.Exit


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="folder for the images")] = Path("zerokin-demo"),
    seed: Annotated[int, typer.Option(help="seed of the training")] = 0,
    report: Annotated[Path | None, typer.Option("--json", help="write the rows")] = None,
) -> None:
    """Name invented animals that were never shown: generate, group, train, recognize."""
    from zerokin.commands.demo import run_demo

    if report is not None:
        refuse_unwritable(report)
    run_demo(out, seed=seed, report=report)


@app.command()
def check(
    data: Data,
    split: SplitName = None,
    features: Features = None,
    semantics: Semantics = None,
    deep: Annotated[bool, typer.Option("--deep", help="decode every image")] = False,
    report: Annotated[Path | None, typer.Option("--json", help="write what was found")] = None,
) -> None:
    """Say what a data set holds, and everything that is wrong with it."""
    from zerokin.data.check import check as check_data

    found = check_data(data, split=split, features=features, semantics=semantics, deep=deep)
    table = Table.grid(padding=(0, 2))
    for name, value in found.facts:
        table.add_row(Text(name, style="bold"), Text(value))
    if found.facts:
        out.print(table)
    for line in found.warnings:
        out.print(Text(f"warning: {line}", style="yellow"), soft_wrap=True)
    for line in found.problems:
        out.print(Text(f"problem: {line}", style="red"), soft_wrap=True)
    if report is not None:
        with replacing(report) as temporary:
            text = json.dumps(asdict(found), indent=2, ensure_ascii=False) + "\n"
            temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
    if not found.passed:
        raise typer.Exit(2)
    out.print(Text("nothing is wrong", style="green"))


@app.command()
def hierarchy(
    data: Data,
    split: SplitName = None,
    features: Features = None,
    semantics: Semantics = None,
    grouping: Annotated[GroupingName, typer.Option("--by", help="how to group")] = (
        GroupingName.kmeans
    ),
    branching: Annotated[int, typer.Option("-t", "--branching", help="the paper's t")] = 2,
    seed: Annotated[int, typer.Option(help="seed of k-means")] = 0,
    folder: Annotated[
        Path | None, typer.Option("--out", help="write hierarchy.json and drawings here")
    ] = None,
    image: Annotated[ImageFormat, typer.Option("--format")] = ImageFormat.png,
) -> None:
    """Group all classes into superclasses; print the tree, save and draw it."""
    from zerokin.data import load_dataset
    from zerokin.hierarchy.from_dataset import build_hierarchy
    from zerokin.report import tree_text
    from zerokin.report.draw_hierarchy import draw_all

    dataset = load_dataset(data, split=split, features=features, semantics=semantics)
    tree = build_hierarchy(dataset, grouping.value, branching=branching, random_state=seed)
    unseen = dataset.split.unseen
    out.print(tree_text(tree, unseen))
    out.print(
        f"{len(tree.names)} classes ({unseen.sum()} unseen, marked *) under "
        f"{' > '.join(str(size) for size in reversed(tree.sizes))} superclasses from the top"
    )
    if folder is not None:
        for path in draw_all(tree, unseen, folder, suffix=image.value):
            out.print(f"wrote {path}")


@app.command()
def extract(
    data: Data,
    target: Annotated[Path, typer.Option("--out", help="FILE.safetensors, or a folder for xlsa17")],
    backbone: Annotated[
        str | None,
        typer.Option(
            help="a preset or another network; by default tf_efficientnet_lite0",
            show_default=False,
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(help="packaged, hub or a file; by default a preset's", show_default=False),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="folder of a saved FeatureLearner instead")
    ] = None,
    image_size: Annotated[int | None, typer.Option(help="side of the images, in pixels")] = None,
    resize_mode: Annotated[
        ResizeModeName | None, typer.Option(help="all of an image, or a centered square")
    ] = None,
    zoom: Annotated[float | None, typer.Option(help="1.15 leaves out the rim")] = None,
    tta_flip: Annotated[
        bool | None,
        typer.Option(
            "--tta-flip/--no-tta-flip",
            help="test-time augmentation: average with mirrored images",
        ),
    ] = None,
    tta_crops: Annotated[
        int | None, typer.Option(help="test-time augmentation: average with so many crops")
    ] = None,
    form: Annotated[FeatureFormat, typer.Option("--format")] = FeatureFormat.native,
    dtype: Annotated[FeatureType, typer.Option(help="of the native format")] = FeatureType.float32,
    device: Annotated[str | None, typer.Option(help="cpu or cuda")] = None,
    batch: Annotated[int | None, typer.Option(help="images at a time")] = None,
    semantics: Semantics = None,
) -> None:
    """Write the features of all images to a file; what was interrupted goes on."""
    from zerokin.data import load_dataset
    from zerokin.data.native_writer import partial_file
    from zerokin.features.extraction import extract_features, extract_xlsa17
    from zerokin.features.extractor import open_extractor

    if form == FeatureFormat.xlsa17 and dtype == FeatureType.float16:
        raise InvalidInput("xlsa17 files have no float16: leave out --dtype float16")
    dataset = load_dataset(data, semantics=semantics)
    extractor = open_extractor(
        backbone,
        weights=weights,
        model=model,
        image_size=image_size,
        resize_mode=None if resize_mode is None else resize_mode.value,
        zoom=zoom,
        tta_flip=tta_flip,
        tta_crops=tta_crops,
        batch_size=batch,
        device=device,
    )
    if form == FeatureFormat.xlsa17:
        extract_xlsa17(extractor, dataset, target)
    else:
        with going_on_from(partial_file(target)):
            extract_features(extractor, dataset, target, dtype=dtype.value)
    found = f"{len(dataset):,} images, {extractor.width:,} features each"
    out.print(f"wrote {target}: {found}", soft_wrap=True)


app.command()(init)
app.command()(fit)
app.command()(train)
app.command()(ablation)
app.command()(predict)
app.command("add-class")(add_class)
app.command("remove-class")(remove_class)
app.command()(undo)
app.command()(serve)
app.command()(report)
app.command()(reproduce)


@app.command()
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
    tried: Annotated[
        Path | None, typer.Option("--tried", help="few-shot: write all that was tried as CSV")
    ] = None,
) -> None:
    """Measure one method: chosen on validation classes, then tested once on the test classes.

    For the few-shot settings, --method may also be all, or names joined by ,
    """
    options: dict[str, Any] = {"split": split, "features": features, "semantics": semantics}
    few_shot = [one for one in setting if one in FEW_SHOT]
    if few_shot:
        if len(setting) > 1:
            raise InvalidInput(f"--setting {few_shot[0]} stands alone: run the others separately")
        plan = {"way": way, "queries": queries, "episodes": episodes, "base": base}
        options |= {name: value for name, value in plan.items() if value is not None}
        options["generalized"] = few_shot[0] == SettingName.generalized_few_shot
        run_few_shot(data, method, seeds, shots, report, tried, options)
        return
    reports = [] if report is None else [report]
    run_comparison(data, [method], [one.value for one in setting], seeds, reports, options)


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


@app.command()
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
) -> None:
    """Run ours beside its peers, all tuned alike, and print one table."""
    from zerokin.benchmark.comparison import known_methods

    if any(one in FEW_SHOT for one in setting):
        raise InvalidInput("few-shot is compared by: evaluate --setting few-shot --method all")
    run_comparison(
        data,
        list(known_methods()) if methods == "all" else methods.split(","),
        [one.value for one in setting],
        seeds,
        tables or [],
        {"split": split, "features": features, "semantics": semantics},
        jobs=jobs,
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
) -> None:
    """Measure methods on a data set, printing as they finish and writing after every one."""
    from zerokin.benchmark.comparison import measure, parse_seeds
    from zerokin.report.comparison import refuse_unknown_format, screen_table, write_comparison

    for path in tables:
        refuse_unknown_format(path)
        refuse_unwritable(path)
    rows: list[dict[str, Any]] = []
    for row in measure(data, methods, settings, parse_seeds(seeds), jobs=jobs, **options):
        rows.append(row.as_dict())
        rows.sort(key=lambda done: (methods.index(done["method"]), done["seed"]))
        for path in tables:
            write_comparison(rows, path)
        figures = ", ".join(f"{name} {value:.4g}" for name, value in row.metrics.items())
        out.print(f"{row.method}, {row.setting}, seed {row.seed}: {figures}", style="dim")
    out.print(screen_table(rows, f"{rows[0]['dataset']}, {rows[0]['features']}"))
    for path in tables:
        out.print(f"wrote {path}")


app.command()(candidates)


@app.command()
def vectors(
    data: Data,
    file: Annotated[Path, typer.Option("--out", help="CSV table to write")],
    semantics: Semantics = None,
) -> None:
    """Write the vectors of a data set's classes, for --semantics table=FILE on another machine."""
    from zerokin.data import load_dataset
    from zerokin.semantics import write_vector_table

    classes = load_dataset(data, semantics=semantics).classes
    write_vector_table(file, classes.names, classes.semantics)
    out.print(
        f"wrote {file}: {len(classes):,} classes, {classes.semantics.shape[1]:,} numbers each "
        f"({classes.semantics_source})",
        soft_wrap=True,
    )


@app.command()
def skipgram(
    corpus: Annotated[Path, typer.Argument(help="text, one sentence or document a line; .gz too")],
    vectors: Annotated[Path, typer.Argument(help="word2vec file to write")],
    data: Annotated[
        str | None, typer.Option("--classes-of", metavar="DATA", help="join its multi-word names")
    ] = None,
    dimension: Annotated[int, typer.Option(help="length of the vectors")] = 300,
    epochs: Annotated[int, typer.Option(help="passes over the corpus")] = 5,
    seed: Annotated[int, typer.Option(help="seed")] = 0,
) -> None:
    """Train skip-gram word vectors on your own text, for --semantics word-vectors=FILE."""
    from zerokin.data import load_dataset
    from zerokin.semantics import train_skipgram

    names = load_dataset(data).classes.names if data else None
    train_skipgram(
        corpus, vectors, class_names=names, dimension=dimension, epochs=epochs, seed=seed
    )
    out.print(f"wrote {vectors}")


def main() -> None:
    """Run the command line; what a user got wrong is said in one line, with exit status 2."""
    print_anything()
    try:
        with one_line_warnings():
            app(prog_name="zerokin")
    except ZerokinError as error:
        print(f"zerokin: {error}", file=sys.stderr)
        sys.exit(2)
    except Interrupted as stop:
        print(f"zerokin: interrupted; {stop}", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except SystemExit as ended:
        # Typer turns an interruption into this status, without a word.
        if ended.code == INTERRUPTED:
            print("zerokin: interrupted", file=sys.stderr)
        raise
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        what = error.filename or "the output"
        print(f"zerokin: cannot write {what}: {unwritable(error)}", file=sys.stderr)
        # Python would try once more, at the end, to write what standard output still holds.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(2)
