"""What is odd about a class that is added: it works, but may not be meant."""

from __future__ import annotations

from collections.abc import Mapping

from zerokin.data.classes import ClassTable
from zerokin.errors import listing


def class_notes(
    name: str, classes: ClassTable, attributes: Mapping[str, float] | None = None
) -> list[str]:
    """Return a line for every oddity of a new class.

    Parameters
    ----------
    name
        Of the new class.
    classes
        Those that are known already.
    attributes
        Values by attribute, as a user gave them.

    Examples
    --------
    >>> import numpy as np
    >>> known = ClassTable(("Cardinal", "okapi"), np.eye(2), attribute_names=("red", "hooves"))
    >>> for note in class_notes("cardinal", known, {"red": 20}):
    ...     print(note)
    class 'cardinal': there is 'Cardinal' already, which differs by case or spaces alone
    class 'cardinal': red is 20, outside 0 to 1 of the other classes
    """
    notes = []
    same = [known for known in classes.names if _plain(known) == _plain(name)]
    if same:
        notes.append(
            f"class {name!r}: there is {same[0]!r} already, which differs by case or spaces alone"
        )
    odd = _outside(classes, attributes or {})
    if odd:
        notes.append(f"class {name!r}: {listing(odd, most=3)} of the other classes")
    return notes


def _plain(name: str) -> str:
    return "".join(name.casefold().split())


def _outside(classes: ClassTable, attributes: Mapping[str, float]) -> list[str]:
    names, vectors = classes.attribute_names, classes.vectors
    if names is None or vectors is None or not vectors.size:
        return []
    vectors = vectors[vectors.any(axis=1)]  # those of classes known by examples alone say nothing
    odd = []
    for attribute, value in attributes.items():
        column = vectors[:, names.index(attribute)]
        low, high = column.min(), column.max()
        if low == high:  # which tells no scale: that of all attributes does
            low, high = vectors.min(), vectors.max()
        if not low <= float(value) <= high:
            odd.append(f"{attribute} is {float(value):g}, outside {low:g} to {high:g}")
    return odd
