"""Names of earlier versions: what was typed or saved with them means what it meant."""

from __future__ import annotations

import importlib
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import zerokin
from test_training_pausing import Clock
from training_parts import furthest, network, recipe, source, targets, weights
from zerokin.aliases import ANSWER, NETWORK, RECIPE, former, renamed
from zerokin.benchmark.ablation.config import read_config
from zerokin.benchmark.ablation.feature_cache import _told
from zerokin.cli import app
from zerokin.errors import InvalidInput, ZerokinWarning
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.network_config import read_network
from zerokin.features.network_settings import NetworkSettings
from zerokin.features.reading import View
from zerokin.features.training import Recipe, TrainingPaused, train
from zerokin.features.training.checkpoint import load_checkpoint, save_checkpoint
from zerokin.recognizer import ImageAnswer
from zerokin.recognizer.image_answer import RankedClass

OLD = Path(__file__).parent / "data" / "old-names"
SETTINGS = {
    "turns": 0.5,
    "patches": 0.25,
    "average": 0.9,
    "side": 16,
    "first_side": 12,
    "optimiser": "adamw",
}
BACK = {new: old for old, new in RECIPE.items()}


def written_anew(path, folder):
    """Return a configuration with the names of today in the place of the old ones."""
    text = path.read_text(encoding="utf-8")
    for old, new in {**NETWORK, **RECIPE}.items():
        text = re.sub(rf"\b{old}: (?=[\w.])(?!shots)", f"{new}: ", text)
    found = folder / path.name
    found.write_text(text, encoding="utf-8")
    return found


@pytest.mark.parametrize(
    ("read", "name"), [(read_network, "network.yaml"), (read_config, "ablation.yaml")]
)
def test_a_saved_configuration_gives_the_same_settings_with_one_warning(read, name, tmp_path):
    with pytest.warns(ZerokinWarning, match="is now image_size") as caught:
        old = read(OLD / name)
    assert len(caught) == 1
    said = str(caught[0].message)
    assert str(OLD / name) in said
    assert all(f"{old} is now {new}" in said for old, new in {**NETWORK, **RECIPE}.items())
    assert old == read(written_anew(OLD / name, tmp_path))


def test_a_saved_ablation_is_what_its_file_says():
    with pytest.warns(ZerokinWarning):
        config = read_config(OLD / "ablation.yaml")
    assert config.cache_size == 84
    learner = config.network("simple-tuned").learner(0, "cpu")
    made, trained = learner.settings, learner.recipe
    assert (made.image_size, made.cache_size, made.resize_mode) == (84, 92, "whole")
    assert (made.tta_flip, made.tta_crops, made.start_interpolation) == (False, 4, 0.25)
    assert (trained.optimizer, trained.ema_decay, trained.image_size) == ("adamw", 0.99, 84)
    turned = config.network("patches-turns").learner(0, "cpu").recipe
    assert (turned.rotation_weight, turned.cutmix_prob, turned.initial_image_size) == (0.5, 0.5, 60)


def test_a_saved_network_is_what_its_file_says():
    with pytest.warns(ZerokinWarning):
        learner = read_network(OLD / "network.yaml").learner(0, "cpu")
    made, trained = learner.settings, learner.recipe
    assert (made.image_size, made.cache_size, made.resize_mode) == (32, 40, "center")
    assert (made.tta_flip, made.tta_crops, made.start_interpolation) == (False, 3, 0.25)
    assert (trained.rotation_weight, trained.cutmix_prob, trained.ema_decay) == (0.5, 0.25, 0.99)
    assert (trained.image_size, trained.initial_image_size) == (28, 20)
    assert trained.optimizer == "adamw"


@pytest.mark.parametrize("made", [lambda given: Recipe(**given), Recipe.from_dict])
def test_a_recipe_takes_old_names_with_one_warning(made):
    with pytest.warns(ZerokinWarning, match="turns is now rotation_weight") as caught:
        found = made(SETTINGS)
    assert len(caught) == 1
    assert found == Recipe(**renamed(RECIPE, SETTINGS))
    with pytest.warns(ZerokinWarning, match="turns is now rotation_weight"):
        assert found.turns == 0.5
    with pytest.raises(AttributeError, match="turn"):
        _ = found.turn


@pytest.mark.parametrize("made", [NetworkSettings, FeatureLearner, View])
def test_what_shows_pictures_takes_old_names(made):
    with pytest.warns(ZerokinWarning, match="side is now image_size, mirrored is now tta_flip"):
        found = made(side=24, mirrored=False)
    found = getattr(found, "settings", found)
    assert (found.image_size, found.tta_flip) == (24, False)


