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
