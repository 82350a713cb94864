"""Class vectors on a plane (t-SNE), colored by superclass."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zerokin.compute.threads import limited_threads
from zerokin.errors import InvalidInput
from zerokin.hierarchy.checks import checked_integer
from zerokin.hierarchy.layered_tree import LayeredTree
from zerokin.report.figures import (
    INK,
    QUIET,
    Unseen,
    blank_figure,
    checked_image_path,
    shown,
    unseen_mask,
    write_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg

# Ten colors that stay apart for color-blind readers.
COLORS = (
    "#332288",
    "#E69F00",
    "#117733",
    "#CC3311",
    "#56B4E9",
    "#AA4499",
    "#8A8A00",
    "#000000",
    "#44AA99",
    "#EE99AA",
)
OTHERS = "#CFCFCF"


def draw_tsne(
    tree: LayeredTree,
    path: str | os.PathLike[str],
    unseen: Unseen = None,
    *,
    layer: int = 1,
    n_superclasses: int = 10,
    random_state: int = 0,
    title: str | None = None,
) -> None:
    """Draw class vectors on a plane, a few superclasses in color and the other classes in grey.

    Parameters
    ----------
    tree
        A hierarchy with class vectors.
    path
        Image to write, ``.png`` or ``.svg``.
    unseen
        Unseen classes, drawn as stars: a boolean mask (C,), indices or names.
    layer
        Layer that gives the superclasses.
    n_superclasses
        How many of them to color, ten at most. They are drawn at random from those with two
        or more classes, and only if these are too few from the others.
    random_state
        Seed of that choice and of t-SNE.
    title
        Heading; by default what is colored.
    """
    path = checked_image_path(path)
    mask = unseen_mask(tree, unseen)
    seed = checked_integer(random_state, "random_state")
    wanted = checked_integer(n_superclasses, "n_superclasses")
    if not 1 <= wanted <= len(COLORS):
        raise InvalidInput(f"n_superclasses is {wanted}: it must lie between 1 and {len(COLORS)}")
    chosen = choose_superclasses(tree.labels(layer), wanted, seed)
    points = plane(tree.prototypes(0), seed)

    figure = blank_figure(11.0, 7.5)
    axes = figure.add_axes((0.02, 0.03, 0.68, 0.89))
    labels = tree.labels(layer)
    color = np.full(tree.n_classes, OTHERS, dtype=object)
    for hue, node in zip(COLORS, chosen, strict=False):
        color[labels == node] = hue
    _points(axes, points, color, mask)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.06)
    for side in axes.spines.values():
        side.set_color("#DDDDDD")
    heading = title
    if heading is None:
        of = "all" if len(chosen) == int(labels.max()) + 1 else f"{len(chosen)} of"
        heading = f"Class vectors (t-SNE), {of} {labels.max() + 1} superclasses of layer {layer}"
    figure.text(0.02, 0.95, heading, size=12, weight="bold", color=INK, parse_math=False)
    _legend(axes, tree, layer, chosen, mask)
    _names_where_room(axes, tree, points, color)
    write_figure(figure, path)


def choose_superclasses(labels: NDArray[np.int64], n: int, seed: int) -> NDArray[np.int64]:
    """Choose n nodes at random, those with a single class only when the others run out.

    Examples
    --------
    >>> choose_superclasses(np.array([0, 0, 1, 2, 2]), 2, seed=0)
    array([0, 2])
    """
    sizes = np.bincount(labels)
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    ranked = shuffled[np.argsort(sizes[shuffled] < 2, kind="stable")]
    return np.sort(ranked[:n]).astype(np.int64)


def plane(vectors: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Return t-SNE coordinates (C, 2) of vectors (C, d_z), for any C."""
    from sklearn.manifold import TSNE

    n = len(vectors)
    if n < 4:
        return np.stack([np.arange(n, dtype=np.float64), np.zeros(n)], axis=1)
    spread = np.linalg.matrix_rank(vectors - vectors.mean(axis=0))
    with limited_threads(1):
        found = TSNE(
            perplexity=min(30.0, (n - 1) / 3),
            # Principal axes give the same image every time, but a plane needs two of them.
            init="pca" if spread >= 2 else "random",
            random_state=seed,
        ).fit_transform(vectors)
    return np.asarray(found, dtype=np.float64)


