"""The head: face, eyes, mouth, ears, horns and ornaments, in units of the head's radius."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zerokin.critters.limbs import BILL, HORN
from zerokin.critters.pen import INK, WHITE, Colour, Pen, curve, ellipse, mix, smooth, tube
from zerokin.critters.skin import furry

BLUSH: Colour = (246, 120, 130)
GLOW: Colour = (255, 244, 150)


def head(
    pen: Pen,
    attributes: Mapping[str, str],
    *,
    coat: Colour,
    accent: Colour,
    blink: bool,
    rng: np.random.Generator,
) -> None:
    """Draw a head of radius 1 at the pen's origin, looking right and a little at the viewer."""
    flags = {name for name, value in attributes.items() if value == "yes"}
    if "ruff" in flags:
        _ruff(pen, accent)
    if "antennae" in flags:
        _antennae(pen, coat, accent)
    _ear(pen, attributes["ears"], coat, accent, near=False)
    _horn(pen, attributes["horns"], near=False)
    if "crest" in flags:
        _crest(pen, accent)
    skull = ellipse(0.0, 0.0, 1.06, 0.98)
    pen.shape(furry(skull, rng) if attributes["skin"] == "fur" else skull, coat)
    if attributes["skin"] == "fur":
        pen.fill(skull, coat)
    pen.fill(ellipse(-0.15, 0.72, 0.72, 0.22), INK, 30)
    pen.fill(ellipse(0.0, -0.55, 0.62, 0.28), WHITE, 36)
    if "mask" in flags:
        band = smooth(
            [
                (-0.72, -0.1),
                (-0.05, -0.62),
                (0.5, -0.5),
                (1.03, -0.16),
                (0.98, 0.26),
                (0.5, 0.26),
                (-0.05, 0.42),
            ]
        )
        pen.fill(band, mix(INK, coat, 0.12))
    _mouth(pen, attributes["mouth"], coat, accent)
    if "cheeks" in flags:
        pen.fill(ellipse(-0.20, 0.42, 0.40, 0.31), BLUSH, 240)
    if "tusks" in flags:
        _tusks(pen, attributes["mouth"])
    _ear(pen, attributes["ears"], coat, accent, near=True)
    _eyes(pen, attributes, coat, blink=blink)
    _horn(pen, attributes["horns"], near=True)
    if "lantern" in flags:
        _lantern(pen, coat)


def _eyes(pen: Pen, attributes: Mapping[str, str], coat: Colour, *, blink: bool) -> None:
    big = attributes["big eyes"] == "yes"
    places = {
        "one": [(0.42, -0.12, 1.35)],
        "two": [(0.80, -0.14, 0.84), (0.16, -0.12, 1.0)],
        "three": [(0.86, -0.02, 0.78), (0.10, 0.0, 0.92), (0.46, -0.50, 0.86)],
    }[attributes["eyes"]]
    for x, y, relative in places:
        radius = relative * (0.43 if big else 0.27)
        if attributes["stalked eyes"] == "yes":
            root = (0.75 * x, -0.55)
            x, y = 0.1 + 1.35 * (x - 0.3), -1.62 + 0.5 * (y + 0.14)
            stalk = tube([(*root, 0.17), (0.5 * (root[0] + x), -1.1, 0.13), (x, y, 0.13)])
            pen.shape(stalk, coat)
            radius *= 1.25
        if blink:
            pen.stroke(curve([(x - radius, y), (x, y + 0.6 * radius), (x + radius, y)]), INK, 1.8)
            continue
        pen.shape(ellipse(x, y, radius, radius * 1.06), WHITE)
        pen.disc(x + 0.22 * radius, y + 0.08 * radius, 0.68 * radius, INK)
        pen.disc(x + 0.02 * radius, y - 0.26 * radius, 0.30 * radius, WHITE)


