"""A folder whose content changes as a whole: a pointer, and the generation it points to.

``bundle.json`` names one sub-folder, the current generation, and the SHA-256 of each of its files.
A change writes a complete new generation beside it, reads it back, waits until it is on the disk,
and then replaces the pointer by renaming. Whatever happens in between, the pointer leads to the old
generation or to the new one, whole. The generation before the current one is kept, so that the last
change can be undone; what else lies around is removed by the next change.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from zerokin._version import __version__
from zerokin.classifiers.serialization import CONFIG
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.files import naming, read_versioned
from zerokin.recognizer.generation_files import (
    Files,
    check_files,
    flattened,
    hashes,
    link_unchanged,
    nested,
    sync,
    sync_tree,
)
from zerokin.temporaries import give_usual_rights

FORMAT, VERSION = "zerokin-bundle", 1
POINTER, LOCK = "bundle.json", ".lock"
GENERATION = re.compile(r"v-[0-9a-f]{12}")
PART = re.compile(r"\.v-[0-9a-f]{12}\.part")
READS = 10
Read = TypeVar("Read")


@dataclass(frozen=True)
class Pointer:
    """What ``bundle.json`` says: the current generation, its files, and the one before it."""

    generation: str
    files: Files
    former: Pointer | None = None

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the generations that must stay."""
        former = () if self.former is None else (self.former.generation,)
        return (self.generation, *former)

    def as_dict(self) -> dict[str, Any]:
        """Return what ``bundle.json`` says as plain data."""
        former = {} if self.former is None else {"former": self.former.as_dict()}
        return {"generation": self.generation, "files": nested(self.files), **former}


def is_bundle(folder: str | os.PathLike[str]) -> bool:
    """Tell whether a folder holds a bundle, whole or damaged."""
    return (Path(folder) / POINTER).is_file()


def read_pointer(folder: Path) -> Pointer:
    """Read ``bundle.json``, trusting nothing in it."""
    path = folder / POINTER
    content = read_versioned(
        path,
        what="bundle",
        made_by="zerokin fit",
        kind=FORMAT,
        version=VERSION,
        remedy="update zerokin, or fit the bundle anew",
    )
    former = content.get("former")
    if former is not None and not isinstance(former, dict):
        raise InvalidInput(f"{path}: former must be an object")
    return _parsed(content, path, former=None if former is None else _parsed(former, path))


def _parsed(content: dict[str, Any], path: Path, *, former: Pointer | None = None) -> Pointer:
    generation = content.get("generation")
    if not isinstance(generation, str) or not GENERATION.fullmatch(generation):
        raise InvalidInput(
            f"{path}: generation {generation!r} is not a name such as v-0123456789ab"
        )
    return Pointer(generation, dict(flattened(content.get("files"), "", path)), former)


def read_generation(
    folder: str | os.PathLike[str], read: Callable[[Path], Read]
) -> tuple[Read, str]:
    """Check the files of the current generation and read them.

    Writers may remove the generation while it is being read; then the new one is read.

    Returns
    -------
    content, generation
        What ``read`` made of the generation's folder, and the generation's name.
    """
    folder = Path(folder)
    for _ in range(READS):
        pointer = read_pointer(folder)
        try:
            check_files(folder / pointer.generation, pointer.files)
            return read(folder / pointer.generation), pointer.generation
        except (ZerokinError, OSError) as error:
            if read_pointer(folder) == pointer:
                if isinstance(error, ZerokinError):
                    raise
                raise InvalidInput(f"cannot read {folder}: {error}") from error
    raise InvalidInput(f"{folder} keeps changing while it is read: try again")


def write_generation(
    folder: str | os.PathLike[str],
    fill: Callable[[Path], None],
    *,
    check: Callable[[Path], None] | None = None,
    based_on: str | None = None,
) -> str:
    """Write a new generation, point to it, and remove all but the one before it.

    Parameters
    ----------
    folder
        New, or holding a bundle.
    fill
        Writes everything into the empty folder it is given.
    check
        Reads what was written and raises if it is not what it should be: then nothing changes.
    based_on
        The generation that the change was made from: if another has come since, nothing is written.

    Returns
    -------
    str
        The new generation's name; the current one's if nothing differs.
    """
    folder = Path(folder)
    refuse_other_content(folder)
    with naming(folder, parts=folder):
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            former = read_pointer(folder) if is_bundle(folder) else None
            if based_on is not None and (former is None or former.generation != based_on):
                raise InvalidInput(
                    f"{folder} has been changed by somebody else since it was loaded: "
                    "load it again and repeat the change"
                )
            _remove_leftovers(folder, () if former is None else former.kept)
            return _replace(folder, former, fill, check)


