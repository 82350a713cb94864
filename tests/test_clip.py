"""CLIP on a tiny random model: image features, class vectors from texts, and the peers of both."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

import zerokin
from own_images import write_critter_folder
from tiny_clip import CONFIG, NAME, SIDE, WIDTH, add_tiny_clip, tokenizer
from zerokin import ClassHierarchy
from zerokin.benchmark.clip_methods import CLIP_METHODS
from zerokin.benchmark.comparison import find_methods, measure
from zerokin.cli import app
from zerokin.data.class_semantics import with_semantics
from zerokin.errors import InvalidInput, MissingExtra
from zerokin.features.extraction import extract_features
from zerokin.features.extractor import open_extractor
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.networks import PRESETS, create_backbone
from zerokin.recognizer import fit_recognizer
from zerokin.selection.method import TrainingData
from zerokin.semantics import class_prompts, clip_text_vectors
from zerokin.semantics.clip_models import CLIPS, clip_architecture

open_clip = pytest.importorskip("open_clip")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    def refuse(*given, **options):
        raise AssertionError(f"the hub was asked: {given}")

    monkeypatch.delenv("ZEROKIN_WEIGHTS", raising=False)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", refuse)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return add_tiny_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture(scope="module")
def spoken(tiny):
    """The semantics that the tiny model's texts give."""
    return f"clip-text={NAME},{tiny[1]}"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own") / "animals"
    return f"folder={write_critter_folder(folder, n_seen=12, n_unseen=5, n_images=4)}"


@pytest.fixture(scope="module")
def extracted(data, tiny, tmp_path_factory):
    """Features of all images by the tiny model's image tower, in a file."""
    file = tmp_path_factory.mktemp("features") / "animals.safetensors"
    extractor = open_extractor(NAME, weights=str(tiny[1]))
    extract_features(extractor, zerokin.load_dataset(data), file, quiet=True)
    return str(file)


def test_presets_of_clip_are_what_open_clip_knows():
    for name, clip in CLIPS.items():
        preset = PRESETS[name]
        architecture, tag = clip_architecture(preset.model)
        assert (architecture, tag) == (clip.model, clip.tag)
        known = open_clip.get_pretrained_cfg(architecture, tag)
        assert known["hf_hub"].rstrip("/") == clip.repository == preset.hub[0]
        assert (preset.normalization.mean, preset.normalization.std) == (
            known["mean"],
            known["std"],
        )
        how = {"shortest": "center", "squash": "whole"}[known["resize_mode"]]
        assert preset.resize_mode == how
        config = open_clip.get_model_config(architecture)
        assert preset.image_size == config["vision_cfg"].get("image_size", 224)
        assert "keep results apart" in preset.pretraining


def test_features_are_the_models_own_image_embeddings(tiny):
    model, file = tiny
    backbone = create_backbone(NAME, weights=file).eval()
    assert (backbone.d_f, backbone.input_size) == (WIDTH, SIDE)
    rng = np.random.default_rng(5)
    pixels = rng.integers(0, 256, (3, SIDE, SIDE, 3), dtype=np.uint8)
    shown = open_clip.image_transform(SIDE, is_train=False)
    with torch.inference_mode():
        expected = model.encode_image(torch.stack([shown(Image.fromarray(one)) for one in pixels]))
        found = backbone(torch.from_numpy(pixels).permute(0, 3, 1, 2))
    torch.testing.assert_close(found.features, expected)
    assert found.maps.shape == (3, WIDTH, 1, 1)


def test_vectors_are_the_models_own_text_embeddings(tiny):
    model, file = tiny
    prompts = class_prompts(["house+finch", "zebra"], {"zebra": "a striped horse"})
    assert [len(texts) for texts in prompts] == [7, 8]
    assert prompts[0][0] == "a photo of a house finch."
    assert prompts[1][-1] == "zebra: a striped horse"
    found = clip_text_vectors(prompts, NAME, weights=str(file))
    for row, texts in zip(found, prompts, strict=True):
        with torch.inference_mode():
            each = model.encode_text(tokenizer()(texts)).double().numpy()
        mean = (each / np.linalg.norm(each, axis=1, keepdims=True)).mean(axis=0)
        np.testing.assert_allclose(row, mean / np.linalg.norm(mean), atol=1e-6)


