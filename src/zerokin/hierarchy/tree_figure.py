"""The hierarchy as a tree that grows from left to right, a row per class."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zerokin.hierarchy.figures import (
    INK,
    MOST_LABELS,
    QUIET,
    SEEN,
    SHARED,
    UNSEEN,
    Unseen,
    blank_figure,
    checked_picture_path,
    colour_of,
    leaf_order,
    node_spans,
    shown,
    summary,
    text_width,
    unseen_mask,
    unseen_share,
    write_figure,
)
from zerokin.hierarchy.layered_tree import LayeredTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TALLEST = 100.0  # inches; PNG has a limit of 65,535 pixels
HEAD = 1.0  # inches above the first row, for the heading and the legend
GAP = 0.75  # inches between the columns of two layers, beside the names


def draw_tree(
    tree: LayeredTree,
    path: str | os.PathLike[str],
    unseen: Unseen = None,
    *,
    title: str | None = None,
) -> None:
    """Draw a hierarchy as a tree, top layer at the left and classes at the right.

    Parameters
    ----------
    tree
        The hierarchy.
    path
        Picture to write, ``.png`` or ``.svg``.
    unseen
        Unseen classes: a boolean mask (C,), indices or names.
    title
        Heading; by default what the hierarchy holds.
    """
    path = checked_picture_path(path)
    mask = unseen_mask(tree, unseen)
    row = 0.17 if tree.n_classes <= 80 else 0.135 if tree.n_classes <= MOST_LABELS else 0.05
    row = min(row, TALLEST / tree.n_classes)
    size = min(8.5, row * 72 * 0.78)
    rows = _rows(tree)
    columns, right = _columns(tree, rows, row, size)
    width, height = right + 0.2, tree.n_classes * row + HEAD + 0.2
    figure = blank_figure(max(width, 6.5), height)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0, max(width, 6.5))
    axes.set_ylim(height, 0)

    y = [HEAD + (values + 0.5) * row for values in rows]
    _edges(axes, tree, mask, columns, y)
    for layer in range(tree.n_layers, -1, -1):
        _nodes(axes, tree, layer, mask, columns[layer], y[layer], size, row)
    heading = title if title is not None else summary(tree, mask)
    axes.text(0.2, 0.3, heading, size=11, weight="bold", color=INK, va="center", parse_math=False)
    for layer in range(1, tree.n_layers + 1):
        text = f"layer {layer}"
        axes.text(columns[layer], HEAD - 0.12, text, size=7, color=QUIET, ha="right")
    if mask.any():
        _legend(axes)
    write_figure(figure, path)


def _rows(tree: LayeredTree) -> list[NDArray[np.float64]]:
    """Return the row of every node, layer by layer: halfway between its outermost children."""
    at = np.empty(tree.n_classes)
    at[leaf_order(tree)] = np.arange(tree.n_classes)
    rows = [at]
    for layer in range(1, tree.n_layers + 1):
        parents, below = tree.parents(layer - 1), rows[-1]
        low = np.full(tree.sizes[layer - 1], np.inf)
        high = -low
        np.minimum.at(low, parents, below)
        np.maximum.at(high, parents, below)
        rows.append((low + high) / 2)
    return rows


def _columns(
    tree: LayeredTree, rows: list[NDArray[np.float64]], row: float, size: float
) -> tuple[list[float], float]:
    """Return where the nodes of each layer stand (inches), and where the class names end."""
    at, x = [0.0] * (tree.n_layers + 1), 0.2
    for layer in range(tree.n_layers, -1, -1):
        # Names of superclasses end at their node, names of classes start there.
        x += GAP
        if layer and _has_room(rows[layer], row, size):
            labels = [_label(tree, layer, node) for node in range(len(rows[layer]))]
            x += 0.15 + max(text_width(label, size) for label in labels)
        at[layer] = x
    if tree.n_classes <= MOST_LABELS:
        x += 0.1 + max(text_width(shown(name), size) for name in tree.names)
    return at, x


def _label(tree: LayeredTree, layer: int, node: int) -> str:
    return shown(tree.node_names(layer)[node], most=48)


def _has_room(rows: NDArray[np.float64], row: float, size: float) -> bool:
    """Say whether the names of a layer fit under one another."""
    closest = float(np.diff(np.sort(rows)).min()) if len(rows) > 1 else 1.0
    return size >= 4 and closest * row * 72 >= size


def _edges(
    axes: Axes,
    tree: LayeredTree,
    mask: NDArray[np.bool_],
    columns: list[float],
    y: list[NDArray[np.float64]],
) -> None:
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path as Outline

    curve = [Outline.MOVETO, Outline.CURVE4, Outline.CURVE4, Outline.CURVE4]
    root = (0.2, float(y[-1].min() + y[-1].max()) / 2)
    for layer in range(tree.n_layers + 1):
        share, spans = unseen_share(tree, layer, mask), node_spans(tree, layer)
        parents = tree.parents(layer) if layer < tree.n_layers else None
        outlines, widths, colours = [], [], []
        for node in range(len(share)):
            end = (columns[layer], float(y[layer][node]))
            start = root
            if parents is not None:
                start = (columns[layer + 1], float(y[layer + 1][parents[node]]))
            # The bend lies within the gap, so that names further right stand on a level line.
            bend = start[0] + min(GAP, end[0] - start[0])
            middle = (start[0] + bend) / 2
            outlines.append(
                Outline(
                    [start, (middle, start[1]), (middle, end[1]), (bend, end[1]), end],
                    [*curve, Outline.LINETO],
                )
            )
            widths.append(0.7 + 0.35 * np.log2(spans[node, 1] - spans[node, 0]))
            colours.append(colour_of(float(share[node])))
        axes.add_collection(
            PathCollection(
                outlines, facecolors="none", edgecolors=colours, linewidths=widths, alpha=0.55
            )
        )


def _nodes(
    axes: Axes,
    tree: LayeredTree,
    layer: int,
    mask: NDArray[np.bool_],
    x: float,
    y: NDArray[np.float64],
    size: float,
    row: float,
) -> None:
    share = unseen_share(tree, layer, mask)
    area = (min(size, 7.0) * 0.55) ** 2
    for chosen, colour, marker, scale in (
        (share == 0, SEEN, "o", 1.0),
        ((share > 0) & (share < 1), SHARED, "o", 1.0),
        (share == 1, UNSEEN, "*" if layer == 0 else "o", 2.6 if layer == 0 else 1.0),
    ):
        axes.scatter(
            np.full(chosen.sum(), x),
            y[chosen],
            s=area * scale,
            c=colour,
            marker=marker,
            linewidths=0,
            zorder=3,
        )
    style: dict[str, Any] = {"size": size, "va": "center", "parse_math": False}
    if layer == 0:
        if tree.n_classes <= MOST_LABELS:
            for name, place, is_unseen in zip(tree.names, y, mask, strict=True):
                colour = UNSEEN if is_unseen else SEEN
                axes.text(x + 0.09, place, shown(name), color=colour, **style)
    elif _has_room((y - HEAD) / row, row, size):
        style["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        for node, place in enumerate(y):
            text = _label(tree, layer, node)
            colour = INK if tree.has_node_names else QUIET
            axes.text(x - 0.07, place, text, color=colour, ha="right", **style)


def _legend(axes: Axes) -> None:
    x = 0.28
    for marker, colour, text in (
        ("o", SEEN, "seen"),
        ("*", UNSEEN, "unseen"),
        ("o", SHARED, "superclass of both"),
    ):
        area = 70 if marker == "*" else 28
        axes.scatter([x], [0.58], s=area, c=colour, marker=marker, linewidths=0)
        axes.text(x + 0.1, 0.58, text, size=9, color=colour, va="center")
        x += 0.35 + text_width(text, 9)
