"""What a training did, a line of JSON at a time; TensorBoard's files beside it on request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from zerokin.errors import InvalidInput, MissingExtra
from zerokin.files import replacing

NAME = "log.jsonl"


class TrainingLog:
    """Append records to ``log.jsonl`` in a folder.

    Parameters
    ----------
    folder
        Where; None keeps no log.
    tensorboard
        Also write TensorBoard's event files.
    """

    def __init__(self, folder: Path | None, *, tensorboard: bool = False) -> None:
        self.path = None if folder is None else folder / NAME
        self._board: Any = None
        if tensorboard:
            if folder is None:
                raise InvalidInput("tensorboard=True needs a folder to write to")
            self._board = _summary_writer(folder)

    def forget_after(self, step: int) -> None:
        """Drop what was logged after a step: a training is resumed from there."""
        if self.path is None or not self.path.exists():
            return
        kept = []
        for line in self.path.read_text().splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue  # the line that was being written when the training was stopped
            if record.get("step", 0) <= step:
                kept.append(line + "\n")
        with replacing(self.path) as temporary:
            temporary.write_text("".join(kept))

    def write(self, record: dict[str, Any]) -> None:
        """Write one record, which has a ``step``."""
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(record) + "\n")
        if self._board is not None:
            for name, value in _numbers(record):
                self._board.add_scalar(name, value, record["step"])

    def close(self) -> None:
        """Finish TensorBoard's files."""
        if self._board is not None:
            self._board.close()


def _summary_writer(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingExtra("a log for TensorBoard", "tensorboard") from error
    return SummaryWriter(str(folder / "tensorboard"))


def _numbers(record: dict[str, Any], prefix: str = "") -> list[tuple[str, float]]:
    found = []
    for name, value in record.items():
        if isinstance(value, dict):
            found += _numbers(value, f"{prefix}{name}/")
        elif isinstance(value, int | float) and name != "step":
            found.append((prefix + name, float(value)))
    return found