def test_weights_are_found_by_name_and_misfits_refused(tiny, tmp_path, monkeypatch):
    from safetensors.torch import save_file

    critters = zerokin.load_dataset("critters")
    with pytest.raises(InvalidInput, match=r"open_clip/tiny-clip does not say which weights"):
        with_semantics(critters, f"clip-text={NAME}")
    with pytest.raises(InvalidInput, match="unknown CLIP model 'tiny-clp'; did you mean 'tiny-cl"):
        with_semantics(critters, "clip-text=open_clip/tiny-clp")
    with pytest.raises(InvalidInput, match="unknown CLIP model 'ViT-B-17'"):
        create_backbone("open_clip/ViT-B-17")
    with pytest.raises(InvalidInput, match="open_clip has no weights of ViT-B-16 called 'open_ai'"):
        FeatureLearner("open_clip/ViT-B-16.open_ai", weights="hub")
    with pytest.raises(InvalidInput, match=r"images of 32 × 32 pixels only: got input_size=64"):
        create_backbone(NAME, input_size=64)
    with pytest.raises(InvalidInput, match="takes no options: leave out pooling"):
        create_backbone(NAME, pooling="cls")
    wrong = tmp_path / "wrong.safetensors"
    save_file({"logit_scale": torch.zeros(())}, wrong)
    with pytest.raises(InvalidInput, match=r"wrong\.safetensors does not hold both towers of"):
        with_semantics(critters, f"clip-text={NAME},{wrong}")
    with pytest.raises(InvalidInput, match=r"wrong\.safetensors does not fit open_clip/tiny-clip"):
        create_backbone(NAME, weights=wrong)
    with pytest.raises(InvalidInput, match=r"no weight file at .*none\.safetensors"):
        with_semantics(critters, f"clip-text={NAME},{tmp_path / 'none.safetensors'}")
    # The same two towers under a preset's name, from the folder of one's own weights.
    monkeypatch.setitem(CLIPS, "tiny", CLIPS["clip-base"].__class__(
        "tiny-clip", "none", "none/none", 1, license="MIT", pretraining="nothing"))  # fmt: skip
    monkeypatch.setenv("ZEROKIN_WEIGHTS", str(tmp_path))
    (tmp_path / "tiny.safetensors").write_bytes(tiny[1].read_bytes())
    monkeypatch.setattr("zerokin.semantics.clip_models.check_clip", lambda _name: None)
    classes = with_semantics(critters, "clip-text=tiny").classes
    assert (
        classes.semantics_source == "CLIP texts (open_clip/tiny-clip.none, file tiny.safetensors)"
    )


def test_without_open_clip_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("zerokin.semantics.clip_models.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'zerokin\[clip\]'"):
        create_backbone("clip-base")
    with pytest.raises(MissingExtra, match=r"pip install 'zerokin\[clip\]'"):
        with_semantics(zerokin.load_dataset("critters"), "clip-text")


def test_plain_clip_names_the_nearest_text(data, extracted, spoken):
    dataset = zerokin.load_dataset(data, features=extracted, semantics=spoken)
    row = next(measure(data, ["clip"], ["pure"], [0], features=extracted,
                       semantics=spoken))  # fmt: skip
    F = np.array(dataset.features[dataset.split.test_unseen], dtype=np.float64)
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    Z = dataset.classes.vectors / np.linalg.norm(dataset.classes.vectors, axis=1, keepdims=True)
    named = dataset.unseen[(F @ Z[dataset.unseen].T).argmax(axis=1)]
    truth = dataset.evaluation_labels(dataset.split.test_unseen)
    each = [100 * np.mean(named[truth == one] == one) for one in dataset.unseen]
    assert row.metrics["per_class_top1"] == pytest.approx(np.mean(each))
    assert row.features == "animals.safetensors"


def test_chils_is_the_product_of_probabilities_of_class_and_superclass(data, extracted, spoken):
    dataset = zerokin.load_dataset(data, features=extracted, semantics=spoken)
    training = TrainingData.from_dataset(dataset, dataset.split.train, 0)
    F, Z = dataset.finite_features(dataset.split.test_seen).astype(float), dataset.semantics
    (chils,) = find_methods(["chils"])
    trials = [{"branching": 2}, {"branching": 3}]
    for params, scorer in zip(trials, chils.fit_many(training, trials), strict=True):
        tree = ClassHierarchy.from_semantics(Z, params["branching"])
        labels = tree.labels(1)
        parents = np.stack([Z[labels == node].mean(axis=0) for node in range(labels.max() + 1)])
        parents /= np.linalg.norm(parents, axis=1, keepdims=True)
        unit = F / np.linalg.norm(F, axis=1, keepdims=True)
        of_class, of_parent = (np.exp(100 * unit @ rows.T) for rows in (Z, parents))
        of_class /= of_class.sum(axis=1, keepdims=True)
        of_parent /= of_parent.sum(axis=1, keepdims=True)
        product = np.log(of_class * of_parent[:, labels])
        scores = scorer(F)
        shift = product / 100 - scores
        np.testing.assert_allclose(shift, np.broadcast_to(shift[:, :1], shift.shape), atol=1e-6)
        assert (scores.argmax(axis=1) == product.argmax(axis=1)).all()


