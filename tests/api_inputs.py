"""Inputs that a caller may give for an argument: the same in other forms, wrong, or odd."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

SAME, REFUSED, ANY = "same", "refused", "any"


class Given(NamedTuple):
    """A value, what it is called, and what must come of it.

    ``SAME``: the answer of the canonical value. ``REFUSED``: an error of one line. ``ANY``: an
    error of one line, or an answer that is finite and right in itself.
    """

    label: str
    value: Any
    expected: str


class Framed:
    """Something with a table inside, as a DataFrame is."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self.shape = values.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        del copy
        return np.asarray(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)


NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    7,
    2.5,
    0.5,
    1.5,
    -0.5,
    0.0,
    1.0,
    1e-300,
    1e300,
    -1e300,
    1e12,
    100,
    2**31,
    2**70,
    -(2**70),
    np.float32(0.5),
    np.float64(0.5),
    np.int64(2),
    np.uint8(3),
    np.array(1),
    np.array([1.0]),
    1j,
    np.nan,
    np.inf,
    -np.inf,
    np.float32("nan"),
    True,
    False,
    np.True_,
    None,
    "3",
    "0.5",
    "x",
    "",
    "a\nb",
    b"x",
    [],
    [1],
    [0.5, 0.5],
    (1, 2),
    {},
    {"a": 1},
    {1},
    object,
    print,
]

NEVER_NUMBERS = [
    "3",
    "x",
    "",
    b"x",
    [],
    [1],
    (1, 2),
    {},
    {"a": 1},
    1j,
    np.nan,
    np.inf,
    -np.inf,
    True,
    np.True_,
    object,
    print,
    np.array([1.0]),
]