def _mouth(pen: Pen, kind: str, coat: Colour, accent: Colour) -> None:
    if kind == "smile":
        pen.stroke(curve([(0.18, 0.42), (0.48, 0.60), (0.80, 0.42)]), INK, 1.5)
    elif kind == "snout":
        pen.shape(ellipse(0.88, 0.34, 0.52, 0.40), mix(coat, WHITE, 0.42))
        pen.fill(ellipse(1.20, 0.16, 0.21, 0.17), INK)
        pen.stroke(curve([(0.70, 0.52), (0.92, 0.62), (1.14, 0.50)]), INK, 1.3)
    elif kind == "beak":
        pen.shape(
            smooth([(0.62, 0.06), (1.10, 0.10), (1.68, 0.44), (1.10, 0.52), (0.60, 0.56)]), BILL
        )
        pen.stroke(curve([(0.72, 0.36), (1.1, 0.38), (1.5, 0.42)]), mix(BILL, INK, 0.7), 1.1)
    elif kind == "trunk":
        path = [(0.62, 0.20, 0.34), (1.18, 0.42, 0.29), (1.34, 1.0, 0.24), (1.72, 1.30, 0.22)]
        pen.shape(tube(path), coat)
        for x, y in ((1.0, 0.42), (1.2, 0.72), (1.3, 1.02)):
            pen.stroke(
                np.array([(x - 0.14, y + 0.12), (x + 0.22, y - 0.10)]), mix(coat, INK, 0.5), 1.0
            )
        pen.fill(ellipse(1.76, 1.33, 0.12, 0.15), mix(accent, BLUSH, 0.4))
    else:
        for lift in (0.14, 0.66):
            bend = -1 if lift < 0.4 else 1
            claw = [
                (0.72, lift, 0.17),
                (1.12, lift + 0.22 * bend, 0.15),
                (1.48, lift - 0.02 * bend, 0.05),
            ]
            pen.shape(tube(claw), mix(INK, coat, 0.35))


def _tusks(pen: Pen, mouth: str) -> None:
    shift = {"snout": 0.32, "trunk": 0.12}.get(mouth, 0.0)
    for x in (0.72, 0.24):
        left = x + shift
        pen.shape(
            smooth(
                [
                    (left - 0.13, 0.52),
                    (left + 0.13, 0.52),
                    (left + 0.20, 0.86),
                    (left + 0.28, 1.12),
                    (left + 0.0, 0.92),
                ]
            ),
            (255, 252, 240),
        )


def _ear(pen: Pen, kind: str, coat: Colour, accent: Colour, *, near: bool) -> None:
    if kind == "none":
        return
    part = pen.at(-0.52 if near else 0.34, -0.72, 1.0, -0.32 if near else 0.22)
    outer = coat if near else mix(coat, INK, 0.18)
    inner = mix(accent, BLUSH, 0.35)
    if kind == "round":
        part.shape(ellipse(0.0, -0.16, 0.42, 0.42), outer)
        part.fill(ellipse(0.03, -0.12, 0.23, 0.24), inner)
    elif kind == "pointed":
        part.shape(
            smooth([(-0.38, 0.22), (-0.34, -0.28), (-0.12, -0.86), (0.26, -0.30), (0.40, 0.22)]),
            outer,
        )
        part.fill(
            smooth([(-0.18, 0.12), (-0.18, -0.2), (-0.08, -0.56), (0.12, -0.2), (0.2, 0.12)]), inner
        )
    elif kind == "long":
        part.shape(ellipse(0.0, -0.68, 0.30, 0.90), outer)
        part.fill(ellipse(0.02, -0.66, 0.14, 0.62), inner)
    else:
        side = -1 if near else 1
        part = pen.at(-0.62 if near else 0.62, -0.58, 1.0, 0.0)
        if near:
            part.shape(
                smooth(
                    [
                        (0.22, -0.22),
                        (-0.12, -0.30),
                        (-0.52, 0.10),
                        (-0.56, 0.85),
                        (-0.18, 1.02),
                        (0.04, 0.42),
                    ]
                ),
                mix(coat, INK, 0.12),
            )
            part.fill(
                smooth([(-0.2, 0.1), (-0.42, 0.3), (-0.42, 0.78), (-0.2, 0.84), (-0.08, 0.4)]),
                inner,
            )
        else:
            part.shape(ellipse(0.30 * side, 0.30, 0.28, 0.58, -0.5), mix(coat, INK, 0.25))


