"""What lies about in a habitat, behind critters and in front of them."""

from __future__ import annotations

import numpy as np

from zerokin.critters.palette import PALETTES
from zerokin.critters.pen import INK, WHITE, Colour, Pen, curve, ellipse, mix, smooth


def foreground(
    pen: Pen, place: str, x: float, y: float, size: float, rng: np.random.Generator
) -> None:
    """Put something of the habitat in front of the animal."""
    palette = PALETTES[place]
    kind = rng.integers(3)
    if kind == 0:
        rock(pen, x, y, size, mix(palette.stone, WHITE, rng.uniform(0, 0.2)), rng)
    elif kind == 1:
        tuft(pen, x, y, size * 1.2, mix(palette.plant, palette.near, rng.uniform(0, 0.4)), rng)
    else:
        bush(pen, x, y, size, mix(palette.plant, INK, rng.uniform(0, 0.15)), rng)


def branch(pen: Pen, place: str, rng: np.random.Generator) -> None:
    """Hang leaves into the image from a corner."""
    plant = PALETTES[place].plant
    side = rng.choice((0.0, 1.0))
    towards = 1.0 if side == 0.0 else -1.0
    y, reach = rng.uniform(0.0, 0.25), rng.uniform(0.22, 0.38)
    path = curve(
        [(side, y), (side + 0.5 * towards * reach, y + 0.06), (side + towards * reach, y + 0.14)]
    )
    pen.stroke(path, mix((120, 90, 70), INK, 0.3), 2.0)
    for at in range(2, len(path), 2):
        for turn in (-0.9, 0.9):
            x, y = path[at].tolist()
            leaf = pen.at(x, y, 1.0, turn + rng.uniform(-0.3, 0.3) + 0.4 * towards)
            leaf.shape(
                ellipse(0.055 * towards, 0.0, 0.06, 0.026), mix(plant, WHITE, rng.uniform(0, 0.2))
            )


def tuft(
    pen: Pen, x: float, y: float, size: float, colour: Colour, rng: np.random.Generator
) -> None:
    """Draw a tuft of grass rooted at (x, y)."""
    for step, lean in enumerate(np.linspace(-0.6, 0.6, 6)):
        tip = (x + lean * size + rng.uniform(-0.02, 0.02), y - size * rng.uniform(0.65, 1.0))
        root = x + 0.5 * lean * size
        blade = np.array([(root - 0.14 * size, y), tip, (root + 0.14 * size, y)])
        pen.fill(blade, mix(colour, INK, 0.22 * (step % 2)))


def rock(
    pen: Pen, x: float, y: float, size: float, colour: Colour, rng: np.random.Generator
) -> None:
    """Draw a boulder that stands on (x, y)."""
    knots = np.array(
        [(-1.0, 0.0), (-0.85, -0.55), (-0.2, -0.9), (0.5, -0.75), (0.95, -0.2), (1.0, 0.0)]
    )
    outline = smooth(knots * rng.uniform(0.85, 1.1, (6, 1)) * (size, 0.8 * size) + (x, y))
    pen.edge(outline, ink=mix(colour, INK, 0.6))
    pen.fill(outline, colour)
    pen.fill(ellipse(x - 0.2 * size, y - 0.52 * size, 0.35 * size, 0.12 * size, -0.3), WHITE, 60)


def bush(
    pen: Pen, x: float, y: float, size: float, colour: Colour, rng: np.random.Generator
) -> None:
    """Draw a low round bush."""
    lumps = [
        (x + size * dx, y - size * dy, size * rng.uniform(0.34, 0.46))
        for dx, dy in ((-0.55, 0.15), (0.5, 0.18), (0.0, 0.42))
    ]
    for lump in lumps:
        pen.edge(ellipse(lump[0], lump[1], lump[2], lump[2]), ink=mix(colour, INK, 0.5))
    for lump in lumps:
        pen.disc(*lump, colour)
    for cx, cy, r in lumps:
        pen.fill(ellipse(cx - 0.2 * r, cy - 0.35 * r, 0.4 * r, 0.25 * r), WHITE, 45)
