"""Memoization of the method's stages: trials of a search share what they have in common.

A stage is a plain function. `run_stage` calls it; a `Memo` calls it once for the same arguments.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

from zerokin.compute.processes import current

P = ParamSpec("P")
Made = TypeVar("Made")

Key = tuple[Any, ...]

PLAIN = (str, int, float, bool, type(None))
MAX_BYTES = 2**29


class RunStage(Protocol):
    """What runs a stage: `run_stage`, or a `Memo`."""

    def __call__(self, stage: Callable[P, Made], /, *args: P.args, **kwargs: P.kwargs) -> Made:
        """Return ``stage(*args, **kwargs)``."""


def run_stage(stage: Callable[P, Made], /, *args: P.args, **kwargs: P.kwargs) -> Made:
    """Return ``stage(*args, **kwargs)``: the way to run stages without a memo."""
    return stage(*args, **kwargs)


class Memo:
    """Results of stages by function and arguments, within a bound on memory.

    Plain arguments (texts, numbers, None) are compared by value, all others by identity: they are
    data, which the memo holds on to as long as it holds a result made of them. What was used least
    recently is dropped first, and with it whatever was made of it. What the current trial and the
    one before it used is never dropped: the next one is likely to need it.

    Parameters
    ----------
    max_bytes
        Bound on the arrays that are kept beyond those of the last two trials.

    Attributes
    ----------
    nbytes : bytes of the arrays that are kept

    Examples
    --------
    >>> memo, halves = Memo(), []
    >>> def halve(values, times):
    ...     halves.append(times)
    ...     return [value / 2**times for value in values]
    >>> data = [4.0, 8.0]
    >>> memo(halve, data, times=1) is memo(halve, data, times=1)
    True
    >>> memo(halve, data, times=2), memo(halve, [4.0, 8.0], times=1), halves
    ([1.0, 2.0], [2.0, 4.0], [1, 2, 1])
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self.nbytes = 0
        self._trial = 0
        self._results: OrderedDict[Key, _Result] = OrderedDict()
        self._used: list[_Result] = []  # by the current trial, each once
        self._made_of: defaultdict[int, set[Key]] = defaultdict(set)

    def __call__(self, stage: Callable[P, Made], /, *args: P.args, **kwargs: P.kwargs) -> Made:
        """Return ``stage(*args, **kwargs)``, computed when it is first asked for."""
        named = ((name, _as_key(value)) for name, value in sorted(kwargs.items()))
        key = (stage, *map(_as_key, args), *named)
        found = self._results.get(key)
        if found is None:
            made = stage(*args, **kwargs)
            found = self._results[key] = _Result(made, _agreed_bytes(made), self._trial)
            self._used.append(found)
            for held in _held_by(key):
                self._made_of[held].add(key)
            self.nbytes += found.nbytes
            self._drop_oldest()
        if found.used != self._trial:
            found.used = self._trial
            self._used.append(found)
        if found.kept:  # it goes with what it was made of, where that was the oldest
            self._results.move_to_end(key)
        value: Made = found.value
        return value

    def __len__(self) -> int:
        return len(self._results)

    def start_trial(self) -> None:
        """Say that a trial begins.

        What the last one used is measured again: it may keep more by now (cached properties).
        """
        for result in self._used:
            if result.kept:
                nbytes = _agreed_bytes(result.value)
                self.nbytes += nbytes - result.nbytes
                result.nbytes = nbytes
        self._used.clear()
        self._trial += 1

    def _drop_oldest(self) -> None:
        while self.nbytes > self.max_bytes:
            key, oldest = next(iter(self._results.items()))
            if oldest.used >= self._trial - 1:
                return
            self._drop(key)

    def _drop(self, key: Key) -> None:
        """Drop a result, and those made of it."""
        dropped = self._results.pop(key, None)
        if dropped is None:
            return
        self.nbytes -= dropped.nbytes
        dropped.kept = False
        for held in _held_by(key):
            self._made_of[held].discard(key)
            if not self._made_of[held]:
                del self._made_of[held]
        # Those results hold on to this one: no other can have its place in memory.
        for other in tuple(self._made_of.get(id(dropped.value), ())):
            self._drop(other)


@dataclass
class _Result:
    value: Any
    nbytes: int
    used: int
    kept: bool = True


class _Same:
    """An object as part of a key: equal to itself alone.

    It holds the object, so that no other can take its place in memory and pass for it.
    """

    __slots__ = ("held",)

    def __init__(self, held: object) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.held is other.held

    def __hash__(self) -> int:
        return object.__hash__(self.held)


def _as_key(value: Any) -> Any:
    # 1 == 1.0 == True: the type is part of the value.
    return (type(value), value) if isinstance(value, PLAIN) else _Same(value)


def _held_by(key: Key) -> set[int]:
    """Return the identities of the objects that a key holds, named arguments among them."""
    parts = (one[1] if isinstance(one, tuple) else one for one in key[1:])
    return {id(part.held) for part in parts if isinstance(part, _Same)}


def _agreed_bytes(value: Any) -> int:
    """Count the bytes of a value where it is largest: all processes must drop the same results.

    Whoever makes a dropped one again may need the others for it.
    """
    return int(current().gather(np.array([count_bytes(value)], np.int64)).max())


def count_bytes(value: Any) -> int:
    """Return the bytes of all arrays in a value, each counted once."""
    arrays = {id(array): array.nbytes for array in _arrays_in(value, set())}
    return int(sum(arrays.values()))


def _arrays_in(value: Any, met: set[int]) -> Iterator[Any]:
    if isinstance(value, PLAIN) or id(value) in met:
        return
    met.add(id(value))
    if hasattr(value, "nbytes"):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _arrays_in(part, met)
    else:
        yield from _arrays_in(getattr(value, "__dict__", {}), met)
