"""A folder whose content changes as a whole: a pointer, and the generation it points to.

``bundle.json`` names one sub-folder, the current generation, and the SHA-256 of each of its files.
A change writes a complete new generation beside it, waits until it is on the disk, and then
replaces the pointer by renaming. Whatever happens in between, the pointer leads to the old
generation or to the new one, whole; what else lies around is removed by the next change.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from zerokin._version import __version__
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.files import naming, read_versioned, sha256

FORMAT, VERSION = "zerokin-bundle", 1
POINTER, LOCK = "bundle.json", ".lock"
GENERATION = re.compile(r"v-[0-9a-f]{12}")
PART = re.compile(r"\.v-[0-9a-f]{12}\.part")
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
HASH = re.compile(r"[0-9a-f]{64}")
READS = 10
FOR_PEOPLE = ("README.md",)
"""Files that may be edited: nothing reads numbers or names from them."""

Files = dict[str, str]
"""The hash of every file of a generation by its path, whose parts are joined by ``/``."""
Read = TypeVar("Read")


@dataclass(frozen=True)
class Pointer:
    """What ``bundle.json`` says: the name of the current generation, and its files."""

    generation: str
    files: Files


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
    generation = content.get("generation")
    if not isinstance(generation, str) or not GENERATION.fullmatch(generation):
        raise InvalidInput(
            f"{path}: generation {generation!r} is not a name such as v-0123456789ab"
        )
    return Pointer(generation, dict(_flattened(content.get("files"), "", path)))


def read_generation(
    folder: str | os.PathLike[str], read: Callable[[Path], Read]
) -> tuple[Read, str]:
    """Check the files of the current generation and read them.

    A writer may remove the generation while it is being read; then the new one is read.

    Returns
    -------
    content, generation
        What ``read`` made of the generation's folder, and the generation's name.
    """
    folder = Path(folder)
    for _ in range(READS):
        pointer = read_pointer(folder)
        try:
            _check_files(folder, pointer)
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
    based_on: str | None = None,
) -> str:
    """Write a new generation, point to it, and remove what came before.

    Parameters
    ----------
    folder
        New, or holding a bundle.
    fill
        Writes everything into the empty folder it is given.
    based_on
        The generation that the change was made from: if another has come since, nothing is written.

    Returns
    -------
    str
        The new generation's name.
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
            _remove_leftovers(folder, None if former is None else former.generation)
            return _replace(folder, former, fill)


def _replace(folder: Path, former: Pointer | None, fill: Callable[[Path], None]) -> str:
    part = folder / f".v-{secrets.token_hex(6)}.part"
    part.mkdir()
    try:
        fill(part)
        files = _hashes(part)
        # What could not be read back is not written.
        assert dict(_flattened(_nested(files), "", folder / POINTER)) == files
        if former is not None:
            _link_unchanged(part, files, folder / former.generation)
        name = _free_name(folder, files)
        _let_others_read(part, folder / LOCK)
        _sync_tree(part)
        part.rename(folder / name)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    try:
        _sync(folder)
        _write_pointer(folder, Pointer(name, files))
    except BaseException:
        if not is_bundle(folder) or read_pointer(folder).generation != name:
            shutil.rmtree(folder / name, ignore_errors=True)
        raise
    _remove_leftovers(folder, name)
    return name


def _write_pointer(folder: Path, pointer: Pointer) -> None:
    content = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"zerokin {__version__}",
        "generation": pointer.generation,
        "files": _nested(pointer.files),
    }
    temporary = folder / f".{POINTER}.part"
    with temporary.open("w", encoding="utf-8") as file:
        file.write(json.dumps(content, indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / POINTER)
    _sync(folder)


def _check_files(folder: Path, pointer: Pointer) -> None:
    """Refuse a generation in which a file is missing, changed or too many."""
    root = folder / pointer.generation
    if not root.is_dir():
        raise InvalidInput(f"{folder} lacks {pointer.generation}, to which {POINTER} points")
    for name, expected in pointer.files.items():
        path = root / name
        if not path.is_file() or path.is_symlink():
            raise InvalidInput(f"{path} is missing: copy the bundle again, or fit it anew")
        if name not in FOR_PEOPLE and sha256(path) != expected:
            raise InvalidInput(
                f"{path} has been changed or damaged: its SHA-256 is not the one noted"
            )
    for path in root.rglob("*"):
        if not path.is_dir() and path.relative_to(root).as_posix() not in pointer.files:
            raise InvalidInput(f"{path} does not belong to the bundle: remove it")


def refuse_other_content(folder: Path) -> None:
    """Refuse to write a bundle into a folder that holds something else."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is a file: choose a folder for the bundle")
    if not folder.exists() or is_bundle(folder):
        return
    other = [path.name for path in folder.iterdir() if not _is_ours(path.name)]
    if other:
        raise InvalidInput(f"{folder} holds something else than a bundle: choose another folder")


def _is_ours(name: str) -> bool:
    return bool(
        name in (POINTER, LOCK, f".{POINTER}.part")
        or GENERATION.fullmatch(name)
        or PART.fullmatch(name)
    )


def _remove_leftovers(folder: Path, current: str | None) -> None:
    for path in folder.iterdir():
        if path.is_dir() and path.name != current and _is_ours(path.name):
            shutil.rmtree(path, ignore_errors=True)
    (folder / f".{POINTER}.part").unlink(missing_ok=True)


def _hashes(root: Path) -> Files:
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): sha256(path) for path in paths}


def _link_unchanged(part: Path, files: Files, former: Path) -> None:
    """Replace files that the former generation holds too by links to them."""
    for name, expected in files.items():
        old, new = former / name, part / name
        # What is there counts, not what was noted: a damaged file is not passed on.
        if not old.is_file() or old.is_symlink() or sha256(old) != expected:
            continue
        if old.samefile(new):  # linked when it was written
            continue
        link = new.with_name(f"{new.name}.link")
        with suppress(OSError):  # a file system without links keeps the copy
            os.link(old, link)
            link.replace(new)


def _let_others_read(part: Path, example: Path) -> None:
    """Give files the rights that new files have here: some writers keep theirs to the owner."""
    for path in part.rglob("*"):
        if path.is_file():
            path.chmod(stat.S_IMODE(example.stat().st_mode))


def _free_name(folder: Path, files: Files) -> str:
    digest = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    while (folder / f"v-{digest[:12]}").exists():
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return f"v-{digest[:12]}"


def _nested(files: Files) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, digest in files.items():
        *folders, last = name.split("/")
        branch = tree
        for folder in folders:
            branch = branch.setdefault(folder, {})
        branch[last] = digest
    return tree


def _flattened(tree: Any, prefix: str, path: Path) -> Iterator[tuple[str, str]]:
    """Yield the files of a tree of plain names: nothing in it can lead out of the generation."""
    if not isinstance(tree, dict) or not tree:
        raise InvalidInput(
            f"{path}: files{'' if not prefix else f' of {prefix}'} must be an object"
        )
    for name, value in tree.items():
        if not PLAIN_NAME.fullmatch(name) or ".." in name:
            raise InvalidInput(f"{path}: {name!r} is not a plain file name")
        if isinstance(value, dict) and prefix.count("/") < 3:
            yield from _flattened(value, f"{prefix}{name}/", path)
        elif isinstance(value, str) and HASH.fullmatch(value):
            yield prefix + name, value
        else:
            raise InvalidInput(f"{path}: {prefix}{name} has no SHA-256")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one writer in at a time; the system frees the lock of a process that ends."""
    import fcntl

    with (folder / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sync_tree(root: Path) -> None:
    for path in (*root.rglob("*"), root):
        _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
