"""Features of unseen classes on planes (t-SNE), a panel for every network."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.report.figures import INK, blank_figure, checked_image_path, shown, write_figure
from zerokin.report.tsne_figure import COLORS, plane

ACROSS = 3
PANEL = 3.3


def draw_feature_planes(
    features: Mapping[str, NDArray[np.floating]],
    labels: NDArray[np.int64],
    names: Sequence[str],
    path: str | os.PathLike[str],
    *,
    n_classes: int = 10,
    per_class: int = 40,
    random_state: int = 0,
    title: str = "",
) -> None:
    """Draw what several networks make of the same samples, colored by class, to PNG or SVG.

    Parameters
    ----------
    features
        By network, (N, d_f) each.
    labels
        Class of each sample, (N,).
    names
        Of all classes.
    path
        Where to write; the suffix chooses the format.
    n_classes, per_class
        How many classes are drawn, ten at most, and how many samples of each; chosen at random.
    random_state
        Seed of that choice and of t-SNE.
    title
        What the image shows.
    """
    where = checked_image_path(path)
    if not features:
        raise InvalidInput("there is nothing to draw: give the features of at least one network")
    if not 1 <= n_classes <= len(COLORS):
        raise InvalidInput(f"n_classes is {n_classes}: it must lie between 1 and {len(COLORS)}")
    rng = np.random.default_rng(random_state)
    classes = np.sort(rng.permutation(np.unique(labels))[:n_classes])
    members = [rng.permutation(np.flatnonzero(labels == one))[:per_class] for one in classes]
    samples = np.concatenate(members)
    colors = np.repeat(COLORS[: len(classes)], [len(one) for one in members])

    down = ceil(len(features) / ACROSS)
    across = ceil(len(features) / down)
    legend = 2.4
    width, height = PANEL * across + legend, PANEL * down + 0.5
    figure = blank_figure(width, height)
    for number, (network, F) in enumerate(features.items()):
        row, column = divmod(number, across)
        left, bottom = PANEL * column + 0.15, height - 0.5 - PANEL * (row + 1) + 0.1
        side = PANEL - 0.45
        axes = figure.add_axes((left / width, bottom / height, side / width, side / height))
        points = plane(np.asarray(F[samples], dtype=np.float64), random_state)
        axes.scatter(points[:, 0], points[:, 1], s=9, c=colors.tolist(), linewidths=0)
        axes.set_xticks([])
        axes.set_yticks([])
        for edge in axes.spines.values():
            edge.set_color("#DDDDDD")
        axes.set_title(network, fontsize=9, color=INK, loc="left", parse_math=False)
    for number, one in enumerate(classes):
        x, y = (PANEL * across + 0.2) / width, 1 - (0.75 + 0.22 * number) / height
        text = shown(names[one], most=30)
        figure.text(x, y, "●", size=9, color=COLORS[number])
        figure.text(x + 0.17 / width, y, text, size=8, color=INK, parse_math=False)
    if title:
        x, y = 0.15 / width, 1 - 0.28 / height
        figure.text(x, y, title, size=11, weight="bold", color=INK, parse_math=False)
    write_figure(figure, where)
