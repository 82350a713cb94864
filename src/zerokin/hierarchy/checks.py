"""What is checked before anything is built: numbers, class vectors and names."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zerokin.errors import InvalidInput, listing
from zerokin.matrices import plain_array


def checked_integer(value: object, what: str) -> int:
    """Return ``value`` as an int; floats, booleans and words are errors that name ``what``."""
    if not isinstance(value, (bool, np.bool_)):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            pass
    raise InvalidInput(f"{what} is {value!r}: it must be a whole number")


def checked_semantics(vectors: ArrayLike) -> NDArray[np.float64]:
    """Return class vectors as a fresh (C, d_z) array of finite float64.

    Examples
    --------
    >>> checked_semantics([[1.0, float("nan")]])
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: the vector of class 0 holds nan at position 1: ...
    """
    try:
        given = np.asarray(vectors)
        if given.dtype.kind not in "fiub":
            raise TypeError
        # Adding zero turns -0.0 into 0.0, so that equal vectors are equal bit for bit.
        Z = np.array(given, dtype=np.float64, order="C") + 0.0
    except (TypeError, ValueError):
        raise InvalidInput(
            "class vectors must be numbers in one matrix (C, d_z) with rows of equal length"
        ) from None
    if Z.ndim != 2 or 0 in Z.shape:
        raise InvalidInput(
            f"class vectors have shape {Z.shape}: a matrix (C, d_z) with a row per class is needed"
        )
    wrong = np.argwhere(~np.isfinite(Z))
    if len(wrong):
        row, column = (int(i) for i in wrong[0])
        raise InvalidInput(
            f"the vector of class {row} holds {Z[row, column]} at position {column}: "
            "every number must be finite"
        )
    with np.errstate(over="ignore"):
        if not np.isfinite(np.abs(Z).sum(axis=0)).all():
            raise InvalidInput("class vectors are too large to average: scale them down")
    return Z


def checked_names(
    names: Sequence[str] | None, n_classes: int, *, what: str = "class"
) -> tuple[str, ...]:
    """Return one distinct, non-empty name per class; ``None`` gives ``"class 00"``, ….

    ``what`` is named, for messages: classes, or nodes.

    Examples
    --------
    >>> checked_names(["lynx", "puma", "lynx"], 3)
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: class names must differ: 'lynx' stands at 0 and at 2
    """
    if names is None:
        # Equal widths, so that sorting by name keeps the order in which classes were listed.
        width = len(str(n_classes - 1))
        return tuple(f"{what} {i:0{width}}" for i in range(n_classes))
    if isinstance(names, str):
        raise InvalidInput(f"names is the single word {names!r}: give one name per {what}")
    if not isinstance(names, Iterable):
        raise InvalidInput(f"names must be a list, one name per {what}: got {names!r}")
    found: list[Any] = list(names)
    if len(found) != n_classes:
        plural = "classes" if what == "class" else f"{what}s"
        raise InvalidInput(f"{len(found)} names were given for {n_classes} {plural}")
    first: dict[str, int] = {}
    for i, name in enumerate(found):
        if not isinstance(name, str) or not name.strip():
            raise InvalidInput(f"the name of {what} {i} is {name!r}: it must be a word")
        if name in first:
            raise InvalidInput(
                f"{what} names must differ: {name!r} stands at {first[name]} and at {i}"
            )
        first[name] = i
    return tuple(str(name) for name in found)


def checked_labels(layers: Sequence[ArrayLike], n_classes: int) -> list[NDArray[np.int64]]:
    """Return the labels of every layer, each (C,), if together they form a hierarchy.

    Every layer's labels must be 0 … r_l - 1, each used, and two classes that share a node of
    one layer must share their nodes of all layers above.

    Examples
    --------
    >>> checked_labels([[0, 0, 1], [0, 1, 1]], 3)
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: layer 1: node 0 has two parents in layer 2, nodes 0 and 1
    """
    checked: list[NDArray[np.int64]] = []
    for layer, given in enumerate(layers, start=1):
        labels = plain_array(given, f"layer {layer}")
        if labels.shape != (n_classes,) or labels.dtype.kind not in "iu":
            raise InvalidInput(
                f"layer {layer}: labels have shape {labels.shape} and type {labels.dtype}: "
                f"one whole number for each of the {n_classes} classes is needed"
            )
        low, high = int(labels.min()), int(labels.max())
        if low < 0 or high >= n_classes:
            raise InvalidInput(
                f"layer {layer}: label {low if low < 0 else high} is out of range: "
                f"labels lie between 0 and at most {n_classes - 1}"
            )
        empty = np.flatnonzero(np.bincount(labels) == 0)
        if len(empty):
            raise InvalidInput(f"layer {layer}: no class belongs to node {listing(empty)}")
        checked.append(labels.astype(np.int64))
    if not checked:
        raise InvalidInput("a hierarchy needs at least one layer of superclasses")
    for layer, (below, above) in enumerate(pairwise(checked), start=1):
        parent = np.empty(below.max() + 1, dtype=np.int64)
        parent[below] = above
        torn = np.flatnonzero(parent[below] != above)
        if len(torn):
            i = torn[0]
            pair = sorted((int(parent[below[i]]), int(above[i])))
            raise InvalidInput(
                f"layer {layer}: node {below[i]} has two parents in layer {layer + 1}, "
                f"nodes {pair[0]} and {pair[1]}"
            )
    return checked
