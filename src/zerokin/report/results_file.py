"""Results as commands wrote them to JSON, read again and checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zerokin.aliases import CHOICES
from zerokin.errors import InvalidInput, shown
from zerokin.files import existing
from zerokin.report.class_tables import class_problem

MOST = 1e9
ONE_FIGURE, HARMONIC = ("top1", "way"), ("unseen", "seen", "harmonic_mean", "ci95")
"""What the tables of few-shot recognition show, and of generalized few-shot recognition."""
WRITERS = "zerokin evaluate --json, compare --out or ablation write such a file"


def read_results(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the rows of all files, one file after the other; what is no result is refused."""
    return [row for path in paths for row in _rows(path)]


def _rows(path: Path) -> list[dict[str, Any]]:
    file = existing(path, "results", WRITERS)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{file} is not JSON ({shown(str(error))}): {WRITERS}") from error
    if not isinstance(content, list) or not content:
        raise InvalidInput(f"{file} holds no list of results: {WRITERS}")
    for number, row in enumerate(content, start=1):
        problem = _problem(row)
        if problem:
            raise InvalidInput(f"{file}, row {number}: {problem}; {WRITERS}")
        # As the rows of earlier versions say it.
        row["setting"] = CHOICES["--setting"].get(row["setting"], row["setting"])
    return content


def _problem(row: Any) -> str | None:
    """Say what a row lacks to be a result."""
    if not isinstance(row, dict):
        return f"{shown(row)} is no result"
    for name in ("dataset", "setting", "method"):
        if not isinstance(row.get(name), str):
            return f"{name} is {shown(row.get(name))}, no name"
    metrics = row.get("metrics")
    if not isinstance(metrics, dict) or not metrics:
        return "it has no metrics"
    for name, value in metrics.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        # Comparing, unlike isfinite, also takes a whole number that no float can hold.
        if not number or not abs(value) < MOST:
            return f"{name} is {shown(value)}, no number"
    needed = HARMONIC if "harmonic_mean" in metrics else ONE_FIGURE
    missing = [name for name in needed if "shots" in metrics and name not in metrics]
    if missing:
        return f"it has shots, but no {missing[0]}"
    return class_problem(row)
