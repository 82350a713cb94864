"""The configurations of configs/paper: what they claim of the paper, and that they run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from PIL import Image

import zerokin
from zerokin.benchmark.ablation import run_ablation
from zerokin.benchmark.ablation.config import parse_config, read_config
from zerokin.errors import InvalidInput
from zerokin.features.training.recipe import Recipe

FOLDER = Path(__file__).parents[1] / "configs" / "paper"
FILES = sorted(FOLDER.glob("*.yaml"))
SIDE = 17


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Eleven seen and four unseen classes of one color each, with a taxonomy of two ranks."""
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(5)
    lines = ["name,role,order,family,red,green,blue"]
    for number in range(15):
        color = rng.uniform(0.1, 1, 3).round(2)
        role = "unseen" if number > 10 else "seen"
        ranks = f"order{number % 2},family{number % 4}"
        lines.append(f"c{number},{role},{ranks},{','.join(map(str, color))}")
        for place in ("", "test/"):
            (folder / place / f"c{number}").mkdir(parents=True)
            for k in range(3):
                noisy = color * 255 + rng.normal(0, 9, (SIDE, SIDE, 3))
                square = Image.fromarray(noisy.clip(0, 255).astype(np.uint8))
                square.save(folder / place / f"c{number}" / f"{k}.png")
    (folder / "classes.csv").write_text("\n".join(lines) + "\n")
    return folder


def reads_features(file):
    return file.stem.endswith("-features")


def small(file):
    """The same networks and rows on a backbone of four channels, trained for one epoch."""
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    shared = {**content["defaults"], "options": {"width": 4}, "branching": 2}
    quick = {"epochs": 1, "batch_size": 16}
    if not reads_features(file):
        shared |= {"backbone": "conv4", "weights": None, "image_size": SIDE}
        quick["image_size"] = SIDE
    shared["recipe"] = {**shared["recipe"], **quick}
    networks = {
        name: {**plan, "recipe": {**plan["recipe"], **quick}} if "recipe" in plan else plan
        for name, plan in content["networks"].items()
    }
    return parse_config(
        {**content, "seeds": [0], "cache_size": SIDE, "defaults": shared, "networks": networks}
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_row_can_be_measured(file, images, tmp_path):
    config = small(file)
    assert {name for row in config.rows for name in row.networks} == {
        plan.name for plan in config.networks
    }
    options = {"device": "cpu", "tune": False, "validation_only": True, "quiet": True}
    if reads_features(file):
        pixels = zerokin.load_dataset(f"folder={images}").images
        F = np.stack([pixels.array(k)[::5, ::5].ravel() for k in range(len(pixels))])
        np.save(tmp_path / "ready.npy", F / 255)
        options["features"] = str(tmp_path / "ready.npy")
    rows = list(run_ablation(f"folder={images}", config, tmp_path, **options))
    assert {row["method"] for row in rows} == {row.name for row in config.rows}
    for row in rows:
        assert 0 <= row["metrics"]["per_class_top1"] <= 100


def networks_of(name):
    return {plan.name: plan for plan in read_config(FOLDER / name).networks}


@pytest.mark.parametrize(
    ("file", "name"), [("cub-vgg16.yaml", "cnn-rnn"), ("cub-lite2.yaml", "cnn-rnn-as-written")]
)
def test_the_network_as_written_has_what_the_paper_says(file, name):
    plan = networks_of(file)[name]
    recipe = Recipe.from_dict(plan.recipe)
    assert (recipe.optimizer, recipe.lr, recipe.head_multiplier) == ("sgd", 0.001, 10)
    assert plan.settings["mode"] == "cnn-rnn"
    assert plan.settings["grouping"] == "kmeans"
    assert not plan.settings["input_scaling"]
    assert not plan.settings["auxiliary_heads"]
    assert networks_of("cub-vgg16.yaml")["cnn-rnn"].settings["backbone"] == "vgg16"


def test_networks_of_one_recipe_differ_in_what_their_name_says_alone():
    plans = networks_of("cub-lite2.yaml")
    written = {name for name in plans if name.endswith("-as-written")}
    others = [plan for name, plan in plans.items() if name not in {*written, "pretrained"}]
    assert all(plan.recipe == others[0].recipe for plan in others)
    one, other = (plans[name] for name in sorted(written))
    assert one.recipe == other.recipe
    switches = ("mode", "grouping", "input_scaling", "auxiliary_heads")
    rest = [{k: v for k, v in plan.settings.items() if k not in switches} for plan in others]
    assert all(settings == rest[0] for settings in rest)
    seen = [tuple(plan.settings.get(name, True) for name in switches) for plan in others]
    assert len(set(seen)) == len(seen)


def test_networks_on_ready_features_differ_in_what_their_name_says_alone():
    plans = networks_of("cub-lite0-features.yaml")
    del plans["untouched"]
    for ends in (True, False):
        group = [p for p in plans.values() if (p.settings["mode"] == "end-to-end") == ends]
        told = [
            {**p.settings, **p.recipe, "reconstruction": p.recipe.get("reconstruction", 0.0)}
            for p in group
        ]
        switches = ("mode", "grouping", "input_scaling", "auxiliary_heads", "chained")
        switches += ("reconstruction",)
        rest = [{k: v for k, v in one.items() if k not in switches} for one in told]
        assert all(settings == rest[0] for settings in rest)
        seen = [tuple(one.get(name) for name in switches) for one in told]
        assert len(set(seen)) == len(seen)


def test_a_chained_network_is_read_back_as_it_was(images, tmp_path):
    dataset = zerokin.load_dataset(f"folder={images}")
    learner = zerokin.FeatureLearner(
        "conv4",
        "end-to-end",
        weights=None,
        options={"width": 4},
        branching=2,
        chained=True,
        hidden=7,
        attribute_maps=False,
        input_scaling=False,
        auxiliary_heads=False,
        image_size=SIDE,
        recipe=Recipe(epochs=1, batch_size=16, image_size=SIDE, reconstruction=0.5),
        device="cpu",
    ).fit(dataset, quiet=True)
    learner.save(tmp_path / "model")
    again = zerokin.FeatureLearner.load(tmp_path / "model", device="cpu")
    features = torch.randn(6, learner.network_.backbone.d_f)
    got, want = again.network_.head.eval()(features), learner.network_.head.eval()(features)
    assert len(want.layers) > 1
    assert want.auxiliary == ()
    torch.testing.assert_close(got, want)


def test_a_chain_on_another_head_is_refused():
    with pytest.raises(InvalidInput, match="chained puts the LSTM chain on mode 'end-to-end'"):
        zerokin.FeatureLearner("conv4", "classes", weights=None, chained=True)
