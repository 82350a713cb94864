"""The precision that images are read with: chosen when fitting, kept in what is saved."""

from __future__ import annotations

import json

import numpy as np
import pytest

from own_images import critters, images_of, write_critter_folder
from zerokin import FeatureLearner, Recognizer, fit_recognizer, load_dataset
from zerokin.commands.fit import network_named
from zerokin.errors import InvalidInput
from zerokin.features.network_config import parse_network
from zerokin.features.network_ensemble import NetworkEnsemble

VIT = {
    "backbone": "test_vit",
    "weights": None,
    "options": {"pooling": "cls+mean", "dynamic_img_size": True},
    "mode": "classes",
    "image_size": 48,
    "device": "cpu",
}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    root = write_critter_folder(tmp_path_factory.mktemp("own") / "animals")
    learner = FeatureLearner(**VIT, precision="bfloat16").prepare(load_dataset(str(root)))
    return fit_recognizer(load_dataset(str(root)), learner=learner, tune=False, quiet=True)


def test_a_bundle_reads_as_it_was_fitted(fitted, tmp_path):
    fitted.save(tmp_path / "bundle")
    again = Recognizer.load(tmp_path / "bundle", device="cpu")
    images = images_of(int(critters().unseen[1]), 5)
    assert again.learner.settings.precision == "bfloat16"
    assert again.learner.view.precision == "bfloat16"
    pixels = np.stack([np.asarray(one.resize((48, 48))) for one in images])
    read = again.learner.transform(pixels)
    np.testing.assert_array_equal(read, fitted.learner.transform(pixels))
    assert again.recognize(images, k=99) == fitted.recognize(images, k=99)
    # What was fitted is on features of this precision, and float32 gives others.
    exact = FeatureLearner.load(next((tmp_path / "bundle").glob("v-*")) / "network", device="cpu")
    exact.settings = parse_settings(exact, precision="float32")
    apart = np.abs(exact.transform(pixels) - read).max() / np.abs(read).max()
    assert 0 < apart < 2**-4
    card = (next((tmp_path / "bundle").glob("v-*")) / "README.md").read_text(encoding="utf-8")
    assert "bfloat16" in card


def parse_settings(learner, **changed):
    return type(learner.settings)(**(vars(learner.settings) | changed))


def test_what_was_saved_before_there_was_a_choice_loads(fitted, tmp_path):
    fitted.learner.save(tmp_path / "network")
    file = tmp_path / "network" / "features.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    assert content["settings"].pop("precision") == "bfloat16"
    file.write_text(json.dumps(content), encoding="utf-8")
    assert FeatureLearner.load(tmp_path / "network").settings.precision is None


def test_fit_takes_a_precision_for_new_networks_and_for_trained_ones(fitted, tmp_path):
    fitted.learner.save(tmp_path / "network")
    given = {"weights": None, "mode": None, "image_size": None}
    for asked, got in [("float32", "float32"), (None, "bfloat16")]:
        settings = {**given, "precision": asked}
        one = network_named(
            str(tmp_path / "network"), None, settings, {}, finetune=False, device="cpu"
        )
        assert one.settings.precision == got
    made = network_named(
        "lite0", None, {**given, "precision": "bfloat16"}, {}, finetune=False, device="cpu"
    )
    assert made["precision"] == "bfloat16"
    both = NetworkEnsemble([one, one])
    assert [member.view.precision for member in both.members] == ["bfloat16", "bfloat16"]


def test_files_of_settings_know_it_and_others_are_refused():
    assert parse_network("n", {"precision": "bfloat16"}).learner(0, "cpu").settings.precision
    with pytest.raises(InvalidInput, match="precision must be"):
        FeatureLearner(**VIT, precision="float16")
