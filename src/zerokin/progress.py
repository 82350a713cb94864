"""Progress of long work: a bar with the time left on a terminal, one line per stage elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

Item = TypeVar("Item")


class Verbosity(StrEnum):
    """How much long work says of itself."""

    quiet = "quiet"
    normal = "normal"
    verbose = "verbose"


_said = [Verbosity.normal]


def set_verbosity(how_much: Verbosity) -> None:
    """Say how much this process shows of its progress; the command line does, once."""
    _said[0] = how_much


def verbosity() -> Verbosity:
    """Return what `set_verbosity` was given."""
    return _said[0]


def track(items: Iterable[Item], stage: str, *, total: int, quiet: bool = False) -> Iterator[Item]:
    """Yield the items while showing how far a stage has come (on standard error).

    Parameters
    ----------
    items
        What to go through.
    stage
        What the work is called, such as ``"decoding images"``.
    total
        How many items there are.
    quiet
        Show nothing.
    """
    console = Console(stderr=True, quiet=quiet or verbosity() == Verbosity.quiet)
    started = time.perf_counter()
    yield from _shown(items, stage, total, console)
    if verbosity() == Verbosity.verbose:
        console.print(f"{stage}: {time.perf_counter() - started:.1f} s", highlight=False)


def _shown(items: Iterable[Item], stage: str, total: int, console: Console) -> Iterator[Item]:
    if not console.is_terminal:
        console.print(f"{stage}: {total:,}", highlight=False)
        yield from items
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield from bar.track(items, total=total, description=stage)


@contextmanager
def counting(stage: str, *, total: int, quiet: bool = False) -> Iterator[Callable[[float], None]]:
    """Show how far work of several stages has come; more of it may turn out to be done already.

    Parameters
    ----------
    stage
        What the work is called, such as ``"choosing settings"``.
    total
        How many items there are.
    quiet
        Show nothing.

    Yields
    ------
    advance
        To be told of every item that is done, or is found not to be needed; parts of an item count.
    """
    console = Console(stderr=True, quiet=quiet or verbosity() == Verbosity.quiet)
    started = time.perf_counter()
    if console.is_terminal:
        columns = (TextColumn("{task.description}:"), Counted(), BarColumn(), TimeLeft())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(stage, total=total)
            yield lambda done: bar.advance(task, done)
    else:
        console.print(f"{stage}: {total:,}", highlight=False)
        yield lambda _done: None
    if verbosity() == Verbosity.verbose:
        console.print(f"{stage}: {time.perf_counter() - started:.1f} s", highlight=False)


class Counted(ProgressColumn):
    """What is done of all items: ``"45 of 129"``."""

    def render(self, task: Task) -> Text:
        """Return the text of a task."""
        # Thirds of an item add up to a little less than one.
        return Text(f"{int(task.completed + 1e-6)} of {int(task.total or 0)}")


class TimeLeft(ProgressColumn):
    """The time left, as one would say it."""

    def render(self, task: Task) -> Text:
        """Return the text of a task."""
        left = task.time_remaining
        return Text("" if left is None or task.finished else describe_time_left(left))


def describe_time_left(seconds: float) -> str:
    """Return a time left in words, no more exact than it is known.

    Examples
    --------
    >>> [describe_time_left(seconds) for seconds in (4, 48, 100, 4000)]
    ['a few seconds left', 'about 50 seconds left', 'about 2 minutes left', 'about 1.1 hours left']
    """
    if seconds < 10:
        return "a few seconds left"
    if seconds < 55:
        return f"about {10 * max(1, round(seconds / 10))} seconds left"
    if seconds < 3570:
        minutes = max(1, round(seconds / 60))
        return f"about {minutes} minute{'s' if minutes > 1 else ''} left"
    hours = round(seconds / 3600, 1)
    return f"about {hours:g} hour{'s' if hours > 1 else ''} left"
