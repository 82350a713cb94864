"""Where data came from: the files that were read, and their hashes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from zerokin.errors import InvalidInput
from zerokin.files import sha256


@dataclass(frozen=True)
class SourceFile:
    """A file that was read, hashed when the hash is first asked for."""

    path: Path
    size: int
    modified_ns: int

    @classmethod
    def from_path(cls, path: Path) -> SourceFile:
        """Record a file as it is now."""
        status = path.stat()
        return cls(path, status.st_size, status.st_mtime_ns)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the content; refuses a file that changed after it was read."""
        now = SourceFile.from_path(self.path)
        if (now.size, now.modified_ns) != (self.size, self.modified_ns):
            raise InvalidInput(f"{self.path} has changed since it was read: open the data anew")
        return sha256(self.path)


@dataclass(frozen=True)
class Provenance:
    """What a data set was read from.

    Parameters
    ----------
    source
        The data spec, such as ``"cub=DIR"``.
    reader
        What read it, such as ``"CUB-200-2011, images in tar files"``.
    files
        Every file that was read, image files in folders aside.
    """

    source: str
    reader: str
    files: tuple[SourceFile, ...] = ()

    @cached_property
    def sha256(self) -> str:
        """One SHA-256 over names and contents of all files, the same for any order of reading."""
        lines = sorted(f"{file.path.name} {file.sha256}" for file in self.files)
        return hashlib.sha256("\n".join([self.reader, *lines]).encode()).hexdigest()
