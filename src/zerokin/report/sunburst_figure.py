"""The hierarchy as rings: top layer inside, classes outside, width by number of classes."""

from __future__ import annotations

import os
from math import cos, pi, radians, sin
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zerokin.hierarchy.layered_tree import LayeredTree
from zerokin.report.figures import (
    INK,
    MOST_LABELS,
    PALE_SEEN,
    PALE_SHARED,
    PALE_UNSEEN,
    SEEN,
    UNSEEN,
    Unseen,
    blank_figure,
    checked_image_path,
    color_of,
    leaf_order,
    names_elsewhere,
    node_spans,
    shown,
    summary,
    text_width,
    unseen_mask,
    unseen_share,
    write_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HOLE = 0.7  # inches from the center to the first ring
CLASS_RING = 0.22


def draw_sunburst(
    tree: LayeredTree,
    path: str | os.PathLike[str],
    unseen: Unseen = None,
    *,
    title: str | None = None,
) -> None:
    """Draw a hierarchy as rings around a center.

    Parameters
    ----------
    tree
        The hierarchy.
    path
        Image to write, ``.png`` or ``.svg``.
    unseen
        Unseen classes: a boolean mask (C,), indices or names.
    title
        Heading; by default what the hierarchy holds.
    """
    path = checked_image_path(path)
    mask = unseen_mask(tree, unseen)
    labeled = tree.n_classes <= MOST_LABELS
    # Wide enough that class names of a legible size fit around the rim.
    radius = max(2.6 + 0.3 * tree.n_layers, min(tree.n_classes, MOST_LABELS) * 0.125 / (2 * pi))
    size = min(8.5, 0.86 * 72 * 2 * pi * radius / tree.n_classes)
    left, right, bottom, top = _extent(tree, radius, size if labeled else None)
    figure = blank_figure(right - left, top - bottom)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)

    ring = (radius - CLASS_RING - HOLE) / tree.n_layers
    for layer in range(tree.n_layers, 0, -1):
        inner = HOLE + (tree.n_layers - layer) * ring
        _ring(axes, tree, layer, mask, inner, inner + ring)
    _class_ring(axes, tree, mask, radius, size if labeled else None)
    axes.text(0, 0, f"{tree.n_classes}\nclasses", size=11, color=INK, ha="center", va="center")
    heading = title if title is not None else summary(tree, mask)
    axes.text(
        left + 0.2,
        top - 0.3,
        heading,
        size=11,
        weight="bold",
        color=INK,
        va="center",
        parse_math=False,
    )
    if mask.any():
        _legend(axes, left + 0.2, top - 0.62)
    write_figure(figure, path)


def _extent(
    tree: LayeredTree, radius: float, size: float | None
) -> tuple[float, float, float, float]:
    """Return left, right, bottom and top of what is drawn, class names and heading included."""
    n = tree.n_classes
    angles = np.pi / 2 - 2 * np.pi * (np.arange(n) + 0.5) / n
    reach = np.full(n, radius)
    if size is not None:
        names = [tree.names[i] for i in leaf_order(tree)]
        reach += [0.1 + text_width(shown(name), size) for name in names]
    x, y = reach * np.cos(angles), reach * np.sin(angles)
    left, right = min(x.min(), -radius) - 0.2, max(x.max(), radius) + 0.2
    spare = max(0.0, 6.5 - (right - left)) / 2  # the heading needs its width, too
    bottom, top = min(y.min(), -radius) - 0.2, max(y.max(), radius) + 1.0
    return float(left - spare), float(right + spare), float(bottom), float(top)


def _wedge(
    axes: Axes, span: tuple[float, float], n: int, inner: float, outer: float, color: str
) -> None:
    from matplotlib.patches import Wedge

    # Clockwise from twelve o'clock.
    start, end = 90 - 360 * span[1] / n, 90 - 360 * span[0] / n
    axes.add_patch(
        Wedge(
            (0, 0),
            outer,
            start,
            end,
            width=outer - inner,
            facecolor=color,
            edgecolor="white",
            linewidth=min(0.8, 160 / n),
        )
    )


def _ring(
    axes: Axes,
    tree: LayeredTree,
    layer: int,
    mask: NDArray[np.bool_],
    inner: float,
    outer: float,
) -> None:
    share, names = unseen_share(tree, layer, mask), tree.node_names(layer)
    drawn = names_elsewhere(tree, layer)
    for node, (first, last) in enumerate(node_spans(tree, layer).tolist()):
        color = color_of(float(share[node]), pale=True)
        _wedge(axes, (first, last), tree.n_classes, inner, outer, color)
        if names[node] in drawn:
            continue
        turn = (first + last) / 2 / tree.n_classes
        arc = 2 * pi * inner * (last - first) / tree.n_classes
        _inside(axes, shown(names[node], most=72), turn, (inner + outer) / 2, arc, outer - inner)


def _inside(axes: Axes, text: str, turn: float, radius: float, arc: float, depth: float) -> None:
    """Write a name into a wedge along the radius or across it, whichever lets it be larger."""
    lines = [text, text.replace(", ", ",\n"), text.replace(" ", "\n", 1)]
    best, along, chosen = 0.0, True, text
    for candidate in lines:
        rows = candidate.split("\n")
        width = max(text_width(line, 1.0) for line in rows) * 1.12
        height = len(rows) * 1.4 / 72
        for is_along in (True, False):
            room, rise = (depth, arc) if is_along else (arc, depth)
            fits = min(room / width, rise / height, 9.0)
            if fits > best + 0.01:
                best, along, chosen = fits, is_along, candidate
    if best < 4.8:
        return
    angle = 90 - 360 * turn
    rotation = angle if along else angle - 90
    axes.text(
        radius * cos(radians(angle)),
        radius * sin(radians(angle)),
        chosen,
        size=best,
        color=INK,
        ha="center",
        va="center",
        rotation=_upright(rotation),
        rotation_mode="anchor",
        linespacing=1.05,
        parse_math=False,
    )


def _class_ring(
    axes: Axes, tree: LayeredTree, mask: NDArray[np.bool_], radius: float, size: float | None
) -> None:
    for place, i in enumerate(leaf_order(tree).tolist()):
        color = UNSEEN if mask[i] else SEEN
        _wedge(axes, (place, place + 1), tree.n_classes, radius - CLASS_RING, radius, color)
        if size is None:
            continue
        angle = 90 - 360 * (place + 0.5) / tree.n_classes
        left = cos(radians(angle)) < 0
        axes.text(
            (radius + 0.06) * cos(radians(angle)),
            (radius + 0.06) * sin(radians(angle)),
            shown(tree.names[i]),
            size=size,
            color=color,
            ha="right" if left else "left",
            va="center",
            rotation=_upright(angle),
            rotation_mode="anchor",
            parse_math=False,
        )


def _upright(angle: float) -> float:
    """Turn a text by half a circle where it would stand on its head."""
    angle = (angle + 180) % 360 - 180
    return angle - 180 if angle > 90 else angle + 180 if angle < -90 else angle


def _legend(axes: Axes, x: float, y: float) -> None:
    for color, text in (
        (SEEN, "seen class"),
        (UNSEEN, "unseen class"),
        (PALE_SEEN, "superclass of seen"),
        (PALE_UNSEEN, "of unseen"),
        (PALE_SHARED, "of both"),
    ):
        axes.scatter([x + 0.08], [y], s=75, c=color, marker="s", linewidths=0)
        axes.text(x + 0.22, y, text, size=9, color=INK, va="center")
        x += 0.45 + text_width(text, 9)
