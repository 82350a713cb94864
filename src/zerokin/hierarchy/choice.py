"""Which classes a caller means: indices, names or a mask."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput, did_you_mean, shown
from zerokin.matrices import plain_array


def chosen_classes(
    classes: Iterable[int] | Iterable[str] | NDArray[np.bool_], names: Sequence[str]
) -> NDArray[np.int64]:
    """Return class indices for indices, names or a boolean mask (C,), each class at most once.

    Examples
    --------
    >>> chosen_classes(["wren", "lynx"], ["lynx", "puma", "wren"])
    array([2, 0])
    >>> chosen_classes([True, False, True], ["lynx", "puma", "wren"])
    array([0, 2])
    """
    if isinstance(classes, str):
        raise InvalidInput(f"classes is the single word {classes!r}: put it in a list")
    if not isinstance(classes, Iterable) or (isinstance(classes, np.ndarray) and not classes.ndim):
        raise InvalidInput(f"classes must be a list of indices or names: got {shown(classes)}")
    given = classes if isinstance(classes, np.ndarray) else list(classes)
    if not len(given):
        return np.empty(0, dtype=np.int64)
    array = plain_array(given, "classes")
    if array.dtype == np.bool_:
        if array.shape != (len(names),):
            raise InvalidInput(f"a mask of shape {array.shape} cannot fit {len(names)} classes")
        return np.flatnonzero(array)
    if array.ndim == 1 and array.dtype.kind in "iu":
        indices = [int(i) for i in array]
        wrong = next((i for i in indices if not 0 <= i < len(names)), None)
        if wrong is not None:
            raise InvalidInput(f"there is no class {wrong}: classes are 0 to {len(names) - 1}")
    elif array.ndim == 1 and all(isinstance(name, str) for name in given):
        place = {name: i for i, name in enumerate(names)}
        absent = next((name for name in given if name not in place), None)
        if absent is not None:
            raise InvalidInput(f"unknown class {absent!r}{did_you_mean(str(absent), names)}")
        indices = [place[str(name)] for name in given]
    else:
        raise InvalidInput("classes must be indices, names or a boolean mask, not a mixture")
    first: set[int] = set()
    for i in indices:
        if i in first:
            raise InvalidInput(f"class {names[i]!r} was given twice (a mask must be boolean)")
        first.add(i)
    return np.array(indices, dtype=np.int64)
