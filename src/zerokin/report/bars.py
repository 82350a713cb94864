"""The image of an ablation: a bar for every row, as long as its figure."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

from zerokin.benchmark.spread import half_width95
from zerokin.errors import InvalidInput
from zerokin.report.comparison import COLUMNS
from zerokin.report.figures import (
    INK,
    QUIET,
    SEEN,
    UNSEEN,
    blank_figure,
    checked_image_path,
    shown,
    text_width,
    write_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Panels = Mapping[str, Mapping[str, Sequence[float]]]
"""By heading: for every row its figure, once for each seed."""

DRAWN = {
    "standard": "unseen classes among themselves, standard split",
    "pure": "unseen classes among themselves",
    "H": "harmonic mean, all classes compete",
    "folds, pure": "validation: unseen classes among themselves",
    "folds, H": "validation: harmonic mean",
}


def ablation_panels(rows: Sequence[Mapping[str, Any]]) -> Panels:
    """Sort the rows of an ablation into panels, by setting or by number of shots.

    Examples
    --------
    >>> metrics = {"top1": 61.0, "shots": 1, "way": 5}
    >>> ablation_panels([{"method": "x", "setting": "few-shot", "metrics": metrics}])
    {'5-way 1-shot': {'x': [61.0]}}
    """
    panels: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        metrics = row["metrics"]
        if "shots" in metrics and "harmonic_mean" in metrics:
            found = {f"{metrics['shots']}-shot, harmonic mean": "harmonic_mean"}
        elif "shots" in metrics:
            found = {f"{metrics['way']}-way {metrics['shots']}-shot": "top1"}
        else:
            found = {
                DRAWN[heading]: metric
                for setting, metric, heading in COLUMNS
                if setting == row["setting"] and heading in DRAWN and metric in metrics
            }
        for heading, metric in found.items():
            panels.setdefault(heading, {}).setdefault(row["method"], []).append(metrics[metric])
    return panels


def draw_bars(panels: Panels, path: str | os.PathLike[str], *, title: str = "") -> None:
    """Draw panels of bars side by side, with their 95 % t-interval over seeds, to PNG or SVG.

    Parameters
    ----------
    panels
        By heading: for every row, percentages.
    path
        Where to write; the suffix chooses the format.
    title
        What the image shows.
    """
    where = checked_image_path(path)
    if not panels:
        raise InvalidInput("there is nothing to draw: give at least one panel")
    names = list(dict.fromkeys(name for bars in panels.values() for name in bars))
    labels = [shown(name, most=70) for name in names]
    left = 0.3 + max(text_width(label, 9) for label in labels)
    width, height = left + 3.4 * len(panels), 1.0 + 0.3 * len(names)
    figure = blank_figure(width, height)
    for number, (heading, bars) in enumerate(panels.items()):
        place = ((left + 3.4 * number) / width, 0.25 / height, 3.1 / width, 1 - 0.85 / height)
        axes = figure.add_axes(place)
        _panel(axes, names, bars)
        axes.set_yticklabels(labels if number == 0 else [], fontsize=9, parse_math=False)
        axes.set_title(heading, fontsize=9, color=INK, loc="left", parse_math=False)
    if title:
        x, y = 0.1 / width, 1 - 0.25 / height
        figure.text(x, y, title, size=11, weight="bold", color=INK, parse_math=False)
    write_figure(figure, where)


def _panel(axes: Axes, names: Sequence[str], bars: Mapping[str, Sequence[float]]) -> None:
    best = max(mean(values) for values in bars.values())
    for place, name in enumerate(names):
        if name not in bars:
            continue
        values = bars[name]
        height, spread = mean(values), half_width95(values)
        axes.barh(place, height, height=0.66, color=UNSEEN if height == best else SEEN)
        if spread:
            axes.errorbar(height, place, xerr=spread, color=INK, linewidth=1.0, capsize=2)
        said = f"{height:.1f} ± {spread:.1f}" if spread else f"{height:.1f}"
        axes.text(height + spread + 1, place, said, va="center", fontsize=8, color=INK)
    axes.set_yticks(range(len(names)))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, 1.32 * max(best, 1.0))
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.spines["left"].set_color(QUIET)
    axes.tick_params(left=False, bottom=False, labelbottom=False, colors=INK)
