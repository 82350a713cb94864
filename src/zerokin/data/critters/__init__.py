"""Critters: an embedded data set of sixty invented animals, drawn on demand, no download."""

from zerokin.data.critters.attributes import ATTRIBUTE_NAMES
from zerokin.data.critters.scene import PICTURES_PER_SPECIES, portrait, render
from zerokin.data.critters.species import (
    SPECIES,
    Species,
    attribute_matrix,
    find,
    validation_folds,
)

__all__ = [
    "ATTRIBUTE_NAMES",
    "PICTURES_PER_SPECIES",
    "SPECIES",
    "Species",
    "attribute_matrix",
    "find",
    "portrait",
    "render",
    "validation_folds",
]
