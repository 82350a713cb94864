"""Images with their candidate classes: seen ones blue, unseen ones red, the true class bold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from zerokin.benchmark.candidates import Candidates
from zerokin.errors import InvalidInput
from zerokin.report.figures import (
    INK,
    QUIET,
    SEEN,
    blank_figure,
    checked_image_path,
    shown,
    text_width,
    write_figure,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The paper's red. It differs from blue in lightness, too, for readers who cannot tell hues apart.
UNSEEN = "#C21807"
COLUMN = 4.3
IMAGE = 1.3
LINE = 0.185
GAP = 0.26
MARGIN = 0.25
TEXT = 8.5
BOLDER = 1.13  # how much wider bold letters are
DPI = 150
ELLIPSIS = "…"


def draw_candidates(
    images: Sequence[Image.Image],
    found: Sequence[Candidates],
    names: Sequence[str],
    unseen: NDArray[np.bool_],
    path: str | os.PathLike[str],
    *,
    title: str = "",
    note: str = "",
) -> None:
    """Draw images beside their candidate classes and scores, to PNG or SVG.

    Images of unseen classes are in the left column, those of seen classes in the right one. Above
    the candidates stands the true class with its rank.

    Parameters
    ----------
    images
        One for each of ``found``.
    found
        Candidates of every image.
    names
        Of all classes.
    unseen
        Which classes are unseen, (C,).
    path
        Where to write; the suffix chooses the format.
    title
        What the image shows.
    note
        A line below, such as how the images were drawn.
    """
    where = checked_image_path(path)
    if not images:
        raise InvalidInput("there is nothing to draw: give at least one image")
    columns = [
        [(image, one) for image, one in zip(images, found, strict=True) if unseen[one.truth] == of]
        for of in (True, False)
    ]
    columns = [column for column in columns if column]
    card = max(IMAGE, LINE * (1.35 + max(len(one.classes) for one in found))) + GAP
    top, bottom = (0.85 if title else 0.5), 0.62
    width = 2 * MARGIN + COLUMN * len(columns) + GAP * (len(columns) - 1)
    height = top + card * max(map(len, columns)) - GAP + bottom
    figure = blank_figure(width, height)
    page = Page(figure, width, height)
    if title:
        page.write(MARGIN, 0.32, title, width - 2 * MARGIN, size=11, bold=True)
    for number, column in enumerate(columns):
        left = MARGIN + number * (COLUMN + GAP)
        is_unseen = bool(unseen[column[0][1].truth])
        heading = f"images of {'unseen' if is_unseen else 'seen'} classes"
        page.write(left, top - 0.15, heading, COLUMN, color=UNSEEN if is_unseen else SEEN, size=9)
        for row, (image, one) in enumerate(column):
            _draw_card(page, left, top + card * row, image, one, names, unseen)
    _draw_legend(page, height - bottom + 0.3)
    if note:
        page.write(MARGIN, height - 0.13, note, width - 2 * MARGIN, color=QUIET, size=7.5)
    write_figure(figure, where, dpi=DPI)


class Page:
    """A figure that is written on in inches from its upper left corner."""

    def __init__(self, figure: Figure, width: float, height: float) -> None:
        self.figure = figure
        self.width = width
        self.height = height

    def write(
        self,
        x: float,
        y: float,
        text: str,
        room: float,
        *,
        color: str = INK,
        size: float = TEXT,
        bold: bool = False,
        right: bool = False,
    ) -> None:
        """Write a line of text whose letters stand on y, cut to the room that it has."""
        self.figure.text(
            x / self.width,
            1 - y / self.height,
            cut_to(text, room, size=size, bold=bold),
            size=size,
            weight="bold" if bold else "normal",
            color=color,
            ha="right" if right else "left",
            va="baseline",
            parse_math=False,
        )

    def show(self, left: float, top: float, side: float, image: Image.Image) -> None:
        """Show an image in a square, as large as its shape allows."""
        small = image.copy()
        pixels = round(side * DPI)
        small.thumbnail((pixels, pixels), Image.Resampling.LANCZOS)
        longest = max(small.size)
        w, h = (side * extent / longest for extent in small.size)
        x, y = left + (side - w) / 2, top + (side - h) / 2
        place = (
            x / self.width,
            1 - (y + h) / self.height,
            w / self.width,
            h / self.height,
        )
        axes = self.figure.add_axes(place)
        axes.imshow(np.asarray(small), aspect="auto", interpolation="bicubic")
        axes.set_axis_off()


def cut_to(text: str, room: float, *, size: float = TEXT, bold: bool = False) -> str:
    """Return a text that is no wider than so many inches, its end replaced by … where needed.

    Examples
    --------
    >>> cut_to("great crested flycatcher", 1.0)
    'great crested f…'
    """
    room = room / BOLDER if bold else room
    if text_width(text, size) <= room:
        return text
    while text and text_width(text + ELLIPSIS, size) > room:
        text = text[:-1]
    return text.rstrip() + ELLIPSIS


def _draw_card(
    page: Page,
    left: float,
    top: float,
    image: Image.Image,
    one: Candidates,
    names: Sequence[str],
    unseen: NDArray[np.bool_],
) -> None:
    from matplotlib.lines import Line2D

    page.show(left, top, IMAGE, image)
    x, end = left + IMAGE + 0.14, left + COLUMN
    y = top + 0.13
    place = "ruled out" if one.rank is None else f"rank {one.rank}"
    color = UNSEEN if unseen[one.truth] else SEEN
    page.write(x, y, _name(names, one.truth), end - x - 0.7, color=color, bold=True)
    page.write(end, y, place, 0.7, color=QUIET, size=7.5, right=True)
    rule = 1 - (y + 0.075) / page.height
    page.figure.add_artist(
        Line2D([x / page.width, end / page.width], [rule, rule], color="#DDDDDD", linewidth=0.7)
    )
    for number, (position, score) in enumerate(zip(one.classes, one.scores, strict=True)):
        below = y + LINE * (number + 1.35)
        is_true = position == one.truth
        color = UNSEEN if unseen[position] else SEEN
        page.write(x, below, f"{number + 1}", 0.2, color=QUIET, size=7.5)
        room = end - x - 0.2 - 0.55
        page.write(x + 0.2, below, _name(names, position), room, color=color, bold=is_true)
        page.write(end, below, _score(score), 0.55, color=INK, size=8, bold=is_true, right=True)


def _name(names: Sequence[str], position: int) -> str:
    return shown(names[position], most=200)


def _score(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.0f}"


def _draw_legend(page: Page, y: float) -> None:
    x = MARGIN
    for text, color, bold in (
        ("seen class", SEEN, False),
        ("unseen class", UNSEEN, False),
        ("true class", INK, True),
    ):
        page.write(x, y, text, 2.0, color=color, bold=bold)
        x += text_width(text, TEXT) * BOLDER + 0.28
