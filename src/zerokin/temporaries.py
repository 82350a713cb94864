"""Temporary folders that tell whether whoever writes into them still lives.

What is written goes to ``.NAME.TOKEN.part`` beside its target, a folder on which its writer holds a
lock (``flock``). The system frees the lock of a process that ends, however it ends: a folder that
can be locked was left behind by one that was killed, and the next writer to the same target removes
it. Where the file system has no locks nothing is removed, as nobody can tell who lives.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl

    LOCKS = True
except ImportError:  # Windows
    LOCKS = False

PART, OLD = ".part", ".old"
SCRATCH = "zerokin"
TRIES = 100


@contextmanager
def part_of(target: Path, *, mode: int = 0o777) -> Iterator[Path]:
    """Give an empty folder beside ``target`` to write into; it is gone afterwards.

    What was left there by writers of the same target that were killed is removed first.

    Parameters
    ----------
    target
        What is to be written.
    mode
        Rights of the folder, less what the umask takes.
    """
    remove_leftovers(target)
    part, lock = _made(target, mode)
    try:
        yield part
    finally:
        remove(part)
        if lock is not None:
            os.close(lock)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give an empty folder where the system keeps what is temporary; nobody else can look into it.

    What processes of ours that were killed have left there is removed first.
    """
    with part_of(Path(tempfile.gettempdir()) / SCRATCH, mode=0o700) as folder:
        yield folder


def remove_leftovers(target: Path) -> None:
    """Remove what killed writers of a target left beside it; put back what one had moved away."""
    restore(target)
    for left in _beside(target, PART, OLD):
        with _dead(left.with_suffix(PART)) as dead:
            if dead and (left.suffix == PART or target.exists()):
                remove(left)


def restore(target: Path) -> None:
    """Give a folder its name back if it has none: its writer was killed between two renames."""
    if target.exists() or not target.parent.is_dir():
        return
    for old in _beside(target, OLD):
        with _dead(old.with_suffix(PART), wait=True):
            # Whoever lived has finished, or died: only then does nothing have the name.
            if not target.exists():
                with suppress(OSError):
                    old.rename(target)


def remove(path: Path) -> None:
    """Remove a folder, file or link, if it is there and can be removed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        path.unlink(missing_ok=True)


def give_usual_rights(root: Path, files: Iterable[Path]) -> None:
    """Give files the rights that new ones have here: some writers keep theirs to the owner.

    Parameters
    ----------
    root
        A folder of ours, to see in it which rights a new file has: the umask cannot be asked for
        without changing it for all threads.
    files
        Below it.
    """
    example = root / f".{secrets.token_hex(8)}"
    os.close(os.open(example, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    usual = stat.S_IMODE(example.stat().st_mode)
    example.unlink()
    for path in files:
        found = path.lstat()
        if stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) != usual:
            with suppress(PermissionError):  # a link to a file of somebody else
                path.chmod(usual)


def _beside(target: Path, *suffixes: str) -> list[Path]:
    pattern = re.compile(
        rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}({'|'.join(map(re.escape, suffixes))})"
    )
    try:
        return [path for path in target.parent.iterdir() if pattern.fullmatch(path.name)]
    except OSError:  # no such folder, or none that may be looked into
        return []


def _made(target: Path, mode: int) -> tuple[Path, int | None]:
    """Make a folder that is locked before anybody could have taken it for left behind."""
    for _ in range(TRIES):
        part = target.with_name(f".{target.name}.{secrets.token_hex(4)}{PART}")
        part.parent.mkdir(parents=True, exist_ok=True)
        part.mkdir(mode)
        if not LOCKS:
            return part, None
        lock = None
        try:
            lock = os.open(part, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(lock), part.stat()):
                return part, lock
        except FileNotFoundError:
            pass  # somebody was quicker, and has removed it
        except OSError:  # a file system without locks
            if lock is not None:
                os.close(lock)
            return part, None
        if lock is not None:
            os.close(lock)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


@contextmanager
def _dead(part: Path, *, wait: bool = False) -> Iterator[bool]:
    """Tell whether nobody writes into a folder any more, and keep its lock meanwhile."""
    if not LOCKS:
        yield False
        return
    try:
        lock = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        # No writer keeps its lock on something else than a folder.
        yield error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
        return
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            dead = True
        except OSError:
            dead = False
        yield dead
    finally:
        os.close(lock)
