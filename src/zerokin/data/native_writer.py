"""Writing a feature file block by block: what was interrupted goes on where it stopped."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerokin.data.native_features import DIGEST_BYTES, Layout, joined_names, parse_header
from zerokin.errors import InvalidInput, listing
from zerokin.files import naming


class Beginning(NamedTuple):
    """Where writing begins."""

    done: int
    """rows that are there already"""
    differences: str | None
    """how an earlier beginning differed, so that it was given up"""


def partial_file(path: Path) -> Path:
    """Return where the rows of a feature file are written until it is whole."""
    return path.with_name(f".{path.name}.part")


class FeatureWriter:
    """Rows of features into ``.NAME.part`` beside the target, which gets its name when whole.

    The partial file is the beginning of the whole one. Its length tells how far it came, and its
    header and the hashes of the images whether it can be gone on with.

    Parameters
    ----------
    path
        The target.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.partial = partial_file(path)

    def __enter__(self) -> FeatureWriter:
        with naming(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # "a" makes the file without emptying it, but would write at its end alone.
            self.partial.open("ab").close()
            self._file: BinaryIO = self.partial.open("r+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise InvalidInput(
                f"{self.path} is being written by another process: wait for it, or choose "
                f"another name"
            ) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._file.close()  # which tries once more to write what could not be written
        except OSError:
            if error is None:
                raise
        with suppress(OSError):
            if not self.partial.stat().st_size:
                self.partial.unlink()

    def begin(
        self,
        layout: Layout,
        digests: NDArray[np.uint8],
        names: Sequence[str],
        *,
        block: int,
        stamps: NDArray[np.int64] | None = None,
    ) -> Beginning:
        """Go on with what is there if it can be, else start over.

        Parameters
        ----------
        layout
            Of the whole file.
        digests
            SHA-256 of each image, (N, 32).
        names
            Of the images.
        block
            Rows that are computed together: only whole blocks count as done.
        stamps
            (N, 2) of each image, where the layout has them.
        """
        beside = b"" if stamps is None else stamps.astype("<i8").tobytes()
        self._names = joined_names(names)
        with naming(self.path):
            found = self._found(layout, digests)
            done = 0 if isinstance(found, str) else found // block * block
            if not isinstance(found, str) and found == layout.shape[0]:
                done = found  # the last block may be shorter
            # Cut first: at no moment do rows follow hashes of images that they are not of.
            start = len(layout.header) + layout.rows_start
            self._file.truncate(start + done * layout.row_bytes if done else 0)
            self._file.seek(0)
            self._file.write(layout.header)
            self._file.write(digests.tobytes() + beside)
            self._file.seek(start + done * layout.row_bytes)
            self._file.flush()
        return Beginning(done, found if isinstance(found, str) and found else None)

    def append(self, rows: NDArray[np.floating]) -> None:
        """Write the next rows."""
        with naming(self.path):
            self._file.write(rows.astype(rows.dtype.newbyteorder("<"), copy=False).tobytes())
            self._file.flush()

    def finish(self) -> None:
        """Write what comes last, and give the file its name."""
        with naming(self.path):
            self._file.write(self._names)
            self._file.flush()
            os.fsync(self._file.fileno())
            self.partial.replace(self.path)

    def _found(self, layout: Layout, digests: NDArray[np.uint8]) -> int | str:
        """Return how many rows can be kept, or why none can (nothing where there was nothing)."""
        size = self._file.seek(0, os.SEEK_END)
        if not size:
            return ""
        self._file.seek(0)
        length = int.from_bytes(self._file.read(8), "little")
        try:
            former = parse_header(json.loads(self._file.read(min(length, size))), self.partial)
        except (InvalidInput, ValueError):
            return "it is damaged"
        found = differences(former, layout)
        if found or former.stamped != layout.stamped:
            return found or "it is of an earlier version"
        stored = self._file.read(digests.nbytes)
        if len(stored) < digests.nbytes:
            return ""
        rows = max(0, size - len(layout.header) - layout.rows_start) // layout.row_bytes
        same = np.frombuffer(stored, np.uint8).reshape(-1, DIGEST_BYTES) == digests
        changed = np.flatnonzero(~same.all(axis=1))
        return min(int(rows), layout.shape[0], int(changed[0]) if len(changed) else len(digests))


def differences(former: Layout, layout: Layout) -> str:
    """Say how two layouts differ; which images are the same is looked at one by one."""
    found = []
    for key in sorted(former.recipe.keys() | layout.recipe.keys()):
        before, now = former.recipe.get(key), layout.recipe.get(key)
        if before != now and key != "images_sha256":
            found.append(f"{key} was {before}, is {now}")
    one, other = (replace(plain, recipe={}, stamped=False) for plain in (former, layout))
    if not found and one != other:
        found.append("other images, or another number of features")
    return listing(found, most=3)
