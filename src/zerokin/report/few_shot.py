"""The table of a few-shot comparison, and the table of what was tried for it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import mean
from typing import Any

from rich.table import Table

from zerokin.files import replacing
from zerokin.report.comparison import validation_score
from zerokin.report.tables import Lines, on_screen

Rows = Sequence[Mapping[str, Any]]


def few_shot_lines(rows: Rows) -> Lines:
    """Return headings and a line per method: mean accuracy ± 95 % interval for each shot.

    Over several seeds both are means: the spread over episodes is the larger.

    Examples
    --------
    >>> metrics = {"top1": 61.24, "ci95": 0.81, "shots": 1, "way": 5}
    >>> few_shot_lines([{"method": "x", "metrics": metrics}])
    Lines(headings=['method', '5-way 1-shot'], lines=[['x', '61.2 ± 0.8']])
    """
    if any("harmonic_mean" in row["metrics"] for row in rows):
        return _generalized_lines(rows)
    tasks = list(dict.fromkeys((row["metrics"]["way"], row["metrics"]["shots"]) for row in rows))
    has_hits = any("hit5" in row["metrics"] for row in rows)
    headings = ["method"]
    for way, shots in tasks:
        headings += [f"{way}-way {shots}-shot", *(["hit@5"] if has_hits else [])]
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        line = [str(method)]
        for task in tasks:
            found = [
                row["metrics"]
                for row in rows
                if row["method"] == method
                and (row["metrics"]["way"], row["metrics"]["shots"]) == task
            ]
            line.append(_cell(found))
            if has_hits:
                line.append(f"{mean(m['hit5'] for m in found):.1f}" if found else "")
        lines.append(line)
    return Lines(headings, lines)


def _generalized_lines(rows: Rows) -> Lines:
    """Return accuracy on novel and on base classes, and their harmonic mean, for each shot."""
    shots = list(dict.fromkeys(row["metrics"]["shots"] for row in rows))
    headings = ["method", *(f"{n}-shot {name}" for n in shots for name in ("U", "S", "H"))]
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        line = [str(method)]
        for number in shots:
            found = [
                row["metrics"]
                for row in rows
                if (row["method"], row["metrics"]["shots"]) == (method, number)
            ]
            for name in ("unseen", "seen", "harmonic_mean"):
                line.append(f"{mean(m[name] for m in found):.1f}" if found else "")
            line[-1] += f" ± {mean(m['ci95'] for m in found):.1f}" if found else ""
        lines.append(line)
    return Lines(headings, lines)


def _cell(found: Sequence[Mapping[str, float]]) -> str:
    if not found:
        return ""
    intervals = [m["ci95"] for m in found if "ci95" in m]
    spread = f" ± {mean(intervals):.1f}" if intervals else ""
    return f"{mean(m['top1'] for m in found):.1f}{spread}"


def few_shot_table(rows: Rows, title: str) -> Table:
    """Return the comparison as a table for the terminal."""
    return on_screen(few_shot_lines(rows), title)


def few_shot_ablation_lines(rows: Rows) -> Lines:
    """Return a line per row of a few-shot ablation: accuracy for each shot, then zero-shot hits.

    What validation classes said comes first, where the choice of a row tells: whoever prefers one
    of the rows must do so by these columns.

    Examples
    --------
    >>> shot = {"top1": 61.24, "ci95": 0.81, "shots": 1, "way": 5}
    >>> rows = [{"method": "x", "metrics": shot}, {"method": "y", "metrics": {"top1": 7.0}}]
    >>> few_shot_ablation_lines(rows).lines
    [['x', '61.2 ± 0.8', '', ''], ['y', '', '7.0', '']]
    >>> few_shot_ablation_lines([{**rows[0], "selection": {"validation": 63.0}}])
    Lines(headings=['method', 'validation, 1-shot', ...], lines=[['x', '63.0', '61.2 ± 0.8']])
    """
    with_shots = [row for row in rows if "shots" in row["metrics"]]
    parts = [_validation_lines(with_shots), few_shot_lines(with_shots), _zero_shot_lines(rows)]
    cells = [{line[0]: line[1:] for line in part.lines} for part in parts]
    widths = [len(part.headings) - 1 for part in parts]
    lines = []
    for method in dict.fromkeys(str(row["method"]) for row in rows):
        found = (of.get(method, [""] * n) for of, n in zip(cells, widths, strict=True))
        lines.append([method, *chain(*found)])
    return Lines(["method", *chain(*(part.headings[1:] for part in parts))], lines)


def _validation_lines(rows: Rows) -> Lines:
    """Return what validation classes said of each row with shots, where its choice tells."""
    said: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        score = validation_score(row)
        if score is not None:
            of_row = said.setdefault(str(row["method"]), {})
            of_row.setdefault(row["metrics"]["shots"], []).append(score)
    shots = list(dict.fromkeys(number for of_row in said.values() for number in of_row))
    return Lines(
        ["method", *(f"validation, {number}-shot" for number in shots)],
        [
            [name, *(f"{mean(of[number]):.1f}" if number in of else "" for number in shots)]
            for name, of in said.items()
        ],
    )


def _zero_shot_lines(rows: Rows) -> Lines:
    """Return hit@1 and hit@5 of the rows that name classes without any shot."""
    without = [row for row in rows if "shots" not in row["metrics"]]
    names = {"top1": "zero-shot hit@1", "hit5": "hit@5"} if without else {}
    lines = []
    for method in dict.fromkeys(row["method"] for row in without):
        figures = [row["metrics"] for row in without if row["method"] == method]
        measured = [[of[name] for of in figures if name in of] for name in names]
        lines.append([str(method), *(f"{mean(v):.1f}" if v else "" for v in measured)])
    return Lines(["method", *names.values()], lines)


def tried_lines(row: Mapping[str, Any], trials: Sequence[Any]) -> list[dict[str, Any]]:
    """Return a line for every setting tried for a row, with its validation accuracy."""
    first = {"method": row["method"], "shots": row["metrics"]["shots"], "seed": row["seed"]}
    ordered = sorted(trials, key=lambda trial: -trial.score("pure"))
    return [
        {**first, "validation": round(trial.score("pure"), 3), **trial.params} for trial in ordered
    ]


def write_tried(lines: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write what was tried as CSV, methods one below the other."""
    columns = list(dict.fromkeys(name for line in lines for name in line))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    with replacing(path) as temporary:
        temporary.write_text(text.getvalue(), encoding="utf-8")
