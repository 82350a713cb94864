"""Inputs for arguments of hierarchies: layers, paths, and choices of classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from api_inputs import ANY, REFUSED, SAME, Given, nothing
from api_kinds import all_of
from api_problem import NAMES, TREE, C, Z
from zerokin.hierarchy import ClassHierarchy


def hierarchy(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield hierarchies beside classes that are called by number."""
    order = rng.permutation(C)
    by_number = ClassHierarchy.from_semantics(Z, names=[str(i) for i in range(C)])
    yield Given("none", None, ANY)
    yield Given("named otherwise", TREE, SAME)
    yield Given("in another order", by_number.select(order), SAME)
    yield Given("some classes", TREE.select(range(4)), REFUSED)
    yield from (given for given in nothing(value, rng))


def layers(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield layers of superclasses."""
    yield Given("arrays", [np.array(layer) for layer in value], SAME)
    yield Given("matrix", np.array(value), SAME)
    yield from all_of(
        (
            [],
            [[]],
            [[0, 1]],
            [value[0], value[0][:-1]],
            [[0.0] * C],
            [["a"] * C],
            [[-1] * C],
            [[99] * C],
            [[1] * C],
            3,
            None,
            "ab",
            [None],
            [3],
            [[None] * C],
            [[True] * C],
            [[[0]] * C],
            [value[1], value[0]],
            {0: value[0]},
            [[np.nan] * C],
            [[2**70] * C],
        ),
        REFUSED,
    )


def layers_chosen(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield choices of superclass layers."""
    yield from all_of(((1,), np.array([1]), {1}, iter([1]), [1, 1], [np.int64(1)]), SAME)
    yield from all_of(
        (
            [],
            [0],
            [9],
            [-1],
            "1",
            1,
            None,
            [1.0],
            ["1"],
            [None],
            [[1]],
            [np.nan],
            [True],
            2.5,
        ),
        REFUSED,
    )


def paths(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield taxonomies."""
    yield Given("tuples", tuple(map(tuple, value)), SAME)
    yield Given("longer", [[*path, f"{i}"] for i, path in enumerate(value)], ANY)
    yield from all_of(
        (
            [],
            3,
            None,
            "ab",
            ["ab"] * C,
            [[]] * C,
            [None] * C,
            [[3]] * C,
            [["a"]] * C,
            [[f"{i}"] for i in range(C)],
            value[:-1],
            [*value, ["x"]],
            [[None]] * C,
            [["", None]] * C,
            [{"a": 1}] * C,
            [["a", 2.5]] * C,
        ),
        REFUSED,
    )


def any_paths(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield taxonomies that need not group classes."""
    for given in paths(value, rng):
        whole = isinstance(given.value, list) and all(
            isinstance(path, list) and all(isinstance(step, str) for step in path)
            for path in given.value
        )
        yield given._replace(expected=ANY) if whole else given


def classes_chosen(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield choices of a hierarchy's classes."""
    yield from all_of((tuple(value), np.array(value), [NAMES[i] for i in value], iter(value)), SAME)
    yield from all_of(
        (
            [],
            "kind a",
            [99],
            [-1],
            [0, 0],
            [0, "kind a"],
            [None],
            [0.5],
            [np.nan],
            3,
            None,
            [True, False],
            [[0]],
            ["kind"],
            [True] * (C + 1),
            {"a": 1},
            2.5,
            [1, [2]],
        ),
        REFUSED,
    )
