"""The files of a generation: their hashes, links to those that did not change, and their check."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from zerokin.errors import InvalidInput
from zerokin.files import sha256

PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
HASH = re.compile(r"[0-9a-f]{64}")
FOR_PEOPLE = ("README.md",)
"""Files that may be edited: nothing reads numbers or names from them."""

Files = dict[str, str]
"""The hash of every file of a generation by its path, whose parts are joined by ``/``."""


def check_files(root: Path, files: Files) -> None:
    """Refuse a generation in which a file is missing, changed or too many."""
    if not root.is_dir():
        raise InvalidInput(f"{root.parent} lacks {root.name}, to which its pointer leads")
    for name, expected in files.items():
        path = root / name
        if not path.is_file() or path.is_symlink():
            raise InvalidInput(f"{path} is missing: copy the bundle again, or fit it anew")
        if name not in FOR_PEOPLE and sha256(path) != expected:
            raise InvalidInput(
                f"{path} has been changed or damaged: its SHA-256 is not the one noted"
            )
    for path in root.rglob("*"):
        if not path.is_dir() and path.relative_to(root).as_posix() not in files:
            raise InvalidInput(f"{path} does not belong to the bundle: remove it")


def hashes(root: Path) -> Files:
    """Return the hash of every file below a folder."""
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): sha256(path) for path in paths}


def link_unchanged(part: Path, files: Files, former: Path) -> None:
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


def nested(files: Files) -> dict[str, Any]:
    """Return files as a tree of folders."""
    tree: dict[str, Any] = {}
    for name, digest in files.items():
        *folders, last = name.split("/")
        branch = tree
        for folder in folders:
            branch = branch.setdefault(folder, {})
        branch[last] = digest
    return tree


def flattened(tree: Any, prefix: str, path: Path) -> Iterator[tuple[str, str]]:
    """Yield the files of a tree of plain names: nothing in it can lead out of the generation."""
    if not isinstance(tree, dict) or not tree:
        raise InvalidInput(
            f"{path}: files{'' if not prefix else f' of {prefix}'} must be an object"
        )
    for name, value in tree.items():
        if not PLAIN_NAME.fullmatch(name) or ".." in name:
            raise InvalidInput(f"{path}: {name!r} is not a plain file name")
        if isinstance(value, dict) and prefix.count("/") < 3:
            yield from flattened(value, f"{prefix}{name}/", path)
        elif isinstance(value, str) and HASH.fullmatch(value):
            yield prefix + name, value
        else:
            raise InvalidInput(f"{path}: {prefix}{name} has no SHA-256")


def sync_tree(root: Path) -> None:
    """Wait until a folder and all below it are on the disk."""
    for path in (*root.rglob("*"), root):
        sync(path)


def sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def same_files(one: Path, other: Path) -> bool:
    """Tell whether two folders hold the same files, large ones by being links to each other."""
    names = {path.name for path in one.iterdir()}
    if not other.is_dir() or names != {path.name for path in other.iterdir()}:
        return False
    return all(
        (one / name).samefile(other / name)
        or (
            not name.endswith(".safetensors")
            and (one / name).read_bytes() == (other / name).read_bytes()
        )
        for name in names
    )
