"""Critters: an embedded data set of sixty invented animals, drawn on demand, no download."""

from zerokin.critters.attributes import ATTRIBUTE_NAMES
from zerokin.critters.group import Group, render_group
from zerokin.critters.scene import IMAGES_PER_SPECIES, portrait, render
from zerokin.critters.species import (
    SPECIES,
    Species,
    attribute_matrix,
    find,
    validation_folds,
)

__all__ = [
    "ATTRIBUTE_NAMES",
    "IMAGES_PER_SPECIES",
    "SPECIES",
    "Group",
    "Species",
    "attribute_matrix",
    "find",
    "portrait",
    "render",
    "render_group",
    "validation_folds",
]
