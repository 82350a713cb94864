"""What covers a torso: coat, belly, markings, texture and shading."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PIL import Image, ImageDraw

from zerokin.critters.body import Plan
from zerokin.critters.pen import INK, WHITE, Colour, Pen, Points, ellipse, mix, smooth, tube

COATS: Mapping[str, Colour] = {
    "russet": (196, 102, 64),
    "gold": (230, 176, 74),
    "moss": (128, 160, 82),
    "teal": (70, 154, 150),
    "violet": (148, 112, 186),
    "slate": (120, 132, 154),
    "rose": (228, 142, 158),
    "cream": (240, 227, 203),
}
ACCENTS: Mapping[str, Colour] = {
    "cream": (252, 243, 220),
    "charcoal": (72, 64, 80),
    "coral": (240, 116, 92),
    "sky": (130, 198, 236),
    "lemon": (250, 224, 96),
}


def furry(outline: Points, rng: np.random.Generator) -> Points:
    """Return the outline with tufts of hair standing out of it."""
    dense = np.concatenate([0.5 * (outline + np.roll(outline, 1, axis=0)), outline], axis=1)
    dense = dense.reshape(-1, 2)
    middle = dense.mean(axis=0)
    away = dense - middle
    away /= np.sqrt((away**2).sum(axis=1, keepdims=True))
    tufts = np.where(np.arange(len(dense)) % 2, 0.024, -0.004) + rng.uniform(
        -0.006, 0.006, len(dense)
    )
    tips: Points = dense + (away + away[:, ::-1] * (0.35, -0.35)) * tufts[:, None]
    return tips


def cover(
    pen: Pen,
    plan: Plan,
    attributes: Mapping[str, str],
    *,
    coat: Colour,
    accent: Colour,
    rng: np.random.Generator,
) -> None:
    """Draw torso and neck with everything that lies on them."""
    skin, pattern = attributes["skin"], attributes["pattern"]
    torso = furry(plan.torso, rng) if skin == "fur" else plan.torso
    if skin == "spines":
        _quills(pen, plan, coat, rng)
    neck = tube(plan.neck)
    pen.edge(torso)
    pen.edge(neck)
    pen.fill(torso, coat)
    pen.fill(neck, coat)

    mask = Image.new("L", pen.image.size)
    stencil = ImageDraw.Draw(mask)
    for outline in (torso, neck):
        stencil.polygon(pen.place(outline).ravel().tolist(), fill=255)
    layer = pen.image.copy()
    inner = pen.on(layer)
    _markings(inner, plan, pattern, accent, rng)
    if attributes["belly"] == "yes":
        inner.fill(plan.belly, mix(accent, WHITE, 0.12))
    if skin == "scales":
        _scales(inner, plan, mix(coat, INK, 0.5))
    elif skin == "spines":
        _bristles(inner, plan, coat, rng)
    elif skin == "fur":
        _hair(inner, plan, mix(coat, INK, 0.35), rng)
    _shade(inner, plan)
    if skin == "smooth":
        _gloss(inner, plan)
    pen.image.paste(layer, mask=mask)


def _box(plan: Plan) -> tuple[float, float, float, float]:
    low, high = plan.torso.min(axis=0), plan.torso.max(axis=0)
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])


def _markings(pen: Pen, plan: Plan, pattern: str, colour: Colour, rng: np.random.Generator) -> None:
    left, top, right, bottom = _box(plan)
    width, height = right - left, bottom - top
    if pattern == "stripes":
        lean = rng.uniform(0.02, 0.07)
        start = left + rng.uniform(0.02, 0.07)
        for x in np.arange(start, right + 0.05, 0.115):
            half = 0.024
            pen.fill(
                np.array([
                    (x - half + lean, top - 0.02), (x + half + lean, top - 0.02),
                    (x + half, bottom - 0.30 * height), (x, bottom - 0.10 * height),
                    (x - half, bottom - 0.30 * height),
                ]),
                colour,
            )  # fmt: skip
    elif pattern == "spots":
        columns, rows = max(3, round(width / 0.115)), max(2, round(height / 0.105))
        across, down = np.meshgrid(np.arange(columns), np.arange(rows))
        x = left + (across + 0.5 + 0.5 * (down % 2 - 0.5)) * width / columns
        y = top + (down + 0.5) * height / rows
        jitter = rng.uniform(-0.016, 0.016, (2, rows, columns))
        radii = rng.uniform(0.024, 0.034, (rows, columns))
        for cx, cy, r in zip((x + jitter[0]).flat, (y + jitter[1]).flat, radii.flat, strict=True):
            pen.disc(float(cx), float(cy), float(r), colour)
    elif pattern == "patches":
        for cx, cy in ((0.2, 0.28), (0.62, 0.18), (0.88, 0.62), (0.42, 0.74)):
            knots = ellipse(0.0, 0.0, 0.105, 0.085)[::4] * rng.uniform(0.65, 1.2, (7, 1))
            middle = np.array((left + cx * width, top + cy * height))
            shift = rng.uniform(-0.035, 0.035, 2) + middle
            pen.fill(smooth(knots + shift), colour)


def _scales(pen: Pen, plan: Plan, colour: Colour) -> None:
    left, top, right, bottom = _box(plan)
    angles = np.linspace(0.15 * np.pi, 0.85 * np.pi, 5)
    arc = np.stack([np.cos(angles), np.sin(angles)], axis=1) * (0.042, 0.036)
    for row, y in enumerate(np.arange(top + 0.01, bottom, 0.058)):
        xs = np.arange(left - 0.04 * (row % 2), right + 0.04, 0.08)
        zigzag = (arc[::-1][None] + np.stack([xs, np.full_like(xs, y)], axis=1)[:, None]).reshape(
            -1, 2
        )
        pen.stroke(zigzag, colour, 0.85)


def _hair(pen: Pen, plan: Plan, colour: Colour, rng: np.random.Generator) -> None:
    left, top, right, bottom = _box(plan)
    roots = rng.uniform((left, top), (right, bottom), (14, 2))
    for x, y in roots:
        tuft = np.array(
            [(x, y), (x - 0.018, y + 0.03), (x - 0.03, y + 0.004), (x - 0.05, y + 0.028)]
        )
        pen.stroke(tuft, colour, 0.8, 200)


def _quills(pen: Pen, plan: Plan, coat: Colour, rng: np.random.Generator) -> None:
    """Stand spines up along the back, behind the torso."""
    dark = mix(coat, INK, 0.55)
    for root, away in zip(plan.spine[::2], plan.outward[::2], strict=True):
        for lean in (-0.45, 0.2):
            along = np.array([away[0] - lean * away[1] - 0.3, away[1] + lean * away[0]])
            tip = root + along * rng.uniform(0.085, 0.115)
            side = away[::-1] * (0.022, -0.022)
            pen.shape(np.array([root + side, tip, root - side]), dark)


def _bristles(pen: Pen, plan: Plan, coat: Colour, rng: np.random.Generator) -> None:
    dark = mix(coat, INK, 0.55)
    left, top, right, bottom = _box(plan)
    upper = top + 0.6 * (bottom - top)
    for x, y in rng.uniform((left + 0.03, top + 0.05), (right - 0.02, upper), (16, 2)):
        pen.fill(np.array([(x, y - 0.013), (x - 0.075, y - 0.035), (x, y + 0.013)]), dark)


def _shade(pen: Pen, plan: Plan) -> None:
    left, top, right, bottom = _box(plan)
    low = np.array([
        (left - 0.1, bottom + 0.1), (left - 0.1, bottom - 0.07), (left + 0.12, bottom - 0.05),
        (0.5 * (left + right), bottom - 0.035), (right - 0.1, bottom - 0.06),
        (right + 0.1, bottom - 0.11), (right + 0.1, bottom + 0.1),
    ])  # fmt: skip
    pen.fill(low, INK, 46)
    pen.fill(ellipse(0.5 * (left + right), top + 0.03, 0.38 * (right - left), 0.07), WHITE, 34)


def _gloss(pen: Pen, plan: Plan) -> None:
    left, top, right, bottom = _box(plan)
    x, y = left + 0.40 * (right - left), top + 0.24 * (bottom - top)
    pen.fill(ellipse(x, y, 0.085, 0.026, -0.25), WHITE, 170)
    pen.fill(ellipse(x + 0.125, y - 0.012, 0.02, 0.018), WHITE, 170)