def _horn(pen: Pen, kind: str, *, near: bool) -> None:
    colour = HORN if near else mix(HORN, INK, 0.18)
    x = -0.18 if near else 0.42
    if kind == "stubs":
        part = pen.at(x, -0.80, 1.0, -0.15 if near else 0.2)
        part.shape(
            smooth([(-0.20, 0.14), (-0.13, -0.30), (0.0, -0.52), (0.13, -0.30), (0.20, 0.14)]),
            colour,
        )
    elif kind == "curled":
        angles = np.linspace(1.45 * np.pi, -0.05 * np.pi, 10)
        radii = np.linspace(0.56, 0.24, 10)
        widths = np.linspace(0.23, 0.09, 10)
        spiral = np.stack([-radii * np.cos(angles), radii * np.sin(angles), widths], axis=1)
        part = pen.at(-0.62, -0.42, 1.0) if near else pen.at(0.72, -0.66, 0.55)
        part.shape(tube(spiral), colour)
        for at in (2, 4, 6):
            x0, y0, w = spiral[at]
            part.stroke(
                np.array([(x0 * 0.75, y0 * 0.75), (x0 * 1.3, y0 * 1.3)]),
                mix(colour, INK, 0.45),
                0.8 + 0 * w,
            )
    elif kind == "single" and near:
        part = pen.at(0.46, -0.78, 1.0, 0.42)
        part.shape(np.array([(-0.25, 0.14), (0.0, -1.32), (0.25, 0.14)]), colour)
        for lift in (-0.12, -0.42, -0.72):
            part.stroke(
                np.array([(-0.16, lift + 0.06), (0.16, lift - 0.06)]), mix(colour, INK, 0.4), 0.9
            )
    elif kind == "antlers":
        part = pen.at(x, -0.82, 1.0, -0.35 if near else 0.30)
        branches = (
            [(0.0, 0.1, 0.12), (-0.10, -0.5, 0.10), (-0.02, -1.10, 0.06)],
            [(-0.08, -0.42, 0.09), (-0.40, -0.68, 0.08), (-0.46, -1.0, 0.05)],
            [(-0.06, -0.62, 0.08), (0.26, -0.80, 0.07), (0.34, -1.12, 0.05)],
        )
        shapes = [tube(branch) for branch in branches]
        for outline in shapes:
            part.edge(outline)
        for outline in shapes:
            part.fill(outline, mix(colour, (170, 120, 80), 0.45))


def _crest(pen: Pen, accent: Colour) -> None:
    for turn, reach in ((-1.2, 1.15), (-0.68, 1.4), (-0.16, 1.25)):
        plume = pen.at(-0.12, -0.62, 1.0, turn)
        plume.shape(
            smooth(
                [
                    (-0.16, 0.1),
                    (-0.26, -0.45 * reach),
                    (0.0, -1.0 * reach),
                    (0.24, -0.45 * reach),
                    (0.16, 0.1),
                ]
            ),
            accent,
        )


def _antennae(pen: Pen, coat: Colour, accent: Colour) -> None:
    for x, tip in ((0.45, 1.05), (0.0, 0.15)):
        pen.shape(tube([(x, -0.8, 0.07), (x + 0.02, -1.35, 0.06), (tip, -1.72, 0.05)]), coat)
        pen.shape(ellipse(tip, -1.76, 0.29, 0.29), accent)


def _ruff(pen: Pen, accent: Colour) -> None:
    angles = np.linspace(0.0, 2 * np.pi, 11, endpoint=False)
    for angle in angles:
        pen.edge(ellipse(1.08 * np.cos(angle) - 0.12, 1.02 * np.sin(angle) + 0.14, 0.44, 0.44))
    for angle in angles:
        pen.disc(1.08 * np.cos(angle) - 0.12, 1.02 * np.sin(angle) + 0.14, 0.44, accent)


def _lantern(pen: Pen, coat: Colour) -> None:
    path = [(0.15, -0.85, 0.08), (0.35, -1.65, 0.06), (1.05, -1.75, 0.05), (1.45, -1.30, 0.04)]
    pen.shape(tube(path), coat)
    for radius, alpha in ((0.72, 60), (0.50, 110)):
        pen.disc(1.47, -1.12, radius, GLOW, alpha)
    pen.shape(ellipse(1.47, -1.12, 0.27, 0.27), GLOW)
    pen.disc(1.40, -1.2, 0.1, WHITE)
