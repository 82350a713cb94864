"""A bundle that format version 1 wrote is read by every later version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from zerokin.recognizer import Recognizer
from zerokin.recognizer.atomic_bundle import VERSION

DATA = Path(__file__).parent / "data"


def test_a_bundle_of_version_1_answers_as_it_did():
    recognizer = Recognizer.load(DATA / "bundle-1", device="cpu")
    expected = json.loads((DATA / "bundle-1.json").read_text(encoding="utf-8"))
    given = recognizer.recognize(DATA / "picture.png", k=20, max_risk=0.5)[0].to_dict()
    # Scores may differ by what another processor rounds.
    for field in ("score", "probability"):
        assert {one["name"]: one[field] for one in given["ranked"]} == pytest.approx(
            {one["name"]: one[field] for one in expected["ranked"]}, abs=2e-4
        )
    assert given["kin"] == [
        {**one, "similarity": pytest.approx(one["similarity"])} for one in expected["kin"]
    ]
    assert [one["name"] for one in given["superclasses"]] == [
        one["name"] for one in expected["superclasses"]
    ]
    assert recognizer.classes.names[-1] == '<b>new</b> "one", two/three'
    assert recognizer.seen.sum() == 8
    assert recognizer.examples(recognizer.classes.names[0])[0].startswith(b"\xff\xd8")


def test_the_kept_bundle_is_small_and_of_this_version():
    sizes = [path.stat().st_size for path in (DATA / "bundle-1").rglob("*") if path.is_file()]
    assert sum(sizes) < 200_000
    # A new version needs a kept bundle of its own beside this one.
    assert json.loads((DATA / "bundle-1" / "bundle.json").read_text())["version"] == VERSION
