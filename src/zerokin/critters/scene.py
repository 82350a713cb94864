"""One image of one species: habitat, pose, light and what is in the way, all from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from zerokin.critters import limbs
from zerokin.critters.attributes import CHOICES, VALUES
from zerokin.critters.body import Plan, Pose, plan
from zerokin.critters.clutter import branch, foreground
from zerokin.critters.habitat import backdrop
from zerokin.critters.head import head
from zerokin.critters.pen import INK, Colour, Pen, ellipse, mix
from zerokin.critters.skin import ACCENTS, COATS, cover
from zerokin.critters.species import Species
from zerokin.parameters import InstanceOf, Integer, check_arguments

IMAGES_PER_SPECIES = 60

HOME = 0.7
"""Share of images in the species' own habitat; the others are spread over the rest."""

VARIABLE = ("coat", "accent", "pattern")
"""What an individual may have otherwise than its species."""

VARIATION = 0.16
"""Chance that an individual departs from its species in one of these."""

FINER = 3
"""How many times finer an image is drawn than it is shown."""

_SIZES = {"small": 0.80, "medium": 0.92, "large": 1.06}


_SPECIES = InstanceOf(Species, "a Species")
_NUMBER = Integer(0, None)
_SIZE = Integer(16, 1024)


def render(species: Species, index: int, seed: int = 0, size: int = 64) -> NDArray[np.uint8]:
    """Draw image number ``index`` of a species.

    The image depends on the species (its name and attributes), ``index`` and ``seed`` alone.
    ``size`` changes the number of pixels, not the scene.

    Parameters
    ----------
    species
        What to draw.
    index, seed
        Non-negative numbers that choose habitat, pose, light and occlusion.
    size
        Side of the image in pixels, 16 to 1024.

    Returns
    -------
    numpy.ndarray
        The image, (size, size, 3), uint8.

    Examples
    --------
    >>> from zerokin.critters import SPECIES, render
    >>> image = render(SPECIES[0], 7)
    >>> image.shape, bool((image == render(SPECIES[0], 7)).all())
    ((64, 64, 3), True)
    """
    check_arguments(
        {"species": _SPECIES, "index": _NUMBER, "seed": _NUMBER, "size": _SIZE},
        species=species,
        index=index,
        seed=seed,
        size=size,
    )
    where, kind, how, marks, light, front = _streams(species, index, seed)
    ground = canvas(size)
    place = species.attributes["habitat"]
    if where.random() >= HOME:
        others = [other for other in CHOICES["habitat"] if other != place]
        place = others[where.integers(len(others))]
    backdrop(ground, place, where.uniform(0.46, 0.62), where)
    placed = draw_animal(ground, individual(species.attributes, kind), how, marks)
    _occlude(ground, place, placed, front)
    return lit(ground.image.reduce(FINER), light)


def portrait(species: Species, *, seed: int = 0, size: int = 256) -> NDArray[np.uint8]:
    """Draw a species as a field guide would: at home, true to its kind, near, nothing in front.

    Parameters
    ----------
    species
        What to draw.
    seed
        Chooses pose and scenery.
    size
        Side of the image in pixels.

    Returns
    -------
    numpy.ndarray
        The image, (size, size, 3), uint8.
    """
    sizes = Integer(16, 4096)
    check_arguments(
        {"species": _SPECIES, "seed": _NUMBER, "size": sizes}, species=species, seed=seed, size=size
    )
    where, _, how, marks, _, _ = _streams(species, 0, seed)
    ground = canvas(size)
    backdrop(ground, species.attributes["habitat"], where.uniform(0.46, 0.62), where)
    draw_animal(ground, species.attributes, how, marks, near=True)
    return np.asarray(ground.image.reduce(FINER))


def _streams(species: Species, index: int, seed: int) -> tuple[np.random.Generator, ...]:
    """Return a stream for each concern: one that draws more leaves the others as they were."""
    return tuple(
        np.random.Generator(np.random.PCG64([seed, species.key, index, concern]))
        for concern in range(6)
    )


class Spot(NamedTuple):
    """Where an animal stands among others: its feet at (x, feet), and how large it is."""

    x: float
    feet: float
    share: float


