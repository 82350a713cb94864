"""``check``, ``hierarchy``, ``vectors``, ``skipgram``: what is known before anything is learned."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from zerokin.commands.arguments import Data, Features, Semantics, SplitName, out
from zerokin.commands.fit import GroupingName
from zerokin.files import replacing


class ImageFormat(StrEnum):
    """File format of drawings."""

    png = "png"
    svg = "svg"


def check(
    data: Data,
    split: SplitName = None,
    features: Features = None,
    semantics: Semantics = None,
    decode: Annotated[
        bool, typer.Option("--decode/--no-decode", help="decode every image, or a few of them")
    ] = True,
    report: Annotated[Path | None, typer.Option("--json", help="write what was found")] = None,
) -> None:
    """Say what a data set holds, and everything that is wrong with it."""
    from zerokin.data.check import check as check_data

    found = check_data(data, split=split, features=features, semantics=semantics, decode=decode)
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
