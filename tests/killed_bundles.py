"""Change a bundle and be killed by SIGKILL at every step on disk: run by test_bundle_killed.py.

Usage: ``killed_bundles.py OLD SCRATCH IMAGE``. Every change is a process of its own, forked from
this one, so that torch is imported once. Prints how many steps there were, and how many kills left
the old and the new bundle.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np

from zerokin.recognizer import Recognizer
from zerokin.recognizer.atomic_bundle import read_pointer

CHANGES = {"os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}


def killed_at(step, folder):
    """Save the change in a process that dies before some step; tell whether it came to that."""
    child = os.fork()
    if not child:
        count = 0

        def watch(event, arguments):
            nonlocal count
            if event in CHANGES or (event == "open" and str(folder) in str(arguments[0])):
                count += 1
                if count == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        changed.save(folder)
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0


def contents(folder):
    """Return all that a bundle holds, after `load` has checked it."""
    recognizer = Recognizer.load(folder)
    return read_pointer(folder).files, recognizer.recognize([IMAGE], k=99)


# A killed process loses nothing that it has written: only a power cut would, and it is slow.
os.fsync = lambda _: None
OLD, SCRATCH, IMAGE = map(Path, sys.argv[1:])
before = contents(OLD)
changed = Recognizer.load(OLD).add_class("new one", vector=np.arange(80.0))
changed.save(shutil.copytree(OLD, SCRATCH / "reference"))
after = contents(SCRATCH / "reference")
assert before != after

found = {"old": 0, "new": 0, "leftovers": 0}
step = 1
while True:
    folder = shutil.copytree(OLD, SCRATCH / f"step-{step}")
    if not killed_at(step, folder):
        break
    now = contents(folder)
    assert now in (before, after), f"step {step} left a mixture"
    found["old" if now == before else "new"] += 1
    found["leftovers"] += len(list(folder.iterdir())) > 4  # lock, pointer, and two generations
    # Whatever was left behind, the next change works and clears it away.
    changed.save(folder)
    left = sorted(path.name for path in folder.iterdir())
    pointer = read_pointer(folder)
    kept = sorted([pointer.generation, pointer.former.generation])
    assert left == [".lock", "bundle.json", *kept], left
    assert pointer.former.files == before[0], f"step {step}: there is something else to undo"
    assert read_pointer(folder).files == after[0], f"step {step}: the next change went wrong"
    shutil.rmtree(folder)
    step += 1
assert contents(folder) == after
print(json.dumps({**found, "steps": step - 1}))
