"""Accuracy over the branching t of the hierarchy: the paper's figure of t."""

from __future__ import annotations

import os
from collections.abc import Mapping

from zerokin.errors import InvalidInput
from zerokin.report.figures import (
    INK,
    QUIET,
    SEEN,
    SHARED,
    UNSEEN,
    blank_figure,
    checked_image_path,
    shown,
    write_figure,
)

COLORS = (SHARED, SEEN, UNSEEN, "#009E73", "#CC79A7", INK)
DASHED = "agglomerative"

Curve = Mapping[int, float]
"""By t: accuracy in %."""


def draw_branching(
    curves: Mapping[str, Curve], path: str | os.PathLike[str], *, flat: float | None = None
) -> None:
    """Draw accuracy over t, a line for each method, to PNG or SVG.

    Parameters
    ----------
    curves
        By ``"METHOD, GROUPING"``: a color for each method, dashes where Ward clustering groups.
    path
        Where to write; the suffix chooses the format.
    flat
        Accuracy without superclasses.
    """
    where = checked_image_path(path)
    if not any(curves.values()):
        raise InvalidInput("there is nothing to draw: give at least one curve")
    methods = list(dict.fromkeys(name.partition(",")[0] for name in curves))
    figure = blank_figure(8.2, 3.8)
    axes = figure.add_axes((0.085, 0.135, 0.56, 0.81))
    for name, curve in curves.items():
        line = axes.plot(
            list(curve),
            list(curve.values()),
            "--" if name.endswith(DASHED) else "-",
            color=COLORS[methods.index(name.partition(",")[0]) % len(COLORS)],
            marker="o",
            markersize=3.5,
            linewidth=1.5,
        )
        line[0].set_label(shown(name, most=40))
    if flat is not None:
        axes.axhline(flat, color=QUIET, linestyle=":", label="without superclasses")
    axes.set_xticks(sorted({t for curve in curves.values() for t in curve}))
    axes.set_xlabel("branching t", color=INK)
    axes.set_ylabel("per-class top-1 on validation classes, %", color=INK, fontsize=9)
    axes.grid(color="#E6E6E6", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(QUIET)
    axes.tick_params(colors=INK)
    legend = axes.legend(frameon=False, fontsize=8.5, loc="center left", bbox_to_anchor=(1.02, 0.5))
    for text in legend.get_texts():
        text.set_parse_math(False)
    write_figure(figure, where)


def branching_curves(
    rows: list[dict[str, object]],
) -> tuple[dict[str, dict[int, float]], float | None]:
    """Read curves, and the accuracy without superclasses, from rows of ``benchmarks/branching.py``.

    Examples
    --------
    >>> rows = [{"method": "ours, kmeans", "metrics": {"t2": 65.0, "t3": 64.7}}]
    >>> branching_curves([*rows, {"method": "without superclasses", "metrics": {"t2": 63.4}}])
    ({'ours, kmeans': {2: 65.0, 3: 64.7}}, 63.4)
    """
    curves = {
        str(row["method"]): {int(t.removeprefix("t")): float(v) for t, v in row["metrics"].items()}  # type: ignore[attr-defined]
        for row in rows
    }
    flat = curves.pop("without superclasses", None)
    return curves, next(iter(flat.values())) if flat else None
