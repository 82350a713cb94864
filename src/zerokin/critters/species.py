"""The sixty species of Critters: a field guide as a table, and its validation folds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from zerokin.critters.attributes import FLAGS, VALUES, encode
from zerokin.errors import InvalidInput, did_you_mean


@dataclass(frozen=True)
class Species:
    """One invented animal.

    Parameters
    ----------
    name
        Its unique name, lower case.
    order, family
        Its place in the taxonomy: 4 orders, 10 families.
    attributes
        A value for each of the attributes in `zerokin.critters.attributes.VALUES`.
    unseen
        Whether it is one of the classes that training has no images of.
    """

    name: str
    order: str
    family: str
    attributes: Mapping[str, str]
    unseen: bool

    @property
    def genus(self) -> str:
        """The last word of its name: two genera to a family, three species to a genus."""
        return self.name.split()[-1]

    @property
    def key(self) -> int:
        """A number that depends on the name alone, so that a new row moves no other image."""
        return int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "big")


# What an attribute is when neither family, genus nor species says otherwise.
_USUAL = "size=medium neck=short stance=low legs=none feet=none wings=none back=none horns=none "
_USUAL += "ears=none eyes=two mouth=smile tail=none"

# Three kinds of line: "family, order: what its members share", "genus: what its members add or
# change", and the species' first name with its coat, accent, pattern, habitat and what else it
# has of its own. A bare word is a flag. A star marks the unseen.
_OPENING = ("coat", "accent", "pattern", "habitat")
_FIELD_GUIDE = """
trundles, striders: body=round legs=four feet=paws mouth=snout skin=fur ears=round
  trundle: tail=bushy
    mossback:   moss   cream    plain   forest size=large back=plates
    bramble:    russet lemon    patches forest size=small mask skin=spines
  * frostnose:  cream  sky      stripes snow   size=large belly
  mumbler: horns=curled tail=club
    honey:      gold   charcoal stripes meadow cheeks belly
    gravel:     slate  coral    spots   desert size=small socks
  * plum:       violet cream    spots   meadow cheeks
lopers, striders: body=long legs=four feet=hooves stance=high neck=long ears=long
  loper: skin=fur horns=antlers tail=bushy
    dapple:     gold   cream    spots   meadow belly
    cinder:     slate  coral    stripes desert socks
    tundra:     cream  charcoal patches snow   size=large ruff
  prancet: skin=smooth horns=single tail=whip crest
    dawn:       rose   sky      plain   meadow size=small cheeks
    marsh:      teal   cream    patches shore  mask socks
  * willow:     moss   lemon    stripes forest socks
snufflers, striders: body=humped legs=four feet=paws mouth=trunk ears=floppy tusks
  snuffler: skin=smooth tail=whip
    dune:       gold   lemon    plain   desert size=large
    pebble:     cream  charcoal spots   shore  belly
    lichen:     teal   lemon    patches cave   back=plates lantern
  snorkel: skin=fur horns=stubs tail=club
    thicket:    russet charcoal stripes forest back=plates mask
    velvet:     violet coral    patches cave   big-eyes socks
  * rime:       slate  sky      spots   snow   size=small belly
puffets, flutterers: body=round legs=two wings=feathered mouth=beak tail=fan crest
  puffet: skin=fur feet=paws
    apricot:    gold   coral    plain   meadow size=small cheeks
    inkcap:     slate  charcoal spots   forest big-eyes
  * peony:      rose   sky      stripes meadow size=small belly
  chirrup: skin=smooth feet=webbed ruff
    gale:       teal   cream    stripes shore  size=large belly
    hearth:     russet lemon    patches snow   socks
  * thistle:    moss   coral    plain   forest mask
flapkins, flutterers: body=upright legs=two feet=paws wings=leather big-eyes
  flapkin: skin=fur ears=long tail=whip
    gloaming:   violet charcoal plain   cave   size=small
    orchard:    russet lemon    stripes forest belly
  * brine:      teal   coral    spots   shore  mask
  hobble: skin=smooth ears=pointed horns=stubs tail=curl tusks
    sootwing:   slate  coral    patches cave   socks
    rosy:       rose   sky      spots   meadow ruff cheeks
    moonlit:    cream  sky      stripes snow   eyes=one lantern skin=spines
stiltlings, flutterers: body=long legs=two feet=webbed stance=high neck=long mouth=beak ruff
  stiltling: skin=smooth tail=fan
    reed:       moss   cream    stripes shore  size=large belly
    saffron:    gold   charcoal plain   desert cheeks socks
  * twilight:   violet lemon    spots   cave   big-eyes lantern
  wadekin: skin=fur horns=single tail=bushy
    copper:     russet sky      patches desert mask
    foam:       cream  coral    spots   shore  size=small belly
    cobble:     slate  lemon    plain   snow   socks
dombles, crawlers: body=humped legs=six feet=paws back=shell mouth=pincers antennae
  domble: skin=smooth
    clover:     moss   lemon    spots   meadow size=small cheeks
    garnet:     rose   charcoal stripes forest mask
    tidepool:   teal   coral    plain   shore  size=large stalked-eyes
  scuttler: skin=scales eyes=three horns=curled tail=whip
    dusty:      gold   sky      plain   desert skin=spines
    glimmer:    violet sky      spots   cave   lantern
  * marble:     cream  charcoal patches cave   belly
