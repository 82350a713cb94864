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
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from .mutations import Mutant
from .rooms import ROOT, SOURCES, TESTS, Room

MEMORY = 8 << 30
COPY = "copy-"
# Tests in these groups by seconds: fast ones first, and fixtures are set up a few times at most.
SLOW = (0.03, 0.3)


class Outcome(NamedTuple):
    """How a run ended: whether a test failed, or all took longer than the limit allows."""

    mutant: Mutant
    caught: bool
    hung: bool


class Order:
    """A pytest plugin: fast tests first.

    Parameters
    ----------
    seconds
        How long each test takes, by its name.
    near
        Names of the tests that run the mutant's lines.
    first
        Run those alone; otherwise all others.
    """

    def __init__(self, seconds: Mapping[str, float], near: Collection[str], *, first: bool) -> None:
        self.seconds, self.near, self.first = seconds, near, first

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if (item.nodeid in self.near) == self.first]
        items.sort(key=lambda item: sum(self.seconds.get(item.nodeid, 0) > s for s in SLOW))


class Measure:
    """A pytest plugin: note how long each test takes, and which lines of a folder it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = f"{folder}{os.sep}"
        self.seconds, self.lines = dict[str, float](), dict[str, set[tuple[str, int]]]()

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0) + report.duration

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        met = self.lines.setdefault(item.nodeid, set())

        def note(frame: Any, event: str, _: object) -> Any:
            file = frame.f_code.co_filename
            if not file.startswith(self.folder):
                return None
            if event == "line":
                met.add((file[len(self.folder) :], frame.f_lineno))
            return note

        sys.settrace(note)
        try:
            return (yield)
        finally:
            sys.settrace(None)


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
        self.copies = [folder / f"{COPY}{number}" for number in range(workers)]
        first, *others = self.copies
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(SOURCES, first / "zerokin", ignore=ignored)
        self.seconds: dict[str, float] = {}
        self.lines: dict[str, set[tuple[str, int]]] = {}
        self.whole = self._measure(first)
        for copy in others:  # bytecode included
            shutil.copytree(first / "zerokin", copy / "zerokin")
        self.limit = 10 + 5 * self.whole

    def _measure(self, copy: Path) -> float:
        """Run the tests on an unchanged copy: they must pass; import here what they imported."""
        told = self.folder / "measured.json"
        started = time.perf_counter()
        child = self._fork(copy, told=told)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            log = (copy / "log").read_text(encoding="utf-8", errors="replace")
            raise SystemExit(f"the tests fail without any mutant:\n{log[-3000:]}")
        whole = time.perf_counter() - started
        measured = json.loads(told.read_text(encoding="utf-8"))
        self.seconds = measured["seconds"]
        self.lines = {test: {(f, n) for f, n in met} for test, met in measured["lines"].items()}
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
                running[self._fork(copy, mutant)] = (mutant, copy, time.perf_counter())
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

    def _fork(self, copy: Path, mutant: Mutant | None = None, *, told: Path | None = None) -> int:
        child = os.fork()
        if not child:
            status = 1
            try:
                status = self._test(copy, mutant, told)
            finally:
                os._exit(status)
        with suppress(ProcessLookupError, PermissionError):
            os.setpgid(child, child)
        return child

    def _test(self, copy: Path, mutant: Mutant | None, told: Path | None) -> int:
        """Run the tests in this process, which then ends."""
        with suppress(PermissionError):
            os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        log = os.open(copy / "log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o666)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ["PYTHONPATH"] = os.pathsep.join([str(copy), str(TESTS)])
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(copy / "hypothesis")
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.path[:0] = [str(copy), str(TESTS)]
        sys.dont_write_bytecode = told is None
        os.chdir(ROOT)
        examples = [copy / "zerokin" / name for name in self.room.source_files()]
        files = [str(path) for path in [*self.room.test_files(), *examples]]
        if told is not None:
            measure = Measure(copy / "zerokin")
            ended = _run_pytest(files, measure)
            measured = {
                "seconds": measure.seconds,
                "lines": {test: sorted(met) for test, met in measure.lines.items()},
                "modules": [name for name in sys.modules if not _is_ours(name)],
            }
            told.write_text(json.dumps(measured), encoding="utf-8")
        else:
            near = self._covering(mutant) if mutant else set()
            first = {test.partition("::")[0] for test in near}
            ended = _run_pytest(first, Order(self.seconds, near, first=True)) if near else 0
            # What fixtures and imports run counts for the test that happens to need them first: if
            # no test that runs these lines fails, all others are run.
            ended = ended or _run_pytest(files, Order(self.seconds, near, first=False))
        sys.stdout.flush()
        sys.stderr.flush()
        return int(ended)

    def _covering(self, mutant: Mutant) -> set[str]:
        """Return the tests that run lines of a mutant; examples in docstrings are not counted."""
        last = mutant.line + mutant.before_lines() - 1
        lines = {(mutant.file, line) for line in range(mutant.line, last + 1)}
        return {test for test, met in self.lines.items() if met & lines and COPY not in test}


def _run_pytest(files: Iterable[str], plugin: object) -> int:
    # Drawn examples are the same in every run: a mutant is caught or it is not.
    options = ["-x", "-q", "-p", "no:cacheprovider", "--tb=short", "--hypothesis-seed=0"]
    ended = pytest.main([*options, "-c", "pyproject.toml", *sorted(files)], plugins=[plugin])
    return 0 if ended == pytest.ExitCode.NO_TESTS_COLLECTED else int(ended)


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