def parameter(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield values of a parameter, whatever its range."""
    del value, rng
    for number in NUMBERS:
        yield Given(repr(number)[:30], number, ANY)


def count(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield values of a number of things, at least 1."""
    yield Given("int64", np.int64(value), SAME)
    yield Given("uint16", np.uint16(value), SAME)
    for wrong in (
        0,
        -1,
        -int(rng.integers(2, 99)),
        1.5,
        float(value),
        None,
        -(2**70),
        *NEVER_NUMBERS,
    ):
        yield Given(repr(wrong)[:30], wrong, REFUSED)
    for large in (10**6, 2**62):
        yield Given(repr(large), large, ANY)


def share(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield values of a number from 0 to 1."""
    yield Given("float32", np.float32(value), ANY)
    yield Given("float64", np.float64(value), SAME)
    for wrong in (-0.1, 1.1, 1e300, *NEVER_NUMBERS, -float(rng.uniform(1, 9))):
        yield Given(repr(wrong)[:30], wrong, REFUSED)
    for end in (0, 1, 0.0, 1.0, 1e-300):
        yield Given(repr(end), end, ANY)


def matrix(value: np.ndarray, rng: np.random.Generator) -> Iterator[Given]:
    """Yield matrices: in other forms, of other shapes and types, and with odd numbers in them."""
    n, d = value.shape
    row, column = int(rng.integers(n)), int(rng.integers(d))

    def holding(number: float) -> np.ndarray:
        changed = np.array(value, dtype=np.float64)
        changed[row, column] = number
        return changed

    frozen = value.copy()
    frozen.flags.writeable = False
    wide = np.zeros((2 * n, 2 * d))
    wide[::2, ::2] = value
    yield from (
        Given("Fortran order", np.asfortranarray(value), SAME),
        Given("list", value.tolist(), SAME),
        Given("tuple", tuple(map(tuple, value.tolist())), SAME),
        Given("read-only", frozen, SAME),
        Given("strided", wide[::2, ::2], SAME),
        Given("turned", value[::-1].copy()[::-1], SAME),
        Given("other byte order", value.astype(value.dtype.newbyteorder()), SAME),
        Given("long double", value.astype(np.longdouble), SAME),
        Given("resize_to_square", Framed(value), SAME),
        Given("list of arrays", list(value), SAME),
        Given("numbers as objects", value.astype(object), ANY),
        Given("float32", value.astype(np.float32), SAME),
        Given("float16", value.astype(np.float16), ANY),
        Given("whole numbers", np.round(4 * value).astype(np.int64), ANY),
        Given("small integers", np.round(4 * value).astype(np.int8), ANY),
        Given("booleans", value > 0, ANY),
        Given("masked", np.ma.masked_array(value, value > 9), ANY),
        Given("sparse", sp.csr_array(value), ANY),
        Given("zeros", np.zeros_like(value), ANY),
        Given("a row of zeros", np.where(np.arange(n)[:, None] == row, 0, value), ANY),
        Given("constant", np.full_like(value, rng.normal()), ANY),
        Given("equal rows", np.tile(value[row], (n, 1)), ANY),
        Given("one column", value[:, :1], ANY),
        Given("one row", value[:1], ANY),
        Given("1e300", holding(1e300), ANY),
        Given("all 1e300", np.sign(value) * 1e300, ANY),
        Given("all 1e200", value * 1e200, ANY),
        Given("float32 of 1e38", (value * 1e38).astype(np.float32), ANY),
        Given("1e-300", value * 1e-300, ANY),
        Given("1e-160", value * 1e-160, ANY),
        Given("subnormal", np.full_like(value, 5e-324), ANY),
        Given("-0.0", np.full_like(value, -0.0), ANY),
        Given("NaN", holding(np.nan), REFUSED),
        Given("infinity", holding(np.inf), REFUSED),
        Given("minus infinity", holding(-np.inf), REFUSED),
        Given("all NaN", np.full_like(value, np.nan), REFUSED),
        Given("no dimension", np.float64(rng.normal()), REFUSED),
        Given("a row alone", value[row], REFUSED),
        Given("three dimensions", value[:, :, None], REFUSED),
        Given("no rows", value[:0], REFUSED),
        Given("no columns", value[:, :0], REFUSED),
        Given("empty list", [], REFUSED),
        Given("ragged", [list(r[: 1 + i % d]) for i, r in enumerate(value)], REFUSED),
        Given("complex", value + 1j, REFUSED),
        Given("words", np.full(value.shape, "word"), REFUSED),
        Given("objects", np.full(value.shape, None), REFUSED),
        Given("dates", np.zeros(value.shape, "M8[s]"), REFUSED),
        Given("a number", 3, REFUSED),
        Given("a word", "features", REFUSED),
        Given("None", None, REFUSED),
        Given("a set", {1.0, 2.0}, REFUSED),
        Given("a function", print, REFUSED),
    )


def labels(value: np.ndarray, rng: np.random.Generator) -> Iterator[Given]:
    """Yield classes of samples by position."""
    n = len(value)
    at = int(rng.integers(n))
    unknown, below, odd = (value.copy() for _ in range(3))
    unknown[at], below[at] = 99, -7
    twice = np.repeat(value, 2)
    yield from (
        Given("list", value.tolist(), SAME),
        Given("tuple", tuple(value.tolist()), SAME),
        Given("int32", value.astype(np.int32), SAME),
        Given("uint8", value.astype(np.uint8), SAME),
        Given("strided", twice[::2], SAME),
        Given("whole floats", value.astype(float), ANY),
        Given("booleans", value > 2, ANY),
        Given("one class", np.full_like(value, odd[at]), ANY),
        Given("digits", value.astype(str), ANY),
        Given("unknown", unknown, REFUSED),
        Given("negative", below, REFUSED),
        Given("fewer", value[:-1], REFUSED),
        Given("more", np.append(value, 0), REFUSED),
        Given("none", value[:0], REFUSED),
        Given("empty list", [], REFUSED),
        Given("a table", np.tile(value[:, None], (1, 2)), REFUSED),
        Given("fractions", value + 0.5, REFUSED),
        Given("NaN", np.where(np.arange(n) == at, np.nan, value), REFUSED),
        Given("infinity", np.where(np.arange(n) == at, np.inf, value), REFUSED),
        Given("complex", value + 1j, REFUSED),
        Given("a mixture", [*value[:-1].tolist(), "word"], REFUSED),
        Given("lists", [*([i] for i in value.tolist()[:-1]), [1, 2]], REFUSED),
        Given("None inside", [*value[:-1].tolist(), None], REFUSED),
        Given("None", None, REFUSED),
        Given("a number", 3, REFUSED),
        Given("a word", "classes", REFUSED),
        Given("dates", value.astype("M8[s]"), REFUSED),
        Given("large", np.where(np.arange(n) == at, 2.0**63, value), REFUSED),
    )


def texts(value: list[str], rng: np.random.Generator) -> Iterator[Given]:
    """Yield lists of different names."""
    at = int(rng.integers(1, len(value)))
    yield Given("tuple", tuple(value), SAME)
    yield Given("array", np.array(value), SAME)
    wrong = [
        value[:-1],
        [*value, "more"],
        [],
        "abc",
        3,
        [*value[:-1], 3],
        [*value[:-1], None],
        [*value[:-1], ""],
        [*value[:-1], " "],
        [*value[:-1], 1.5],
        [*value[:-1], b"x"],
        [*value[:-1], ["a"]],
        [value[at], *value[1:]],
    ]
    for names in wrong:
        yield Given(f"{names!r}"[-40:], names, REFUSED)


def nothing(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield things that are of no use anywhere."""
    del value, rng
    for thing in (3, "word", 1.5, [], {}, print, object(), True, np.zeros(3), b"x"):
        yield Given(repr(thing)[:20], thing, REFUSED)