gauzels, crawlers: body=long legs=six feet=paws wings=gauzy tail=whip
  gauzel: skin=smooth antennae
    lilac:      violet cream    stripes meadow size=small
    amber:      gold   charcoal spots   meadow big-eyes skin=fur
  * canyon:     russet lemon    stripes desert belly
  zizzer: skin=scales mouth=pincers stalked-eyes
    coral:      rose   lemon    patches shore  cheeks
    mist:       slate  sky      plain   snow   ruff
  * fern:       moss   cream    spots   forest size=small
ribbonets, gliders: body=snake horns=stubs
  ribbonet: skin=scales tail=whip
    silk:       rose   cream    stripes meadow ruff
    bracken:    moss   charcoal patches forest belly
  * tawny:      gold   coral    spots   desert belly
  slipknot: skin=spines tail=club antennae
    opal:       cream  coral    spots   cave   eyes=three fins
    cavern:     teal   lemon    plain   cave   eyes=one lantern
  * glacier:    teal   sky      plain   snow   ruff
bobbers, gliders: body=round tail=fan back=sail fins
  bobber: skin=scales big-eyes
    lagoon:     teal   lemon    stripes shore  belly
    kelp:       moss   charcoal plain   forest eyes=one lantern
  * peach:      rose   cream    spots   shore  size=small cheeks
  blubb: skin=fur ears=round tusks
    cinnamon:   russet cream    patches snow   cheeks
    thunder:    gold   sky      stripes cave   lantern skin=spines
  * polar:      slate  cream    plain   snow   size=large belly
"""


def _read(words: str) -> dict[str, str]:
    """Return the attributes that a list of ``group=value`` words and bare flags names."""
    found: dict[str, str] = {}
    for word in words.split():
        name, _, value = word.replace("-", " ").partition("=")
        value = value or "yes"
        if name not in VALUES or value not in VALUES[name]:
            known = VALUES.get(name, tuple(VALUES))
            raise InvalidInput(f"no attribute {word!r}{did_you_mean(value, known)}")
        found[name] = value
    return found


def _parse(guide: str) -> tuple[Species, ...]:
    usual = {**dict.fromkeys(FLAGS, "no"), **_read(_USUAL)}
    of_family, of_genus = usual, usual
    order, family, genus = "", "", ""
    found: list[Species] = []
    for line in guide.strip().splitlines():
        head, words = (part.strip() for part in line.split(":"))
        if not line.startswith(" "):
            family, order = head.split(", ")
            of_family = usual | _read(words)
        elif line[2].isalpha():
            genus, of_genus = head, of_family | _read(words)
        else:
            *first, rest = words.split(maxsplit=len(_OPENING))
            opening = " ".join(f"{g}={v}" for g, v in zip(_OPENING, first, strict=True))
            attributes = of_genus | _read(f"{opening} {rest}")
            found.append(
                Species(
                    name=f"{head.removeprefix('* ')} {genus}",
                    order=order,
                    family=family,
                    attributes=MappingProxyType({group: attributes[group] for group in VALUES}),
                    unseen=head.startswith("*"),
                )
            )
    return tuple(found)


SPECIES: tuple[Species, ...] = _parse(_FIELD_GUIDE)

# Of 20,000 ways to deal the seen species to folds, one that leaves the fewest attribute values of
# validation species with a single example elsewhere; chosen on the table, not on any accuracy.
_DEAL = 12821


def attribute_matrix() -> NDArray[np.float64]:
    """Return every species' attributes, a row each in the order of `SPECIES`, (60, 80).

    Examples
    --------
    >>> attribute_matrix().shape
    (60, 80)
    """
    return np.stack([encode(species.attributes) for species in SPECIES])


def find(name: str) -> Species:
    """Return the species of that name.

    Parameters
    ----------
    name
        Of a species, such as ``"honey mumbler"``.

    Examples
    --------
    >>> find("honey mumbler").family
    'trundles'
    """
    for species in SPECIES:
        if species.name == name:
            return species
    names = [species.name for species in SPECIES]
    raise InvalidInput(f"no critter is called {name!r}{did_you_mean(name, names)}")


def validation_folds() -> tuple[tuple[str, ...], ...]:
    """Split the seen species into three disjoint folds of validation classes, by their names.

    Within a family the seen species are dealt to the folds in an order that depends on their names
    alone, and each family goes on where the one before it stopped: folds are of equal size and
    spread over the families, and the other two folds show every attribute value of the third.

    Examples
    --------
    >>> [len(fold) for fold in validation_folds()]
    [15, 15, 15]
    """

    def place(species: Species) -> tuple[str, bytes]:
        return species.family, hashlib.sha256(f"{_DEAL} {species.name}".encode()).digest()

    seen = sorted((species for species in SPECIES if not species.unseen), key=place)
    return tuple(tuple(species.name for species in seen[fold::3]) for fold in range(3))
