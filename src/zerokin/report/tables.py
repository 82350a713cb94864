"""Headings and lines as a table: on screen, or in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.table import Table


class Lines(NamedTuple):
    """A table's content, names first."""

    headings: list[str]
    lines: list[list[str]]


def on_screen(content: Lines, title: str) -> Table:
    """Return a table for the terminal, figures to the right; a narrow one loses nothing."""
    table = Table(title=title)
    for number, heading in enumerate(content.headings):
        table.add_column(heading, justify="right" if number else "left", overflow="fold")
    for line in content.lines:
        table.add_row(*line)
    return table


def in_markdown(content: Lines) -> str:
    """Return a table in Markdown.

    Examples
    --------
    >>> print(in_markdown(Lines(["method", "pure"], [["x", "61.2"]])), end="")
    | method | pure |
    | --- | ---: |
    | x | 61.2 |
    """
    rule = ["---", *["---:"] * (len(content.headings) - 1)]
    rows: Sequence[list[str]] = (content.headings, rule, *content.lines)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def best_cells(content: Lines, *, beside: Sequence[str] = ()) -> set[tuple[int, int]]:
    """Return line and column of the best figures: the highest of each column of two and more.

    What is shown counts: figures that are printed alike are best together.

    Parameters
    ----------
    content
        A table whose figures are better the higher they are.
    beside
        Headings of columns that are no such figures.

    Examples
    --------
    >>> lines = [["x", "84", "61.2 ± 0.8"], ["y", "9", "61.2"], ["z", "7", "58.0"]]
    >>> sorted(best_cells(Lines(["method", "tried", "pure"], lines), beside=["tried"]))
    [(0, 2), (1, 2)]
    """
    best = set()
    for column, heading in enumerate(content.headings):
        if not column or heading in beside:
            continue
        figures = {
            row: float(line[column].partition(" ±")[0])
            for row, line in enumerate(content.lines)
            if line[column]
        }
        if len(figures) > 1:
            top = max(figures.values())
            best |= {(row, column) for row, figure in figures.items() if figure == top}
    return best
