"""Writing that never leaves half a file, and hashes of what was read."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zerokin.errors import InvalidInput, MissingFile


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name beside ``path`` and rename it to ``path`` if the block succeeds.

    Whatever stops the block, ``path`` holds its old content or the whole new one.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "note.txt") as temporary:
    ...     _ = temporary.write_text("whole")
    >>> [file.name for file in folder.iterdir()]
    ['note.txt']
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}") from error
    # The suffix stays last: writers such as Matplotlib choose the format by it.
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.part{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    except (PermissionError, IsADirectoryError) as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty temporary folder beside ``path`` that takes its place if the block succeeds."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    former = temporary.with_suffix(".old")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        if path.exists():
            path.rename(former)
        try:
            temporary.rename(path)
        except OSError:
            former.rename(path)
            raise
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}") from error
    finally:
        for left in (temporary, former):
            shutil.rmtree(left, ignore_errors=True)


def sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def existing(path: str | os.PathLike[str], what: str, remedy: str) -> Path:
    """Return ``path`` if it exists; otherwise say what is missing and how to get it."""
    path = Path(path)
    if not path.exists():
        raise MissingFile(f"no {what} at {path}: {remedy}")
    return path


def read_versioned(
    path: Path,
    *,
    what: str,
    made_by: str,
    kind: str,
    version: int,
    remedy: str = "update zerokin",
) -> dict[str, Any]:
    """Read a JSON file that says of which format and version it is, trusting nothing in it.

    Parameters
    ----------
    path
        The file.
    what, made_by
        What its folder should hold, and what writes one, for the message where there is none.
    kind, version
        What the file must say it is.
    remedy
        What to do about another version.
    """
    if not path.is_file():
        raise MissingFile(
            f"no {what} in {path.parent}: it should hold {path.name}; {made_by} writes one"
        )
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != kind:
        raise InvalidInput(f"{path} does not describe a {kind}")
    if content.get("version") != version:
        raise InvalidInput(
            f"{path} has version {content.get('version')!r}, but this zerokin reads {version}: "
            f"{remedy}"
        )
    return content
