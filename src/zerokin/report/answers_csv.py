"""Answers about images as lines of CSV: on the command line and from the web page alike."""

from __future__ import annotations

import csv
import io
from typing import Any

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def csv_heading(k: int) -> str:
    """Return the first line of the CSV form."""
    ranks = [f"{what}_{n + 1}" for n in range(k) for what in ("class", "probability", "score")]
    return csv_line(["image", "answer", "none_of_these", *ranks, "error"])


def csv_row(answer: Any, k: int) -> str:
    """Return an answer as a line of CSV."""
    if not hasattr(answer, "ranked"):
        return csv_line([answer.image, *[""] * (2 + 3 * k), answer.error])
    cells: list[object] = []
    for n in range(k):
        one = answer.ranked[n] if n < len(answer.ranked) else None
        if one is None:
            cells += ["", "", ""]
        else:
            cells += [one.name, "" if one.probability is None else one.probability, one.score]
    none_of_these = str(answer.out_of_distribution).lower()
    return csv_line([answer.image, answer.name, none_of_these, *cells, ""])


def csv_line(cells: list[Any]) -> str:
    r"""Return cells as a line of CSV; no text in it is a formula to a spreadsheet.

    Whoever names a file or a class could otherwise have it compute or fetch something.

    Examples
    --------
    >>> csv_line(["=1+1.jpg", "okapi", -0.5])
    "'=1+1.jpg,okapi,-0.5\n"
    """
    plain = [
        f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_SIGNS) else cell
        for cell in cells
    ]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(plain)
    return text.getvalue()
