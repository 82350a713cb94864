"""A small bundle to serve, made once for all tests of the web page."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from own_images import fitted, write_critter_folder

ROOT = Path(__file__).parents[1]


@cache
def animals() -> Path:
    """Folder of images."""
    folder = Path(tempfile.mkdtemp(prefix="zerokin-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return write_critter_folder(folder / "animals")


@cache
def _bundle() -> Path:
    fitted(animals()).save(animals().parent / "bundle")
    return animals().parent / "bundle"


def bundle(place: Path) -> Path:
    """Copy of a bundle that a test may change."""
    return Path(shutil.copytree(_bundle(), place / "bundle"))


def test_images() -> list[Path]:
    """Images that were not trained on."""
    return sorted((animals() / "test").glob("*/*.png"))


test_images.__test__ = False


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", **more}


def zerokin(*arguments: object, cwd: Path | None = None, **more: str):
    """Run the command line."""
    return subprocess.run(
        [sys.executable, "-m", "zerokin", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(**more),
        timeout=120,
    )


@contextmanager
def running(folder: Path, *options: str, code: str | None = None, **more: str):
    """Give a server's address and process; it is stopped in the end.

    ``code`` starts the server in another way than the command line.
    """
    command = ["-m", "zerokin", "serve", str(folder), "--port", "0", *options]
    process = subprocess.Popen(
        [sys.executable, *(command if code is None else ["-c", code, str(folder)])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**more),
    )
    try:
        line = process.stdout.readline()
        found = re.match(r"(http://\S+)", line)
        if found is None:
            raise AssertionError(f"{line!r}: {process.stderr.read()}")
        yield found[1], process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(60)
        process.stdout.close()
        process.stderr.close()
