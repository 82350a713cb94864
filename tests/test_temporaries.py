"""Writers that are killed leave the old or the new, and no rubbish that the next does not clear."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from own_images import fitted, write_critter_folder
from zerokin import ZeroShotClassifier, temporaries
from zerokin.files import replacing, replacing_folder
from zerokin.temporaries import part_of, remove_leftovers


@pytest.mark.parametrize("kind", ["file", "folder", "renamed"])
def test_whenever_a_writer_is_killed_the_old_or_the_new_is_there(tmp_path, kind):
    script = Path(__file__).with_name("killed_writers.py")
    ran = subprocess.run(
        [sys.executable, script, kind, tmp_path], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    # There is something to kill on both sides of the moment at which the new counts.
    assert found["old"] > 2
    assert found["new"] > 0
    assert found["leftovers"] > 2
    assert found["old"] + found["new"] == found["steps"]


def test_a_classifier_whose_writer_was_killed_between_two_renames_is_found(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 5)), np.repeat(["a", "b", "c"], 4)
    model = ZeroShotClassifier().fit(X, y)
    model.save(tmp_path / "model")
    (tmp_path / "model").rename(tmp_path / ".model.0123abcd.old")
    (tmp_path / ".model.0123abcd.part").mkdir()
    loaded = ZeroShotClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    model.save(tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def hold(target, entered, done):
    with part_of(target) as part:
        (part / "half").write_bytes(b"half")
        entered.put(part.name)
        done.get()


def test_what_a_living_process_writes_is_never_removed(tmp_path):
    """Two write to the same place, one of them is killed: only its rubbish goes."""
    target = tmp_path / "a.json"
    context = multiprocessing.get_context("fork")
    entered, done = context.Queue(), context.Queue()
    living = context.Process(target=hold, args=(target, entered, done))
    living.start()
    kept = entered.get()
    killed = context.Process(target=hold, args=(target, entered, context.Queue()))
    killed.start()
    entered.get()
    killed.kill()
    killed.join()
    assert len(list(tmp_path.iterdir())) == 2
    with replacing(target) as temporary:
        temporary.write_bytes(b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([kept, "a.json"])
    assert (tmp_path / kept / "half").read_bytes() == b"half"
    done.put(None)
    living.join()
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def writes(target, number):
    for word in range(40):
        with replacing(target) as temporary:
            temporary.write_bytes(f"{number} {word}\n".encode() * 50)
        with replacing_folder(target.with_name("folder")) as temporary:
            for name in "ab":
                (temporary / name).write_bytes(f"{number} {word}".encode())


def test_many_writers_of_one_place_never_take_each_other_for_dead(tmp_path):
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=writes, args=(tmp_path / "a", n)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "folder"]
    assert len(set((tmp_path / "a").read_bytes().splitlines())) == 1
    assert (tmp_path / "folder" / "a").read_bytes() == (tmp_path / "folder" / "b").read_bytes()


def test_other_files_that_look_alike_stay(tmp_path):
    names = (".a.csv.part", ".b.csv.01234567.part", ".a.csv.0123456.part", "a.csv.01234567.part")
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / ".a.csv.01234567.part").mkdir()
    remove_leftovers(tmp_path / "a.csv")
    assert {path.name for path in tmp_path.iterdir()} == set(names)


def test_without_locks_nothing_is_taken_for_dead(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(37, "No locks available")

    (tmp_path / ".a.01234567.part").mkdir()
    monkeypatch.setattr(temporaries.fcntl, "flock", refuse)
    with replacing(tmp_path / "a") as temporary:
        temporary.write_bytes(b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".a.01234567.part", "a"]


@pytest.fixture
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.parametrize("umask", [0o022, 0o077], indirect=True)
def test_files_and_folders_have_the_rights_that_the_umask_leaves(tmp_path, umask):
    """safetensors' writer keeps its files to their owner."""
    with replacing(tmp_path / "a.safetensors") as temporary:
        save_file({"x": np.zeros(2)}, temporary)
    with replacing_folder(tmp_path / "folder") as temporary:
        (temporary / "inner").mkdir()
        save_file({"x": np.zeros(2)}, temporary / "inner" / "b.safetensors")
    recognizer = fitted(write_critter_folder(tmp_path / "own", n_seen=3, n_unseen=1, n_images=2))
    recognizer.save(tmp_path / "bundle")
    recognizer.learner.save(tmp_path / "network")
    recognizer.classifier.save(tmp_path / "classifier")
    wrong = {}
    for path in tmp_path.rglob("*"):
        usual = (0o777 if path.is_dir() else 0o666) & ~umask
        if stat.S_IMODE(path.stat().st_mode) != usual:
            wrong[path.name] = oct(path.stat().st_mode)
    assert wrong == {}
