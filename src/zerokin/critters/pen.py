"""Vector drawing on a Pillow canvas: smooth shapes in local coordinates, outlined and filled."""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw

Points: TypeAlias = NDArray[np.float64]
Colour: TypeAlias = tuple[int, int, int]

INK: Colour = (52, 40, 62)
WHITE: Colour = (255, 255, 255)

_ANGLES = np.linspace(0.0, 2.0 * np.pi, 26, endpoint=False)
_CIRCLE = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)
_STEPS = np.linspace(0.0, 1.0, 5, endpoint=False)
# Catmull-Rom: a cubic through the points, so that control points lie on the outline itself.
_BASIS = 0.5 * (
    np.stack([np.ones_like(_STEPS), _STEPS, _STEPS**2, _STEPS**3], axis=1)
    @ np.array([[0, 2, 0, 0], [-1, 0, 1, 0], [2, -5, 4, -1], [-1, 3, -3, 1]], dtype=np.float64)
)


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """Return the colour that lies ``share`` of the way from the first to the second.

    Examples
    --------
    >>> mix((0, 0, 0), (200, 100, 50), 0.5)
    (100, 50, 25)
    """
    r, g, b = (round(a + (z - a) * share) for a, z in zip(first, second, strict=True))
    return (r, g, b)


def ellipse(x: float, y: float, rx: float, ry: float, turn: float = 0.0) -> Points:
    """Return the outline of an ellipse turned by ``turn`` radians, (26, 2)."""
    points = _CIRCLE * (rx, ry)
    if turn:
        c, s = np.cos(turn), np.sin(turn)
        points = points @ np.array([[c, s], [-s, c]])
    placed: Points = points + np.array((x, y))
    return placed


def smooth(points: ArrayLike) -> Points:
    """Return a closed smooth curve through the points, (5 n, 2)."""
    knots = np.asarray(points, dtype=np.float64)
    return (_BASIS @ knots[_around(len(knots))]).reshape(-1, knots.shape[1])


def curve(points: ArrayLike) -> Points:
    """Return an open smooth curve through the points, (5 (n - 1) + 1, d)."""
    knots = np.asarray(points, dtype=np.float64)
    return np.concatenate(
        [(_BASIS @ knots[_along(len(knots))]).reshape(-1, knots.shape[1]), knots[-1:]]
    )


@cache
def _around(n: int) -> NDArray[np.intp]:
    """Return the four knots that shape each span of a closed curve, (n, 4)."""
    around: NDArray[np.intp] = (np.arange(n)[:, None] + np.arange(-1, 3)[None, :]) % n
    return around


@cache
def _along(n: int) -> NDArray[np.intp]:
    """Return the four knots that shape each span of an open curve, (n - 1, 4)."""
    spans: NDArray[np.intp] = np.arange(n - 1)[:, None] + np.arange(-1, 3)[None, :]
    return spans.clip(0, n - 1)


def tube(path: ArrayLike) -> Points:
    """Return the outline of a limb along a path of rows (x, y, half width), blunt at both ends."""
    dense = curve(path)
    along = np.empty((len(dense), 2))
    along[1:-1] = dense[2:, :2] - dense[:-2, :2]
    along[0] = dense[1, :2] - dense[0, :2]
    along[-1] = dense[-1, :2] - dense[-2, :2]
    along /= np.sqrt((along**2).sum(axis=1, keepdims=True)) + 1e-9
    across = along[:, ::-1] * (-1.0, 1.0) * dense[:, 2:]
    start = dense[:1, :2] - along[:1] * dense[0, 2] * 0.7
    end = dense[-1:, :2] + along[-1:] * dense[-1, 2] * 0.7
    return np.concatenate([start, dense[:, :2] + across, end, (dense[:, :2] - across)[::-1]])


class Pen:
    """Draws local shapes through an affine map onto a canvas.

    Parameters
    ----------
    image
        The RGB canvas, drawn on in place.
    matrix, offset
        Canvas position of a local point: ``matrix @ point + offset``, in pixels.
    line
        Width of outlines in pixels.
    ink
        Colour of outlines.
    draw
        Where to draw, if the canvas has been opened already.
    """

    def __init__(
        self,
        image: Image.Image,
        *,
        matrix: Points,
        offset: Points,
        line: float,
        ink: Colour = INK,
        draw: ImageDraw.ImageDraw | None = None,
    ) -> None:
        self.image = image
        self.matrix = matrix
        self.offset = offset
        self.line = line
        self.ink = ink
        self._draw = draw or ImageDraw.Draw(image, "RGBA")

    def at(self, x: float, y: float, scale: float = 1.0, turn: float = 0.0) -> Pen:
        """Return a pen for a part: its origin at (x, y), its unit ``scale``, turned."""
        c, s = scale * np.cos(turn), scale * np.sin(turn)
        return Pen(
            self.image,
            matrix=self.matrix @ np.array([[c, -s], [s, c]]),
            offset=self.matrix @ np.array([x, y]) + self.offset,
            line=self.line,
            ink=self.ink,
            draw=self._draw,
        )

    def on(self, image: Image.Image) -> Pen:
        """Return the same pen over another canvas."""
        return Pen(image, matrix=self.matrix, offset=self.offset, line=self.line, ink=self.ink)

    def place(self, points: Points) -> Points:
        """Return local points (n, 2) in canvas pixels."""
        return points @ self.matrix.T + self.offset

    def fill(self, points: Points, colour: Colour, alpha: int = 255) -> None:
        """Fill a closed outline."""
        self._draw.polygon(self.place(points).ravel().tolist(), fill=(*colour, alpha))

    def edge(self, points: Points, *, ink: Colour | None = None) -> None:
        """Draw the outline of a closed shape: fills that follow cover its inner half."""
        self._edge(self.place(points).ravel().tolist(), ink or self.ink)

    def shape(self, points: Points, colour: Colour) -> None:
        """Outline and fill a closed shape."""
        flat = self.place(points).ravel().tolist()
        self._edge(flat, self.ink)
        self._draw.polygon(flat, fill=(*colour, 255))

    def _edge(self, flat: list[float], ink: Colour) -> None:
        self._draw.line(flat + flat[:4], fill=(*ink, 255), width=round(2 * self.line))

    def stroke(self, points: Points, colour: Colour, width: float, alpha: int = 255) -> None:
        """Draw an open line; the width counts in outline widths."""
        flat = self.place(points).ravel().tolist()
        self._draw.line(flat, fill=(*colour, alpha), width=max(1, round(width * self.line)))

    def disc(self, x: float, y: float, radius: float, colour: Colour, alpha: int = 255) -> None:
        """Fill a circle."""
        self.fill(ellipse(x, y, radius, radius), colour, alpha)
