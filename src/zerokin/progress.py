"""Progress of long work: a bar with the time left on a terminal, one line per stage elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Item = TypeVar("Item")


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
    console = Console(stderr=True, quiet=quiet)
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
