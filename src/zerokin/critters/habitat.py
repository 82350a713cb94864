"""The places critters live in: a background with scenery and clutter."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from PIL import Image

from zerokin.critters.clutter import rock, tuft
from zerokin.critters.palette import PALETTES, Palette
from zerokin.critters.pen import INK, WHITE, Colour, Pen, Points, curve, ellipse, mix


def backdrop(pen: Pen, place: str, horizon: float, rng: np.random.Generator) -> None:
    """Paint the whole canvas with a habitat; the pen's unit is the image's side."""
    palette = PALETTES[place]
    _gradient(pen.image, palette, rng)
    _SCENERY[place](pen, palette, horizon, rng)
    for _ in range(rng.integers(2, 5)):
        x, y = rng.uniform(0, 1), rng.uniform(horizon + 0.05, 1.0)
        pen.fill(ellipse(x, y, rng.uniform(0.08, 0.22), 0.02), mix(palette.near, INK, 0.16))
    for _ in range(rng.integers(1, 4)):
        _small(pen, place, palette, rng.uniform(0, 1), rng.uniform(horizon + 0.04, 0.98), rng)


def _gradient(image: Image.Image, palette: Palette, rng: np.random.Generator) -> None:
    shift = rng.uniform(-12, 12, 3)
    column = np.stack([np.array(palette.sky), np.array(palette.haze)]) + shift
    tiny = Image.fromarray(np.clip(column, 0, 255).astype(np.uint8)[:, None, :])
    strip = tiny.resize((1, image.height), Image.Resampling.BILINEAR)
    image.paste(strip.resize(image.size, Image.Resampling.NEAREST))


def _hill(pen: Pen, colour: Colour, level: float, height: float, rng: np.random.Generator) -> None:
    xs = np.linspace(-0.15, 1.15, 6)
    top = curve(np.stack([xs, level - height * rng.uniform(0.0, 1.0, 6)], axis=1))
    pen.fill(np.concatenate([top, [(1.2, 1.1), (-0.2, 1.1)]]), colour)


def _meadow(pen: Pen, palette: Palette, horizon: float, rng: np.random.Generator) -> None:
    for _ in range(rng.integers(0, 3)):
        x, y = rng.uniform(0, 1), rng.uniform(0.05, 0.25)
        for dx, r in ((-0.07, 0.04), (0.0, 0.06), (0.07, 0.045)):
            pen.fill(ellipse(x + dx, y, r * 1.3, r * 0.8), WHITE, 190)
    _hill(pen, mix(palette.far, palette.haze, 0.45), horizon - 0.02, 0.16, rng)
    _hill(pen, palette.far, horizon, 0.06, rng)
    pen.fill(_floor(horizon + 0.06), palette.near)
    hues: tuple[Colour, ...] = ((246, 232, 130), (244, 170, 180), (250, 250, 250), (190, 160, 226))
    for x, y in rng.uniform((0, horizon + 0.08), (1, 1), (rng.integers(4, 12), 2)):
        pen.disc(x, y, 0.016, hues[rng.integers(4)])


def _forest(pen: Pen, palette: Palette, horizon: float, rng: np.random.Generator) -> None:
    _hill(pen, mix(palette.far, palette.sky, 0.6), horizon, 0.12, rng)
    for x in rng.uniform(0, 1, rng.integers(3, 7)):
        half, share = rng.uniform(0.02, 0.05), rng.uniform(0.15, 0.6)
        trunk = mix((112, 88, 74), palette.haze, share)
        pen.fill(
            np.array(
                [
                    (x - half, -0.1),
                    (x + half, -0.1),
                    (x + half * 1.3, horizon + 0.05),
                    (x - half * 1.3, horizon + 0.05),
                ]
            ),
            trunk,
        )
    for x in rng.uniform(-0.05, 1.05, rng.integers(4, 8)):
        pen.disc(
            x,
            rng.uniform(-0.05, 0.08),
            rng.uniform(0.10, 0.17),
            mix(palette.plant, palette.sky, rng.uniform(0, 0.5)),
        )
    pen.fill(_floor(horizon + 0.03), palette.near)


def _desert(pen: Pen, palette: Palette, horizon: float, rng: np.random.Generator) -> None:
    if rng.random() < 0.5:
        pen.disc(rng.uniform(0.1, 0.9), rng.uniform(0.08, 0.25), 0.075, (255, 246, 214))
    _hill(pen, mix(palette.stone, palette.haze, 0.5), horizon - 0.03, 0.20, rng)
    _hill(pen, palette.far, horizon, 0.08, rng)
    for x in rng.uniform(0, 1, rng.integers(0, 3)):
        _cactus(pen, x, horizon + 0.06, rng.uniform(0.12, 0.24), palette.plant)
    pen.fill(_floor(horizon + 0.06), palette.near)
    for y in rng.uniform(horizon + 0.08, 1.0, 3):
        pen.stroke(
            curve([(0.0, y), (0.35, y + 0.03), (0.7, y - 0.01), (1.0, y + 0.02)]),
            mix(palette.near, WHITE, 0.35),
            1.2,
        )


def _cactus(pen: Pen, x: float, y: float, height: float, colour: Colour) -> None:
    stem = ellipse(x, y - 0.5 * height, 0.16 * height, 0.55 * height)
    arm = ellipse(x + 0.30 * height, y - 0.55 * height, 0.10 * height, 0.26 * height)
    pen.fill(arm, mix(colour, INK, 0.1))
    pen.fill(
        np.array(
            [
                (x, y - 0.45 * height),
                (x + 0.32 * height, y - 0.45 * height),
                (x + 0.32 * height, y - 0.32 * height),
                (x, y - 0.32 * height),
            ]
        ),
        mix(colour, INK, 0.1),
    )
    pen.fill(stem, colour)


def _shore(pen: Pen, palette: Palette, horizon: float, rng: np.random.Generator) -> None:
    sea = horizon - 0.08
    pen.fill(_floor(sea), palette.far)
    for y in np.linspace(sea + 0.04, horizon + 0.1, 4):
        x = rng.uniform(0.0, 0.6)
        pen.stroke(
            curve([(x, y), (x + 0.12, y - 0.012), (x + 0.26, y), (x + 0.4, y - 0.01)]),
            mix(palette.far, WHITE, 0.5),
            1.3,
        )
    top = horizon + 0.10
    beach = curve(
        [
            (-0.1, top + rng.uniform(-0.03, 0.03)),
            (0.4, top + rng.uniform(-0.03, 0.03)),
            (1.1, top + rng.uniform(-0.03, 0.03)),
        ]
    )
    pen.fill(
        np.concatenate([beach - (0.0, 0.025), [(1.1, 1.1), (-0.1, 1.1)]]),
        mix(palette.far, WHITE, 0.75),
    )
    pen.fill(np.concatenate([beach, [(1.1, 1.1), (-0.1, 1.1)]]), palette.near)


def _snow(pen: Pen, palette: Palette, horizon: float, rng: np.random.Generator) -> None:
    for x in rng.uniform(0, 1, 3):
        peak, wide = rng.uniform(0.12, 0.32), rng.uniform(0.25, 0.4)
        pen.fill(
            np.array([(x - wide, horizon + 0.1), (x, horizon - peak), (x + wide, horizon + 0.1)]),
            mix(palette.stone, palette.haze, 0.35),
        )
        pen.fill(
            np.array(
                [
                    (x - 0.35 * wide, horizon - 0.65 * peak + 0.03),
                    (x, horizon - peak),
                    (x + 0.35 * wide, horizon - 0.65 * peak + 0.03),
                ]
            ),
            WHITE,
        )
    for x in rng.uniform(0, 1, rng.integers(1, 5)):
        height = rng.uniform(0.12, 0.26)
        for lift in (0.0, 0.33, 0.62):
            pen.fill(
                np.array(
                    [
                        (x - height * (0.36 - 0.3 * lift), horizon + 0.06 - lift * height),
                        (x, horizon + 0.06 - height * (lift + 0.5)),
                        (x + height * (0.36 - 0.3 * lift), horizon + 0.06 - lift * height),
                    ]
                ),
                palette.plant,
            )
    _hill(pen, palette.near, horizon + 0.06, 0.05, rng)
    for x, y in rng.uniform(0, 1, (rng.integers(4, 14), 2)):
        pen.disc(x, y, 0.010, WHITE)


def _cave(pen: Pen, palette: Palette, horizon: float, rng: np.random.Generator) -> None:
    _hill(pen, mix(palette.sky, palette.far, 0.5), horizon, 0.25, rng)
    for x in rng.uniform(0, 1, rng.integers(3, 7)):
        half, reach = rng.uniform(0.03, 0.07), rng.uniform(0.08, 0.28)
        pen.fill(
            np.array([(x - half, -0.05), (x + rng.uniform(-0.02, 0.02), reach), (x + half, -0.05)]),
            palette.stone,
        )
    pen.fill(_floor(horizon + 0.03), palette.near)
    hues: tuple[Colour, ...] = ((140, 220, 230), (206, 160, 240), (150, 232, 180))
    for x in rng.uniform(0, 1, rng.integers(1, 5)):
        y, height, hue = (
            horizon + rng.uniform(0.02, 0.12),
            rng.uniform(0.06, 0.14),
            hues[rng.integers(3)],
        )
        pen.fill(
            np.array(
                [
                    (x - 0.03, y),
                    (x - 0.02, y - 0.7 * height),
                    (x + 0.005, y - height),
                    (x + 0.03, y - 0.6 * height),
                    (x + 0.03, y),
                ]
            ),
            hue,
        )
        pen.fill(
            np.array(
                [(x, y), (x + 0.005, y - height), (x + 0.03, y - 0.6 * height), (x + 0.03, y)]
            ),
            mix(hue, INK, 0.25),
        )


def _floor(level: float) -> Points:
    return np.array([(-0.1, level), (1.1, level), (1.1, 1.1), (-0.1, 1.1)])


def _small(
    pen: Pen, place: str, palette: Palette, x: float, y: float, rng: np.random.Generator
) -> None:
    if rng.random() < 0.45:
        rock(pen, x, y, rng.uniform(0.025, 0.06), palette.stone, rng)
    elif place == "cave":
        pen.fill(
            np.array([(x - 0.01, y), (x + 0.01, y), (x + 0.01, y - 0.05), (x - 0.01, y - 0.05)]),
            (226, 214, 220),
        )
        pen.fill(ellipse(x, y - 0.05, 0.035, 0.022), (226, 140, 170))
    else:
        tuft(pen, x, y, rng.uniform(0.05, 0.10), palette.plant, rng)


_SCENERY: Mapping[str, Callable[[Pen, Palette, float, np.random.Generator], None]] = {
    "meadow": _meadow,
    "forest": _forest,
    "desert": _desert,
    "shore": _shore,
    "snow": _snow,
    "cave": _cave,
}
