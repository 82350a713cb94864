"""How many superclasses each layer of a hierarchy has."""

from __future__ import annotations

from math import isqrt

from zerokin.errors import InvalidInput
from zerokin.hierarchy.checks import checked_integer


def layer_sizes(n_classes: int, branching: int) -> list[int]:
    """Return the number of nodes of every superclass layer, bottom to top.

    Layer l = 1, 2, … has r_l = ⌊C / t^l⌋ nodes, as long as r_l ≥ t.

    Parameters
    ----------
    n_classes
        C, the number of classes, seen and unseen together.
    branching
        t ≥ 2, roughly how many nodes of a layer share a parent.

    Returns
    -------
    list of int
        r_1 > r_2 > … > r_n ≥ t, never empty.

    Raises
    ------
    InvalidInput
        If t < 2, or if C < t², so that not even one layer has t nodes.

    Examples
    --------
    >>> layer_sizes(200, 3)
    [66, 22, 7]
    >>> layer_sizes(50, 2)
    [25, 12, 6, 3]
    """
    classes = checked_integer(n_classes, "n_classes")
    t = checked_integer(branching, "branching")
    if t < 2:
        raise InvalidInput(f"branching is {t}: a superclass layer needs branching of at least 2")
    if classes < t * t:
        largest = isqrt(max(classes, 0))
        remedy = f"branching of at most {largest}, or " if largest >= 2 else ""
        raise InvalidInput(
            f"{classes} classes are too few for branching {t}: "
            f"one superclass layer needs {remedy}at least {t * t} classes"
        )
    sizes = []
    size = classes // t
    while size >= t:
        sizes.append(size)
        # ⌊⌊C / t^l⌋ / t⌋ = ⌊C / t^(l+1)⌋ holds exactly in integers.
        size //= t
    return sizes
