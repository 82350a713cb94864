"""Progress of long work: a bar with the time left on a terminal, one line per stage elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

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
