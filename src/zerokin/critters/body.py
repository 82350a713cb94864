"""Body plans: the outline of the torso and the places where the other parts join it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from zerokin.critters.pen import Points, curve, ellipse, smooth, tube


@dataclass(frozen=True)
class Pose:
    """How an animal holds itself in one image; every number is about -1 to 1, 0 is at rest."""

    stride: float
    flap: float
    sway: float
    nod: float
    reach: float


@dataclass(frozen=True)
class Plan:
    """Where everything is, facing right, y downwards, the torso about 0.6 wide.

    Parameters
    ----------
    torso
        Outline, (n, 2).
    spine
        Points along the upper edge from the neck to the tail, (m, 2), and their outward directions.
    outward
        Unit vectors away from the body at the points of the spine, (m, 2).
    head
        Centre and radius of the head: x, y, r.
    neck
        Path of the neck with half widths, (k, 3).
    hips
        Where legs leave the torso, front ones last, (2 or 3, 2).
    tail
        Root of the tail and its direction in radians: x, y, turn.
    shoulder
        Where a wing or fin joins: x, y.
    belly
        Outline of the underside, (n, 2).
    ground
        y of the ground below the feet.
    """

    torso: Points
    spine: Points
    outward: Points
    head: tuple[float, float, float]
    neck: Points
    hips: Points
    tail: tuple[float, float, float]
    shoulder: tuple[float, float]
    belly: Points
    ground: float


_HUMP = [
    (-0.31, 0.10), (-0.29, -0.06), (-0.17, -0.21), (-0.01, -0.27),
    (0.15, -0.21), (0.26, -0.06), (0.27, 0.10), (0.14, 0.18), (-0.18, 0.18),
]  # fmt: skip
_LONG = [
    (-0.33, -0.02), (-0.27, -0.12), (-0.05, -0.13), (0.20, -0.14),
    (0.32, -0.05), (0.29, 0.09), (0.08, 0.11), (-0.20, 0.12),
]  # fmt: skip
_UPRIGHT = [
    (-0.19, 0.14), (-0.17, -0.06), (-0.11, -0.23), (0.0, -0.29),
    (0.11, -0.23), (0.18, -0.04), (0.19, 0.14), (0.10, 0.24), (-0.10, 0.24),
]  # fmt: skip


def _arc(centre: tuple[float, float], rx: float, ry: float, start: float, stop: float) -> Points:
    angles = np.radians(np.linspace(start, stop, 9))
    return np.stack([centre[0] + rx * np.cos(angles), centre[1] - ry * np.sin(angles)], axis=1)


def _outward(spine: Points) -> Points:
    along = np.gradient(spine, axis=0)
    along /= np.sqrt((along**2).sum(axis=1, keepdims=True)) + 1e-9
    outward: Points = along[:, ::-1] * (-1.0, 1.0)
    return outward


def plan(attributes: Mapping[str, str], pose: Pose) -> Plan:
    """Lay out the body that the attributes ask for, in a pose."""
    body = attributes["body"]
    long_neck = attributes["neck"] == "long"
    legs = 0.0 if attributes["legs"] == "none" else 0.11
    legs += 0.15 if attributes["stance"] == "high" and legs else 0.0
    if body == "snake":
        return _snake(long_neck, legs, pose)
    if body == "round":
        torso = ellipse(0.0, 0.0, 0.28, 0.245)
        spine = _arc((0.0, 0.0), 0.28, 0.245, 52, 168)
        head = (0.235, -0.165, 0.175)
        hips = np.array([(-0.13, 0.16), (0.0, 0.19), (0.13, 0.16)])
        tail, shoulder = (-0.25, 0.05, 0.15), (-0.03, -0.06)
        belly, bottom = ellipse(0.06, 0.14, 0.22, 0.15, -0.2), 0.245
    elif body == "long":
        torso = smooth(_LONG)
        spine = curve(
            [(0.22, -0.14), (0.05, -0.135), (-0.15, -0.13), (-0.27, -0.115), (-0.33, -0.03)]
        )
        head = (0.345, -0.205, 0.15)
        hips = np.array([(-0.23, 0.05), (0.0, 0.07), (0.22, 0.05)])
        tail, shoulder = (-0.31, -0.03, 0.0), (0.03, -0.07)
        belly, bottom = ellipse(0.02, 0.11, 0.30, 0.075), 0.115
    elif body == "upright":
        torso = smooth(_UPRIGHT)
        spine = curve([(-0.02, -0.29), (-0.11, -0.23), (-0.17, -0.06), (-0.19, 0.12)])
        head = (0.03, -0.335, 0.175)
        hips = np.array([(-0.10, 0.18), (0.0, 0.20), (0.10, 0.18)])
        tail, shoulder = (-0.17, 0.14, 0.1), (-0.07, -0.12)
        belly, bottom = ellipse(0.06, 0.06, 0.12, 0.17, 0.05), 0.24
    else:
        torso = smooth(_HUMP)
        spine = curve(
            [(0.22, -0.14), (0.15, -0.21), (-0.01, -0.27), (-0.17, -0.21), (-0.30, -0.04)]
        )
        head = (0.305, -0.02, 0.165)
        hips = np.array([(-0.19, 0.11), (-0.01, 0.13), (0.15, 0.11)])
        tail, shoulder = (-0.29, 0.02, 0.1), (-0.04, -0.12)
        belly, bottom = ellipse(0.02, 0.16, 0.25, 0.10), 0.18
    base = np.array([head[0] - 0.09, head[1] + 0.12])
    if long_neck:
        head = (head[0] + 0.05, head[1] - 0.19, head[2] * 0.92)
    head = (head[0] + 0.02 * pose.reach, head[1] + 0.025 * pose.nod, head[2])
    middle = 0.5 * (base + head[:2]) + (0.03 * long_neck, 0.02)
    neck = np.array([(*base, 0.105), (*middle, 0.075), (head[0], head[1], 0.08)])
    return Plan(
        torso=torso,
        spine=spine,
        outward=_outward(spine),
        head=head,
        neck=neck,
        hips=hips,
        tail=tail,
        shoulder=shoulder,
        belly=belly,
        ground=bottom + legs,
    )


def _snake(long_neck: bool, legs: float, pose: Pose) -> Plan:
    """Coil along the ground, then rise to the head."""
    wave = 0.035 * pose.sway
    rise = 0.14 if long_neck else 0.0
    head = (0.25 + 0.03 * pose.reach, -0.21 - rise + 0.02 * pose.nod, 0.165)
    path = np.array([
        (-0.35, 0.10 + wave, 0.055), (-0.24, -0.01 - wave, 0.088), (-0.09, 0.09 + wave, 0.112),
        (0.06, 0.12, 0.12), (0.20, 0.05, 0.118), (0.20, -0.09 - rise / 2, 0.10), (*head[:2], 0.09),
    ])  # fmt: skip
    spine = curve(path[:, :2] - (0.0, 1.0) * path[:, 2:])[::-1][9:]
    under = curve(path[1:6] + np.array((0.0, 0.045, -0.045)))
    return Plan(
        torso=tube(path),
        spine=spine,
        outward=np.tile([0.0, -1.0], (len(spine), 1)),
        head=head,
        neck=path[5:],
        hips=np.array([(-0.12, 0.13), (0.0, 0.16), (0.12, 0.15)]),
        tail=(-0.35, 0.10 + wave, -0.1),
        shoulder=(0.02, 0.06),
        belly=tube(under),
        ground=0.24 + 0.8 * legs,
    )
