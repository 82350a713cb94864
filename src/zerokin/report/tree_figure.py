"""The hierarchy as a tree that grows from left to right, a row per class."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zerokin.hierarchy.layered_tree import LayeredTree
from zerokin.report.figures import (
    INK,
    MOST_LABELS,
    QUIET,
    SEEN,
    SHARED,
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

TALLEST = 100.0  # inches; PNG has a limit of 65,535 pixels
HEAD = 1.0  # inches above the first row, for the heading and the legend
LEAST_GAP = 0.75  # inches between the columns of two layers, beside the names
NARROWEST = 6.3  # inches, for the heading


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
        Image to write, ``.png`` or ``.svg``.
    unseen
        Unseen classes: a boolean mask (C,), indices or names.
    title
        Heading; by default what the hierarchy holds.
    """
    path = checked_image_path(path)
    mask = unseen_mask(tree, unseen)
    row = 0.17 if tree.n_classes <= 80 else 0.135 if tree.n_classes <= MOST_LABELS else 0.05
    row = min(row, TALLEST / tree.n_classes)
    rows = _rows(tree)
    size = min(8.5, row * 72 * 0.78) if tree.n_classes <= MOST_LABELS else 7.0
    labels = [_labels(tree, layer, rows[layer] * row, size) for layer in range(tree.n_layers + 1)]
    gap = LEAST_GAP
    columns, right = _columns(labels, size, gap)
    if right < NARROWEST:
        gap += (NARROWEST - right) / len(columns)
        columns, right = _columns(labels, size, gap)
    height = tree.n_classes * row + HEAD + 0.2
    figure = blank_figure(right + 0.2, height)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0, right + 0.2)
    axes.set_ylim(height, 0)

    y = [HEAD + (values + 0.5) * row for values in rows]
    _edges(axes, tree, mask, columns, y, gap)
    for layer in range(tree.n_layers, -1, -1):
        _nodes(axes, tree, layer, mask, columns[layer], y[layer], labels[layer], size)
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


def _labels(tree: LayeredTree, layer: int, y: NDArray[np.float64], size: float) -> dict[int, str]:
    """Return the names of those nodes of a layer that are far enough from their neighbors."""
    if layer == 0 and tree.n_classes > MOST_LABELS:
        return {}
    order = np.argsort(y)
    steps = np.r_[np.inf, np.diff(y[order]), np.inf]
    room = np.minimum(steps[:-1], steps[1:]) * 72 * 0.78 >= size - 1e-6
    names = tree.node_names(layer)
    drawn = names_elsewhere(tree, layer)
    return {
        int(node): shown(names[node], most=48) for node in order[room] if names[node] not in drawn
    }


def _columns(labels: list[dict[int, str]], size: float, gap: float) -> tuple[list[float], float]:
    """Return where the nodes of each layer stand (inches), and where the class names end."""
    at, x = [0.0] * len(labels), 0.2
    for layer in reversed(range(len(labels))):
        width = max((text_width(text, size) for text in labels[layer].values()), default=-0.15)
        # Names of superclasses end at their node, names of classes start there.
        x += gap + (width + 0.15 if layer else 0.0)
        at[layer] = x
    return at, x + width + 0.15


def _edges(
    axes: Axes,
    tree: LayeredTree,
    mask: NDArray[np.bool_],
    columns: list[float],
    y: list[NDArray[np.float64]],
    gap: float,
) -> None:
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path as Outline

    curve = [Outline.MOVETO, Outline.CURVE4, Outline.CURVE4, Outline.CURVE4]
    root = (0.2, float(y[-1].min() + y[-1].max()) / 2)
    for layer in range(tree.n_layers + 1):
        share, spans = unseen_share(tree, layer, mask), node_spans(tree, layer)
        parents = tree.parents(layer) if layer < tree.n_layers else None
        outlines, widths, colors = [], [], []
        for node in range(len(share)):
            end = (columns[layer], float(y[layer][node]))
            start = root
            if parents is not None:
                start = (columns[layer + 1], float(y[layer + 1][parents[node]]))
            # The bend lies within the gap, so that names further right stand on a level line.
            bend = start[0] + min(gap, end[0] - start[0])
            middle = (start[0] + bend) / 2
            outlines.append(
                Outline(
                    [start, (middle, start[1]), (middle, end[1]), (bend, end[1]), end],
                    [*curve, Outline.LINETO],
                )
            )
            widths.append(0.7 + 0.35 * np.log2(spans[node, 1] - spans[node, 0]))
            colors.append(color_of(float(share[node])))
        axes.add_collection(
            PathCollection(
                outlines, facecolors="none", edgecolors=colors, linewidths=widths, alpha=0.55
            )
        )


def _nodes(
    axes: Axes,
    tree: LayeredTree,
    layer: int,
    mask: NDArray[np.bool_],
    x: float,
    y: NDArray[np.float64],
    labels: dict[int, str],
    size: float,
) -> None:
    share = unseen_share(tree, layer, mask)
    area = 15.0 if len(labels) == len(y) else 4.0
    for chosen, color, marker, scale in (
        (share == 0, SEEN, "o", 1.0),
        ((share > 0) & (share < 1), SHARED, "o", 1.0),
        (share == 1, UNSEEN, "*" if layer == 0 else "o", 2.6 if layer == 0 else 1.0),
    ):
        axes.scatter(
            np.full(chosen.sum(), x),
            y[chosen],
            s=area * scale,
            c=color,
            marker=marker,
            linewidths=0,
            zorder=3,
        )
    style: dict[str, Any] = {"size": size, "va": "center", "parse_math": False}
    if layer:
        style["ha"] = "right"
        style["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    for node, text in labels.items():
        if layer == 0:
            color = UNSEEN if mask[node] else SEEN
        else:
            color = INK if tree.has_node_names else QUIET
        offset = -0.07 if layer else 0.09
        axes.text(x + offset, y[node], text, color=color, **style)


def _legend(axes: Axes) -> None:
    x = 0.28
    for marker, color, text in (
        ("o", SEEN, "seen"),
        ("*", UNSEEN, "unseen"),
        ("o", SHARED, "superclass of both"),
    ):
        area = 70 if marker == "*" else 28
        axes.scatter([x], [0.58], s=area, c=color, marker=marker, linewidths=0)
        axes.text(x + 0.1, 0.58, text, size=9, color=color, va="center")
        x += 0.35 + text_width(text, 9)
