"""Processes forked from this one, which never computes: torch is imported once for all of them."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

CHANGES = {"os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.chmod"}
LIMIT = 120.0


class Ended(NamedTuple):
    """How a process ended: its status (None if it was killed), its steps on disk, and its time."""

    status: int | None
    steps: int
    seconds: float


class Kill(NamedTuple):
    """When to kill: before a step on disk, or after some seconds; never if both are None."""

    step: int | None = None
    seconds: float | None = None


def run_command(arguments: Sequence[object], work: Path, kill: Kill | None = None) -> Ended:
    """Run zerokin in a process group of its own, in a folder, until it ends or is killed."""
    kill = kill or Kill()
    reading, writing = os.pipe()
    started = time.perf_counter()
    child = os.fork()
    if not child:
        os.close(reading)
        _command(arguments, work, kill, writing)
    lead_group(child)
    os.close(writing)
    status = _awaited(child, started, LIMIT if kill.seconds is None else kill.seconds)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    return Ended(status, int(told or 0), time.perf_counter() - started)


def _awaited(child: int, started: float, limit: float) -> int | None:
    """Wait for a process, and kill it with all that it has started when its time is over."""
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        late = time.perf_counter() - started > limit
        if pid or late:
            kill_group(child)
        if pid:
            return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)
        if late:
            os.waitpid(child, 0)
            return None
        time.sleep(0.0005)


def lead_group(child: int) -> None:
    """Make a process the leader of a group, whoever is quicker: it does the same."""
    with suppress(ProcessLookupError, PermissionError):
        os.setpgid(child, child)


def kill_group(leader: int) -> None:
    """Kill a process that was forked here, and what it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _command(arguments: Sequence[object], work: Path, kill: Kill, writing: int) -> None:
    from zerokin.cli import main

    lead_group(0)
    log = os.open(work.with_suffix(".log"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o666)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(work)
    scratch = work / "tmp"
    scratch.mkdir(exist_ok=True)
    tempfile.tempdir = str(scratch)
    sys.argv = ["zerokin", *map(str, arguments)]
    count = 0

    def watch(event: str, given: tuple[object, ...]) -> None:
        nonlocal count
        writes = event == "open" and isinstance(given[2], int) and given[2] & os.O_ACCMODE
        if event in CHANGES or writes:
            count += 1
            if count == kill.step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    status = 1
    try:
        main()
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(writing, str(count).encode())
        os._exit(status)


def computed(function: Callable[[], object]) -> str:
    """Return a digest of what a function returns in a process of its own; raise what it raises."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            digest = hashlib.sha256(repr(function()).encode()).hexdigest()
            os.write(writing, f"={digest}".encode())
        except BaseException:
            os.write(writing, traceback.format_exc()[-3000:].encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read().decode()
    os.waitpid(child, 0)
    if not told.startswith("="):
        raise AssertionError(told or "nothing came back")
    return told[1:]