def _points(
    axes: Axes,
    points: NDArray[np.float64],
    color: NDArray[np.object_],
    mask: NDArray[np.bool_],
) -> None:
    for is_unseen, marker, area in ((False, "o", 62.0), (True, "*", 190.0)):
        for colored in (False, True):
            here = (mask == is_unseen) & ((color != OTHERS) == colored)
            axes.scatter(
                points[here, 0],
                points[here, 1],
                s=area if colored else area * 0.4,
                c=color[here].tolist(),
                marker=marker,
                linewidths=0.6,
                edgecolors="white",
                zorder=3 if colored else 2,
            )


def _legend(
    axes: Axes,
    tree: LayeredTree,
    layer: int,
    chosen: NDArray[np.int64],
    mask: NDArray[np.bool_],
) -> None:
    from matplotlib.lines import Line2D

    def handle(marker: str, color: str, text: str) -> Line2D:
        size = 13 if marker == "*" else 8
        style: dict[str, Any] = {"markersize": size, "markeredgecolor": "white"}
        return Line2D([], [], ls="", marker=marker, color=color, label=text, **style)

    names = tree.node_names(layer)
    handles = [
        handle("o", hue, shown(names[node], most=72).replace(", ", ",\n"))
        for hue, node in zip(COLORS, chosen, strict=False)
    ]
    if len(chosen) < int(tree.labels(layer).max()) + 1:
        handles.append(handle("o", OTHERS, "classes of other superclasses"))
    if mask.any():
        handles += [handle("o", QUIET, "seen class"), handle("*", QUIET, "unseen class")]
    legend = axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
        fontsize=9,
        borderaxespad=0.0,
        labelspacing=0.75,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _names_where_room(
    axes: Axes,
    tree: LayeredTree,
    points: NDArray[np.float64],
    color: NDArray[np.object_],
) -> None:
    """Name the colored classes, each beside its point where no other name or point lies."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    canvas: FigureCanvasAgg = figure.canvas  # type: ignore[assignment]
    renderer = canvas.get_renderer()  # type: ignore[no-untyped-call]
    spots = axes.transData.transform(points)
    frame = axes.get_window_extent()
    shown_points = color != OTHERS
    reach = np.where(shown_points, 6.0, 3.5) * figure.dpi / 72
    # Left, bottom, right, top of everything that a name must not cover.
    taken = np.c_[spots - reach[:, None], spots + reach[:, None]]
    for i in np.flatnonzero(shown_points):
        for dx, dy, ha, va in (
            (7, 0, "left", "center"),
            (-7, 0, "right", "center"),
            (0, 7, "center", "bottom"),
            (0, -7, "center", "top"),
            (5, 5, "left", "bottom"),
            (5, -5, "left", "top"),
            (-5, 5, "right", "bottom"),
            (-5, -5, "right", "top"),
        ):
            text = axes.annotate(
                shown(tree.names[i], most=30),
                points[i],
                xytext=(dx, dy),
                textcoords="offset points",
                ha=ha,
                va=va,
                size=7,
                color=INK,
                parse_math=False,
            )
            box = np.array(text.get_window_extent(renderer).extents)
            others = np.delete(taken, i, axis=0)
            meets = (
                (others[:, 0] < box[2])
                & (others[:, 2] > box[0])
                & (others[:, 1] < box[3])
                & (others[:, 3] > box[1])
            )
            inside = frame.x0 < box[0] and box[2] < frame.x1
            if inside and frame.y0 < box[1] and box[3] < frame.y1 and not meets.any():
                taken = np.r_[taken, box[None]]
                break
            text.remove()
