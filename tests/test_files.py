"""Writing that fails: one line that names what the user asked for, and nothing lost."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from zerokin.errors import MissingFile
from zerokin.features.training.log import TrainingLog
from zerokin.files import CannotWrite, replacing, replacing_folder

FULL = "No space left on device; free some and give the same command again"


def full_disk(part=None):
    if part is not None:
        part.write_text("half")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_that_does_not_fit_keeps_its_old_content(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("old")
    with pytest.raises(CannotWrite) as caught, replacing(path) as temporary:
        full_disk(temporary)
    assert str(caught.value) == f"cannot write {path}: {FULL}"
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("answers.csv", "old")]


def test_of_a_part_that_cannot_be_written_the_whole_is_named(tmp_path):
    with (
        pytest.raises(CannotWrite) as caught,
        replacing_folder(tmp_path / "model") as outer,
        replacing_folder(outer / "network") as inner,
        replacing(inner / "weights"),
    ):
        full_disk()
    assert str(caught.value) == f"cannot write {tmp_path / 'model'}: {FULL}"
    assert not list(tmp_path.iterdir())


def test_what_else_goes_wrong_while_writing_stays_what_it_is(tmp_path):
    for block in (replacing, replacing_folder):
        with pytest.raises(MissingFile, match="no corpus"), block(tmp_path / "x"):
            raise MissingFile("no corpus")
        with pytest.raises(BrokenPipeError), block(tmp_path / "x"):
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        with pytest.raises(ZeroDivisionError), block(tmp_path / "x"):
            _ = 1 / 0


@pytest.mark.parametrize("path", [".", "/"])
@pytest.mark.parametrize("block", [replacing, replacing_folder])
def test_what_has_no_name_of_its_own_cannot_be_written(path, block):
    with pytest.raises(CannotWrite, match="no name of its own"), block(path):
        pass


def test_a_folder_that_cannot_take_its_place_says_why(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("pathlib.Path.rename", refuse)
    with pytest.raises(CannotWrite, match="model: Read-only"), replacing_folder(tmp_path / "model"):
        pass


def test_what_safetensors_cannot_write_is_said_like_everything_else(tmp_path):
    """Its own error is no OSError; here the system allows files of 4,096 bytes."""
    code = (
        "import resource, signal, sys, numpy; from safetensors.numpy import save_file\n"
        "from zerokin.files import CannotWrite, replacing\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, (4096, {resource.RLIM_INFINITY}))\n"
        "try:\n"
        "    with replacing(sys.argv[1]) as temporary:\n"
        "        save_file({'a': numpy.zeros(10_000)}, temporary)\n"
        "except CannotWrite as error:\n"
        "    print(error)\n"
    )
    path = tmp_path / "a.safetensors"
    save_file({"a": np.ones(3)}, path)
    before = path.read_bytes()
    ran = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=False
    )
    assert ran.stdout == f"cannot write {path}: File too large\n", ran.stderr
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_a_training_whose_log_does_not_fit_names_it(tmp_path):
    log = TrainingLog(tmp_path)
    log.path = Path("/dev/full")
    with pytest.raises(CannotWrite) as caught:
        log.write({"step": 1})
    assert str(caught.value) == f"cannot write /dev/full: {FULL}"