def test_both_names_at_once_are_refused():
    with pytest.raises(InvalidInput, match="turns is the old name of rotation_weight"):
        Recipe.from_dict({"turns": 0.5, "rotation_weight": 0.5})


def test_a_module_says_where_a_name_has_gone():
    find = former("json", {"old": "dumps", "path": "pathlib:Path"})
    with pytest.warns(ZerokinWarning, match=r"json\.old is now json\.dumps"):
        assert find("old") is json.dumps
    with pytest.warns(ZerokinWarning, match=r"json\.path is now pathlib\.Path"):
        assert find("path") is Path
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        find("other")


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("zerokin", "Recogniser", "Recognizer"),
        ("zerokin", "fit_recogniser", "fit_recognizer"),
        ("zerokin.recognizer", "PictureAnswer", "ImageAnswer"),
        ("zerokin.recognizer", "UnreadablePicture", "UnreadableImage"),
        ("zerokin.recognizer.confidence", "AnswerCalibration", "ConfidenceModel"),
        ("zerokin.recognizer.confidence", "HedgedAnswers", "SelectiveAnswers"),
        ("zerokin.recognizer.confidence", "hedge", "predict_selectively"),
    ],
)
def test_former_classes_and_functions_are_the_present_ones(module, old, new):
    home = importlib.import_module(module)
    with pytest.warns(ZerokinWarning, match=rf"\.{old} is now .*\.{new}$") as caught:
        assert getattr(home, old) is getattr(home, new)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_an_answer_has_its_former_fields():
    okapi = RankedClass("okapi", 0.2, None, seen=False)
    given = ImageAnswer("a.jpg", (okapi,), out_of_distribution=True)
    as_json = given.to_dict()
    for old, new in ANSWER.items():
        with pytest.warns(ZerokinWarning, match=f"{old} is now {new}"):
            assert getattr(given, old) == getattr(given, new)
        assert as_json[old] == as_json[new]
    with pytest.warns(ZerokinWarning, match="none_of_these is now out_of_distribution"):
        assert ImageAnswer("a.jpg", (okapi,), none_of_these=True) == given


def test_a_dataset_has_its_images_under_the_old_name():
    dataset = zerokin.load_dataset("critters")
    with pytest.warns(ZerokinWarning, match="Dataset: pictures is now images"):
        assert dataset.pictures is dataset.images


def test_a_recognizer_answers_by_its_former_method():
    data = Path(__file__).parent / "data"
    with pytest.warns(ZerokinWarning, match="was saved by an earlier version"):
        recognizer = zerokin.Recognizer.load(data / "bundle-1", device="cpu")
    with pytest.warns(ZerokinWarning, match="recognise is now recognize"):
        given = recognizer.recognise(data / "picture.png")
    assert given == recognizer.recognize(data / "picture.png")


def as_before(path):
    """Write a checkpoint anew as earlier versions did."""
    groups, state = load_checkpoint(path)
    names = {"optimizer": "optimiser", "ema": "average"}
    groups = {
        names.get(group, group): {
            name.replace("rotation_head.", "turns."): value for name, value in members.items()
        }
        for group, members in groups.items()
    }
    found = {BACK.get(name, name): value for name, value in state["fingerprint"].items()}
    found["origin"] = found["origin"].replace("tta_crops", "crops")
    sums = state["progress"]["sums"]
    state["progress"]["sums"] = {k.replace("rotation", "turns"): v for k, v in sums.items()}
    state["fingerprint"] = found
    save_checkpoint(path, groups, state)


