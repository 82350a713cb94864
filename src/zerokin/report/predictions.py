"""Predictions as a table: a row per sample, its best classes and their scores."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from zerokin.files import replacing


def write_predictions(
    samples: Iterable[object],
    names: NDArray[Any],
    scores: NDArray[np.float64],
    path: Path | None,
) -> None:
    """Write names and scores (n, k) as CSV to a file, or to standard output without one."""
    if path is None:
        _write(sys.stdout, samples, names, scores)
        return
    with (
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        _write(file, samples, names, scores)


def _write(
    file: TextIO, samples: Iterable[object], names: NDArray[Any], scores: NDArray[np.float64]
) -> None:
    table = csv.writer(file, lineterminator="\n")
    places = range(1, names.shape[1] + 1)
    table.writerow(["sample", *(c for k in places for c in (f"class_{k}", f"score_{k}"))])
    for sample, row, values in zip(samples, names, scores, strict=True):
        pairs = (c for name, value in zip(row, values, strict=True) for c in (name, f"{value:.4f}"))
        table.writerow([sample, *pairs])
