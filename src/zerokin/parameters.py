"""Parameter validation: declared ranges, and the one function that checks an object against them.

An estimator lists its parameters in ``_parameter_ranges``, a table of names and ranges, and calls
`check_parameters` when it is fitted; a dataclass declares them in its annotations
(`zerokin.declared`). What does not fit is refused in one line that names the parameter, its range
and what was given. In a model of pydantic, ``Annotated[float, Real(0, 1)]`` is the same range.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from zerokin.errors import InvalidInput, did_you_mean, listing, shown

LARGEST_INTEGER = 2**63 - 1
"""The largest whole number that NumPy, torch and saved files hold."""

LARGEST_SEED = 2**32 - 1
"""The largest seed of NumPy's ``RandomState``."""

LONGEST_PATH = 4096

UNITS = {
    "b": 1,
    **{f"{prefix}b": 1000**power for power, prefix in enumerate("kmgt", start=1)},
    **{f"{prefix}ib": 1024**power for power, prefix in enumerate("kmgt", start=1)},
}
"""Bytes of a unit of memory, its name in lower case."""


class Range:
    """What values a parameter may have."""

    @property
    def described(self) -> str:
        """What a value must be, to stand behind *must be*."""
        raise NotImplementedError

    def holds(self, value: Any) -> bool:
        """Tell whether a value fits."""
        raise NotImplementedError

    def hint(self, value: object) -> str:
        """Return what may mend a value that does not fit."""
        del value
        return ""

    def bounds(self) -> dict[str, Any]:
        """Return what JSON schema says of the range, beside the type."""
        return {}

    def problem(self, value: object) -> str | None:
        """Return what is wrong with a value, to stand behind the name, or None if it fits."""
        if self.holds(value):
            return None
        return f" must be {self.described}: got {shown(value)}{self.hint(value)}"

    def refusal(self, name: str, value: object) -> str | None:
        """Return the line that refuses a value of the parameter so called, or None if it fits."""
        problem = self.problem(value)
        return None if problem is None else f"{name}{problem}"

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import PydanticCustomError, core_schema

        def check(value: Any, _: object) -> Any:
            problem = self.problem(value)
            if problem is not None:
                raise PydanticCustomError("range", "{problem}", {"problem": problem})
            return value

        # Nothing is converted; the type within is for the JSON schema alone.
        return core_schema.no_info_wrap_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        return {**handler(schema), **self.bounds()}


@dataclass(frozen=True)
class Real(Range):
    """A finite real number in an interval; NumPy's scalars count, booleans and texts do not.

    Parameters
    ----------
    low, high
        Ends of the interval; None for none.
    closed
        Which ends belong to it.

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

    @property
    def described(self) -> str:
        low, high = (None if end is None else f"{end:g}" for end in (self.low, self.high))
        if low is None and high is None:
            return "a finite number"
        above = "of at least" if self._has_low else "above"
        below = "at most" if self._has_high else "below"
        if high is None:
            return f"a number {above} {low}"
        if low is None:
            return f"a number {below} {high}"
        if self._has_low:
            return f"a number from {low} to {'' if self._has_high else 'below '}{high}"
        return f"a number above {low} and {below} {high}"

    def holds(self, value: Any) -> bool:
        if not is_real(value):
            return False
        low = self.low is None or value > self.low or (self._has_low and value == self.low)
        high = self.high is None or value < self.high or (self._has_high and value == self.high)
        return bool(low and high)

    def hint(self, value: object) -> str:
        # In YAML 1e-3 is a text and 1.0e-3 a number.
        return " (in YAML, 1.0e-3)" if isinstance(value, str) and "e" in value.lower() else ""

    def bounds(self) -> dict[str, Any]:
        low = {"minimum" if self._has_low else "exclusiveMinimum": self.low}
        high = {"maximum" if self._has_high else "exclusiveMaximum": self.high}
        return {name: end for name, end in {**low, **high}.items() if end is not None}

    @property
    def _has_low(self) -> bool:
        return self.closed in ("both", "left")

    @property
    def _has_high(self) -> bool:
        return self.closed in ("both", "right")


@dataclass(frozen=True)
class Integer(Range):
    """A whole number in a closed interval; NumPy's count, booleans, floats and texts do not.

    Parameters
    ----------
    low, high
        Ends of the interval; None for none above.

    Examples
    --------
    >>> print(Integer(1).refusal("top_k", 2.0), Integer(1).refusal("top_k", np.int64(2)))
    top_k must be a whole number from 1: got 2.0 None
    """

    low: int = 0
    high: int | None = LARGEST_INTEGER

    @property
    def described(self) -> str:
        top = "" if self.high in (None, LARGEST_INTEGER) else f" to {self.high:,}"
        return f"a whole number from {self.low:,}{top}"

    def holds(self, value: Any) -> bool:
        return is_whole(value) and self.low <= value and (self.high is None or value <= self.high)

    def bounds(self) -> dict[str, Any]:
        top = {} if self.high in (None, LARGEST_INTEGER) else {"maximum": self.high}
        return {"minimum": self.low, **top}


@dataclass(frozen=True)
class OneOf(Range):
    """One of a few texts.

    Examples
    --------
    >>> print(OneOf(["residual", "flat"]).refusal("inference", "flut"))
    inference must be one of residual, flat: got 'flut'; did you mean 'flat'?
    """

    values: Sequence[str]

    @property
    def described(self) -> str:
        return f"one of {listing(self.values, most=20)}"

    def holds(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.values

    def hint(self, value: object) -> str:
        return did_you_mean(value, self.values)


@dataclass(frozen=True)
class Boolean(Range):
    """True or false, NumPy's included."""

    described = "true or false"

    def holds(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_)


