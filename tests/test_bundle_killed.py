"""A change of a bundle, killed at any step, leaves the old bundle or the new one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from own_images import fitted, write_critter_folder
from zerokin.recognizer import Recognizer


def test_whenever_a_change_is_killed_the_bundle_is_the_old_or_the_new_one(tmp_path):
    images = write_critter_folder(tmp_path / "animals", n_seen=4, n_unseen=1, n_images=2)
    whole = fitted(images)
    # Few examples, so that every single step can be tried.
    examples = {whole.classes.names[0]: whole.examples(whole.classes.names[0])[:1]}
    for shown in ({}, examples):  # of the first there is something to remove
        Recognizer(whole.learner, whole.classifier, whole.classes, examples=shown).save(
            tmp_path / "old"
        )
    script = Path(__file__).with_name("killed_bundles.py")
    (tmp_path / "scratch").mkdir()
    image = next((images / "test").glob("*/*.png"))
    ran = subprocess.run(
        [sys.executable, script, tmp_path / "old", tmp_path / "scratch", image],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    # There is something to kill on both sides of the moment at which the new bundle counts.
    assert found["old"] > 20
    assert found["new"] > 10
    assert found["leftovers"] > 20
    assert found["old"] + found["new"] == found["steps"]
