"""Write files and folders and be killed by SIGKILL at every step: run by test_temporaries.py.

Usage: ``killed_writers.py KIND FOLDER``, where KIND is file, folder, or renamed (a folder where the
system cannot exchange two names). Prints how many steps there were, and how many left something.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import sys
from pathlib import Path

from zerokin import files
from zerokin.files import read_versioned, replacing, replacing_folder

CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.chmod", "ctypes.call_function"}


def cannot(*_):
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def write(target, word):
    text = json.dumps({"format": "x", "version": 1, "word": word, "rest": word * 1000})
    if KIND == "file":
        with replacing(target) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return
    with replacing_folder(target) as temporary:
        (temporary / "inner").mkdir()
        for name in ("config.json", "inner/more.json"):
            (temporary / name).write_text(text, encoding="utf-8")


def read(target):
    """Return the word of every file, through what readers of folders call."""
    if KIND == "file":
        return {read_versioned(target, what="x", made_by="x", kind="x", version=1)["word"]}
    config = read_versioned(target / "config.json", what="x", made_by="x", kind="x", version=1)
    more = json.loads((target / "inner" / "more.json").read_text(encoding="utf-8"))
    return {config["word"], more["word"]}


def killed_at(step, target):
    """Write in a process that dies before some step; tell whether it came to that."""
    child = os.fork()
    if not child:
        count = 0

        def watch(event, arguments):
            nonlocal count
            if event in CHANGES or (event == "open" and str(target.name) in str(arguments[0])):
                count += 1
                if count == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        write(target, "new")
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0


KIND, ROOT = sys.argv[1], Path(sys.argv[2])
if KIND == "renamed":
    files.exchange = cannot
else:
    ctypes.CDLL(None)  # loaded before the steps are counted
found = {"old": 0, "new": 0, "leftovers": 0}
step = 1
while True:
    place = ROOT / str(step)
    target = place / "target"
    write(target, "old")
    killed = killed_at(step, target)
    left = [path.name for path in place.iterdir() if path.name != "target"]
    now = read(target)
    assert now in ({"old"}, {"new"}), f"step {step} left {now}"
    if not killed:
        assert now == {"new"}
        assert not left
        break
    found[now.pop()] += 1
    found["leftovers"] += bool(left)
    write(target, "next")
    assert read(target) == {"next"}
    assert [path.name for path in place.iterdir()] == ["target"], f"step {step}: {left} stayed"
    step += 1
print(json.dumps({**found, "steps": step - 1}))
