"""Draw a sheet of critters: ``python -m zerokin.critters FILE.png [FAMILY ...]``."""

from __future__ import annotations

import sys

from PIL import Image

from zerokin.critters.scene import portrait
from zerokin.critters.sheet import image_sheet
from zerokin.critters.species import SPECIES
from zerokin.errors import InvalidInput, ZerokinError, did_you_mean
from zerokin.files import replacing

USUAL = ("trundles", "flapkins", "gauzels", "bobbers")


def main(arguments: list[str]) -> None:
    """Write a sheet with a row of portraits for each family."""
    if not arguments:
        raise InvalidInput("say where to write: python -m zerokin.critters FILE.png")
    path, *families = arguments
    known = {species.family: species.order for species in SPECIES}
    families = families or list(USUAL)
    for family in families:
        if family not in known:
            raise InvalidInput(f"no family is called {family!r}{did_you_mean(family, known)}")
    shown = [species for family in families for species in SPECIES if species.family == family]
    sheet = image_sheet(
        [portrait(species, size=144) for species in shown],
        [species.name for species in shown],
        highlight=[species.unseen for species in shown],
        row_titles=[f"{family}  ({known[family]})" for family in families],
        legend=("seen in training", "unseen: known by its attributes alone"),
    )
    with replacing(path) as temporary:
        # A palette of 256 colours: the sheet stays small enough for a repository.
        sheet.quantize(256, dither=Image.Dither.NONE).save(temporary, optimize=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ZerokinError as error:
        sys.exit(str(error))
