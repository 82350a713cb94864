"""Parameter validation: declared ranges, and the one function that checks an object against them.

An estimator lists its parameters in ``_parameter_ranges``, a table of names and ranges, and calls
`check_parameters` when it is fitted; a frozen dataclass does so when it is made. What does not fit
is refused in one line that names the parameter, its range and what was given.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from zerokin.errors import InvalidInput, did_you_mean, listing, shown

LARGEST_INTEGER = 2**63 - 1
"""The largest whole number that NumPy, torch and saved files hold."""

LARGEST_SEED = 2**32 - 1
"""The largest seed of NumPy's ``RandomState``."""


LONGEST_PATH = 4096


class Range(Protocol):
    """What values a parameter may have."""

    def refusal(self, name: str, value: object) -> str | None:
        """Return the line that refuses a value of the parameter so called, or None if it fits."""


@dataclass(frozen=True)
class Real:
    """A finite real number in an interval; NumPy's scalars count, booleans and texts do not.

    Parameters
    ----------
    low, high
        Ends of the interval; None for none.
    closed
        Which ends belong to it.
    words
        What to say of numbers outside, such as ``"lie in [0, 1)"``; by default it is made. One
        with ``{name}`` and ``{value}`` in it is the whole line.

    Examples
    --------
    >>> print(Real(0, closed="neither").refusal("length_scale", 0.0))
    length_scale must be a number above 0: got 0.0
    >>> print(Real(0, 1, closed="left").refusal("alpha", float("nan")))
    alpha must be a number from 0 to below 1: got nan
    """

    low: float | None = None
    high: float | None = None
    closed: Literal["both", "left", "right", "neither"] = "both"
    words: str | None = None

    def refusal(self, name: str, value: object) -> str | None:
        """Return the line that refuses a value, or None if it fits."""
        number = is_real(value)
        if number and self._holds(value):  # type: ignore[arg-type]
            return None
        said = self.words or f"be {self._described()}"
        if "{value}" in said:
            return said.format(name=name, value=shown(value))
        if not number and "number" not in said:
            said = "be a number"
        # In YAML 1e-3 is a text and 1.0e-3 a number.
        hint = " (in YAML, 1.0e-3)" if isinstance(value, str) and "e" in value.lower() else ""
        return f"{name} must {said}: got {shown(value)}{hint}"

    def _holds(self, value: float) -> bool:
        if self.low is not None and (
            value < self.low or (value == self.low and self.closed in ("right", "neither"))
        ):
            return False
        return self.high is None or not (
            value > self.high or (value == self.high and self.closed in ("left", "neither"))
        )

    def _described(self) -> str:
        includes_low, includes_high = (
            self.closed in ("both", "left"),
            self.closed
            in (
                "both",
                "right",
            ),
        )
        low = None if self.low is None else f"{self.low:g}"
        high = None if self.high is None else f"{self.high:g}"
        if low is None and high is None:
            return "a finite number"
        if high is None:
            return f"a number of at least {low}" if includes_low else f"a number above {low}"
        top = high if includes_high else f"below {high}"
        if low is None:
            return f"a number of at most {high}" if includes_high else f"a number below {high}"
        if includes_low:
            return f"a number from {low} to {top}"
        return f"a number above {low} and {'at most ' if includes_high else ''}{top}"


@dataclass(frozen=True)
class Integer:
    """A whole number in a closed interval; NumPy's count, booleans, floats and texts do not.

    Parameters
    ----------
    low, high
        Ends of the interval; None for none above.
    words
        What to say of numbers outside, such as ``"be at least 1"``; by default it is made. One
        with ``{name}`` and ``{value}`` in it is the whole line.

    Examples
    --------
    >>> print(Integer(1).refusal("top_k", 2.0), Integer(1).refusal("top_k", np.int64(2)))
    top_k must be a whole number from 1: got 2.0 None
    """

    low: int = 0
    high: int | None = LARGEST_INTEGER
    words: str | None = None

    def refusal(self, name: str, value: object) -> str | None:
        """Return the line that refuses a value, or None if it fits."""
        whole = is_whole(value)
        if whole and self.low <= value and (self.high is None or value <= self.high):  # type: ignore[operator]
            return None
        top = "" if self.high in (None, LARGEST_INTEGER) else f" to {self.high:,}"
        said = self.words or f"be a whole number from {self.low}{top}"
        if "{value}" in said:
            return said.format(name=name, value=shown(value))
        if not whole and "whole number" not in said:
            said = "be a whole number"
        return f"{name} must {said}: got {shown(value)}"


@dataclass(frozen=True)
class OneOf:
    """One of a few texts.

    Parameters
    ----------
    values
        The texts.
    said
        What is said between a value that is not among them and their list.

    Examples
    --------
    >>> print(OneOf(["residual", "flat"]).refusal("inference", "flut"))
    inference='flut' is none of residual, flat; did you mean 'flat'?
    """

    values: Sequence[str]
    said: str = "is none of"

    def refusal(self, name: str, value: object) -> str | None:
        """Return the line that refuses a value, or None if it fits."""
        if isinstance(value, str) and value in self.values:
            return None
        known = listing(self.values, most=20)
        return f"{name}={shown(value)} {self.said} {known}{did_you_mean(value, self.values)}"


