"""Processes that ``torchrun`` started together, and what they tell each other.

Each of them runs the same program on rows of its own. Where one needs what the others know, all of
them call the same function of `Processes` in the same order. Alone, these functions do nothing:
the code is the same for one process and for many.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.compute.ending import end_with_the_others
from zerokin.errors import InvalidInput, ZerokinError

Values = NDArray[Any]
WEEK = timedelta(days=7)
"""How long a process waits for another: one that is dead is noticed at once, by its connection."""


class ProcessLost(ZerokinError):
    """Another process of the same job has ended, so that this one cannot go on."""


class Processes:
    """One process alone: what it knows is all there is to know.

    Attributes
    ----------
    rank : number of this process, from 0
    size : how many there are

    Examples
    --------
    >>> alone = Processes()
    >>> alone.sum(np.arange(3)), alone.share(5), alone.leads
    (array([0, 1, 2]), slice(0, 5, None), True)
    """

    __slots__ = ()  # a memo that counts the bytes of what holds it must not look into torch
    rank = 0
    size = 1

    @property
    def leads(self) -> bool:
        """Whether this process is the one that writes and speaks."""
        return self.rank == 0

    @property
    def shared(self) -> bool:
        """Whether there are others."""
        return self.size > 1

    def share(self, n: int) -> slice:
        """Return which of so many consecutive things are this process's."""
        return slice(n * self.rank // self.size, n * (self.rank + 1) // self.size)

    def sum(self, values: Any) -> Any:
        """Add arrays of one shape over all processes; it may overwrite what is given."""
        return values

    def gather(self, rows: Values) -> Values:
        """Put the rows of all processes one below the other, in the order of the processes."""
        return rows

    def leading(self, values: Any) -> Any:
        """Return the leading process's array, which has the same shape everywhere."""
        return values

    def pass_round(
        self, rows: Values | None, source: int, shape: tuple[int, ...], dtype: Any
    ) -> Values:
        """Return an array that one process, the source, gives to all; others give None."""
        del source, shape, dtype
        assert rows is not None
        return rows

    def exchange(self, parts: Sequence[Values]) -> list[Values]:
        """Give part k to process k, and return what each process gave to this one."""
        return list(parts)

    def wait(self) -> None:
        """Wait until all processes have come as far as this."""

    def balance(self, rows: Values) -> Values:
        """Return as many of all rows as the other processes have, in the order of all."""
        counts = self.gather(np.array([len(rows)], np.int64))
        start, total = int(counts[: self.rank].sum()), int(counts.sum())
        cuts = [total * k // self.size - start for k in range(self.size + 1)]
        cuts = [min(max(cut, 0), len(rows)) for cut in cuts]
        parts = [rows[low:high] for low, high in pairwise(cuts)]
        return np.concatenate(self.exchange(parts))

    def union(self, numbers: Values) -> Values:
        """Return the different whole numbers that any process has, in ascending order."""
        return np.unique(self.gather(np.unique(numbers)))

    def any(self, here: bool) -> bool:
        """Tell whether something is so in any process."""
        return bool(self.gather(np.array([here])).any())

    def refuse_different(self, what: str, content: bytes) -> None:
        """Refuse that processes have been given different things, where all need the same.

        Parameters
        ----------
        what
            What should be the same: "data", say.
        content
            Of which the hashes are compared.
        """
        digest = np.frombuffer(hashlib.sha256(content).digest(), np.uint8)[None]
        found = self.gather(digest)
        other = np.flatnonzero((found != found[0]).any(axis=1))
        if len(other):
            hashes = [found[k].tobytes().hex()[:12] for k in (0, other[0])]
            raise InvalidInput(
                f"process {other[0]} of {self.size} was given other {what} than process 0 (hash "
                f"{hashes[1]}, not {hashes[0]}): give all processes the same"
            )


class _Joined(Processes):
    """One process among others, over torch.distributed with gloo, which speaks for CPUs."""

    __slots__ = ("_collective", "_group", "_torch", "rank", "size")

    def __init__(self) -> None:
        import torch
        from torch import distributed

        self._torch = torch
        self._group: Any = distributed.new_group(backend="gloo", timeout=WEEK)
        self._collective: Any = distributed
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()

    @contextmanager
    def _together(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise ProcessLost(lost_message(self.size)) from error

    def _tensor(self, values: Values) -> Any:
        if values.dtype == np.bool_:
            values = values.view(np.uint8)
        return self._torch.from_numpy(np.require(values, requirements=["C", "W"]))

    def sum(self, values: Any) -> Any:
        total = np.array(values, order="C", ndmin=1)
        with self._together():
            self._collective.all_reduce(self._tensor(total), group=self._group)
        return total.reshape(np.shape(values))

    def gather(self, rows: Values) -> Values:
        rows = np.ascontiguousarray(rows)
        # Those of another length are filled up to the longest.
        counts = np.zeros(self.size, np.int64)
        counts[self.rank] = len(rows)
        counts = self.sum(counts)
        padded = np.zeros((int(counts.max()), *rows.shape[1:]), rows.dtype)
        padded[: len(rows)] = rows
        found = np.empty((self.size, *padded.shape), rows.dtype)
        with self._together():
            parts = list(self._tensor(found).unbind(0))
            self._collective.all_gather(parts, self._tensor(padded), group=self._group)
        return np.concatenate([part[:count] for part, count in zip(found, counts, strict=True)])

    def leading(self, values: Any) -> Any:
        shape = np.shape(values)
        return self.pass_round(np.asarray(values), 0, shape, None)

    def pass_round(
        self, rows: Values | None, source: int, shape: tuple[int, ...], dtype: Any
    ) -> Values:
        given = np.empty(shape, dtype) if rows is None else np.array(rows, order="C", ndmin=1)
        with self._together():
            self._collective.broadcast(self._tensor(given), source, group=self._group)
        return given.reshape(shape)

    def exchange(self, parts: Sequence[Values]) -> list[Values]:
        sent = np.array([len(part) for part in parts], np.int64)
        received = np.empty_like(sent)
        one = self._collective.all_to_all_single
        with self._together():
            one(self._tensor(received), self._tensor(sent), group=self._group)
            joined = np.concatenate(parts)
            found = np.empty((int(received.sum()), *joined.shape[1:]), joined.dtype)
            one(
                *(self._tensor(found), self._tensor(joined)),
                *(received.tolist(), sent.tolist()),
                group=self._group,
            )
        return np.split(found, np.cumsum(received)[:-1])

    def wait(self) -> None:
        with self._together():
            self._collective.barrier(group=self._group)


ALONE = Processes()
_current: ContextVar[Processes] = ContextVar("processes", default=ALONE)


def current() -> Processes:
    """Return the processes that this one works with: itself alone, outside of `joined`."""
    return _current.get()


def started_together() -> int:
    """Count the processes that ``torchrun`` started, on all machines.

    Examples
    --------
    >>> started_together()
    1
    """
    given = os.environ.get("WORLD_SIZE", "")
    return max(1, int(given)) if given.isdigit() and "RANK" in os.environ else 1


def lost_message(size: int) -> str:
    """Return what is said where a process of a job has ended before the others."""
    return (
        f"another of the {size} processes has ended, and the job ends with it: give the same "
        "command again, which goes on from what was kept"
    )


@contextmanager
def joined() -> Iterator[Processes]:
    """Work with the processes that ``torchrun`` started, each on rows of its own.

    Within the block `ProjectionLearner`, `FeatureSpectrum`, `neighbor_graph` and
    `ZeroShotClassifier` take the features of this process alone, and learn from those of all.
    Without ``torchrun`` a process is alone, and nothing is different.

    Examples
    --------
    >>> with joined() as processes:
    ...     processes.share(10)
    slice(0, 10, None)
    """
    if started_together() == 1 or current().shared:
        yield current()
        return
    import torch
    from torch import distributed

    on_gpu = torch.cuda.is_available()
    if on_gpu:  # each process has one of its own
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    if not distributed.is_initialized():
        distributed.init_process_group("cpu:gloo,cuda:nccl" if on_gpu else "gloo", timeout=WEEK)
    processes = _Joined()
    token = _current.set(processes)
    try:
        with end_with_the_others(lost_message(processes.size)):
            yield processes
            processes.wait()
    finally:
        _current.reset(token)


@contextmanager
def alone() -> Iterator[None]:
    """Work without the others for a while: for what the processes do on different things."""
    token = _current.set(ALONE)
    try:
        yield
    finally:
        _current.reset(token)


def whole_batches(processes: Processes, n: int, batch: int) -> slice:
    """Return this process's share of so many images: the batches are those of one process alone.

    Examples
    --------
    >>> whole_batches(Processes(), 10, 4)
    slice(0, 10, None)
    """
    share = processes.share(-(-n // batch))
    return slice(min(n, share.start * batch), min(n, share.stop * batch))
