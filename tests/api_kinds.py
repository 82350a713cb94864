"""Inputs for arguments of one kind each: candidates, semantics, hierarchies, layers, paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from api_inputs import ANY, REFUSED, SAME, Given, labels, matrix, texts
from api_problem import SEEN, C

Kind = Callable[[Any, np.random.Generator], Iterator[Given]]


def all_of(values: Any, expected: str) -> Iterator[Given]:
    """Yield values of which the same is expected."""
    for value in values:
        yield Given(repr(value)[:30], value, expected)


def without_table(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield classes that nothing lists: any number may be one."""
    for given in labels(value, rng):
        free = given.label in ("unknown", "negative")
        yield given._replace(expected=ANY) if free else given


def labels_alone(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield classes of samples that nothing else counts."""
    for given in without_table(value, rng):
        yield given._replace(expected=ANY) if given.label in ("fewer", "more") else given


def optional(kind: Kind) -> Kind:
    """Return the same inputs, but None may be left out."""

    def inputs(value: Any, rng: np.random.Generator) -> Iterator[Given]:
        for given in kind(value, rng):
            empty = given.value is None or (isinstance(given.value, list) and not given.value)
            yield given._replace(expected=ANY) if empty else given

    return inputs


def rows(value: np.ndarray, rng: np.random.Generator) -> Iterator[Given]:
    """Yield matrices where one row alone and none at all are welcome, too."""
    for given in matrix(value, rng):
        yield given._replace(expected=ANY) if given.label in ("a row alone", "no rows") else given


def any_texts(value: list[str], rng: np.random.Generator) -> Iterator[Given]:
    """Yield lists of names that are for messages alone."""
    for given in texts(value, rng):
        counted = isinstance(given.value, list) and len(given.value) == len(value)
        yield given._replace(expected=ANY) if counted else given


def candidates(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield candidates of a classifier whose classes are called by number."""
    some = rng.permutation(np.arange(SEEN, C))
    yield from all_of(
        (some, some.tolist(), tuple(some), [*some, *some], some.astype(np.int16)), SAME
    )
    yield from all_of(
        (
            "all",
            "seen",
            "base",
            "novel",
            [0],
            np.array([2, 7]),
            [0.0],
            ["6"],
            {6: 1},
            some > 6,
        ),
        ANY,
    )
    yield from all_of(
        (
            "unsen",
            "",
            [],
            [99],
            [-1],
            [[6]],
            6,
            6.5,
            [None],
            [np.nan],
            True,
            b"all",
            ["kind"],
            [6, "x"],
            np.empty(0),
            {},
            print,
            [6, [7]],
        ),
        REFUSED,
    )


def semantics(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield semantics of all classes: as a matrix, or by name."""
    at = int(rng.integers(SEEN))
    for given in matrix(value, rng):
        known = given.label in ("None", "one row", "one column")  # None: no semantics at all
        yield given._replace(expected=ANY) if known else given
    zero = value.copy()
    zero[at] = 0
    yield Given("a class of zeros", zero, ANY)
    yield Given("numbers by number", dict(enumerate(value)), SAME)
    yield Given("texts", dict(zip(map(str, range(C)), value, strict=True)), ANY)
    yield Given("floats", {float(i): row for i, row in enumerate(value)}, ANY)
    yield from all_of(
        (
            {},
            {0: value[0], "a": value[1]},
            {None: value[0], 1: value[1]},
            {(0, 1): value[0]},
            {i: row[: 1 + i] for i, row in enumerate(value)},
            dict.fromkeys(range(C), "word"),
            dict.fromkeys(range(C)),
            {True: value[0], False: value[1]},
        ),
        REFUSED,
    )


def steps(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield steps of normalization."""
    yield from all_of(
        (
            "",
            "unity",
            "whiten",
            "whiten0",
            "whiten.",
            "whiten-1",
            "whitennan",
            "unit-",
            "-unit",
            "whiten1e9",
            "whiten" + "9" * 400,
            "power unit",
            "UNIT",
            "unit2",
            "whiten٣",
            3,
            None,
            ["unit"],
            b"unit",
            True,
            "unit\n",
            np.nan,
        ),
        REFUSED,
    )
    yield from all_of(
        (
            "none",
            "unit",
            "center",
            "power",
            "whiten3",
            "whiten0.0001",
            "whiten.5",
            "whiten5.",
            "unit-unit-unit",
            "center-whiten1000000-power-unit",
            "power-power-power",
        ),
        ANY,
    )


def square(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield graphs over samples."""
    dense = value.toarray()
    yield Given("dense", dense, SAME)
    yield Given("coordinates", sp.coo_matrix(value), SAME)
    yield from all_of(
        (
            dense[:-1],
            -dense,
            dense * np.nan,
            dense + 1j,
            np.triu(dense),
            dense[0],
            3,
            "word",
            None,
            dense * np.inf,
            sp.csr_array(dense.astype(object) == 3)[:2],
        ),
        REFUSED,
    )


def blocks(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield arrays of more dimensions than two."""
    hole = value.copy()
    hole.flat[int(rng.integers(value.size))] = np.nan
    yield Given("list", value.tolist(), SAME)
    yield Given("Fortran order", np.asfortranarray(value), SAME)
    yield Given("zeros", 0 * value, ANY)
    yield Given("1e-300", 1e-300 * value, ANY)
    yield Given("1e200", 1e200 * value, ANY)
    yield from all_of(
        (
            hole,
            value * np.inf,
            value[0],
            value[None],
            value[:0],
            value[..., :0],
            value + 1j,
            3,
            None,
            "word",
            value.astype(str),
            value[..., :-1],
            np.concatenate([value, value]),
        ),
        REFUSED,
    )


def numbers(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield lists of numbers."""
    yield Given("list", value.tolist(), SAME)
    yield Given("float32", value.astype(np.float32), SAME)
    yield from all_of(
        (
            [],
            value * np.nan,
            value[:, None],
            3,
            None,
            "word",
            value + 1j,
            ["1"],
            [[1], [1, 2]],
        ),
        REFUSED,
    )


def positions(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield positions of classes, each once."""
    yield Given("list", value.tolist(), SAME)
    yield Given("int16", value.astype(np.int16), SAME)
    yield from all_of(
        (
            [],
            value + 0.5,
            value + 99,
            value - 99,
            value[:, None],
            3,
            None,
            "word",
            [None],
            value + 1j,
            np.where(value == value[0], np.nan, value),
            ["a"],
            [[1], [1, 2]],
            [2**70],
        ),
        REFUSED,
    )
