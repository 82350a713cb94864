"""Legs, wings, fins, tails and what stands on a back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zerokin.critters.body import Plan, Pose
from zerokin.critters.pen import (
    INK,
    WHITE,
    Colour,
    Pen,
    Points,
    curve,
    ellipse,
    mix,
    smooth,
    tube,
)
from zerokin.critters.skin import furry

HORN: Colour = (245, 232, 200)
BILL: Colour = (244, 166, 66)
HOOF: Colour = (206, 176, 138)


def legs(
    pen: Pen, plan: Plan, attributes: Mapping[str, str], pose: Pose, coat: Colour, *, near: bool
) -> None:
    """Draw the legs of one side; those of the far side are darker and a little ahead."""
    number = attributes["legs"]
    if number == "none":
        return
    hips = {"two": plan.hips[1:2], "four": plan.hips[::2], "six": plan.hips}[number]
    colour = coat if near else mix(coat, INK, 0.3)
    lower = mix(INK, WHITE, 0.08 if near else 0.0) if attributes["socks"] == "yes" else colour
    aside = -0.035 if near else 0.05
    if number == "two":
        aside *= 1.9
    half = 0.03 if number == "six" else 0.05 if attributes["stance"] == "low" else 0.04
    for order, (x, y) in enumerate(hips):
        swing = 0.045 * pose.stride * (-1) ** (order + near)
        foot_x, foot_y = x + aside + swing, plan.ground - (0.0 if near else 0.02)
        if number == "six":
            foot_x += 0.07 * (order - 1)
            knee = (0.5 * (x + foot_x) + 0.05 * (order - 1), 0.5 * (y + foot_y) - 0.03)
        else:
            knee = (0.5 * (x + aside + foot_x) + 0.012, 0.5 * (y + foot_y))
        path = curve(
            [(x + aside, y, half * 1.15), (*knee, half), (foot_x, foot_y - 0.02, half * 0.85)]
        )
        pen.shape(tube(path[::2]), colour)
        if lower != colour:
            pen.fill(tube(path[len(path) // 3 :: 2]), lower)
        _foot(pen, attributes["feet"], foot_x, foot_y, half, lower, near)


def _foot(pen: Pen, kind: str, x: float, y: float, half: float, colour: Colour, near: bool) -> None:
    if kind == "hooves":
        hoof = np.array([
            (x - half * 0.85, y - 0.045), (x + half * 0.85, y - 0.045),
            (x + half * 1.35, y + 0.012), (x - half * 1.0, y + 0.012),
        ])  # fmt: skip
        pen.shape(hoof, HOOF if near else mix(HOOF, INK, 0.3))
    elif kind == "webbed":
        web = np.array([
            (x - 0.03, y - 0.035), (x + 0.03, y - 0.035), (x + 0.115, y + 0.008), (x + 0.06, y),
            (x + 0.035, y + 0.022), (x + 0.01, y + 0.004), (x - 0.055, y + 0.018),
        ])  # fmt: skip
        pen.shape(web, BILL if near else mix(BILL, INK, 0.25))
    else:
        pen.shape(ellipse(x + half * 0.35, y - 0.012, half * 1.25, half * 0.68 + 0.006), colour)


def tail(
    pen: Pen,
    plan: Plan,
    kind: str,
    pose: Pose,
    coat: Colour,
    accent: Colour,
    rng: np.random.Generator,
) -> None:
    """Draw the tail, its tip in the accent colour."""
    if kind == "none":
        return
    x, y, turn = plan.tail
    part = pen.at(x, y, 1.0, turn + 0.28 * pose.sway)
    if kind == "whip":
        part.shape(
            tube(
                [
                    (0.06, 0, 0.03),
                    (-0.09, -0.01, 0.022),
                    (-0.19, -0.10, 0.016),
                    (-0.25, -0.2, 0.012),
                ]
            ),
            coat,
        )
        part.shape(
            smooth([(-0.235, -0.17), (-0.21, -0.25), (-0.27, -0.31), (-0.29, -0.22)]), accent
        )
    elif kind == "bushy":
        plume = smooth(
            [
                (0.05, -0.03),
                (-0.07, -0.09),
                (-0.11, -0.24),
                (-0.21, -0.30),
                (-0.29, -0.17),
                (-0.22, 0.0),
                (-0.08, 0.06),
                (0.05, 0.05),
            ]
        )
        part.shape(furry(plume, rng), coat)
        part.fill(
            smooth([(-0.125, -0.22), (-0.21, -0.295), (-0.285, -0.17), (-0.21, -0.17)]), accent
        )
    elif kind == "curl":
        angles = np.linspace(0.45 * np.pi, 2.75 * np.pi, 14)
        radii = np.linspace(0.125, 0.03, 14)
        spiral = np.stack(
            [
                -0.13 + radii * np.cos(angles),
                -0.10 + radii * np.sin(angles),
                np.linspace(0.034, 0.02, 14),
            ],
            axis=1,
        )
        path = np.concatenate([[(0.06, 0.03, 0.04)], spiral])
        part.edge(tube(path))
        part.fill(tube(path), coat)
        part.fill(tube(spiral[8:]), accent)
    elif kind == "fan":
        for step in (-2, 2, -1, 1, 0):
            feather = part.at(0.03, 0.0, 1.0, 0.42 * step + 0.35)
            feather.shape(ellipse(-0.16, 0.0, 0.135, 0.048), accent if step % 2 == 0 else coat)
    else:
        part.shape(tube([(0.06, 0, 0.045), (-0.08, 0.0, 0.034), (-0.17, -0.07, 0.03)]), coat)
        part.shape(ellipse(-0.21, -0.12, 0.082, 0.082), accent)
        part.fill(ellipse(-0.235, -0.15, 0.026, 0.02), WHITE, 150)


def wing(
    pen: Pen, plan: Plan, kind: str, pose: Pose, coat: Colour, accent: Colour, *, near: bool
) -> None:
    """Draw one wing; the far one is darker and leans forward."""
    if kind == "none":
        return
    x, y = plan.shoulder
    raise_ = 0.32 * pose.flap + (0.0 if near else 0.42)
    colour = accent if near else mix(accent, INK, 0.22)
    if kind == "feathered":
        part = pen.at(x + 0.06, y, 1.0, raise_ + 0.1)
        for turn, reach in ((0.95, 0.40), (0.55, 0.41), (0.15, 0.37), (-0.25, 0.30)):
            plume = smooth(
                [(0.0, -0.04), (-0.6 * reach, -0.075), (-reach, 0.0), (-0.6 * reach, 0.06)]
            )
            part.at(0.0, 0.0, 1.0, turn).shape(plume, colour)
        covert = smooth(
            [(0.05, -0.02), (-0.02, -0.10), (-0.15, -0.15), (-0.17, 0.0), (-0.08, 0.09)]
        )
        part.shape(covert, coat if near else mix(coat, INK, 0.25))
    elif kind == "leather":
        part = pen.at(x, y, 1.0, raise_ - 0.1)
        edge: Points = np.concatenate([
            curve([(0.04, 0.04), (-0.10, -0.18), (-0.22, -0.34)]),
            curve([(-0.22, -0.34), (-0.28, -0.21), (-0.42, -0.17)]),
            curve([(-0.42, -0.17), (-0.35, -0.08), (-0.39, 0.04)]),
            curve([(-0.39, 0.04), (-0.26, 0.03), (-0.20, 0.12)]),
            curve([(-0.20, 0.12), (-0.08, 0.06), (0.04, 0.10)]),
        ])  # fmt: skip
        part.shape(edge, colour)
        for tip in ((-0.42, -0.17), (-0.39, 0.04), (-0.20, 0.12)):
            part.stroke(np.array([(-0.04, -0.06), tip]), mix(colour, INK, 0.55), 1.3)
        part.shape(tube([(0.04, 0.05, 0.035), (-0.10, -0.17, 0.026), (-0.22, -0.34, 0.018)]), coat)
    else:
        part = pen.at(x, y, 1.0, raise_)
        pale = mix(accent, WHITE, 0.35)
        for turn, reach in ((0.95, 0.33), (0.25, 0.25)):
            oval = part.at(0.03, -0.02, 1.0, turn)
            oval.edge(ellipse(-reach * 0.62, 0.0, reach * 0.62, 0.088))
            oval.fill(ellipse(-reach * 0.62, 0.0, reach * 0.62, 0.088), pale, 225 if near else 200)
            for bend in (-0.035, 0.03):
                oval.stroke(
                    curve([(0.0, 0.0), (-0.6 * reach, bend), (-1.1 * reach, bend)]),
                    mix(accent, INK, 0.5),
                    0.7,
                )


def fin(pen: Pen, plan: Plan, pose: Pose, accent: Colour, *, near: bool) -> None:
    """Draw a flipper."""
    x, y = plan.shoulder
    shift = 0.0 if near else 0.17
    part = pen.at(
        x + shift, y + (0.12 if near else 0.10), 1.0, 0.25 * pose.flap + (0.0 if near else -0.5)
    )
    outline = smooth(
        [(0.06, -0.03), (0.03, 0.08), (-0.06, 0.17), (-0.19, 0.20), (-0.15, 0.08), (-0.07, -0.03)]
    )
    part.shape(outline, accent if near else mix(accent, INK, 0.25))
    for tip in ((-0.14, 0.17), (-0.07, 0.15)):
        part.stroke(np.array([(-0.01, 0.03), tip]), mix(accent, INK, 0.45), 0.9)


def behind_back(pen: Pen, plan: Plan, kind: str, accent: Colour) -> None:
    """Draw the sail or the plates that rise behind the torso."""
    spine, away = plan.spine, plan.outward
    last = len(spine) - 1
    if kind == "sail":
        along = np.linspace(0.0, 1.0, 7)
        roots = np.round(along * last).astype(int)
        rise = 0.06 + 0.17 * np.sin(np.pi * (0.12 + 0.8 * along))
        tips = spine[roots] + away[roots] * rise[:, None] - (0.03, 0.0)
        dips = 0.5 * (tips[:-1] + tips[1:]) - away[roots[:-1]] * 0.03
        top = np.empty((2 * len(tips) - 1, 2))
        top[::2], top[1::2] = tips, dips
        inside = spine - away * 0.05
        pen.shape(np.concatenate([top, inside[::-1]]), accent)
        for root, tip in zip(spine[roots], tips, strict=True):
            pen.stroke(np.array([root, tip]), mix(accent, INK, 0.5), 1.1)
    elif kind == "plates":
        for share, height in (
            (0.04, 0.08),
            (0.26, 0.12),
            (0.48, 0.135),
            (0.70, 0.12),
            (0.92, 0.085),
        ):
            at = round(share * last)
            root, out = spine[at], away[at]
            side = np.array([out[1], -out[0]]) * 0.062
            plate = np.array(
                [
                    root - out * 0.05 - side,
                    root + out * height * 0.55 - side * 1.05,
                    root + out * height * 1.25,
                    root + out * height * 0.55 + side * 1.05,
                    root - out * 0.05 + side,
                ]
            )
            pen.shape(plate, accent)


def shell(pen: Pen, plan: Plan, coat: Colour, accent: Colour) -> None:
    """Draw a dome over the upper torso."""
    spine, away = plan.spine, plan.outward
    top = spine + away * 0.06
    left, right = top[-1], top[0]
    rim = curve(
        np.array([left, left, 0.5 * (left + right), right, right])
        + np.array([(0.0, 0.0), (0.02, 0.05), (0.0, 0.10), (0.0, 0.05), (0.0, 0.0)])
    )
    dome = np.concatenate([top, rim])
    colour = mix(accent, coat, 0.35)
    pen.shape(dome, colour)
    middle = top[len(top) // 2]
    centre = 0.5 * (left + right) + (0.0, -0.01)
    dark = mix(colour, INK, 0.5)
    pen.stroke(
        smooth(
            np.array(
                [
                    (-0.09, 0.0),
                    (-0.05, -0.09),
                    (0.05, -0.09),
                    (0.09, 0.0),
                    (0.05, 0.07),
                    (-0.05, 0.07),
                ]
            )
            + centre
            - (0.0, 0.03)
        ),
        dark,
        1.4,
    )
    for share in (0.2, 0.5, 0.8):
        edge = top[round(share * (len(top) - 1))]
        inner = centre - (0.0, 0.03) + (edge - centre) * (0.55 if share == 0.5 else 0.45)
        pen.stroke(np.array([edge, inner]), dark, 1.2)
    pen.stroke(rim - np.array((0.0, 0.02)), mix(colour, WHITE, 0.4), 1.2)
    pen.fill(ellipse(middle[0] - 0.07, middle[1] + 0.05, 0.05, 0.02, -0.3), WHITE, 140)
