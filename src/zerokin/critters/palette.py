"""The colours of the habitats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from zerokin.critters.pen import Colour


@dataclass(frozen=True)
class Palette:
    """Colours of a habitat: sky above and at the horizon, ground far and near, and its plants."""

    sky: Colour
    haze: Colour
    far: Colour
    near: Colour
    plant: Colour
    stone: Colour


PALETTES: Mapping[str, Palette] = MappingProxyType(
    {
        "meadow": Palette(
            sky=(168, 212, 236),
            haze=(232, 242, 226),
            far=(176, 208, 130),
            near=(146, 190, 104),
            plant=(96, 152, 78),
            stone=(186, 180, 166),
        ),
        "forest": Palette(
            sky=(120, 158, 130),
            haze=(186, 208, 168),
            far=(122, 146, 92),
            near=(104, 126, 78),
            plant=(70, 112, 72),
            stone=(130, 124, 108),
        ),
        "desert": Palette(
            sky=(246, 214, 164),
            haze=(252, 238, 206),
            far=(236, 196, 132),
            near=(226, 178, 112),
            plant=(122, 156, 104),
            stone=(202, 146, 104),
        ),
        "shore": Palette(
            sky=(178, 222, 240),
            haze=(236, 246, 246),
            far=(122, 188, 208),
            near=(238, 220, 176),
            plant=(120, 170, 130),
            stone=(176, 168, 164),
        ),
        "snow": Palette(
            sky=(190, 206, 230),
            haze=(232, 238, 248),
            far=(222, 232, 246),
            near=(244, 248, 255),
            plant=(112, 148, 142),
            stone=(160, 170, 190),
        ),
        "cave": Palette(
            sky=(84, 78, 120),
            haze=(128, 116, 164),
            far=(108, 98, 142),
            near=(130, 118, 160),
            plant=(104, 150, 156),
            stone=(98, 90, 126),
        ),
    }
)