@pytest.mark.parametrize("settings", [{}, {"rotation_weight": 0.5, "ema_decay": 0.9}])
def test_a_training_goes_on_from_an_earlier_version_s_checkpoint(tmp_path, monkeypatch, settings):
    def learn(learned, folder, **options):
        return train(
            learned,
            source(),
            targets(),
            recipe(**settings),
            folder=folder,
            origin="random 1f3a, validated with tta_crops 2",
            device="cpu",
            quiet=True,
            **options,
        )

    whole, cut = network(), network()
    history = learn(whole, tmp_path / "whole")
    with monkeypatch.context() as patched:
        Clock(patched)
        with pytest.raises(TrainingPaused):
            learn(cut, tmp_path / "cut", stop_after=0.2)
    as_before(tmp_path / "cut" / "checkpoint.safetensors")
    resumed = network(seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = learn(resumed, tmp_path / "cut")
    assert furthest(weights(whole), weights(resumed)) == 0
    assert [epoch.loss for epoch in again] == [epoch.loss for epoch in history]


def test_a_saved_network_of_an_earlier_version_is_read_with_one_warning(tmp_path):
    learner = FeatureLearner(
        "conv4", "classes", weights=None, image_size=16, tta_crops=2, tta_flip=False, device="cpu",
        recipe=Recipe(epochs=0, rotation_weight=0.5, optimizer="adamw", seed=4),
    )  # fmt: skip
    learner.fit(zerokin.load_dataset("critters"))
    learner.save(tmp_path / "model")
    file = tmp_path / "model" / "features.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    old = {new: old for old, new in NETWORK.items()}
    config["settings"] = {old.get(k, k): v for k, v in config["settings"].items()}
    config["recipe"] = {BACK.get(k, k): v for k, v in config["recipe"].items()}
    assert {"side", "crops"} < config["settings"].keys()
    file.write_text(json.dumps(config), encoding="utf-8")
    with pytest.warns(ZerokinWarning, match="was saved by an earlier version") as caught:
        read = FeatureLearner.load(tmp_path / "model", device="cpu")
    assert len(caught) == 1
    assert (read.settings, read.recipe) == (learner.settings, learner.recipe)
    shown = np.random.default_rng(0).integers(0, 256, (3, 20, 20, 3), dtype=np.uint8)
    assert np.array_equal(read.transform(shown), learner.transform(shown))


def test_notes_of_an_earlier_version_are_read_under_new_names(tmp_path):
    taught = {"settings": {"crops": 2}, "recipe": {"patches": 0.5}}
    note = tmp_path / "note.json"
    note.write_text(json.dumps({"stored_side": 32, **taught, "teacher": taught, "history": []}))
    now = {"settings": {"tta_crops": 2}, "recipe": {"cutmix_prob": 0.5}}
    assert _told(note) == {"cache_size": 32, **now, "teacher": now}


def test_old_options_of_a_command_are_hidden_and_accepted(tmp_path):
    command = ["extract", "critters", "--backbone", "conv4", "--device", "cpu"]
    command += ["--weights", "nowhere"]
    old = ["--side", "16", "--no-mirror", "--framing=centre", "--crops", "1"]
    with pytest.warns(ZerokinWarning) as caught:
        result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "f.safetensors"), *old])
    # Read so far that the options are known: what is missing is the file of weights.
    assert "nowhere" in str(result.exception)
    assert [str(one.message) for one in caught] == [
        "zerokin extract: --side is now --image-size, --no-mirror is now --no-tta-flip, "
        "--framing is now --resize-mode, centre is now center, --crops is now --tta-crops"
    ]
    shown = CliRunner().invoke(app, ["extract", "--help"], env={"COLUMNS": "200"}).stdout
    assert "--tta-crops" in shown
    assert not re.search(r"--(side|mirror|framing|crops)\b", shown)


@pytest.mark.parametrize("typed", [["--setting", "generalised"], ["--setting=generalised"]])
def test_the_old_spelling_of_a_setting_is_accepted(typed):
    with pytest.warns(ZerokinWarning, match=r"evaluate: generalised is now generalized$"):
        result = CliRunner().invoke(app, ["evaluate", "folder=nowhere", *typed])
    assert "nowhere" in str(result.exception)
    result = CliRunner().invoke(app, ["evaluate", "folder=nowhere", "--setting", "generalized"])
    assert "nowhere" in str(result.exception)


def test_every_new_name_is_one_that_exists():
    assert set(RECIPE.values()) <= set(Recipe.__dataclass_fields__)
    assert set(NETWORK.values()) <= set(NetworkSettings.__dataclass_fields__)


def test_a_classifier_takes_its_old_parameters():
    from sklearn.base import clone

    from zerokin import ZeroShotClassifier

    with pytest.warns(ZerokinWarning) as caught:
        old = ZeroShotClassifier(kin_decay=0.7, kin_semantics=2.0, kin_width=0.3, kin_shrinkage=1.5)
    assert len(caught) == 1
    assert "kin_width is now length_scale" in str(caught[0].message)
    with pytest.warns(ZerokinWarning, match="inference='kin' is now 'residual'"):
        assert ZeroShotClassifier(inference="kin").inference == "residual"
    new = ZeroShotClassifier(layer_decay=0.7, semantic_variance=2.0, length_scale=0.3, noise=1.5)
    assert clone(old).get_params() == new.get_params()
