"""One image of several animals, each of another species: who stands where, all from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerokin.critters.clutter import foreground
from zerokin.critters.habitat import backdrop
from zerokin.critters.scene import (
    FINER,
    Placed,
    Spot,
    canvas,
    draw_animal,
    individual,
    lit,
)
from zerokin.critters.species import Species
from zerokin.errors import InvalidInput
from zerokin.parameters import InstanceOf, Integer, Several, check_arguments

FEWEST, MOST = 2, 5
"""Animals of one image."""

BACK, FRONT = 0.42, 0.48
"""Size of animals in the back row and in the front row, beside that of one alone."""

NARROW = 0.76
"""Where three stand in a row they are smaller."""

_GROUP = 7  # a stream of its own: images of one animal draw others


class Group(NamedTuple):
    """An image and where its animals are.

    Parameters
    ----------
    image
        (size, size, 3), uint8.
    boxes
        (k, 4) left, top, right and bottom of each animal, 0 to 1, in the order they were given.
        Ornaments are roughly included; animals in front may hide a part.
    """

    image: NDArray[np.uint8]
    boxes: NDArray[np.float64]


def render_group(species: Sequence[Species], index: int, seed: int = 0, size: int = 128) -> Group:
    """Draw image number ``index`` of two to five animals of different species.

    The image depends on the species, ``index`` and ``seed`` alone. ``size`` changes the number of
    pixels, not the scene.

    Parameters
    ----------
    species
        What to draw: two to five different species.
    index, seed
        Non-negative numbers that choose habitat, places, poses, light and occlusion.
    size
        Side of the image in pixels, 16 to 1024.

    Examples
    --------
    >>> from zerokin.critters import SPECIES, render_group
    >>> group = render_group(SPECIES[:3], 7)
    >>> group.image.shape, group.boxes.shape
    ((128, 128, 3), (3, 4))
    """
    check_arguments(
        {
            "species": Several(InstanceOf(Species, "a Species")),
            "index": Integer(0, None),
            "seed": Integer(0, None),
            "size": Integer(16, 1024),
        },
        species=species,
        index=index,
        seed=seed,
        size=size,
    )
    if not FEWEST <= len(species) <= MOST or len({one.name for one in species}) < len(species):
        raise InvalidInput(
            f"a group is {FEWEST} to {MOST} different species: got "
            f"{', '.join(one.name for one in species) or 'none'}"
        )
    where, light = (
        np.random.Generator(np.random.PCG64([seed, _GROUP, index, concern])) for concern in range(2)
    )
    ground = canvas(size)
    place = species[int(where.integers(len(species)))].attributes["habitat"]
    backdrop(ground, place, where.uniform(0.26, 0.36), where)
    spots = _spots(len(species), where)
    placed: list[Placed | None] = [None] * len(species)
    # The back row first: who stands in front hides who stands behind.
    for number in sorted(range(len(species)), key=lambda number: spots[number].feet):
        animal = species[number]
        kind, how, marks = (
            np.random.Generator(np.random.PCG64([seed, _GROUP, index, animal.key, concern]))
            for concern in range(3)
        )
        own = individual(animal.attributes, kind)
        placed[number] = draw_animal(ground, own, how, marks, spot=spots[number])
        if where.random() < 0.35:
            spot = spots[number]
            at = spot.x + where.uniform(-0.5, 0.5) * 0.4 * spot.share
            foreground(ground, place, at, spot.feet + 0.02, where.uniform(0.05, 0.11), where)
    boxes = np.array([one.box for one in placed if one is not None])
    return Group(lit(ground.image.reduce(FINER), light), boxes)


def _spots(n: int, where: np.random.Generator) -> list[Spot]:
    """Return where n animals stand, in two rows and in no order."""
    in_back = n // 2
    rows = ((in_back, BACK, 0.50), (n - in_back, FRONT, 0.92))
    spots = []
    for count, share, feet in rows:
        share *= NARROW if count > 2 else 1.0
        for at in range(count):
            x = (at + 0.5) / count + where.uniform(-0.12, 0.12) / count
            spots.append(Spot(x, feet + where.uniform(-0.05, 0.03), share))
    return [spots[number] for number in where.permutation(n)]