@dataclass(frozen=True)
class Text(Range):
    """A text that is not empty and holds no control characters.

    Parameters
    ----------
    such_as
        An example, for the message.
    """

    such_as: str

    @property
    def described(self) -> str:
        return f"a text such as {self.such_as!r}"

    def holds(self, value: Any) -> bool:
        return isinstance(value, str) and bool(value) and value.isprintable()


@dataclass(frozen=True)
class PathLike(Range):
    """A path of a file or folder, as a text or an ``os.PathLike``."""

    described = "a path"

    def holds(self, value: Any) -> bool:
        try:
            path = os.fspath(value)
        except TypeError:
            return False
        return isinstance(path, str) and 0 < len(path) <= LONGEST_PATH and "\0" not in path


@dataclass(frozen=True)
class InstanceOf(Range):
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

    @property
    def described(self) -> str:
        return self.called

    def holds(self, value: Any) -> bool:
        return isinstance(value, self.kinds)


@dataclass(frozen=True)
class NamedValues(Range):
    """A mapping of texts to anything."""

    described = "names with values"

    def holds(self, value: Any) -> bool:
        return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


@dataclass(frozen=True)
class Optional(Range):
    """None, or what another range holds."""

    of: Range

    @property
    def described(self) -> str:
        return f"{self.of.described}, or None"

    def holds(self, value: Any) -> bool:
        return value is None or self.of.holds(value)

    def hint(self, value: object) -> str:
        return self.of.hint(value)


@dataclass(frozen=True)
class Either(Range):
    """What fits one of two ranges."""

    first: Range
    second: Range

    @property
    def described(self) -> str:
        return f"{self.first.described}, or {self.second.described}"

    def holds(self, value: Any) -> bool:
        return self.first.holds(value) or self.second.holds(value)

    def hint(self, value: object) -> str:
        return self.first.hint(value) or self.second.hint(value)


@dataclass(frozen=True)
class ByteSize(Range):
    """An amount of memory: a whole number of bytes, or a text such as ``"8GiB"`` or ``"500 MB"``.

    Examples
    --------
    >>> print(ByteSize().refusal("memory_budget", "8 gigs"))
    memory_budget must be bytes, or a text such as '8GiB': got '8 gigs'
    """

    described = "bytes, or a text such as '8GiB'"

    def holds(self, value: Any) -> bool:
        if is_whole(value):
            return bool(1 <= value <= LARGEST_INTEGER)
        return isinstance(value, str) and 1 <= _bytes_in(value) <= LARGEST_INTEGER


@dataclass(frozen=True)
class Several(Range):
    """A list or tuple of values that each fit, or with ``alone`` such a value by itself.

    Parameters
    ----------
    of
        What each value must fit.
    length
        How many there must be; None for any number.
    alone
        Whether one value may stand for all.
    least
        Whether there must be one at least.
    """

    of: Range
    length: int | None = None
    alone: bool = False
    least: bool = False

    @property
    def described(self) -> str:
        if self.alone:
            return self.of.described
        some = "a list of one or more values" if self.least else "a list of values"
        return f"{f'{self.length} values' if self.length else some}, each {self.of.described}"

    def holds(self, value: Any) -> bool:
        if not isinstance(value, list | tuple):
            return self.alone and self.of.holds(value)
        fits = len(value) >= self.least if self.length is None else len(value) == self.length
        return fits and all(map(self.of.holds, value))

    def problem(self, value: object) -> str | None:
        """Return what is wrong with a value, by its position where it is one of several."""
        if isinstance(value, list | tuple) and self.length in (None, len(value)):
            for i, item in enumerate(value):
                if problem := self.of.problem(item):
                    return f"[{i}]{problem}"
        return super().problem(value)


@dataclass(frozen=True)
class Unchecked(Range):
    """Anything: what is wrong with it is said where it is used.

    Parameters
    ----------
    because
        Where that is.
    """

    because: str
    described = "anything"

    def holds(self, value: Any) -> bool:
        del value
        return True


Ranges = Mapping[str, Range]
"""Ranges of parameters by name."""

SEED = Integer(0, LARGEST_SEED)
PATH = PathLike()
SIDE = Integer(1, 10_000)
"""Of an image, in pixels: what is more only runs out of memory."""
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


def byte_count(size: int | str) -> int:
    """Return an amount of memory that `ByteSize` holds as bytes.

    Examples
    --------
    >>> byte_count("1.5GiB"), byte_count("20 kB"), byte_count(4096)
    (1610612736, 20000, 4096)
    """
    return _bytes_in(size) if isinstance(size, str) else int(size)


def _bytes_in(text: str) -> int:
    """Return the bytes that a text names, or 0 if it names none."""
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]*)\s*", text, re.ASCII)
    if not found:
        return 0
    return int(float(found[1]) * UNITS.get(found[2].lower(), 0))


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
    """Return a parameter as JSON can hold it: NumPy's scalars become Python's, lists tuples."""
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    return value.item() if isinstance(value, np.generic) else value
