"""A hierarchy beside classes that are listed elsewhere: matched by name, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from zerokin.errors import InvalidInput, did_you_mean, shown
from zerokin.hierarchy.checks import checked_names
from zerokin.hierarchy.class_hierarchy import ClassHierarchy
from zerokin.parameters import is_whole


def aligned_hierarchy(
    hierarchy: ClassHierarchy,
    names: Sequence[object] | NDArray[Any],
    *,
    beside: str = "semantics",
) -> ClassHierarchy:
    """Return a hierarchy whose classes are in the order of the names.

    Classes are matched by name. Where one side has no names of its own (a hierarchy with its
    default names, classes that are called by their row, 0 to C - 1), the order counts as it is.

    Parameters
    ----------
    hierarchy
        Superclasses over the same classes, in any order.
    names
        C names, in the order wanted.
    beside
        What lists the names, for messages.

    Examples
    --------
    >>> tree = ClassHierarchy([[0, 0, 1]], names=["lynx", "puma", "wren"])
    >>> aligned_hierarchy(tree, ["wren", "lynx", "puma"]).labels(1)
    array([1, 0, 0])
    >>> aligned_hierarchy(tree, ["wren", "lynx", "wolf"])
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: the hierarchy has no class 'wolf', which is class 2 of ...
    """
    if not isinstance(hierarchy, ClassHierarchy):
        raise InvalidInput(f"hierarchy must be a ClassHierarchy: got {shown(hierarchy)}")
    if hierarchy.n_classes != len(names):
        raise InvalidInput(
            f"the hierarchy has {hierarchy.n_classes} classes, but {beside} {len(names)}"
        )
    wanted = tuple(map(str, names))
    if wanted == hierarchy.names:
        return hierarchy
    known = set(hierarchy.names)
    absent = next((i for i, name in enumerate(wanted) if name not in known), None)
    if absent is None and len(set(wanted)) == len(wanted):
        return hierarchy.select(wanted)
    unnamed = hierarchy.names == checked_names(None, hierarchy.n_classes)
    if unnamed or all(is_whole(name) and name == row for row, name in enumerate(names)):
        return hierarchy
    name = wanted[absent or 0]
    raise InvalidInput(
        f"the hierarchy has no class {shown(name)}, which is class {absent} of {beside}"
        f"{did_you_mean(name, hierarchy.names)}: build it with names= of the same classes"
    )


def renamed_hierarchy(hierarchy: ClassHierarchy, names: Sequence[str]) -> ClassHierarchy:
    """Return the same hierarchy with other names of its classes."""
    return hierarchy.replace(names=names)