def undo_generation(folder: str | os.PathLike[str], check: Callable[[Path], Read]) -> Read:
    """Point to the generation before the current one, which stays as the one before it.

    Parameters
    ----------
    folder
        Holding a bundle.
    check
        Reads the former generation and raises if it cannot: then nothing changes.

    Returns
    -------
    Read
        What ``check`` read.
    """
    folder = Path(folder)
    if not is_bundle(folder):
        read_pointer(folder)  # says what is missing
    with naming(folder, parts=folder), _locked(folder):
        current = read_pointer(folder)
        former = current.former
        if former is None:
            raise InvalidInput(f"{folder} has not been changed since it was made: nothing to undo")
        check_files(folder / former.generation, former.files)
        read = check(folder / former.generation)
        now = Pointer(former.generation, former.files, Pointer(current.generation, current.files))
        _write_pointer(folder, now)
        _remove_leftovers(folder, now.kept)
        return read


def _replace(
    folder: Path,
    former: Pointer | None,
    fill: Callable[[Path], None],
    check: Callable[[Path], None] | None,
) -> str:
    part = folder / f".v-{secrets.token_hex(6)}.part"
    part.mkdir()
    try:
        fill(part)
        give_usual_rights(part, list(part.rglob("*")))
        files = hashes(part)
        # What could not be read back is not written.
        assert dict(flattened(nested(files), "", folder / POINTER)) == files
        if check is not None:
            check(part)
        if former is not None:
            before = folder / former.generation
            if files == former.files and before.is_dir() and hashes(before) == files:
                shutil.rmtree(part, ignore_errors=True)
                return former.generation
            link_unchanged(part, files, before)
        name = _free_name(folder, files)
        sync_tree(part)
        part.rename(folder / name)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    last = None if former is None else Pointer(former.generation, former.files)
    now = Pointer(name, files, last)
    try:
        sync(folder)
        _write_pointer(folder, now)
    except BaseException:
        if not is_bundle(folder) or read_pointer(folder).generation != name:
            shutil.rmtree(folder / name, ignore_errors=True)
        raise
    _remove_leftovers(folder, now.kept)
    return name


def _write_pointer(folder: Path, pointer: Pointer) -> None:
    content = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"zerokin {__version__}",
        **pointer.as_dict(),
    }
    temporary = folder / f".{POINTER}.part"
    with temporary.open("w", encoding="utf-8") as file:
        file.write(json.dumps(content, indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / POINTER)
    sync(folder)


def refuse_other_content(folder: Path) -> None:
    """Refuse to write a bundle into a folder that holds something else."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is a file: choose a folder for the bundle")
    if not folder.exists() or is_bundle(folder):
        return
    other = [path.name for path in folder.iterdir() if not _is_ours(path.name)]
    if CONFIG in other:
        raise InvalidInput(
            f"{folder} is a classifier of an earlier version, which is only read: write a bundle "
            "into another folder with zerokin fit, or with Recognizer.load and save"
        )
    if other:
        raise InvalidInput(f"{folder} holds something else than a bundle: choose another folder")


def _is_ours(name: str) -> bool:
    return bool(
        name in (POINTER, LOCK, f".{POINTER}.part")
        or GENERATION.fullmatch(name)
        or PART.fullmatch(name)
    )


def _remove_leftovers(folder: Path, kept: tuple[str, ...]) -> None:
    for path in folder.iterdir():
        if path.is_dir() and path.name not in kept and _is_ours(path.name):
            shutil.rmtree(path, ignore_errors=True)
    (folder / f".{POINTER}.part").unlink(missing_ok=True)


def _free_name(folder: Path, files: Files) -> str:
    digest = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    while (folder / f"v-{digest[:12]}").exists():
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return f"v-{digest[:12]}"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one writer in at a time; the system frees the lock of a process that ends."""
    import fcntl

    with (folder / LOCK).open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
