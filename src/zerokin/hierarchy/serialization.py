"""Hierarchies as JSON files: what is written, and how every part is checked when read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.files import existing, replacing
from zerokin.hierarchy.checks import checked_labels, checked_names, checked_semantics

FORMAT = "zerokin-hierarchy"
VERSION = 2
FIELDS = ("format", "version", "names", "layers", "semantics")
RANKS = "ranks"
"""Of version 2: what the layers are called. Without, files are written as version 1."""


def write_hierarchy(
    path: str | os.PathLike[str],
    *,
    names: tuple[str, ...],
    layers: list[NDArray[np.int64]],
    node_names: list[tuple[str, ...]] | None,
    semantics: NDArray[np.float64] | None,
    ranks: tuple[str, ...] | None = None,
) -> None:
    """Write a hierarchy; floats are written with as many digits as bring them back exactly."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": 1 if ranks is None else VERSION,
        "names": list(names),
        "layers": [
            {"labels": labels.tolist(), "node_names": node_names[i] if node_names else None}
            for i, labels in enumerate(layers)
        ],
        "semantics": None if semantics is None else semantics.tolist(),
        **({} if ranks is None else {RANKS: list(ranks)}),
    }
    # A line per field: the file stays readable without spreading each vector over many lines.
    fields = [f"{json.dumps(field)}: {json.dumps(value)}" for field, value in content.items()]
    with replacing(path) as temporary:
        temporary.write_text("{" + ",\n ".join(fields) + "}\n", encoding="utf-8")


def read_hierarchy(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what `write_hierarchy` wrote, trusting nothing in it.

    Returns
    -------
    dict
        ``names``, ``layers``, ``node_names``, ``semantics`` and ``ranks``, checked.

    Raises
    ------
    InvalidInput
        Naming the file and the field that is wrong.
    """
    path = existing(path, "hierarchy", "save one with ClassHierarchy.save")
    try:
        return _checked(_parsed(path))
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


def _parsed(path: Path) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not a number")

    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not a JSON file: {error}") from None


def _checked(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidInput(f"format: not a saved hierarchy, whose format is {FORMAT!r}")
    version = content.get("version")
    if type(version) is not int or version < 1:
        raise InvalidInput(f"version: {version!r} is not a version, such as {VERSION}")
    if version > VERSION:
        raise InvalidInput(
            f"version: {version} is newer than {VERSION}, the newest known here: update zerokin"
        )
    for field in FIELDS:
        if field not in content:
            raise InvalidInput(f"{field}: missing")
    for field in content:
        if field not in FIELDS and not (field == RANKS and version > 1):
            raise InvalidInput(f"{field}: unknown field")
    names = _names(content["names"])
    layers, node_names = _layers(content["layers"], len(names))
    semantics = _semantics(content["semantics"], len(names))
    ranks = content.get(RANKS)
    if ranks is not None:
        _list(ranks, RANKS)
        ranks = _within(RANKS, checked_names, ranks, len(layers), what="rank")
    return {
        "names": names,
        "layers": layers,
        "node_names": node_names,
        "semantics": semantics,
        "ranks": ranks,
    }


def _names(given: Any) -> tuple[str, ...]:
    names = _list(given, "names")
    if not names:
        raise InvalidInput("names: there are no classes")
    checked: tuple[str, ...] = _within("names", checked_names, names, len(names))
    return checked


def _layers(
    given: Any, n_classes: int
) -> tuple[list[NDArray[np.int64]], list[tuple[str, ...]] | None]:
    labels, node_names = [], []
    for i, layer in enumerate(_list(given, "layers")):
        here = f"layers[{i}]"
        if not isinstance(layer, dict) or set(layer) != {"labels", "node_names"}:
            raise InvalidInput(f"{here}: 'labels' and 'node_names' are needed, and nothing else")
        for k, label in enumerate(_list(layer["labels"], f"{here}.labels")):
            # Python's integers have no end: numpy is only given those that can be right.
            if type(label) is not int or not 0 <= label < n_classes:
                raise InvalidInput(
                    f"{here}.labels[{k}]: {label!r} is not a node "
                    f"(a whole number from 0 to {n_classes - 1} at most)"
                )
        if len(layer["labels"]) != n_classes:
            raise InvalidInput(
                f"{here}.labels: {len(layer['labels'])} labels for {n_classes} classes"
            )
        labels.append(np.array(layer["labels"], dtype=np.int64))
        node_names.append(layer["node_names"])
    checked: list[NDArray[np.int64]] = _within("layers", checked_labels, labels, n_classes)
    if all(names is None for names in node_names):
        return checked, None
    named = []
    for i, (names, layer) in enumerate(zip(node_names, checked, strict=True)):
        here = f"layers[{i}].node_names"
        size = int(layer.max()) + 1
        _list(names, here)
        named.append(_within(here, checked_names, names, size, what="node"))
    return checked, named


def _semantics(given: Any, n_classes: int) -> NDArray[np.float64] | None:
    if given is None:
        return None
    rows = _list(given, "semantics")
    if len(rows) != n_classes:
        raise InvalidInput(f"semantics: {len(rows)} vectors for {n_classes} classes")
    for i, row in enumerate(rows):
        for k, value in enumerate(_list(row, f"semantics[{i}]")):
            if type(value) not in (int, float):
                raise InvalidInput(f"semantics[{i}][{k}]: {value!r} is not a number")
        if len(row) != len(rows[0]):
            raise InvalidInput(
                f"semantics[{i}]: {len(row)} numbers, but the first vector has {len(rows[0])}"
            )
    try:
        as_floats = np.array(rows, dtype=np.float64)
    except OverflowError:
        raise InvalidInput("semantics: holds a whole number too large for a float") from None
    checked: NDArray[np.float64] = _within("semantics", checked_semantics, as_floats)
    return checked


def _list(given: Any, field: str) -> list[Any]:
    if not isinstance(given, list):
        raise InvalidInput(f"{field}: a list is needed")
    return given


def _within(field: str, check: Any, *arguments: Any, **options: Any) -> Any:
    """Put the field's name before whatever a check says."""
    try:
        return check(*arguments, **options)
    except InvalidInput as error:
        raise InvalidInput(f"{field}: {error}") from None
