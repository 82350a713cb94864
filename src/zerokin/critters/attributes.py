"""The attributes of a critter: what can be seen of it, and the columns that describe it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

# Of each group an animal has exactly one value. "none" means that the part is missing: it has no
# column of its own.
CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "body": ("round", "long", "upright", "humped", "snake"),
        "coat": ("russet", "gold", "moss", "teal", "violet", "slate", "rose", "cream"),
        "accent": ("cream", "charcoal", "coral", "sky", "lemon"),
        "pattern": ("plain", "stripes", "spots", "patches"),
        "skin": ("smooth", "fur", "scales", "spines"),
        "legs": ("none", "two", "four", "six"),
        "feet": ("none", "paws", "hooves", "webbed"),
        "wings": ("none", "feathered", "leather", "gauzy"),
        "back": ("none", "sail", "shell", "plates"),
        "horns": ("none", "stubs", "curled", "single", "antlers"),
        "ears": ("none", "round", "pointed", "long", "floppy"),
        "eyes": ("one", "two", "three"),
        "mouth": ("smile", "snout", "beak", "trunk", "pincers"),
        "tail": ("none", "whip", "bushy", "curl", "fan", "club"),
        "habitat": ("meadow", "forest", "desert", "shore", "snow", "cave"),
    }
)

# Attributes with an order: (value, its number), one column each.
GRADES: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "size": MappingProxyType({"small": 0.0, "medium": 0.5, "large": 1.0}),
        "neck": MappingProxyType({"short": 0.0, "long": 1.0}),
        "stance": MappingProxyType({"low": 0.0, "high": 1.0}),
    }
)

FLAGS: tuple[str, ...] = (
    "belly",
    "socks",
    "fins",
    "antennae",
    "big eyes",
    "stalked eyes",
    "tusks",
    "crest",
    "mask",
    "cheeks",
    "ruff",
    "lantern",
)

# Every attribute with all its values: 15 choices + 3 grades + 12 flags = 30 attributes.
VALUES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **CHOICES,
        **{name: tuple(grades) for name, grades in GRADES.items()},
        **dict.fromkeys(FLAGS, ("no", "yes")),
    }
)

ATTRIBUTE_NAMES: tuple[str, ...] = (
    *(
        f"{group}::{value}"
        for group, values in CHOICES.items()
        for value in values
        if value != "none"
    ),
    *(f"{name}::{list(grades)[-1]}" for name, grades in GRADES.items()),
    *(f"has::{name}" for name in FLAGS),
)


def encode(attributes: Mapping[str, str]) -> NDArray[np.float64]:
    """Return one animal's attributes as a row in the order of `ATTRIBUTE_NAMES`.

    Examples
    --------
    >>> from zerokin.critters.species import SPECIES
    >>> row = encode(SPECIES[0].attributes)
    >>> [name for name, number in zip(ATTRIBUTE_NAMES, row) if number][:3]
    ['body::round', 'coat::moss', 'accent::cream']
    """
    row = [
        float(attributes[group] == value)
        for group, values in CHOICES.items()
        for value in values
        if value != "none"
    ]
    row += [grades[attributes[name]] for name, grades in GRADES.items()]
    row += [float(attributes[name] == "yes") for name in FLAGS]
    return np.array(row)
