"""Several networks side by side: one classifier, one bundle."""

from __future__ import annotations

import json
import shutil
import sys

import numpy as np
import pytest

import zerokin
from own_images import SMALL, plain, write_critter_folder
from zerokin.cli import main
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.network_ensemble import MOST, NetworkEnsemble
from zerokin.files import sha256
from zerokin.recognizer import Recognizer, fit_recognizer
from zerokin.recognizer.atomic_bundle import read_pointer

OTHER = {**SMALL, "options": {"width": 5}, "recipe": {"seed": 3}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("side-by-side")
    return write_critter_folder(root / "animals", n_seen=7, n_unseen=2, n_images=3, n_test=1)


@pytest.fixture(scope="module")
def recognizer(folder):
    dataset = zerokin.load_dataset(f"folder={folder}")
    return fit_recognizer(dataset, learner=[SMALL, OTHER], tune=False, quiet=True)


@pytest.fixture(scope="module")
def bundle(recognizer, tmp_path_factory):
    path = tmp_path_factory.mktemp("kept") / "bundle"
    recognizer.save(path)
    return path


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def generation(bundle):
    return bundle / read_pointer(bundle).generation


def test_features_stand_side_by_side_each_of_unit_length(folder, recognizer):
    dataset = zerokin.load_dataset(f"folder={folder}")
    members = recognizer.learner.members
    assert [member.settings.options for member in members] == [
        dict(SMALL["options"]),
        OTHER["options"],
    ]
    found = recognizer.learner.transform(dataset.images)
    one, other = (member.transform(dataset.images) for member in members)
    np.testing.assert_allclose(found, np.c_[unit(one), unit(other)], atol=1e-5)
    assert recognizer.classifier.n_features_in_ == one.shape[1] + other.shape[1]
    widths = {member.network_.backbone.d_f for member in members}
    assert len(widths) == 2


def test_answers_are_those_of_the_features(folder, recognizer):
    """Images that are decoded one by one give what the classifier was fitted on."""
    dataset = zerokin.load_dataset(f"folder={folder}")
    features = recognizer.learner.transform(dataset.images)
    rows = dataset.split.test_unseen
    files = sorted((folder / "test").glob("*/*.png"))
    by_name = {answer.image: answer.name for answer in recognizer.recognize(files)}
    named = recognizer.classifier.predict(features[rows], candidates="all")
    for row, name in zip(rows, named, strict=True):
        (path,) = [p for p in by_name if str(p).endswith(dataset.images.names[row])]
        assert by_name[path] == name


def test_bundle_holds_all_networks_and_answers_alike(folder, recognizer, bundle):
    root = generation(bundle)
    assert (root / "network").is_dir()
    assert (root / "network-2").is_dir()
    files = sorted((folder / "test").glob("*/*.png"))
    loaded = Recognizer.load(bundle)
    assert isinstance(loaded.learner, NetworkEnsemble)
    assert plain(loaded.recognize(files, k=99)) == plain(recognizer.recognize(files, k=99))
    card = (root / "README.md").read_text(encoding="utf-8")
    sizes = [
        f"{sum(w.numel() for w in m.network_.backbone.parameters()) / 1e6:.2g}"
        for m in recognizer.learner.members
    ]
    assert f"every image is read by each, {sizes[0]} + {sizes[1]} million weights" in card
    assert "network 2: network" in card


def test_a_change_keeps_the_networks_as_they_are(bundle, tmp_path):
    copy = shutil.copytree(bundle, tmp_path / "bundle")
    before = generation(copy)
    known = Recognizer.load(copy)
    known.add_class("yeti", vector=known.classes.vectors[0] * 0.9).save(copy)
    after = generation(copy)
    assert after != before
    for name in ("network", "network-2"):
        weights = f"{name}/network.safetensors"
        assert (after / weights).samefile(before / weights)
    assert Recognizer.load(copy).classes.names[-1] == "yeti"


def test_bundles_that_miss_a_network_are_refused(bundle, tmp_path):
    for number, change in enumerate((1, 3, MOST + 1, True, "two")):
        copy = shutil.copytree(bundle, tmp_path / f"{number}")
        root = generation(copy)
        about = root / "about.json"
        content = json.loads(about.read_text(encoding="utf-8"))
        content["networks"] = change
        about.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        pointer = copy / "bundle.json"
        text = pointer.read_text(encoding="utf-8")
        old = sha256(generation(bundle) / "about.json")
        assert old in text
        pointer.write_text(text.replace(old, sha256(about)), encoding="utf-8")
        with pytest.raises(ZerokinError, match=r"networks must be|network gives|no feature n"):
            Recognizer.load(copy)


def test_networks_that_cannot_stand_side_by_side(folder):
    dataset = zerokin.load_dataset(f"folder={folder}")
    with pytest.raises(InvalidInput, match="an ensemble has 2 to 16 networks: got 1"):
        fit_recognizer(dataset, learner=[SMALL], tune=False, quiet=True)
    cropped = {**OTHER, "resize_mode": "center"}
    with pytest.raises(InvalidInput, match="resize_mode is 'whole' of one and 'center' of another"):
        fit_recognizer(dataset, learner=[SMALL, cropped], tune=False, quiet=True)
    with pytest.raises(InvalidInput, match="learner must be a FeatureLearner or its settings"):
        fit_recognizer(dataset, learner=[SMALL, "lite0"], tune=False, quiet=True)


def test_networks_of_folds_stand_side_by_side_too(folder):
    """Fine-tuned: each fold has its own networks, none of which saw the fold's classes."""
    dataset = zerokin.load_dataset(f"folder={folder}")
    quick = {"epochs": 1, "batch_size": 8}
    learners = [{**one, "mode": "classes", "recipe": quick} for one in (SMALL, OTHER)]
    found = fit_recognizer(dataset, learner=learners, finetune=True, tune=False, quiet=True)
    assert all(len(member.history_) == 1 for member in found.learner.members)
    assert not any("has seen the validation classes" in note for note in found.about["notes"])
    assert found.calibrations


def test_command_line(folder, tmp_path, monkeypatch, capsys):
    trained = tmp_path / "trained"
    dataset = zerokin.load_dataset(f"folder={folder}")
    FeatureLearner(**{**OTHER, "recipe": None}).prepare(dataset).save(trained)
    config = tmp_path / "small.yaml"
    config.write_text("{}\n")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["zerokin", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capsys.readouterr()

    fit = ["fit", f"folder={folder}", "--no-tune", "--image-size", SMALL["image_size"]]
    again = shutil.copytree(trained, tmp_path / "again")
    status, printed = run(*fit, "--network", trained, "--network", again, "--out", tmp_path / "b")
    assert status == 0, printed.err
    learner = Recognizer.load(tmp_path / "b").learner
    assert [m.settings.options for m in learner.members] == [{"width": 5}] * 2
    status, printed = run(*fit, "--network", trained, "--out", tmp_path / "one")
    assert status == 0, printed.err
    assert isinstance(Recognizer.load(tmp_path / "one").learner, FeatureLearner)
    for more, line in (
        (["--network", trained, "--backbone", "lite0"], "leave out --backbone and --weights"),
        (["--network", trained, "--fine-tune"], "is trained already: leave out --fine-tune"),
        (["--network", "lite99"], "lite99"),
    ):
        status, printed = run(*fit, *more, "--out", tmp_path / "none")
        assert status == 2
        assert line in printed.err.replace("\n", " ")
        assert not (tmp_path / "none").exists()
