"""The table of a comparison, on screen and as CSV, JSON, Markdown or LaTeX."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from zerokin.benchmark.spread import MEANING, mean_with_spread
from zerokin.errors import InvalidInput, did_you_mean
from zerokin.files import replacing
from zerokin.report.tables import Lines, in_markdown, on_screen

COLUMNS = (
    ("validation", "per_class_top1", "folds, pure"),
    ("validation", "harmonic_mean", "folds, H"),
    ("standard", "top1", "standard"),
    ("pure", "per_class_top1", "pure"),
    ("generalized", "unseen", "U"),
    ("generalized", "seen", "S"),
    ("generalized", "harmonic_mean", "H"),
    ("generalized", "ausuc", "AUSUC"),
    ("pure", "mean_average_precision", "mAP unseen"),
    ("pure", "f1_at_3", "F1@3 unseen"),
    ("pure", "f1_at_5", "F1@5 unseen"),
    ("generalized", "mean_average_precision", "mAP all"),
    ("generalized", "f1_at_3", "F1@3 all"),
    ("generalized", "f1_at_5", "F1@5 all"),
)
"""Columns as (setting, metric, heading), in the order in which the field writes them."""

Rows = Sequence[Mapping[str, Any]]


def comparison_lines(rows: Rows) -> Lines:
    """Return headings and a line per method: means over seeds, with their 95 % t-interval.

    Where rows tell how many settings of hyper-parameters they chose from, a column says it.

    Examples
    --------
    >>> row = {"method": "x", "setting": "pure", "seed": 0, "metrics": {"per_class_top1": 61.24}}
    >>> comparison_lines([row])
    Lines(headings=['method', 'pure'], lines=[['x', '61.2']])
    >>> comparison_lines([row | {"selection": {"tried": 84}}])
    Lines(headings=['method', 'tried', 'pure'], lines=[['x', '84', '61.2']])
    """
    tried = {str(method): _tried(rows, method) for method in _methods(rows)}
    counted = any(tried.values())
    columns = [
        (setting, metric, heading)
        for setting, metric, heading in COLUMNS
        if any(row["setting"] == setting and metric in row["metrics"] for row in rows)
    ]
    lines = []
    for method in _methods(rows):
        line = [str(method), *([tried[str(method)]] if counted else [])]
        for setting, metric, _ in columns:
            values = [
                row["metrics"][metric]
                for row in rows
                if (row["method"], row["setting"]) == (method, setting) and metric in row["metrics"]
            ]
            line.append(mean_with_spread(values, digits=3 if metric == "ausuc" else 1))
        lines.append(line)
    names = ["method", *(["tried"] if counted else [])]
    return Lines([*names, *(heading for _, _, heading in columns)], lines)


def _methods(rows: Rows) -> list[Any]:
    return list(dict.fromkeys(row["method"] for row in rows))


def _tried(rows: Rows, method: Any) -> str:
    """Return how many settings a method chose from: the most, where its rows differ."""
    found = [_chosen(row).get("tried") for row in rows if row["method"] == method]
    counts = [count for count in found if isinstance(count, int) and not isinstance(count, bool)]
    return str(max(counts)) if counts else ""


def _chosen(row: Mapping[str, Any]) -> Mapping[str, Any]:
    chosen = row.get("selection")
    return chosen if isinstance(chosen, Mapping) else {}


def validation_score(row: Mapping[str, Any]) -> float | None:
    """Return what validation classes said of a row, where its choice tells."""
    score = _chosen(row).get("validation")
    return score if isinstance(score, int | float) and not isinstance(score, bool) else None


def fold_rows(rows: Rows) -> list[dict[str, Any]]:
    """Return rows of what the validation folds said of each method, where its choice tells.

    Examples
    --------
    >>> row = {"method": "x", "setting": "pure", "seed": 0, "metrics": {"per_class_top1": 61.24}}
    >>> chosen = row | {"selection": {"validation": 58.3}}
    >>> comparison_lines([chosen, *fold_rows([chosen])])
    Lines(headings=['method', 'folds, pure', 'pure'], lines=[['x', '58.3', '61.2']])
    """
    said: dict[tuple[str, str], dict[str, Any]] = {}
    metrics = {
        "standard": "per_class_top1",
        "pure": "per_class_top1",
        "generalized": "harmonic_mean",
    }
    for row in rows:
        score = validation_score(row)
        if score is not None and row["setting"] in metrics:
            # The same for all seeds of a row.
            said.setdefault(
                (row["method"], row["setting"]),
                {
                    "method": row["method"],
                    "setting": "validation",
                    "metrics": {metrics[row["setting"]]: score},
                },
            )
    return list(said.values())


def screen_table(rows: Rows, title: str) -> Table:
    """Return the comparison as a table for the terminal."""
    table = on_screen(comparison_lines(rows), title)
    table.caption = caption(rows) or None
    return table


def caption(rows: Rows) -> str:
    """Return what ± means, where several seeds stand in a cell; nothing otherwise.

    Examples
    --------
    >>> one = {"method": "x", "setting": "pure", "seed": 0, "metrics": {"per_class_top1": 61.2}}
    >>> caption([one])
    ''
    >>> caption([one, {**one, "seed": 1}])
    '± is the half-width of the 95 % t-interval over seeds'
    """
    cells = [(row["method"], row["setting"], metric) for row in rows for metric in row["metrics"]]
    return MEANING if len(set(cells)) < len(cells) else ""


def as_markdown(rows: Rows) -> str:
    """Return the comparison as a Markdown table."""
    said = caption(rows)
    return in_markdown(comparison_lines(rows)) + (f"\n{said}\n" if said else "")


def as_latex(rows: Rows) -> str:
    """Return the comparison as a LaTeX tabular."""
    headings, lines = comparison_lines(rows)
    body = "".join(
        f"{' & '.join(cells)} \\\\\n".replace("±", r"$\pm$").replace("_", r"\_") for cells in lines
    )
    said = caption(rows)
    about = f"% {said}\n" if said else ""
    return (
        f"{about}\\begin{{tabular}}{{l{'r' * (len(headings) - 1)}}}\n\\hline\n"
        f"{' & '.join(headings)} \\\\\n\\hline\n{body}\\hline\n\\end{{tabular}}\n"
    )


def as_csv(rows: Rows) -> str:
    """Return every row with its metrics and what was chosen, as CSV."""
    flat = [_flat(row) for row in rows]
    columns = list(dict.fromkeys(name for row in flat for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def as_json(rows: Rows) -> str:
    """Return every row in full, as JSON."""
    return json.dumps(list(rows), indent=1) + "\n"


def _flat(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


FORMATS: dict[str, Callable[[Rows], str]] = {
    ".csv": as_csv,
    ".json": as_json,
    ".md": as_markdown,
    ".tex": as_latex,
}


def write_comparison(rows: Rows, path: Path) -> None:
    """Write the comparison in the format of the file's suffix."""
    refuse_unknown_format(path)
    with replacing(path) as temporary:
        temporary.write_text(FORMATS[path.suffix](rows), encoding="utf-8")


def refuse_unknown_format(path: Path) -> None:
    """Refuse a file whose suffix names no format, before any work is done for it."""
    if path.suffix not in FORMATS:
        raise InvalidInput(
            f"{path}: no table format {path.suffix!r}{did_you_mean(path.suffix, FORMATS)} "
            f"(known: {', '.join(FORMATS)})"
        )
