"""Classifiers, bundles and checkpoints that were edited by hand are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

import zerokin
from hostile_files import copied_bundle, copied_classifier, refused
from training_parts import network, recipe, source, targets
from zerokin.errors import InvalidInput
from zerokin.features.training import train
from zerokin.features.training.checkpoint import load_checkpoint, save_checkpoint
from zerokin.recognizer import Recognizer


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("part", ["prototypes", "means", "normaliser.1.matrix", "semantics"])
def test_a_classifier_of_numbers_that_are_not_finite_is_refused(tmp_path, part, value):
    from safetensors.numpy import load_file

    path = copied_classifier(tmp_path / "model") / "numbers.safetensors"
    numbers = load_file(path)
    changed = numbers[part].copy()
    changed.flat[0] = value
    save_file({**numbers, part: changed}, path)
    with pytest.raises(InvalidInput, match="finite"):
        zerokin.ZeroShotClassifier.load(tmp_path / "model")


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": {"seen_penalty": "x"}},
        {"parameters": {"seen_penalty": float("nan")}},
        {"parameters": {"hub_neighbors": 1.5}},
        {"parameters": {"feature_scaling": 5}},
        {"parameters": {"inference": "x"}},
        {"parameters": {"device": "\ud800"}},
        {"parameters": {"two\nlines": 1}},
        {"classes": "abc"},
        {"classes": [[1], [2]]},
        {"classes": ["a", "a"]},
        {"classes": ["a", "\ud800"]},
        {"n_features": 10**400},
        {"layers": -1},
        {"layers": 10**9},
    ],
    ids=ascii,
)
def test_a_classifier_edited_by_hand_is_refused(tmp_path, change):
    path = copied_classifier(tmp_path / "model") / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    for key, value in change.items():
        config[key] = {**config[key], **value} if isinstance(value, dict) else value
    path.write_text(json.dumps(config))
    with pytest.raises(InvalidInput) as error:
        zerokin.ZeroShotClassifier.load(tmp_path / "model")
    assert str(tmp_path) in refused(error)


def test_a_bundle_edited_by_hand_is_refused(tmp_path):
    bundle, root = copied_bundle(tmp_path / "bundle")
    sheet = root / "classes.csv"
    sheet.write_text(sheet.read_text(encoding="utf-8") + "okapi,unseen\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"classes\.csv") as error:
        Recognizer.load(bundle)
    refused(error)


def edited(groups, state, change):
    progress = state["progress"]
    if change == "no network":
        del groups["network"]
    elif change == "no tensor":
        groups["network"].popitem()
    elif change == "other shape":
        name = next(iter(groups["network"]))
        groups["network"][name] = torch.ones(1)
    elif change == "unknown weight":
        groups["optimizer"]["999/momentum_buffer"] = torch.ones(1)
    elif change == "no number":
        groups["optimizer"]["x/momentum_buffer"] = torch.ones(1)
    elif change == "no fingerprint":
        del state["fingerprint"]
    elif change == "list":
        state["fingerprint"] = []
    elif change == "later":
        progress["step"] = 10**30
    elif change == "earlier":
        progress["step"] = -1
    elif change == "sums":
        progress["sums"] = {"total": "x"}
    elif change == "epochs":
        progress["epochs"] = [{"epoch": 1}]
    elif change == "unknown field":
        progress["x"] = 1
    else:
        progress["best_epoch"] = 7


@pytest.mark.parametrize(
    "change",
    [
        *("no network", "no tensor", "other shape", "unknown weight", "no number", "list"),
        *("no fingerprint", "later", "earlier", "sums", "epochs", "unknown field", "best epoch"),
    ],
)
def test_a_checkpoint_edited_by_hand_is_refused(tmp_path, change):
    def run():
        given = network(), source(), targets(), recipe(epochs=1)
        train(*given, folder=tmp_path, device="cpu", quiet=True)

    run()
    path = tmp_path / "checkpoint.safetensors"
    groups, state = load_checkpoint(path)
    edited(groups, state, change)
    save_checkpoint(path, groups, state)
    with pytest.raises(InvalidInput, match="start over") as error:
        run()
    assert "checkpoint.safetensors" in refused(error)
