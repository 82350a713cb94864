"""The image of risk against what answers say."""

from __future__ import annotations

import os
from collections.abc import Mapping

from zerokin.errors import InvalidInput
from zerokin.recognizer.confidence.risk_coverage import RiskCoverage
from zerokin.report.figures import (
    INK,
    QUIET,
    SEEN,
    SHARED,
    UNSEEN,
    blank_figure,
    checked_image_path,
    write_figure,
)

STYLES = ((UNSEEN, "-"), (SEEN, "--"), (SHARED, "-."), (INK, ":"))
PANELS = (
    ("specificity", "information of the answers (1: always the class)"),
    ("coverage", "coverage (share that is told more than “anything”)"),
)


def draw_risk_coverage(
    curves: Mapping[str, RiskCoverage], path: str | os.PathLike[str], *, title: str = ""
) -> None:
    """Draw the share of wrong answers over specificity and over coverage, to PNG or SVG.

    Parameters
    ----------
    curves
        Up to four curves by what they are called in the legend.
    path
        Where to write; the suffix chooses the format.
    title
        What the image shows.
    """
    where = checked_image_path(path)
    if not 1 <= len(curves) <= len(STYLES):
        raise InvalidInput(f"one to {len(STYLES)} curves can be drawn: got {len(curves)}")
    figure = blank_figure(9.6, 4.2)
    panels = figure.subplots(1, len(PANELS), sharey=True)
    highest = max(100 * curve.risk.max() for curve in curves.values())
    for axes, (over, label) in zip(panels, PANELS, strict=True):
        for (name, curve), (color, line) in zip(curves.items(), STYLES, strict=False):
            x = getattr(curve, over)
            said = x > 0
            axes.plot(
                x[said],
                100 * curve.risk[said],
                color=color,
                linestyle=line,
                linewidth=1.8,
                label=f"{name} (area {100 * curve.area(over):.1f})",  # type: ignore[arg-type]
            )
        axes.set_xlim(0, 1.01)
        axes.set_ylim(0, max(1.08 * highest, 1.0))
        axes.set_xlabel(label, color=INK)
        axes.grid(color="#E6E6E6", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK)
        axes.legend(frameon=False, loc="upper left", fontsize=9)
        for side in ("left", "bottom"):
            axes.spines[side].set_color(QUIET)
    panels[0].set_ylabel("wrong answers, % of those given", color=INK)
    if title:
        figure.suptitle(title, color=INK, fontsize=11)
    figure.tight_layout()
    write_figure(figure, where)
