"""Draw the method: ``python docs/method_figure.py`` writes docs/images/method.png."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from zerokin.critters import SPECIES, portrait, render
from zerokin.report.figures import INK, PALE_SEEN, PALE_UNSEEN, QUIET, SEEN, UNSEEN

OUT = Path(__file__).parent / "images" / "method.png"
NAMES = ("honey mumbler", "gravel mumbler", "plum mumbler", "dawn prancet", "marsh prancet")
UNSEEN_NAMES = ("plum mumbler",)
TITLES = (
    "1  Class hierarchy",
    "2  Feature learning",
    "3  Projection learning",
    "4  Recognition",
)
SUBTITLES = (
    "Class vectors are clustered\ninto superclasses.",
    "A network learns classes and\nsuperclasses of seen images.",
    "Semantics are projected into\nthe space of features.",
    "The nearest prototype names\nthe image, seen class or not.",
)
SHAPE = 1.16  # of the axes: how much longer a unit is across than up
BY_NAME = {species.name: species for species in SPECIES}


def image(axes, image, x, y, size, color):
    """Put a square image at a place; axes are wider than high."""
    high = SHAPE * size
    axes.imshow(image, extent=(x - size, x + size, y - high, y + high), zorder=3)
    corner, width, height = (x - size, y - high), 2 * size, 2 * high
    style = {"boxstyle": "square,pad=0.006", "fill": False, "edgecolor": color, "linewidth": 2.5}
    axes.add_patch(FancyBboxPatch(corner, width, height, zorder=4, **style))


def box(axes, x, y, width, height, text, color):
    """Write a text into a box around a place."""
    corner = (x - width / 2, y - height / 2)
    style = {"boxstyle": "round,pad=0.01,rounding_size=0.02", "edgecolor": INK, "linewidth": 1}
    axes.add_patch(FancyBboxPatch(corner, width, height, facecolor=color, zorder=3, **style))
    axes.text(x, y, text, ha="center", va="center", fontsize=9, color=INK, zorder=5)


def line(axes, start, end, *, arrow=False, **style):
    """Draw a line, or an arrow."""
    style = {"color": QUIET, "linewidth": 1.4, "zorder": 1, **style}
    kind = "-|>" if arrow else "-"
    patch = FancyArrowPatch(
        start, end, arrowstyle=kind, mutation_scale=11, shrinkA=0, shrinkB=0, **style
    )
    axes.add_patch(patch)


def draw_hierarchy(axes):
    """Draw superclasses over their classes."""
    columns = np.linspace(0.1, 0.9, len(NAMES))
    groups = {"mumblers": columns[:3], "prancets": columns[3:]}
    for name, own in groups.items():
        middle = float(own.mean())
        line(axes, (0.5, 0.8), (middle, 0.58))
        box(axes, middle, 0.56, 0.3, 0.09, name, "white")
        for x in own:
            line(axes, (middle, 0.5), (float(x), 0.32))
    box(axes, 0.5, 0.83, 0.3, 0.09, "hoofed", "white")
    for x, name in zip(columns, NAMES, strict=True):
        color = UNSEEN if name in UNSEEN_NAMES else SEEN
        image(axes, portrait(BY_NAME[name], size=128), float(x), 0.24, 0.078, color)
    axes.text(0.3, 0.07, "■ seen", color=SEEN, fontsize=10, ha="center")
    axes.text(0.7, 0.07, "■ never seen", color=UNSEEN, fontsize=10, ha="center")


def draw_features(axes):
    """Draw the network with its heads and the LSTM chain."""
    image(axes, render(BY_NAME["honey mumbler"], 3, size=128), 0.13, 0.5, 0.11, SEEN)
    line(axes, (0.26, 0.5), (0.33, 0.5), arrow=True)
    box(axes, 0.42, 0.5, 0.15, 0.3, "CNN\n\nf", PALE_SEEN)
    heads = (("superclasses 2", 0.8), ("superclasses 1", 0.5), ("classes", 0.2))
    for label, y in heads:
        line(axes, (0.51, 0.5), (0.6, y), arrow=True)
        box(axes, 0.79, y, 0.36, 0.11, label, "white")
    for low, high in ((0.27, 0.43), (0.57, 0.73)):
        line(axes, (0.79, low), (0.79, high), arrow=True, color=INK)
        axes.text(0.81, (low + high) / 2, "LSTM", fontsize=9, va="center", color=INK)


def draw_projection(axes):
    """Draw class vectors, and prototypes among the features of seen classes."""
    rng = np.random.default_rng(4)
    centers = {"honey": (0.62, 0.78), "gravel": (0.86, 0.62), "dawn": (0.56, 0.22)}
    for x, y in centers.values():
        cloud = rng.normal((x, y), 0.035, size=(22, 2))
        axes.scatter(*cloud.T, s=9, color=PALE_SEEN, edgecolors=SEEN, linewidths=0.6, zorder=2)
        axes.scatter([x], [y], marker="*", s=120, color=SEEN, zorder=4)
    axes.scatter([0.82], [0.41], marker="*", s=150, color=UNSEEN, zorder=4)
    label = "prototype of a\nclass never seen"
    axes.text(0.82, 0.33, label, color=UNSEEN, fontsize=8.5, ha="center", va="top")
    for row, (values, color) in enumerate(
        (("1 0 1 0", SEEN), ("1 0 0 1", SEEN), ("0 1 1 0", SEEN), ("1 1 0 1", UNSEEN))
    ):
        y = 0.8 - 0.2 * row
        box(axes, 0.14, y, 0.22, 0.1, values, PALE_UNSEEN if color == UNSEEN else PALE_SEEN)
    line(axes, (0.3, 0.5), (0.46, 0.5), arrow=True, color=INK, linewidth=2)
    axes.text(0.38, 0.54, "W", fontsize=13, ha="center", style="italic", color=INK)
    axes.text(0.14, 0.04, "semantics", fontsize=9, ha="center", color=INK)
    axes.text(0.74, 0.04, "features", fontsize=9, ha="center", color=INK)


def draw_recognition(axes):
    """Draw an image of an unseen class and its best classes."""
    image(axes, render(BY_NAME["plum mumbler"], 5, size=128), 0.18, 0.5, 0.15, UNSEEN)
    line(axes, (0.36, 0.5), (0.43, 0.5), arrow=True)
    answers = (
        ("plum mumbler", 0.52, UNSEEN),
        ("honey mumbler", 0.31, SEEN),
        ("marsh prancet", 0.1, SEEN),
    )
    for row, (name, share, color) in enumerate(answers):
        y, weight = 0.72 - 0.22 * row, "normal" if row else "bold"
        axes.text(0.46, y + 0.055, name, fontsize=9.5, color=color, va="center", weight=weight)
        pale = PALE_UNSEEN if color == UNSEEN else PALE_SEEN
        bar = FancyBboxPatch((0.46, y - 0.04), share, 0.05, boxstyle="square,pad=0", facecolor=pale)
        bar.set_edgecolor("none")
        axes.add_patch(bar)


def main() -> None:
    """Draw the four steps side by side."""
    mpl.use("Agg")
    figure = Figure(figsize=(14, 3.7), dpi=110, facecolor="white")
    drawers = (draw_hierarchy, draw_features, draw_projection, draw_recognition)
    for number, draw in enumerate(drawers):
        axes = figure.add_axes((0.008 + 0.25 * number, 0.01, 0.232, 0.72))
        draw(axes)
        axes.set(xlim=(0, 1), ylim=(0, 0.95), xticks=[], yticks=[])
        axes.set_aspect("auto")
        for side in axes.spines.values():
            side.set_visible(False)
        left = 0.014 + 0.25 * number
        figure.text(left, 0.93, TITLES[number], fontsize=14, weight="bold", color=INK)
        figure.text(left, 0.905, SUBTITLES[number], fontsize=9.5, color=INK, va="top")
    figure.savefig(OUT)


if __name__ == "__main__":
    main()