@dataclass(frozen=True)
class Boolean:
    """True or false, NumPy's included."""

    def refusal(self, name: str, value: object) -> str | None:
        """Return the line that refuses a value, or None if it fits."""
        if isinstance(value, bool | np.bool_):
            return None
        return f"{name} must be true or false: got {shown(value)}"


@dataclass(frozen=True)
class Text:
    """A text that is not empty and holds no control characters.

    Parameters
    ----------
    such_as
        An example, for the message.
    """

    such_as: str

    def refusal(self, name: str, value: object) -> str | None:
        """Return the line that refuses a value, or None if it fits."""
        if isinstance(value, str) and value and value.isprintable():
            return None
        return f"{name} must be a text such as {self.such_as!r}: got {shown(value)}"


@dataclass(frozen=True)
class PathLike:
    """A path of a file or folder, as a text or an ``os.PathLike``."""

    def refusal(self, name: str, value: object) -> str | None:
        """Return the line that refuses a value, or None if it fits."""
        try:
            path = os.fspath(value)  # type: ignore[call-overload]
        except TypeError:
            path = None
        if isinstance(path, str) and path and "\0" not in path and len(path) <= LONGEST_PATH:
            return None
        return f"{name} must be a path: got {shown(value)}"


@dataclass(frozen=True)
class InstanceOf:
    """An object of some class.

    Parameters
    ----------
    kinds
        The classes.
    called
        What such an object is called, with its article.
    """

    kinds: type | tuple[type, ...]
    called: str

    def refusal(self, name: str, value: object) -> str | None:
        """Return the line that refuses a value, or None if it fits."""
        if isinstance(value, self.kinds):
            return None
        return f"{name} must be {self.called}: got {shown(value)}"


@dataclass(frozen=True)
class Optional:
    """None, or what another range holds."""

    of: Range

    def refusal(self, name: str, value: object) -> str | None:
        """Return the line that refuses a value, or None if it fits."""
        said = None if value is None else self.of.refusal(name, value)
        if said is None or ": got " not in said:
            return said
        before, _, given = said.rpartition(": got ")
        return f"{before}, or None: got {given}"


@dataclass(frozen=True)
class Either:
    """What fits one of two ranges.

    Parameters
    ----------
    first, second
        The ranges.
    words
        What to say of values that fit neither, such as ``"be true, false or a mode"``.
    """

    first: Range
    second: Range
    words: str

    def refusal(self, name: str, value: object) -> str | None:
        """Return the line that refuses a value, or None if it fits."""
        if self.first.refusal(name, value) is None or self.second.refusal(name, value) is None:
            return None
        return f"{name} must {self.words}: got {shown(value)}"


@dataclass(frozen=True)
class Several:
    """A list or tuple of values that each fit, or with ``alone`` such a value by itself.

    Parameters
    ----------
    of
        What each value must fit.
    length
        How many there must be; None for any number.
    alone
        Whether one value may stand for all.
    """

    of: Range
    length: int | None = None
    alone: bool = False

    def refusal(self, name: str, value: object) -> str | None:
        """Return the line that refuses a value, or None if it fits."""
        if isinstance(value, list | tuple):
            if self.length is not None and len(value) != self.length:
                return f"{name} must be {self.length} values: got {shown(value)}"
            lines = (self.of.refusal(f"{name}[{i}]", item) for i, item in enumerate(value))
            return next((line for line in lines if line), None)
        if self.alone:
            return self.of.refusal(name, value)
        return f"{name} must be a list of values: got {shown(value)}"


@dataclass(frozen=True)
class Unchecked:
    """Anything: what is wrong with it is said where it is used.

    Parameters
    ----------
    because
        Where that is.
    """

    because: str = field(default="")

    def refusal(self, name: str, value: object) -> str | None:
        """Return None: everything fits."""
        del name, value
        return None


Ranges = Mapping[str, Range]
"""Ranges of parameters by name."""

SEED = Integer(0, LARGEST_SEED)
PATH = PathLike()
SIDE = Integer(1, 10_000)
"""Of a picture, in pixels: what is more only runs out of memory."""
DEVICE = Text("cpu")


def check_parameters(owner: Any) -> None:
    """Refuse the first parameter of an object that is outside its declared range.

    Parameters
    ----------
    owner
        An object whose class has the table ``_parameter_ranges``, and an attribute for each name.
    """
    check_arguments(
        owner._parameter_ranges, **{n: getattr(owner, n) for n in owner._parameter_ranges}
    )


def check_arguments(ranges: Ranges, /, **given: Any) -> None:
    """Refuse the first argument that is outside its declared range.

    Examples
    --------
    >>> check_arguments({"k": Integer(1)}, k=0)
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: k must be a whole number from 1: got 0
    """
    for name, value in given.items():
        line = ranges[name].refusal(name, value)
        if line is not None:
            raise InvalidInput(line)


def is_real(value: object) -> bool:
    """Tell whether a value is a finite real number that a float can hold, and no boolean."""
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | np.integer | np.floating
    ):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def is_whole(value: object) -> bool:
    """Tell whether a value is a whole number by its type, and no boolean."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)


def plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it: NumPy's scalars become Python's."""
    return value.item() if isinstance(value, np.generic) else value
