"""Commands start and end quickly, and lose nothing by it."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from zerokin.compute.imports import import_without_collecting

ENDS = """
import atexit, sys, tempfile, threading, time
from zerokin.commands.quick_exit import QuickExit

quick = QuickExit()
atexit.register(print, "handled", flush=True)
folder = tempfile.TemporaryDirectory(prefix="zerokin-test-")
print(folder.name)
threading.Thread(target=lambda: (time.sleep(0.2), print("thread", flush=True))).start()
print("held back", end="")
quick.status = {status}
{then}
"""


@pytest.fixture(autouse=True)
def _collecting():
    yield
    gc.unfreeze()
    gc.enable()


def test_garbage_is_left_alone_during_imports_and_collected_afterwards():
    with import_without_collecting():
        assert not gc.isenabled()
        made = [[] for _ in range(1_234)]
    assert gc.isenabled()
    assert not {id(one) for one in gc.get_objects()} & {id(one) for one in made}
    with pytest.raises(KeyError), import_without_collecting():
        raise KeyError
    assert gc.isenabled()


def test_collection_stays_off_where_it_was_off():
    gc.disable()
    with import_without_collecting():
        pass
    assert not gc.isenabled()


def end(status, then=""):
    script = ENDS.format(status=status, then=then)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)


@pytest.mark.parametrize("status", [0, 2, 130])
def test_a_quick_exit_waits_for_threads_handlers_and_output(status):
    ended = end(status)
    first, *said = ended.stdout.splitlines()
    assert ended.returncode == status
    assert said == ["held backthread", "handled"]
    assert not ended.stderr
    assert not Path(first).exists()


def test_an_exception_that_nobody_caught_is_still_told():
    ended = end(None, "raise LookupError('lost')")
    assert ended.returncode == 1
    assert ended.stderr.endswith("LookupError: lost\n")
    assert "handled" in ended.stdout


def test_output_that_nobody_reads_is_no_success():
    command = (
        f"{sys.executable} -c '{ENDS.format(status=0, then='')}' | true; echo ${{PIPESTATUS[0]}}"
    )
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert ended.stdout.strip() != "0"
