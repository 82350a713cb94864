"""Declared settings: dataclasses whose annotations are the ranges of their fields.

They are checked when they are made, and `parse_as` reads them, as any model of pydantic, from what
a YAML file or a request holds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from zerokin.errors import InvalidInput, did_you_mean, shown
from zerokin.parameters import (
    Boolean,
    InstanceOf,
    Integer,
    NamedValues,
    OneOf,
    Optional,
    Range,
    Ranges,
    Real,
    Several,
    check_parameters,
    plain,
)

Kind = TypeVar("Kind")

Flag = Annotated[bool, Boolean()]
Count = Annotated[int, Integer(1)]
Positive = Annotated[float, Real(0, closed="neither")]
NotNegative = Annotated[float, Real(0)]
Share = Annotated[float, Real(0, 1)]
Shares = Annotated[tuple[float, ...], Several(Real(0, 1))]
ShareBelowOne = Annotated[float, Real(0, 1, closed="left")]


class Declared:
    """Base of dataclasses that declare the range of each field in its annotation.

    ``lr: Annotated[float, Real(0)]`` says it in full, ``Literal["sgd", "adamw"]`` and a class say
    it themselves, and ``| None`` adds None. Fields are checked when an object is made; NumPy's
    scalars become Python's, and lists tuples. Pydantic reads such a class from plain data.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Optics(Declared):
    ...     zoom: Positive = 1.0
    ...     lens: Literal["wide", "long"] = "wide"
    >>> Optics(zoom=0)
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: zoom must be a number above 0: got 0
    """

    _parameter_ranges: ClassVar[Ranges] = {}
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        hints = get_type_hints(cls, include_extras=True)
        cls._parameter_ranges = {
            name: range_of(hint) for name, hint in hints.items() if get_origin(hint) is not ClassVar
        }

    def __post_init__(self) -> None:
        check_parameters(self)
        for name in self._parameter_ranges:
            object.__setattr__(self, name, plain(getattr(self, name)))


def range_of(hint: Any) -> Range:
    """Return the range that an annotation declares.

    Examples
    --------
    >>> range_of(Literal["wide", "long"] | None).described
    'one of wide, long, or None'
    """
    inner = get_args(hint)
    match get_origin(hint):
        case None:
            called = f"{'an' if hint.__name__[0] in 'AEIOU' else 'a'} {hint.__name__}"
            return InstanceOf(hint, called)
        case origin if origin is Annotated:
            return next(one for one in inner if isinstance(one, Range))
        case origin if origin is Literal:
            return OneOf(inner)
        case origin if origin is tuple and inner[1:] == (Ellipsis,):
            return Several(range_of(inner[0]))
        case origin if origin in (Union, UnionType) and NoneType in inner:
            rest = [one for one in inner if one is not NoneType]
            return Optional(range_of(rest[0]))
    raise TypeError(f"{hint} declares no range")


def parse_as(kind: type[Kind], given: object) -> Kind:
    """Read plain data as a declared class or a model of pydantic.

    Raises
    ------
    InvalidInput
        The first thing that does not fit, by its place, its range and what was given.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Optics(Declared):
    ...     zoom: Positive = 1.0
    >>> parse_as(Optics, {"zom": 2})
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: unknown entry 'zom'; did you mean 'zoom'? (known: zoom)
    """
    from pydantic import ValidationError

    key: Any = kind  # for mypy, to which no type is hashable
    try:
        return cast(Kind, _adapter(key).validate_python(given))
    except ValidationError as refused:
        first = refused.errors()[0]
    # Not within the handler: the text of pydantic's error, kept as context, can be endless where
    # aliases of a YAML file nest.
    raise InvalidInput(problem_line(first, kind))


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def problem_line(error: Mapping[str, Any], kind: type) -> str:
    """Return the line for an error of pydantic, by its place in what was read as some class."""
    place, said, given = error["loc"], error["type"], error["input"]
    path = _dotted(place)
    if said in ("extra_forbidden", "unexpected_keyword_argument"):
        return unknown_entry(place[-1], _names(kind, place[:-1]), _dotted(place[:-1]))
    if said == "value_error":  # raised where entries are looked at together
        return f"{path}: {error['ctx']['error']}" if path else str(error["ctx"]["error"])
    if said == "missing":
        return f"{path} is missing: it must be given"
    problem: str | None
    if said == "range":
        problem = error["ctx"]["problem"]
    elif said == "literal_error":
        problem = OneOf(re.findall(r"'([^']*)'", error["ctx"]["expected"])).problem(given)
    else:
        missed = next((_KINDS[start] for start in _KINDS if said.startswith(start)), None)
        problem = None if missed is None else missed.problem(given)
    return f"{path or 'what is given'}{problem or f': got {shown(given)}'}"


def unknown_entry(name: object, known: Collection[str], path: str = "") -> str:
    """Return the line that refuses a name that is none of those known."""
    full = f"{path}.{name}" if path else name
    return f"unknown entry {shown(full)}{did_you_mean(name, known)} (known: {', '.join(known)})"


_KINDS: Mapping[str, Range] = {
    "bool": Boolean(),
    "invalid_key": InstanceOf(str, "a name, in quotes"),
    "string": InstanceOf(str, "text"),
    "list": InstanceOf(list, "a list"),
    "tuple": InstanceOf(list, "a list"),
    "dict": NamedValues(),
    "model": NamedValues(),
    "dataclass": NamedValues(),
}
"""What pydantic's errors miss, by how their types begin."""


def _dotted(place: Sequence[int | str]) -> str:
    """Return a place as ``rows[0].name``."""
    named = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(named).removesuffix(".[key]").removeprefix(".")


def _names(kind: Any, place: Sequence[int | str]) -> list[str]:
    """Return the names of the fields of a class, or of one that lies within it."""
    for step in place:
        held = [one for one in get_args(kind) if one not in (str, Ellipsis)]
        # Of a list or a mapping, what it holds.
        kind = held[0] if held else get_type_hints(kind)[str(step)]
    return [name for name in get_type_hints(kind) if not name.startswith(("_", "model_"))]
