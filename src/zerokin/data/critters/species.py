"""The sixty species of Critters: a field guide as a table, and its validation folds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from zerokin.data.critters.attributes import FLAGS, VALUES, encode
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
        A value for each of the attributes in `zerokin.data.critters.attributes.VALUES`.
    unseen
        Whether it is one of the classes that training has no pictures of.
    """

    name: str
    order: str
    family: str
    attributes: Mapping[str, str]
    unseen: bool

    @property
    def key(self) -> int:
        """A number that depends on the name alone, so that a new row moves no other picture."""
        return int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "big")


# What an attribute is when neither the family nor the species says otherwise.
_USUAL = "size=medium neck=short stance=low legs=none feet=none wings=none back=none horns=none "
_USUAL += "ears=none eyes=two mouth=smile tail=none"

# A family line: "family, order: what its members share". A species line, under it, opens with
# coat, accent, pattern, skin and habitat; then what it has of its own. A bare word is a flag.
# A star marks the unseen.
_FIELD_GUIDE = """
trundles, striders: body=round legs=four feet=paws mouth=snout
    mossback trundle:    moss cream plain fur forest      ears=round back=plates tail=club size=large belly
    bramble trundle:     russet cream plain spines forest ears=round mask size=small
    honey mumbler:       gold charcoal stripes fur meadow ears=floppy tail=bushy cheeks belly
  * frostnose trundle:   cream sky patches fur snow       ears=round horns=stubs tail=bushy size=large ruff
  * plum mumbler:        violet lemon spots spines meadow ears=pointed horns=curled tail=curl big-eyes
    gravel mumbler:      slate coral spots scales desert  horns=curled tail=club tusks socks
lopers, striders: body=long legs=four feet=hooves stance=high neck=long
    dapple loper:        gold cream spots fur meadow      ears=pointed horns=antlers tail=bushy belly
    cinder loper:        slate coral stripes smooth desert ears=pointed horns=single tail=whip crest socks
    tundra loper:        cream charcoal patches fur snow  ears=floppy horns=antlers size=large ruff
  * willow prancet:      moss lemon stripes smooth forest ears=long tail=bushy socks cheeks
    dawn prancet:        rose cream plain smooth meadow   ears=long horns=single tail=curl crest size=small
  * marsh prancet:       teal cream patches scales shore  ears=floppy horns=curled tail=whip mouth=snout mask
snufflers, striders: body=humped legs=four feet=paws mouth=trunk
    dune snuffler:       gold coral plain smooth desert   ears=round tail=whip size=large tusks
    pebble snuffler:     slate cream spots smooth shore   ears=floppy tail=club tusks belly
    thicket snorkel:     russet charcoal stripes fur forest ears=floppy tail=bushy crest back=plates
  * rime snorkel:        cream charcoal spots fur snow    ears=long horns=stubs tail=curl size=small cheeks
    velvet snorkel:      violet coral patches fur cave    ears=round horns=stubs tail=curl big-eyes socks
    lichen snuffler:     teal lemon patches scales cave   horns=single back=plates tail=club lantern
puffets, flutterers: body=round legs=two feet=paws wings=feathered mouth=beak
    apricot puffet:      rose cream plain fur meadow      tail=fan size=small crest cheeks
    inkcap puffet:       slate charcoal spots smooth forest tail=fan big-eyes mask feet=webbed
  * bellflower puffet:   violet sky stripes fur meadow    tail=bushy crest belly size=small
    gale chirrup:        teal cream stripes smooth shore  tail=whip feet=webbed belly ruff size=large
    hearth chirrup:      russet lemon patches fur snow    ears=pointed tail=fan socks belly
  * thistle chirrup:     moss coral plain spines forest   ears=pointed horns=single tail=fan mask
flapkins, flutterers: body=upright legs=two feet=paws wings=leather
    gloaming flapkin:    violet charcoal plain fur cave   ears=long tail=whip size=small big-eyes
    sootwing flapkin:    slate coral patches fur cave     ears=pointed horns=stubs tail=curl tusks
    orchard flapkin:     russet lemon stripes smooth forest ears=round tail=whip belly big-eyes
  * brine hobble:        teal coral spots scales shore    ears=pointed tail=club feet=webbed belly
    rosy hobble:         rose sky spots fur meadow        ears=long tail=none ruff cheeks
    moonlit hobble:      cream charcoal stripes spines snow ears=round tail=bushy eyes=one lantern
stiltlings, flutterers: body=long legs=two feet=webbed stance=high neck=long mouth=beak
    reed stiltling:      moss cream stripes smooth shore  tail=fan crest size=large
    saffron stiltling:   gold charcoal plain fur desert   tail=bushy socks cheeks
    copper stiltling:    russet sky patches scales desert tail=whip horns=single mask
  * twilight wadekin:    violet coral spots smooth cave   tail=fan crest big-eyes lantern
    foam wadekin:        cream coral spots smooth shore   tail=fan ruff belly size=small
    cobble wadekin:      slate sky plain scales snow      tail=club ears=pointed crest
dombles, crawlers: body=humped legs=six feet=paws back=shell mouth=pincers
    clover domble:       moss lemon spots smooth meadow   antennae cheeks size=small
    garnet domble:       rose charcoal stripes scales forest antennae horns=single mask
    tidepool domble:     teal coral plain smooth shore    stalked-eyes antennae size=large
  * marble scuttler:     cream sky patches smooth cave    antennae eyes=three tail=whip
    dusty scuttler:      gold sky plain spines desert     horns=curled eyes=one tail=club
    glimmer scuttler:    violet sky spots scales cave     stalked-eyes eyes=three lantern
gauzels, crawlers: body=long legs=six feet=paws wings=gauzy
    lilac gauzel:        violet cream stripes smooth meadow stalked-eyes tail=whip
    amber gauzel:        gold charcoal stripes fur meadow antennae tail=club big-eyes size=small
    mist gauzel:         slate sky plain smooth snow      antennae tail=fan eyes=three ruff
  * fern zizzer:         moss cream spots smooth forest   stalked-eyes tail=club size=small mouth=pincers
    coral zizzer:        rose lemon patches scales shore  stalked-eyes tail=whip mouth=pincers cheeks
  * canyon zizzer:       russet lemon stripes spines desert antennae tail=whip eyes=one horns=stubs
ribbonets, gliders: body=snake
    silk ribbonet:       rose cream stripes smooth meadow tail=bushy ruff ears=pointed
    bracken ribbonet:    moss charcoal patches scales forest horns=stubs tail=whip belly
    opal ribbonet:       cream sky spots smooth cave      fins lantern tail=fan eyes=three
  * tawny slipknot:      gold coral spots scales desert   horns=curled tail=club belly
    cavern slipknot:     violet lemon plain spines cave   antennae eyes=one tail=bushy
  * glacier slipknot:    teal sky plain fur snow          ears=long tail=fan ruff crest
bobbers, gliders: body=round fins
    lagoon bobber:       teal lemon stripes smooth shore  tail=fan back=sail big-eyes
    peach bobber:        rose coral spots scales shore    tail=fan back=sail cheeks size=small
    kelp bobber:         moss charcoal patches scales forest tail=whip lantern eyes=one
  * polar blubb:         slate cream plain fur snow       tail=fan tusks belly big-eyes size=large
    cinnamon blubb:      russet cream patches fur snow    tail=club tusks ears=round belly
    thunder blubb:       gold sky stripes spines cave     tail=curl back=sail horns=stubs lantern
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
    found: list[Species] = []
    order, family, shared = "", "", usual
    for line in guide.strip().splitlines():
        head, words = (part.strip() for part in line.split(":"))
        if not line.startswith(" "):
            family, order = head.split(", ")
            shared = usual | _read(words)
            continue
        *first, rest = words.split(maxsplit=5)
        opening = zip(("coat", "accent", "pattern", "skin", "habitat"), first, strict=True)
        own = _read(" ".join(f"{group}={value}" for group, value in opening) + " " + rest)
        attributes = shared | own
        found.append(
            Species(
                name=head.removeprefix("* "),
                order=order,
                family=family,
                attributes=MappingProxyType({group: attributes[group] for group in VALUES}),
                unseen=head.startswith("*"),
            )
        )
    return tuple(found)


SPECIES: tuple[Species, ...] = _parse(_FIELD_GUIDE)


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


def validation_folds(n_folds: int = 3) -> tuple[tuple[str, ...], ...]:
    """Split the seen species into disjoint folds of validation classes, by their names.

    Within a family the seen species are dealt to the folds in the order of their keys, and each
    family goes on where the one before it stopped: folds are of equal size and spread over families.

    Examples
    --------
    >>> [len(fold) for fold in validation_folds()]
    [15, 15, 15]
    """
    seen = sorted((s for s in SPECIES if not s.unseen), key=lambda s: (s.family, s.key))
    return tuple(tuple(s.name for s in seen[fold::n_folds]) for fold in range(n_folds))
