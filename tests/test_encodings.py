"""Text is UTF-8 by name wherever a file is opened, and names survive any locale."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from own_images import SMALL, fitted, write_critter_folder
from zerokin.locales import as_text, as_typed, on_disk
from zerokin.recognizer import Recognizer

ROOT = Path(__file__).parents[1]
SOURCES = [*(ROOT / "src").rglob("*.py"), *ROOT.glob("benchmarks/*.py"), *ROOT.glob("docs/*.py")]
TEXT_METHODS = {"open", "read_text", "write_text"}
NOT_TEXT = {"os", "Image", "tarfile", "tar", "archive", "inputs", "gzip", "request", "webbrowser"}
NOT_TEXT |= {"given", "rows", "shard"}  # feature files
"""Whose ``open`` opens something else than text."""

# Bare servers have this locale; Python would otherwise take UTF-8 there.
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
NAME, OTHER = "océlot des forêts", "шишколапъ"


def calls_without_encoding(source):
    """Yield the lines at which text is read or written in whichever encoding the locale has."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        name = getattr(function, "attr", getattr(function, "id", ""))
        given = {keyword.arg for keyword in node.keywords}
        of = getattr(getattr(function, "value", None), "id", "") or getattr(
            getattr(function, "value", None), "attr", ""
        )
        if name not in TEXT_METHODS or of in NOT_TEXT or {"encoding", None} & given:
            continue
        texts = [a.value for a in node.args if isinstance(a, ast.Constant)]
        texts += [k.value.value for k in node.keywords if k.arg == "mode"]
        modes = [text for text in texts if isinstance(text, str) and set(text) <= set("rwaxb+t")]
        if name == "open" and any("b" in mode for mode in modes):
            continue
        if name == "read_text" and isinstance(function, ast.Name):
            continue  # our own, which knows
        yield node.lineno


def test_text_files_are_opened_as_utf8_by_name():
    found = {path: [*calls_without_encoding(path.read_text(encoding="utf-8"))] for path in SOURCES}
    assert {str(path): lines for path, lines in found.items() if lines} == {}


def test_a_call_that_names_no_encoding_is_found():
    bad = ["path.open()", "open('a')", "p.read_text()", "p.write_text(t)", "p.open('w')"]
    good = ["p.open('rb')", "p.open(encoding='utf-8')", "os.open(p, 1)", "p.open(mode='r+b')"]
    assert [list(calls_without_encoding(line)) for line in bad] == [[1]] * len(bad)
    assert [list(calls_without_encoding(line)) for line in good] == [[]] * len(good)


def zerokin(*arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "zerokin", *map(str, arguments)],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", **more},
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    """Images, one class of them with a name that is no ASCII."""
    root = write_critter_folder(
        tmp_path_factory.mktemp("own") / "Getier äöü", n_seen=6, n_unseen=1, n_images=3, n_test=1
    )
    table = root / "classes.csv"
    old = sorted(path.name for path in root.iterdir() if path.is_dir() and path.name != "test")[0]
    table.write_text(table.read_text(encoding="utf-8").replace(old, NAME), encoding="utf-8")
    for where in (root, root / "test"):
        (where / old).rename(where / NAME)
    return root


def test_names_that_are_no_ascii_survive_a_locale_that_has_none(animals, tmp_path):
    locale = C_LOCALE
    settings = {key: SMALL[key] for key in ("backbone", "weights", "options", "image_size")}
    config = tmp_path / "network.yaml"
    config.write_text(
        json.dumps({**settings, "recipe": {"epochs": 1, "batch_size": 8, "image_size": 32}}),
        encoding="utf-8",
    )
    model = tmp_path / "modèle"
    fit = zerokin(
        *("fit", f"folder={animals}", "--out", model, "--no-tune", "--one-network"),
        *("--fine-tune", "--config", config, "--device", "cpu"),
        **locale,
    )
    assert fit.returncode == 0, fit.stderr.decode()
    known = Recognizer.load(model, device="cpu")
    assert NAME in known.classes.names
    assert known.about["name"] == "Getier äöü"
    attribute = known.classes.attribute_names[0]
    added = zerokin("add-class", model, OTHER, "--attributes", f"{attribute}=1", **locale)
    assert added.returncode == 0, added.stderr.decode()
    assert Recognizer.load(model, device="cpu").classes.names[-1] == OTHER
    image = animals / "test" / NAME / "0.png"
    escaped = OTHER.encode("ascii", "backslashreplace")
    for form in (("--csv",), ("--out", tmp_path / "answers.csv")):
        answered = zerokin("predict", model, image, "--candidates", OTHER, *form, **locale)
        assert answered.returncode == 0, answered.stderr.decode()
        assert (b"wrote" if "--out" in form else escaped) in answered.stdout
    assert OTHER in (tmp_path / "answers.csv").read_text(encoding="utf-8")
    taken = zerokin("add-class", model, OTHER, "--attributes", f"{attribute}=1", **locale)
    assert taken.returncode == 2
    assert b"Traceback" not in taken.stderr
    assert zerokin("remove-class", model, OTHER, **locale).returncode == 0
    assert OTHER not in Recognizer.load(model, device="cpu").classes.names
    assert zerokin("undo", model, **locale).returncode == 0
    assert OTHER in Recognizer.load(model, device="cpu").classes.names


def test_names_of_files_in_disguise_come_back():
    disguised = "for\udcc3\udcaats/\udce9"
    assert as_typed("for\udcc3\udcaats") == "forêts"
    assert as_typed(disguised) == disguised  # its end is no UTF-8
    assert as_text("\udce9") == "\\udce9"
    assert on_disk(Path("forêts")) == Path("forêts")


def test_a_saved_classifier_is_utf8_whatever_the_locale(tmp_path):
    """``config.json`` was written in the locale's encoding, and read as UTF-8."""
    recognizer = fitted(write_critter_folder(tmp_path / "own", n_seen=3, n_unseen=1, n_images=2))
    recognizer.add_class(NAME, vector=recognizer.classes.vectors[0]).save(tmp_path / "m")
    code = (
        "import sys; from zerokin import ZeroShotClassifier as C\n"
        "C.load(sys.argv[1]).save(sys.argv[2])\n"
    )
    source = tmp_path / "m" / next((tmp_path / "m").glob("v-*")).name / "classifier"
    ran = subprocess.run(
        [sys.executable, "-c", code, source, tmp_path / "again"],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **C_LOCALE},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    content = json.loads((tmp_path / "again" / "config.json").read_text(encoding="utf-8"))
    assert content["classes"][-1] == NAME
