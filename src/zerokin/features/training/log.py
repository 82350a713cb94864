"""What a training did, a line of JSON at a time; TensorBoard's files beside it on request."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Any

from zerokin.errors import InvalidInput, MissingExtra
from zerokin.files import naming, replacing

NAME = "log.jsonl"


class TrainingLog:
    """Append records to ``log.jsonl`` in a folder.

    Parameters
    ----------
    folder
        Where; None keeps no log.
    after
        The step from which the training goes on: what was logged after it is dropped.
    tensorboard
        Also write TensorBoard's event files.
    """

    def __init__(self, folder: Path | None, *, after: int = 0, tensorboard: bool = False) -> None:
        self.path = None if folder is None else folder / NAME
        self._board: Any = None
        if tensorboard:
            if folder is None:
                raise InvalidInput("tensorboard=True needs a folder to write to")
            self._board = _summary_writer(folder, after)
        self.forget_after(after)

    def __enter__(self) -> TrainingLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def forget_after(self, step: int) -> None:
        """Drop what was logged after a step: a training is resumed from there."""
        if self.path is None or not self.path.exists():
            return
        kept = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue  # the line that was being written when the training was stopped
            if isinstance(record, dict) and record.get("step", 0) <= step:
                kept.append(line + "\n")
        with replacing(self.path) as temporary:
            temporary.write_text("".join(kept), encoding="utf-8")

    def write(self, record: dict[str, Any]) -> None:
        """Write one record, which has a ``step``."""
        if self.path is not None:
            with naming(self.path), self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
        if self._board is not None:
            for name, value in _numbers(record):
                self._board.add_scalar(name, value, record["step"])

    def close(self) -> None:
        """Finish TensorBoard's files."""
        if self._board is not None:
            self._board.close()


def _summary_writer(folder: Path, after: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingExtra("a log for TensorBoard", "tensorboard") from error
    # A board that reads the files drops what an interrupted training wrote after that step.
    return SummaryWriter(str(folder / "tensorboard"), purge_step=after + 1 if after else None)


def _numbers(record: dict[str, Any], prefix: str = "") -> list[tuple[str, float]]:
    found = []
    for name, value in record.items():
        if isinstance(value, dict):
            found += _numbers(value, f"{prefix}{name}/")
        elif isinstance(value, int | float) and name != "step":
            found.append((prefix + name, float(value)))
    return found
