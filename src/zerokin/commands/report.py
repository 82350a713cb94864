"""``report``: results as a page to pass on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zerokin.commands.arguments import Semantics, SplitName, out
from zerokin.files import replacing


def report(
    results: Annotated[
        list[Path], typer.Argument(help="JSON files of evaluate, compare or ablation")
    ],
    page: Annotated[Path, typer.Option("--out", help="HTML file to write")] = Path("report.html"),
    data: Annotated[
        str | None, typer.Option(help="show these data and their superclasses, too")
    ] = None,
    split: SplitName = None,
    semantics: Semantics = None,
) -> None:
    """Write results as one HTML page: tables, figures, and how each number was chosen."""
    from zerokin.data import load_dataset
    from zerokin.report.page import html_page
    from zerokin.report.results_file import read_results

    rows = read_results(results)
    dataset = None if data is None else load_dataset(data, split=split, semantics=semantics)
    text = html_page(rows, dataset)
    with replacing(page) as temporary:
        temporary.write_text(text, encoding="utf-8")
    out.print(f"wrote {page}", soft_wrap=True)
