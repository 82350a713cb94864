"""Feature learning on ready features: learners, trainings, extraction and the ablation."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import yaml
from typer.testing import CliRunner

import zerokin
from builders import OWN_IMAGES, OWN_TABLE, write_own_folder, write_xlsa17_folder
from zerokin.benchmark.ablation import run_ablation
from zerokin.benchmark.ablation.config import parse_config
from zerokin.cli import app
from zerokin.data.images import ArrayImages
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.features.extraction import extract_features, extract_xlsa17
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.input import Augmentation, FeatureSource
from zerokin.features.network_config import parse_network
from zerokin.features.training import Recipe
from zerokin.features.training.records import TrainingPaused
from zerokin.features.training.run import TrainingRun

SIZES = {"n_classes": 13, "per_class": 7, "n_unseen": 3, "d_z": 5, "d_f": 11}
MODES = ("classes", "superclass-heads", "cnn-rnn", "end-to-end")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Thirteen classes whose features lie about a drawn map of their attributes."""
    rng = np.random.default_rng(23)
    labels = np.repeat(np.arange(SIZES["n_classes"]), SIZES["per_class"])
    raw = rng.uniform(1, 100, (SIZES["d_z"], SIZES["n_classes"]))
    centers = rng.normal(size=(SIZES["d_f"], SIZES["d_z"])) @ (raw / 50)
    noise = rng.normal(0, 0.3, (SIZES["d_f"], len(labels)))
    return write_xlsa17_folder(
        tmp_path_factory.mktemp("data") / "made",
        {"features": (centers[:, labels] + noise).astype(np.float32)},
        {"att": raw / np.linalg.norm(raw, axis=0), "original_att": raw},
        **SIZES,
    )


@pytest.fixture(scope="module")
def dataset(folder):
    return zerokin.load_dataset(f"xlsa17={folder}")


def learner(mode="superclass-heads", *, backbone="adapter", recipe=None, **settings):
    quick = {"epochs": 3, "batch_size": 10, "lr": 0.02, **(recipe or {})}
    options = {"width": 6, **settings.pop("options", {})}
    return FeatureLearner(
        backbone,
        mode,
        branching=2,
        hidden=5,
        device="cpu",
        options=options,
        recipe=Recipe(**quick),
        **settings,
    )


def network_weights(learned):
    return {name: value.clone() for name, value in learned.network_.state_dict().items()}


def assert_same(first, second):
    assert first.keys() == second.keys()
    assert [name for name in first if not torch.equal(first[name], second[name])] == []


@pytest.mark.parametrize("backbone", ["adapter", "mlp"])
@pytest.mark.parametrize("mode", MODES)
def test_it_learns_in_every_mode_and_comes_back_the_same(dataset, tmp_path, mode, backbone):
    learned = learner(mode, backbone=backbone).fit(dataset)
    losses = [epoch.loss["classes"] for epoch in learned.history_]
    assert losses[-1] < losses[0]
    features = learned.transform(dataset.features)
    extra = SIZES["d_z"] if mode == "end-to-end" else 0
    assert features.shape == (len(dataset), (11 if backbone == "adapter" else 6) + extra)
    learned.save(tmp_path / "model")
    again = FeatureLearner.load(tmp_path / "model", device="cpu")
    assert np.array_equal(again.transform(dataset.features), features)
    assert_same(network_weights(again), network_weights(learned))
    assert again.settings.options["d_in"] == 11


def test_the_chain_learns_with_and_without_what_is_not_the_papers(dataset):
    made = {
        (scaling, auxiliary): learner(
            "cnn-rnn", input_scaling=scaling, auxiliary_heads=auxiliary
        ).fit(dataset)
        for scaling in (True, False)
        for auxiliary in (True, False)
    }
    features = [one.transform(dataset.features) for one in made.values()]
    for number, one in enumerate(features):
        assert all(not np.allclose(one, other) for other in features[:number])
    for (_, auxiliary), one in made.items():
        assert ("layer 1 linear" in one.history_[0].loss) == auxiliary


@pytest.mark.parametrize("chained", [False, True])
def test_self_reconstruction_is_learned_where_it_counts(dataset, chained):
    losses = {}
    for mu in (0.0, 1.0):
        recipe = {"reconstruction": mu, "lr": 0.003}
        fitted = learner("end-to-end", chained=chained, recipe=recipe).fit(dataset)
        losses[mu] = fitted.history_[-1].loss
    assert "reconstruction 0" not in losses[0.0]
    assert losses[1.0]["reconstruction 0"] < 1


