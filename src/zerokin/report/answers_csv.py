"""Answers about pictures as lines of CSV: on the command line and from the web page alike."""

from __future__ import annotations

import csv
import io
from typing import Any


def csv_heading(k: int) -> str:
    """Return the first line of the CSV form."""
    ranks = [f"{what}_{n + 1}" for n in range(k) for what in ("class", "probability", "score")]
    return csv_line(["picture", "answer", "none_of_these", *ranks, "error"])


def csv_row(answer: Any, k: int) -> str:
    """Return an answer as a line of CSV."""
    if not hasattr(answer, "ranked"):
        return csv_line([answer.picture, *[""] * (2 + 3 * k), answer.error])
    cells: list[object] = []
    for n in range(k):
        one = answer.ranked[n] if n < len(answer.ranked) else None
        if one is None:
            cells += ["", "", ""]
        else:
            cells += [one.name, "" if one.probability is None else one.probability, one.score]
    none_of_these = str(answer.none_of_these).lower()
    return csv_line([answer.picture, answer.name, none_of_these, *cells, ""])


def csv_line(cells: list[Any]) -> str:
    """Return cells as a line of CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
