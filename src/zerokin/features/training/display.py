"""How far a training is, on a terminal as a bar, elsewhere as a line an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class TrainingDisplay:
    """A bar over all steps, with the losses of every layer and the time left."""

    def __init__(self, steps: int, epochs: int, *, quiet: bool) -> None:
        self.console = Console(stderr=True, quiet=quiet, highlight=False)
        self.epochs = epochs
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[losses]}", style="dim"),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._task = self._bar.add_task("training", total=steps, losses="")

    def __enter__(self) -> TrainingDisplay:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def at(self, step: int, epoch: int) -> None:
        """Show that a step is done."""
        described = f"epoch {epoch}/{self.epochs}"
        self._bar.update(self._task, completed=step, description=described)

    def losses(self, losses: Mapping[str, float]) -> None:
        """Show the latest losses."""
        self._bar.update(self._task, losses=_listed(losses))

    def epoch(
        self, number: int, losses: Mapping[str, float], seconds: float, score: float | None
    ) -> None:
        """Print a line about a finished epoch."""
        validated = "" if score is None else f"; validation classes {score:.1f} %"
        self.console.print(
            f"epoch {number}/{self.epochs}, {seconds:.1f} s: {_listed(losses)}{validated}",
            soft_wrap=True,
        )


def _listed(losses: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in losses.items())