def test_reading_is_scaling_and_the_layers(dataset):
    learned = learner("classes").fit(dataset)
    state = {k: v.double().numpy() for k, v in learned.network_.backbone.model.state_dict().items()}
    train = dataset.features[dataset.split.train].astype(float)
    np.testing.assert_allclose(state["scaling.mean"], train.mean(0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(state["scaling.std"], train.std(0), rtol=1e-5)
    x = (dataset.features - train.mean(0)) / train.std(0)
    hidden = np.maximum(x @ state["layers.0.weight"].T + state["layers.0.bias"], 0)
    expected = x + hidden @ state["layers.3.weight"].T + state["layers.3.bias"]
    np.testing.assert_allclose(learned.transform(dataset.features), expected, rtol=1e-4, atol=1e-4)


def test_one_seed_learns_the_same_and_another_does_not(dataset):
    settings = {"options": {"dropout": 0.3, "noise": 0.2}, "recipe": {"manifold_mixup": 2.0}}
    first, again = (learner(**settings).fit(dataset) for _ in range(2))
    assert_same(network_weights(first), network_weights(again))
    settings["recipe"]["seed"] = 1
    other = learner(**settings).fit(dataset)
    assert not np.allclose(
        other.transform(dataset.features), first.transform(dataset.features), atol=1e-3
    )


def test_what_is_read_of_a_sample_depends_on_no_other(dataset):
    learned = learner().fit(dataset)
    order = np.random.default_rng(2).permutation(len(dataset))
    whole = learned.transform(dataset.features)
    np.testing.assert_allclose(learned.transform(dataset.features[order]), whole[order], atol=1e-5)
    np.testing.assert_allclose(learned.transform(dataset.features[:1]), whole[:1], atol=1e-5)


def test_an_interrupted_training_ends_as_if_it_had_not_been(dataset, tmp_path, monkeypatch):
    settings = {"options": {"dropout": 0.3, "noise": 0.2}, "recipe": {"manifold_mixup": 2.0}}
    whole = learner(**settings).fit(dataset, folder=tmp_path / "whole", checkpoint_every=1)
    update, steps = TrainingRun.update, []

    def mortal(self):
        steps.append(self.progress.step)
        if len(steps) == 8:
            raise KeyboardInterrupt
        update(self)

    monkeypatch.setattr(TrainingRun, "update", mortal)
    options = {"folder": tmp_path / "stopped", "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt):
        learner(**settings).fit(dataset, **options)
    resumed = learner(**settings).fit(dataset, **options)
    assert steps[7:9] == [7, 7]  # it went on where it stopped
    assert_same(network_weights(resumed), network_weights(whole))


def test_a_training_pauses(dataset, tmp_path):
    with pytest.raises(TrainingPaused):
        learner().fit(dataset, folder=tmp_path, stop_after=1e-9)
    assert len(learner().fit(dataset, folder=tmp_path).history_) == 3


@pytest.mark.parametrize("scaling", ["standardize", "none"])
def test_a_checkpoint_of_other_features_is_refused(dataset, tmp_path, scaling):
    learner(options={"scaling": scaling}).fit(dataset, folder=tmp_path)
    changed = dataset.features.copy()
    changed[dataset.split.train[3], 2] += 1
    with pytest.raises(InvalidInput, match=r"is of another training .features "):
        learner(options={"scaling": scaling}).fit(dataset.with_inputs(changed), folder=tmp_path)


def test_validation_classes_stop_it_and_are_not_learned_from(dataset):
    fold = dataset.fold(1)
    learned = learner("classes").fit(dataset, validation_fold=1, patience=2)
    assert all(0 <= epoch.validation <= 100 for epoch in learned.history_)
    train = dataset.features[fold.split.train]
    np.testing.assert_allclose(
        learned.network_.backbone.model.scaling.mean, train.mean(0), rtol=1e-4, atol=1e-5
    )


def test_half_way_back_is_half_of_what_was_learned(dataset):
    """An adapter begins with the identity: its last layer is halved by going half way back."""
    learned, back = (
        learner("classes", start_interpolation=share).fit(dataset) for share in (0.0, 0.5)
    )
    first, second = (one.network_.backbone.model.layers[3].weight for one in (learned, back))
    assert torch.allclose(second, first / 2)
    assert first.abs().max() > 1e-3


RECIPES = [
    ({"cutmix_prob": 0.5}, "cutmix_prob 0.5 is for images"),
    ({"rotation_weight": 0.5}, "rotation_weight 0.5 is for images"),
    ({"image_size": 64}, "image_size 64 is for images"),
    ({"initial_image_size": 32}, "initial_image_size 32 is for images"),
    ({"augmentation": Augmentation(mirror=False)}, "augmentation is for images"),
]


@pytest.mark.parametrize(("recipe", "line"), RECIPES)
def test_a_recipe_for_images_is_refused_when_the_learner_is_made(recipe, line):
    with pytest.raises(InvalidInput, match=f"{line}, not for ready features: leave it out"):
        learner(recipe=recipe)
    plain = Recipe(**recipe).as_dict()
    with pytest.raises(InvalidInput, match=line):
        parse_network("n", {"backbone": "mlp", "recipe": plain})


@pytest.mark.parametrize(
    "setting", [{"image_size": 64}, {"cache_size": 64}, {"tta_crops": 3}, {"resize_mode": "center"}]
)
def test_settings_for_images_are_refused(setting):
    (name,) = setting
    with pytest.raises(InvalidInput, match=f"{name} .* is for images, and adapter reads ready"):
        learner(**setting)


def test_images_and_features_are_told_apart(dataset, tmp_path):
    own = zerokin.load_dataset(
        f"folder={write_own_folder(tmp_path / 'own', OWN_TABLE, OWN_IMAGES)}"
    )
    with pytest.raises(InvalidInput, match="holds images, but adapter reads ready features"):
        learner().fit(own)
    with pytest.raises(InvalidInput, match="holds features, not images, which conv4 reads: take"):
        FeatureLearner("conv4", weights=None, device="cpu").fit(dataset)
    with pytest.raises(InvalidInput, match="features of 11 numbers, but d_in is 12"):
        learner(options={"d_in": 12}).fit(dataset)
    fitted = learner(recipe={"epochs": 0}).fit(dataset)
    for wrong in (np.zeros((2, 12)), np.zeros((2, 8, 8, 3), np.uint8), own.images):
        with pytest.raises(InvalidInput, match=r"this network reads features \(N, 11\): got"):
            fitted.transform(wrong)


def test_features_that_are_not_finite_are_refused(dataset):
    broken = dataset.features.copy()
    broken[dataset.split.train[5], 3] = np.nan
    with pytest.raises(InvalidInput, match="hold NaN or infinity"):
        learner().fit(dataset.with_inputs(broken))
    fitted = learner(recipe={"epochs": 0}).fit(dataset)
    with pytest.raises(InvalidInput, match=r"features hold NaN.* in row"):
        fitted.transform(broken)


def test_a_source_gives_the_rows_that_were_asked_for():
    F = np.random.default_rng(0).normal(size=(9, 4))
    source = FeatureSource(F, torch.device("cpu")).select(np.array([8, 2, 5]))
    found = source.batch(np.array([2, 0]))
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found, F[[5, 8]].astype(np.float32))


def test_learned_features_are_extracted_to_files(dataset, tmp_path):
    learned = learner().fit(dataset)
    expected = learned.transform(dataset.features)
    file = extract_features(learned, dataset, tmp_path / "f.safetensors", quiet=True)
    assert np.array_equal(file.open(), expected)
    assert "image_size" not in file.recipe
    assert file.recipe["backbone"] == "adapter"
    folder = tmp_path / "made"
    extract_xlsa17(learned, dataset, folder, quiet=True)
    back = zerokin.load_dataset(f"xlsa17={folder}")
    assert np.array_equal(back.features, expected)
    assert list(back.inputs.names) == list(dataset.inputs.names)


def test_features_without_names_have_the_xlsa17_form_alone(dataset, tmp_path):
    learned = learner(recipe={"epochs": 0}).fit(dataset)
    unnamed = dataset.with_inputs(np.asarray(dataset.features))
    with pytest.raises(InvalidInput, match=r"that name no images.*--format xlsa17"):
        extract_features(learned, unnamed, tmp_path / "f.safetensors", quiet=True)
    extract_xlsa17(learned, unnamed, tmp_path / "made", quiet=True)
    back = zerokin.load_dataset(f"xlsa17={tmp_path / 'made'}")
    assert np.array_equal(back.features, learned.transform(dataset.features))


def test_images_have_no_features_to_extract_from(dataset, tmp_path):
    learned = learner(recipe={"epochs": 0}).fit(dataset)
    images = dataset.with_inputs(ArrayImages(np.zeros((len(dataset), 8, 8, 3), np.uint8)))
    with pytest.raises(InvalidInput, match="holds images, not features"):
        extract_features(learned, images, tmp_path / "f.safetensors", quiet=True)


def command(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_commands_train_extract_and_evaluate(folder, dataset, tmp_path):
    settings = {
        "backbone": "adapter",
        "mode": "cnn-rnn",
        "branching": 2,
        "options": {"width": 6},
        "recipe": {"epochs": 2, "batch_size": 10},
    }
    (tmp_path / "network.yaml").write_text(yaml.safe_dump(settings))
    data = f"xlsa17={folder}"
    out = tmp_path / "trained"
    ran = command("train", data, "--config", tmp_path / "network.yaml", "--out", out)
    assert ran.exit_code == 0, ran.output
    target = tmp_path / "learned.safetensors"
    ran = command("extract", data, "--model", out / "model", "--out", target, "--device", "cpu")
    assert ran.exit_code == 0, ran.output
    assert f"{len(dataset)} samples, 11 features each" in ran.output
    learned = FeatureLearner.load(out / "model", device="cpu")
    attached = zerokin.load_dataset(data, features=str(target))
    assert np.array_equal(attached.features, learned.transform(dataset.features))
    again = command(
        "extract",
        data,
        "--model",
        out / "model",
        "--out",
        tmp_path / "x.safetensors",
        "--image-size",
        64,
    )
    assert isinstance(again.exception, ZerokinError)
    assert "image_size is for images, and this model reads ready features" in str(again.exception)


def config(**changes):
    return {
        "seeds": [0, 1],
        "defaults": {
            "backbone": "adapter",
            "branching": 2,
            "options": {"width": 5},
            "recipe": {"epochs": 1, "batch_size": 10},
        },
        "networks": {
            "untouched": {"mode": "classes", "recipe": {"epochs": 0}},
            "chain": {"mode": "cnn-rnn"},
            "whole": {"mode": "end-to-end", "recipe": {"reconstruction": 1.0}},
        },
        "rows": [
            {"name": "untouched", "networks": ["untouched"], "method": "plain"},
            {"name": "chain", "networks": ["chain"], "method": "plain"},
            {"name": "its own scores", "networks": ["whole"], "method": "network"},
            {"name": "side by side", "networks": ["untouched", "chain"], "method": "plain"},
        ],
        **changes,
    }


def test_the_ablation_measures_learned_features(folder, dataset, tmp_path):
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(config()))
    out = tmp_path / "out"
    words = ("ablation", tmp_path / "a.yaml", f"xlsa17={folder}", "--no-tune", "--out", out)
    ran = command(*words, "--device", "cpu")
    assert ran.exit_code == 0, ran.output
    rows = json.loads((out / "ablation.json").read_text())
    assert [(row["method"], row["setting"], row["seed"]) for row in rows] == [
        (name, setting, seed)
        for name in ("untouched", "chain", "its own scores", "side by side")
        for seed in (0, 1)
        for setting in ("pure", "generalized")
    ]
    assert (out / "features.png").exists()
    read = np.load(out / "untouched-seed-0.npy")
    used = np.concatenate(
        [getattr(dataset.split, part) for part in ("train", "test_seen", "test_unseen")]
    )
    train = dataset.features[dataset.split.train].astype(float)
    expected = (dataset.features[used] - train.mean(0)) / train.std(0)
    np.testing.assert_allclose(read[used], expected, atol=2e-3)
    again = [dict(row) for row in rows]
    ran = command(*words, "--device", "cpu")
    assert json.loads((out / "ablation.json").read_text()) == again


def test_the_ablation_takes_one_of_several_feature_files(folder, dataset, tmp_path):
    np.save(tmp_path / "own.npy", np.asarray(dataset.features)[:, :4])
    options = {"device": "cpu", "tune": False, "quiet": True, "validation_only": True}
    plan = parse_config(config(seeds=[0]))
    rows = list(
        run_ablation(
            f"xlsa17={folder}", plan, tmp_path, features=str(tmp_path / "own.npy"), **options
        )
    )
    assert np.load(tmp_path / "chain-fold-1.npy").shape == (len(dataset), 4)
    assert len(rows) == 4


def test_the_ablation_says_first_what_its_networks_cannot_read(folder, tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("trained")

    monkeypatch.setattr(FeatureLearner, "fit", refuse)
    networks = {"chain": {"backbone": "conv4", "weights": None}}
    rows = [{"name": "chain", "networks": ["chain"], "method": "plain"}]
    plan = parse_config({**config(), "defaults": {}, "networks": networks, "rows": rows})
    with pytest.raises(InvalidInput, match=r"network chain: .* holds features, not images"):
        list(run_ablation(f"xlsa17={folder}", plan, tmp_path, quiet=True))
    with pytest.raises(InvalidInput, match=r"network untouched: .* holds images, but adapter"):
        list(run_ablation("critters", parse_config(config()), tmp_path, quiet=True))
    assert not list(tmp_path.iterdir())