class Placed(NamedTuple):
    """Where an animal was drawn, in units of the image's side."""

    x: float
    feet: float
    width: float
    box: tuple[float, float, float, float]
    """left, top, right and bottom, ornaments roughly included"""


def canvas(size: int) -> Pen:
    """Return a pen over an empty image, drawn finer than it will be shown."""
    side = size * FINER
    image = Image.new("RGB", (side, side))
    return Pen(image, matrix=np.eye(2) * side, offset=np.zeros(2), line=0.009 * side)


def draw_animal(
    ground: Pen,
    attributes: Mapping[str, str],
    how: np.random.Generator,
    marks: np.random.Generator,
    *,
    near: bool = False,
    spot: Spot | None = None,
) -> Placed:
    """Draw the animal on the ground, alone or at its spot among others."""
    pose = Pose(*how.uniform(-1.0, 1.0, 5).tolist())
    mirror = 1.0 if how.random() < 0.5 else -1.0
    tilt, turn, squash = how.normal(0.0, 0.11), how.normal(0.0, 0.16), how.uniform(0.80, 1.0)
    zoom, across, feet = how.uniform(0.52, 1.06), how.normal(0.0, 0.09), how.uniform(0.80, 0.93)
    blink = how.random() < 0.06
    if near:
        zoom, across, tilt, blink = 1.0, 0.0, 0.4 * tilt, False
    body = plan(attributes, pose)
    coat = _tinted(COATS[attributes["coat"]], how)
    accent = _tinted(ACCENTS[attributes["accent"]], how)
    left, top, right = _extent(body, attributes)
    scale = min(0.86 / (right - left), 0.84 / (body.ground - top), 1.2)
    scale *= _SIZES[attributes["size"]] * zoom
    middle = 0.5 * (left + right)
    c, s = np.cos(tilt), np.sin(tilt)
    side = ground.matrix[0, 0]
    matrix = side * scale * np.array([[c, -s], [s, c]]) @ np.diag([mirror * squash, 1.0])
    # Wide animals have less room to stand aside.
    x = 0.5 + across * min(1.0, 2.5 * max(0.2, 1.0 - scale * (right - left)))
    if spot is not None:
        x, feet = spot.x + 0.3 * across * spot.share, spot.feet
        scale, matrix = scale * spot.share, matrix * spot.share
    offset = side * np.array([x, feet]) - matrix @ np.array([middle, body.ground])
    pen = Pen(
        ground.image,
        matrix=matrix,
        offset=offset,
        line=0.0085 * side * (1.0 if spot is None else spot.share**0.5),
        ink=mix(coat, INK, 0.78),
    )
    _shadow(ground, x, feet, 0.36 * scale * (right - left))
    _parts(pen, body, attributes, pose, coat, accent, marks)
    hx, hy, radius = body.head
    head(
        pen.at(hx, hy, radius, turn),
        attributes,
        coat=coat,
        accent=accent,
        blink=blink,
        rng=marks,
    )
    corners = [(u, v) for u in (left, right) for v in (top, body.ground)]
    outline = (np.array(corners) @ matrix.T + offset) / side
    low, high = outline.min(axis=0).clip(0, 1).tolist(), outline.max(axis=0).clip(0, 1).tolist()
    return Placed(x, feet, scale * (right - left), (*low, *high))


def _parts(
    pen: Pen,
    body: Plan,
    attributes: Mapping[str, str],
    pose: Pose,
    coat: Colour,
    accent: Colour,
    marks: np.random.Generator,
) -> None:
    """Draw everything but the head, from far to near."""
    fins = attributes["fins"] == "yes"
    limbs.wing(pen, body, attributes["wings"], pose, coat, accent, near=False)
    if fins:
        limbs.fin(pen, body, pose, accent, near=False)
    limbs.legs(pen, body, attributes, pose, coat, near=False)
    limbs.tail(pen, body, attributes["tail"], pose, coat, accent, marks)
    limbs.behind_back(pen, body, attributes["back"], accent)
    limbs.legs(pen, body, attributes, pose, coat, near=True)
    cover(pen, body, attributes, coat=coat, accent=accent, rng=marks)
    if attributes["back"] == "shell":
        limbs.shell(pen, body, coat, accent)
    if fins:
        limbs.fin(pen, body, pose, accent, near=True)
    limbs.wing(pen, body, attributes["wings"], pose, coat, accent, near=True)


