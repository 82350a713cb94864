"""What version 0.1 saved is read by every later version, with one warning and the same answers."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from zerokin import ZeroShotClassifier
from zerokin.errors import InvalidInput, ZerokinWarning
from zerokin.features.feature_learner import FeatureLearner
from zerokin.recognizer import Recognizer
from zerokin.recognizer.atomic_bundle import VERSION

DATA = Path(__file__).parent / "data"
RECORDED = json.loads((DATA / "classifier-1.json").read_text(encoding="utf-8"))


def load_old(kind, folder, **options):
    """Load what was saved under old names: one warning, of the line that asked for it."""
    with pytest.warns(ZerokinWarning, match="was saved by an earlier version") as caught:
        found = kind.load(folder, **options)
    (said,) = [str(one.message) for one in caught]
    assert said.startswith(str(folder))
    assert said.endswith(f"{kind.__name__}.load('{folder}').save('{folder}') writes the new ones")
    assert caught[0].filename == __file__
    return found


def load_silently(kind, folder, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return kind.load(folder, **options)


@pytest.mark.parametrize("inference", ["kin", "paper"])
def test_a_classifier_of_version_1_answers_as_it_did(inference, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(DATA / "classifier-1" / inference, folder)
    model, recorded = load_old(ZeroShotClassifier, folder), RECORDED[inference]
    X = np.array(RECORDED["X"])
    former, params = recorded["params"], model.get_params()
    assert former.keys() - params.keys() == {
        "kin_decay",
        "kin_semantics",
        "kin_shrinkage",
        "kin_width",
        "normalisation",
        "calibration",
    }
    assert params["inference"] == {"kin": "residual", "paper": "paper"}[inference]
    assert (params["layer_decay"], params["semantic_variance"]) == (0.7, 4.0)
    assert (params["length_scale"], params["noise"]) == (0.6, 1.5)
    assert params["feature_scaling"] == former["normalisation"].replace("centre", "center")
    assert params["seen_penalty"] == former["calibration"]
    for again in (model, saved_again(model, folder)):
        np.testing.assert_allclose(again.decision_function(X), recorded["scores"], atol=1e-9)
        assert again.predict(X).tolist() == recorded["named"]
        assert again.predict_top_k(X, 9, "all")[0].tolist() == recorded["ranked"]


def saved_again(model, folder):
    """Do what the warning says: then there is none."""
    model.save(folder)
    return load_silently(type(model), folder)


def test_a_bundle_of_version_1_warns_until_it_is_saved_again(tmp_path):
    folder = tmp_path / "birds"
    shutil.copytree(DATA / "bundle-1", folder)
    recognizer = load_old(Recognizer, folder, device="cpu")
    recognizer.save(folder)
    again = load_silently(Recognizer, folder, device="cpu")
    image = DATA / "picture.png"
    assert again.recognize(image) == recognizer.recognize(image)
    with pytest.warns(ZerokinWarning, match="was saved by an earlier version") as caught:
        Recognizer.undo(folder, device="cpu")
    assert len(caught) == 1


def test_a_network_of_version_1_warns_for_itself(tmp_path):
    folder = tmp_path / "network"
    shutil.copytree(next((DATA / "bundle-1").glob("v-*")) / "network", folder)
    learner = load_old(FeatureLearner, folder, device="cpu")
    learner.save(folder)
    assert load_silently(FeatureLearner, folder, device="cpu").settings == learner.settings


def test_what_cannot_be_read_is_refused_without_a_warning(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(DATA / "classifier-1" / "kin", folder)
    (folder / "numbers.safetensors").unlink()
    with pytest.raises(InvalidInput, match=r"numbers\.safetensors is missing"):
        load_silently(ZeroShotClassifier, folder)
    load_old(ZeroShotClassifier, DATA / "classifier-1" / "kin")  # and nothing is left behind


def test_a_bundle_of_version_1_answers_as_it_did():
    recognizer = load_old(Recognizer, DATA / "bundle-1", device="cpu")
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
