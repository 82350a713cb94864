"""Runs of a room's tests, each in a process forked from one that has imported what is slow."""

from __future__ import annotations

import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from .mutations import Mutant
from .rooms import ROOT, SOURCES, TESTS, Room

MEMORY = 8 << 30
# Tests in these groups by seconds: fast ones first, and fixtures are set up a few times at most.
SLOW = (0.03, 0.3)


class Outcome(NamedTuple):
    """How a run ended: whether a test failed, or all took longer than the limit allows."""

    mutant: Mutant
    caught: bool
    hung: bool


class Order:
    """A pytest plugin: put fast tests first, and note how long each takes."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.known, self.seen = seconds, dict[str, float]()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=lambda item: sum(self.known.get(item.nodeid, 0) > s for s in SLOW))

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seen[report.nodeid] = self.seen.get(report.nodeid, 0) + report.duration


class Trials:
    """Tests of one room against copies of the package.

    Parameters
    ----------
    room
        Whose tests are run.
    folder
        For the copies, one for each run at a time.
    workers
        Runs at a time.
    """

    def __init__(self, room: Room, folder: Path, workers: int) -> None:
        self.room, self.folder = room, folder
        self.copies = [folder / f"copy-{number}" for number in range(workers)]
        for copy in self.copies:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(SOURCES, copy / "zerokin", ignore=ignored)
        self.seconds: dict[str, float] = {}
        self.whole = self._measure()
        self.limit = 10 + 5 * self.whole

    def _measure(self) -> float:
        """Run the tests on unchanged copies: they must pass; import here what they imported."""
        whole = 0.0
        for copy in self.copies:
            told = self.folder / "measured.json"
            started = time.perf_counter()
            child = self._fork(copy, told)
            if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
                log = (copy / "log").read_text(encoding="utf-8", errors="replace")
                raise SystemExit(f"the tests fail without any mutant:\n{log[-3000:]}")
            whole = time.perf_counter() - started
            measured = json.loads(told.read_text(encoding="utf-8"))
            self.seconds = measured["seconds"]
            for name in measured["modules"]:
                with suppress(Exception):
                    importlib.import_module(name)
        return whole

    def run(self, mutants: Iterable[Mutant]) -> Iterator[Outcome]:
        """Try mutants, and yield each outcome as it comes."""
        waiting, free = iter(mutants), list(self.copies)
        running: dict[int, tuple[Mutant, Path, float]] = {}
        while True:
            while free and (mutant := next(waiting, None)):
                copy = free.pop()
                _write(mutant, copy)
                running[self._fork(copy)] = (mutant, copy, time.perf_counter())
            if not running:
                return
            time.sleep(0.01)
            for child, (mutant, copy, started) in list(running.items()):
                seconds = time.perf_counter() - started
                pid, status = os.waitpid(child, os.WNOHANG)
                if not pid and seconds < self.limit:
                    continue
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(child, signal.SIGKILL)
                if not pid:
                    os.waitpid(child, 0)
                shutil.copy(SOURCES / mutant.file, copy / "zerokin" / mutant.file)
                del running[child]
                free.append(copy)
                failed = bool(pid) and os.waitstatus_to_exitcode(status) != 0
                yield Outcome(mutant, caught=failed or not pid, hung=not pid)

    def _fork(self, copy: Path, told: Path | None = None) -> int:
        child = os.fork()
        if not child:
            status = 1
            try:
                status = self._test(copy, told)
            finally:
                os._exit(status)
        with suppress(ProcessLookupError, PermissionError):
            os.setpgid(child, child)
        return child

    def _test(self, copy: Path, told: Path | None) -> int:
        """Run the tests in this process, which then ends."""
        with suppress(PermissionError):
            os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        log = os.open(copy / "log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o666)
        os.dup2(log, 1)
        os.dup2(log, 2)
        import pytest

        os.environ["PYTHONPATH"] = os.pathsep.join([str(copy), str(TESTS)])
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(copy / "hypothesis")
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.path[:0] = [str(copy), str(TESTS)]
        sys.dont_write_bytecode = told is None
        os.chdir(ROOT)
        order = Order(self.seconds)
        examples = [copy / "zerokin" / name for name in self.room.source_files()]
        files = [str(path) for path in [*self.room.test_files(), *examples]]
        # Drawn examples are the same in every run: a mutant is caught or it is not.
        options = ["-x", "-q", "-p", "no:cacheprovider", "--tb=short", "--hypothesis-seed=0"]
        ended = pytest.main([*options, "-c", "pyproject.toml", *files], plugins=[order])
        if told is not None:
            modules = [name for name in sys.modules if not _is_ours(name)]
            measured = {"seconds": order.seen, "modules": modules}
            told.write_text(json.dumps(measured), encoding="utf-8")
        sys.stdout.flush()
        sys.stderr.flush()
        return int(ended)


def _write(mutant: Mutant, copy: Path) -> None:
    """Put a mutant into a copy, where no bytecode of the file may hide it."""
    path = copy / "zerokin" / mutant.file
    path.write_bytes(mutant.apply())
    for cached in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        cached.unlink()


def _is_ours(name: str) -> bool:
    """Tell whether a module is zerokin's or a test's: those are imported anew every time."""
    file = getattr(sys.modules[name], "__file__", None) or ""
    return name == "__main__" or name.startswith("zerokin") or file.startswith(str(ROOT))
