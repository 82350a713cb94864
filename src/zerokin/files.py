"""Writing that never leaves half a file, and hashes of what was read."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zerokin.errors import InvalidInput, MissingFile, ZerokinError
from zerokin.temporaries import OLD, give_usual_rights, part_of, remove, restore

AT_FDCWD, RENAME_EXCHANGE = -100, 2
CANNOT_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EPERM)


class CannotWrite(InvalidInput):
    """A file or folder cannot be written; what was there before is still there.

    Parameters
    ----------
    path
        What was to be written.
    reason
        Why it cannot be.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"cannot write {path}: {reason}")
        self.path = path
        self.reason = reason


def _refuse_nameless(path: Path) -> None:
    """Refuse ``.`` and the root, beside which nothing can be put under a name like theirs."""
    if not path.name:
        raise CannotWrite(path, "it has no name of its own: give one")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name beside ``path`` and rename it to ``path`` if the block succeeds.

    Whatever stops the block, ``path`` holds its old content or the whole new one.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "note.txt") as temporary:
    ...     _ = temporary.write_text("whole", encoding="utf-8")
    >>> [file.name for file in folder.iterdir()]
    ['note.txt']
    """
    path = Path(path)
    _refuse_nameless(path)
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with part_of(path) as part:
            # Its own name: writers such as Matplotlib choose the format by the suffix.
            temporary = part / path.name
            yield temporary
            give_usual_rights(part, [temporary])
            temporary.replace(path)


@contextmanager
def replacing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty temporary folder beside ``path`` that takes its place if the block succeeds.

    Whatever stops the block, even SIGKILL, ``path`` is the old folder or the whole new one.
    """
    path = Path(path)
    _refuse_nameless(path)
    with naming(path), part_of(path) as temporary, naming(path, parts=temporary):
        yield temporary
        give_usual_rights(temporary, list(temporary.rglob("*")))
        _take_place(temporary, path)


def _take_place(new: Path, path: Path) -> None:
    """Put a folder in the place of another, which then has the first one's name or none."""
    if not os.path.lexists(path):
        new.rename(path)
        return
    try:
        exchange(new, path)
        return
    except OSError as error:
        if error.errno not in CANNOT_EXCHANGE:
            raise
    # If this process is killed here, whoever next reads or writes the folder puts it back.
    former = new.with_suffix(OLD)
    path.rename(former)
    try:
        new.rename(path)
    except OSError:
        former.rename(path)
        raise
    remove(former)


def exchange(one: Path, other: Path) -> None:
    """Exchange the names of two files or folders in one step (Linux)."""
    linux = sys.platform == "linux"
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if linux else None
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def refuse_unwritable(path: str | os.PathLike[str], *, inside: bool = False) -> None:
    """Refuse a place that cannot be written to, before long work rather than after it.

    Parameters
    ----------
    path
        A file or folder that is to be written, or replaced.
    inside
        Into the folder itself, if it is there, and not beside it.
    """
    path = Path(path)
    _refuse_nameless(path)
    place = path if inside else path.parent
    with naming(path):
        while not os.path.lexists(place):
            place = place.parent
        if not place.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        with part_of(place / path.name):
            pass


def refuse_other_folder(folder: Path, own: str, what: str) -> None:
    """Refuse to replace what is not a folder of ours.

    Parameters
    ----------
    folder
        It may be missing or empty.
    own
        A file by which one of ours is known.
    what
        What is to be written.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is a file: choose a folder for {what}")
    if folder.exists() and not (folder / own).exists() and any(folder.iterdir()):
        raise InvalidInput(f"{folder} holds something else than {what}: choose another folder")


@contextmanager
def naming(path: Path, *, parts: Path | None = None) -> Iterator[None]:
    """Say in one line that ``path`` cannot be written where the block fails to write.

    Parameters
    ----------
    path
        What the user asked for.
    parts
        A folder for parts of it: of one that cannot be written, ``path`` is named instead.

    Examples
    --------
    >>> with naming(Path("model")):
    ...     raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    Traceback (most recent call last):
    zerokin.files.CannotWrite: cannot write model: No space left on device; free some and give ...
    """
    try:
        yield
    except CannotWrite as error:
        if parts is None or not error.path.is_relative_to(parts):
            raise
        raise CannotWrite(path, error.reason) from error
    except Exception as error:
        reason = unwritable(error)
        if reason is None:
            raise
        raise CannotWrite(path, reason) from error


def unwritable(error: Exception) -> str | None:
    """Return why something could not be written, or None where the error is about another thing."""
    if isinstance(error, ZerokinError | BrokenPipeError):
        return None
    # safetensors' writer is no Python: the system's number stands in its text alone.
    found = re.search(r"os error (\d+)", str(error))
    if isinstance(error, OSError):
        number = error.errno
    elif type(error).__name__ == "SafetensorError" and found:
        number = int(found[1])
    else:
        return None
    reason = str(error) if number is None else os.strerror(number)
    full = number in (errno.ENOSPC, errno.EDQUOT)
    return f"{reason}; free some and give the same command again" if full else reason


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
        restore(path.parent)
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