def test_chils_by_taxonomy_takes_the_parents_that_people_made(data, extracted, spoken):
    dataset = zerokin.load_dataset(data, features=extracted, semantics=spoken)
    training = TrainingData.from_dataset(dataset, dataset.split.train, 0)
    (method,) = find_methods(["chils-taxonomy"])
    if training.taxonomy is None:
        with pytest.raises(InvalidInput, match="knows no taxonomy of its classes: use method chi"):
            next(iter(method.fit_many(training, [{}])))
    n = len(dataset.classes)
    paths = tuple((f"group {i % 7}",) for i in range(n))
    told = TrainingData(training.features, training.labels, training.semantics, 0, paths)
    scorer = next(iter(method.fit_many(told, [{}])))
    F = dataset.finite_features(dataset.split.test_seen[:9]).astype(float)
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    means = np.stack([training.semantics[np.arange(n) % 7 == g].mean(axis=0) for g in range(7)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    expected = F @ training.semantics.T + (F @ means.T)[:, np.arange(n) % 7]
    np.testing.assert_allclose(scorer(F), expected, atol=1e-6)


@pytest.mark.parametrize("name", CLIP_METHODS)
def test_other_features_or_vectors_are_refused_with_what_to_run(name, data, extracted, spoken):
    for options in (
        {"features": extracted},  # other vectors
        {"features": extracted, "semantics": f"{spoken}+own"},
    ):
        with pytest.raises(InvalidInput, match=f"{name} compares a CLIP's images with its texts"):
            next(measure(data, [name], ["pure"], [0], **options))
    critters = zerokin.load_dataset(data, semantics=spoken)
    other = critters.with_inputs(np.ones((len(critters), WIDTH)))
    with pytest.raises(
        InvalidInput,
        match=r"run zerokin extract DATA --backbone clip-base --out FILE\.safetensors, then add "
        r"--features FILE\.safetensors --semantics clip-text=clip-base",
    ):
        find_methods([name])[0].refuse(other)


def test_the_commands_say_it_in_one_line_and_compare_ours_beside_clip(data, extracted, spoken):
    shown = [data, "--features", extracted, "--semantics", spoken]
    options = ["--setting", "generalized", "--methods", "clip,chils"]
    found = CliRunner().invoke(app, ["compare", *shown, *options])
    assert found.exit_code == 0, found.output
    assert "clip, generalized, seed 0:" in found.output
    refused = CliRunner().invoke(app, ["evaluate", *shown[:3], "--method", "clip"])
    assert isinstance(refused.exception, InvalidInput)
    assert "\n" not in str(refused.exception)


def test_a_described_class_joins_through_the_same_text_tower(data, extracted, spoken):
    dataset = zerokin.load_dataset(data, features=extracted, semantics=spoken)
    recognizer = fit_recognizer(dataset, tune=False, calibrated=False, quiet=True)
    recognizer.add_class("striped newt", text="a newt with stripes")
    expected = clip_text_vectors(
        class_prompts(["striped newt"], {"striped newt": "a newt with stripes"}),
        NAME,
        weights=spoken.partition(",")[2],
    )
    found = recognizer.classes.semantics[recognizer.classes.names.index("striped newt")]
    np.testing.assert_allclose(found, expected[0], atol=1e-12)


def test_a_bundle_of_clip_features_is_read_without_weights(tiny, tmp_path):
    critters = zerokin.load_dataset("critters")
    learner = FeatureLearner(NAME, "classes", weights=str(tiny[1])).prepare(critters)
    images = np.random.default_rng(1).integers(0, 256, (3, SIDE, SIDE, 3), dtype=np.uint8)
    learner.save(tmp_path / "net")
    again = FeatureLearner.load(tmp_path / "net")
    np.testing.assert_array_equal(again.transform(images), learner.transform(images))
    assert CONFIG["embed_dim"] == again.transform(images).shape[1]