def _extent(body: Plan, attributes: Mapping[str, str]) -> tuple[float, float, float]:
    """Return the left, top and right edges of the animal, ornaments roughly included."""
    x, y, r = body.head
    tall = {"long": 1.0, "pointed": 0.5}.get(attributes["ears"], 0.2)
    tall = max(tall, {"single": 0.8, "antlers": 0.9}.get(attributes["horns"], 0.0))
    raised = ("antennae", "stalked eyes", "lantern")
    tall = max(tall, 0.8 if any(attributes[name] == "yes" for name in raised) else 0.0)
    left = float(body.torso[:, 0].min()) - (0.0 if attributes["tail"] == "none" else 0.17)
    top = y - r * (1.0 + tall)
    if attributes["wings"] != "none":
        top = min(top, body.shoulder[1] - 0.26)
        left = min(left, body.shoulder[0] - 0.38)
    if attributes["back"] == "sail":
        top = min(top, float(body.spine[:, 1].min()) - 0.2)
    muzzle = 0.2 if attributes["mouth"] == "smile" else 0.55
    return left, top, x + r * (1.0 + muzzle)


def individual(attributes: Mapping[str, str], kind: np.random.Generator) -> Mapping[str, str]:
    """Return the attributes of one animal, which may depart from its kind in what varies."""
    own = dict(attributes)
    for group in VARIABLE:
        others = [value for value in VALUES[group] if value != attributes[group]]
        departs, choice = kind.random(2)
        if departs < VARIATION:
            own[group] = others[int(choice * len(others))]
    if own["coat"] == own["accent"]:
        own["accent"] = attributes["accent"]
    return own


def _tinted(colour: Colour, how: np.random.Generator) -> Colour:
    """Return the colour of one animal of its kind."""
    shift = how.normal(0.0, 9.0, 3).tolist()
    r, g, b = (min(255, max(0, round(c + s))) for c, s in zip(colour, shift, strict=True))
    return (r, g, b)


def _shadow(pen: Pen, x: float, y: float, half: float) -> None:
    for grow, alpha in ((1.15, 34), (0.95, 44), (0.75, 50)):
        pen.fill(ellipse(x, y, half * grow, 0.045 * grow), INK, alpha)


def _occlude(pen: Pen, place: str, placed: Placed, front: np.random.Generator) -> None:
    x, feet, width, _ = placed
    for chance in (0.65, 0.35):
        if front.random() < chance:
            at, below = x + front.uniform(-0.5, 0.5) * width, feet + front.uniform(0.03, 0.08)
            foreground(pen, place, at, below, front.uniform(0.12, 0.27), front)
    if front.random() < 0.25:
        branch(pen, place, front)


def lit(image: Image.Image, light: np.random.Generator) -> NDArray[np.uint8]:
    """Change brightness, cast, direction of light and grain of the finished image."""
    pixels = np.asarray(image, dtype=np.float32)
    side = pixels.shape[0]
    bright, warm, green = (
        light.uniform(0.78, 1.16),
        light.normal(0.0, 0.09),
        light.normal(0.0, 0.035),
    )
    slope = light.normal(0.0, 0.10, 2)
    line = np.linspace(-1.0, 1.0, side)
    field = bright * (1.0 + slope[0] * line[None, :] + slope[1] * line[:, None])
    field -= 0.06 * (line[None, :] ** 2 + line[:, None] ** 2)
    cast = np.array([1.0 + warm, 1.0 + green, 1.0 - warm], dtype=np.float32)
    grain = light.standard_normal((side, side), dtype=np.float32) * 3.0
    lit = pixels * (field.astype(np.float32)[:, :, None] * cast) + grain[:, :, None]
    shown: NDArray[np.uint8] = np.clip(lit + 0.5, 0, 255).astype(np.uint8)
    return shown
