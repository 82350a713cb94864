"""Backbones by preset: a consistent table, pooling, image sizes, weights at hand, what is saved."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import timm
import torch
from safetensors.torch import save_file

import zerokin
from own_images import fitted, write_critter_folder
from zerokin.commands.fit import network_settings
from zerokin.errors import InvalidInput, MissingFile
from zerokin.features.extractor import network_sha256, open_extractor
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.network_settings import NetworkSettings
from zerokin.features.networks import PRESETS, create_backbone, presets
from zerokin.features.networks.backbones import preset_fitting
from zerokin.features.networks.presets import (
    BEST_FIRST,
    Preset,
    best_at_hand,
    describe_best,
    expand_preset,
    weights_at_hand,
)

TIMM = [name for name, preset in PRESETS.items() if "/" not in preset.model]
TINY = "test_vit.r160_in1k"


@pytest.fixture(autouse=True)
def _nothing_at_hand_but_packages(monkeypatch, tmp_path_factory):
    """No cache of the hub, no folder of weights, and whatever asks the network fails."""
    import huggingface_hub

    monkeypatch.delenv("ZEROKIN_WEIGHTS", raising=False)
    empty = str(tmp_path_factory.mktemp("hub"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", empty)

    def refuse(*given, **options):
        raise AssertionError(f"the hub was asked: {given}")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", refuse)
    monkeypatch.setattr("socket.socket.connect", refuse)
    torch.manual_seed(0)
    return empty


def tiny_vit(**options):
    """timm's smallest transformer with a class token: 10 × 10 patches of 16 pixels."""
    return timm.create_model("test_vit", num_classes=0, **options)


@pytest.fixture
def tiny(monkeypatch):
    """A preset ``tiny``, as DINOv2's but for its model."""
    base = PRESETS["dinov2-small"]
    changed = {"model": TINY, "hub": ("timm/none", "model.safetensors"), "image_size": 48}
    preset = Preset(**{**{f.name: getattr(base, f.name) for f in fields(base)}, **changed})
    monkeypatch.setattr(presets, "PRESETS", known := {**PRESETS, "tiny": preset})
    monkeypatch.setattr("zerokin.features.networks.backbones.PRESETS", known)
    return preset


def test_the_table_names_models_that_exist_with_a_license_and_a_word_on_pretraining():
    assert set(BEST_FIRST) < set(PRESETS)
    for name, preset in PRESETS.items():
        assert preset.license in ("Apache-2.0", "MIT")
        assert preset.pretraining
        assert preset.megabytes > 10
        settings = NetworkSettings(**expand_preset({"backbone": name}))
        assert settings.backbone == preset.model
    for name in ("dinov2-small", "dinov2-base"):
        assert "unlabeled" in PRESETS[name].pretraining
        assert "may include CUB's: keep results apart" in PRESETS[name].pretraining


@pytest.mark.parametrize("name", TIMM)
def test_a_preset_is_what_timm_makes_of_its_model(name):
    preset = PRESETS[name]
    with torch.device("meta"):
        model = timm.create_model(preset.model, num_classes=0, pretrained=False)
        backbone = create_backbone(name)
    assert backbone.name == preset.model
    assert backbone.input_size == preset.image_size
    assert (backbone.normalization.mean, backbone.normalization.std) == (
        preset.normalization.mean,
        preset.normalization.std,
    )
    assert backbone.d_f == model.num_features * (2 if preset.pooling == "cls+mean" else 1)
    assert preset.hub[0].startswith(f"timm/{preset.model}")
    # Published files of ImageNet's networks hold the classifier of 1,000 classes, too.
    classifier = 1001 * model.num_features if preset.weights == "packaged" else 0
    count = sum(p.numel() for p in model.parameters()) + classifier
    assert preset.megabytes == pytest.approx(4 * count / 1e6, rel=0.05)
    side = preset.image_size
    with torch.inference_mode():
        images = torch.empty(2, 3, side, side, dtype=torch.uint8, device="meta")
        assert tuple(backbone.eval()(images).features.shape) == (2, backbone.d_f)


def test_an_unknown_preset_is_refused_with_the_nearest_one():
    with pytest.raises(InvalidInput, match=r"unknown backbone 'dinov2-smal'; did you mean 'dinov2"):
        create_backbone("dinov2-smal")
    with pytest.raises(InvalidInput, match=r"unknown backbone 'lite9'; did you mean 'lite"):
        FeatureLearner("lite9")
    with pytest.raises(InvalidInput, match="no packaged weights for 'vit_small_patch14_dinov2"):
        FeatureLearner("dinov2-small", weights="packaged")


@pytest.mark.parametrize("pooling", ["cls", "mean", "cls+mean", "cls2", "cls4", "cls4+mean"])
def test_pooling_is_that_of_plain_torch_on_drawn_images(tiny, pooling):
    backbone = create_backbone("tiny", pooling=pooling).eval()
    side = 16 * int(torch.randint(2, 6, ()))
    images = torch.rand(3, 3, side, side)
    with torch.inference_mode():
        model, d = backbone.model, backbone.channels
        x = (images - backbone.mean) / backbone.std
        patches = model.patch_embed.proj(x).flatten(2).transpose(1, 2)
        grid = model.pos_embed[:, 1:].transpose(1, 2).reshape(1, d, 10, 10)
        places = torch.nn.functional.interpolate(
            grid, (side // 16, side // 16), mode="bicubic", antialias=True
        )
        tokens = torch.cat([model.cls_token.expand(3, -1, -1), patches], dim=1)
        tokens = tokens + torch.cat(
            [model.pos_embed[:, :1], places.flatten(2).transpose(1, 2)], dim=1
        )
        after = []
        for block in model.blocks:
            tokens = block(tokens)
            after.append(model.norm(tokens))
        parts = {
            "cls": after[-1][:, 0],
            "mean": after[-1][:, 1:].mean(1),
            "cls2": torch.cat([one[:, 0] for one in after[-2:]], dim=1),
            "cls4": torch.cat([one[:, 0] for one in after[-4:]], dim=1),
        }
        expected = torch.cat([parts[part] for part in pooling.split("+")], dim=1)
        maps, features = backbone(images)
    torch.testing.assert_close(features, expected)
    assert maps.shape == (3, d, side // 16, side // 16)
    assert backbone.d_f == features.shape[1]


def test_what_cannot_be_pooled_or_shown_is_refused(tiny):
    with pytest.raises(InvalidInput, match=r"pooling must be one of cls, mean, cls\+mean"):
        create_backbone("tiny", pooling="max")
    with pytest.raises(InvalidInput, match=r"test_vit.* has fewer than 4 blocks"):
        create_backbone("tiny", pooling="cls4+mean", depth=3)
    with pytest.raises(InvalidInput, match="tf_efficientnet_lite0 has no class token"):
        create_backbone("lite0", pooling="cls")
    with pytest.raises(InvalidInput, match=r"patches of 16 × 16 pixels: got input_size=50, try 48"):
        create_backbone("tiny", input_size=50)


def test_a_file_of_weights_is_read_and_another_networks_refused(tiny, tmp_path):
    model = tiny_vit()
    file = tmp_path / "own.safetensors"
    save_file(model.state_dict(), file)
    extractor = open_extractor("tiny", weights=str(file), image_size=32)
    assert extractor.view.image_size == 32
    assert extractor.view.tta_flip
    assert extractor.width == 2 * model.num_features
    assert extractor.recipe()["weights"] == "file own.safetensors"
    assert extractor.recipe()["pretraining"] == tiny.pretraining
    assert torch.equal(extractor.network.model.pos_embed, model.pos_embed)
    with pytest.raises(InvalidInput, match=r"own\.safetensors does not fit tf_efficientnet_lite0"):
        open_extractor("lite0", weights=str(file))
    save_file(tiny_vit(reg_tokens=1).state_dict(), file)
    with pytest.raises(InvalidInput, match=rf"own\.safetensors does not fit {TINY}: it "):
        open_extractor("tiny", weights=str(file))


def test_a_file_alone_tells_which_preset_it_is_of(tiny, tmp_path, monkeypatch):
    file = tmp_path / "some.safetensors"
    save_file({f"module.{key}": value for key, value in tiny_vit().state_dict().items()}, file)
    assert preset_fitting(file) is None
    monkeypatch.setattr("zerokin.features.networks.backbones.BEST_FIRST", ("lite1", "tiny"))
    assert preset_fitting(file) == "tiny"
    assert open_extractor(weights=str(file)).width == 2 * tiny_vit().num_features
    typed = {"backbone": None, "weights": str(file), "mode": None, "image_size": None}
    assert network_settings(None, typed, {}, finetune=False) == {
        "backbone": "tiny",
        "weights": str(file),
        "recipe": {},
    }
    assert preset_fitting(tmp_path / "none.safetensors") is None
    assert preset_fitting("packaged") is None


def test_weights_at_hand_are_files_packages_and_the_hubs_cache(tiny, tmp_path, monkeypatch):
    import huggingface_hub

    assert weights_at_hand("tiny") is None
    assert weights_at_hand("lite0") == "packaged"
    assert expand_preset({"backbone": "tiny"})["weights"] == "hub"
    monkeypatch.setattr(presets, "is_packaged", lambda _model: False)
    assert weights_at_hand("lite0") is None
    # The layout of the hub's cache.
    cache = tmp_path / "cache"
    folder = cache / "models--timm--none"
    (folder / "snapshots" / "abc").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("abc", encoding="utf-8")
    save_file(tiny_vit().state_dict(), folder / "snapshots" / "abc" / "model.safetensors")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))
    assert weights_at_hand("tiny") == "hub"
    own = tmp_path / "own"
    own.mkdir()
    save_file(tiny_vit().state_dict(), own / "tiny.safetensors")
    monkeypatch.setenv("ZEROKIN_WEIGHTS", str(own))
    assert weights_at_hand("tiny") == str(own / "tiny.safetensors")
    assert expand_preset({"backbone": "tiny"})["weights"] == str(own / "tiny.safetensors")
    monkeypatch.setenv("ZEROKIN_WEIGHTS", str(tmp_path / "none"))
    with pytest.raises(MissingFile, match=r"ZEROKIN_WEIGHTS names .*none, which is no folder"):
        weights_at_hand("tiny")


def test_what_the_hub_has_cached_is_read_without_asking_it(monkeypatch, tmp_path):
    import huggingface_hub

    name = "test_vit.r160_in1k"
    model = timm.create_model("test_vit")
    folder = tmp_path / f"models--timm--{name}"
    (folder / "snapshots" / "abc").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("abc", encoding="utf-8")
    save_file(model.state_dict(), folder / "snapshots" / "abc" / "model.safetensors")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    backbone = create_backbone(name, weights="hub")
    assert torch.equal(backbone.model.pos_embed, model.pos_embed)


def test_the_best_preset_at_hand_is_taken_and_said(monkeypatch, tmp_path, capsys):
    assert best_at_hand() == "lite2"
    assert describe_best("lite2").startswith("network: lite2 (ImageNet-1k, ")
    assert "--backbone dinov2-small downloads 88 MB" in describe_best("lite2")
    own = tmp_path / "weights"
    own.mkdir()
    (own / "dinov2-small.safetensors").touch()
    monkeypatch.setenv("ZEROKIN_WEIGHTS", str(own))
    assert best_at_hand() == "dinov2-small"
    typed = {"backbone": None, "weights": None, "mode": None, "image_size": None}
    settings = network_settings(None, typed, {}, finetune=False)
    assert settings == {"backbone": "dinov2-small", "recipe": {}}
    said = capsys.readouterr().out
    assert said.startswith("network: dinov2-small (LVD-142M")
    assert said.count("\n") == 1
    # What is typed counts, and what is trained starts where its recipe was chosen.
    named = network_settings(None, {**typed, "backbone": "lite0"}, {}, finetune=False)
    assert named == {"backbone": "lite0", "recipe": {}}
    tuned = network_settings(None, typed, {}, finetune=True)
    assert tuned["weights"] == "packaged"
    assert FeatureLearner(weights=tuned["weights"]).settings.backbone == "tf_efficientnet_lite0"
    assert capsys.readouterr().out == ""
    monkeypatch.delenv("ZEROKIN_WEIGHTS")
    monkeypatch.setattr(presets, "is_packaged", lambda _model: False)
    assert best_at_hand() == "lite0"  # whose error then says what to install


def test_lite0_is_what_the_default_was():
    now, before = FeatureLearner("lite0").settings, FeatureLearner().settings
    assert now == before
    one, other = open_extractor("lite0").recipe(), open_extractor().recipe()
    assert one == other
    assert "pretraining" not in one
    assert one["network_sha256"] == network_sha256(
        create_backbone("tf_efficientnet_lite0", weights="packaged")
    )


def test_what_is_given_goes_before_what_a_preset_brings():
    expanded = expand_preset(
        {"backbone": "dinov2-small", "weights": None, "image_size": 336, "tta_flip": False,
         "options": {"pooling": "cls"}}
    )  # fmt: skip
    assert expanded == {
        "backbone": "vit_small_patch14_dinov2.lvd142m",
        "weights": None,
        "image_size": 336,
        "tta_flip": False,
        "resize_mode": "whole",
        "options": {"input_size": 336, "pooling": "cls", "dynamic_img_size": True},
    }


def test_a_fitted_bundle_keeps_the_preset_and_says_what_it_learned_from(
    tiny, tmp_path, monkeypatch
):
    own = tmp_path / "weights"
    own.mkdir()
    save_file(tiny_vit().state_dict(), own / "tiny.safetensors")
    monkeypatch.setenv("ZEROKIN_WEIGHTS", str(own))
    folder = write_critter_folder(tmp_path / "animals")
    monkeypatch.setattr(presets, "BEST_FIRST", ("tiny", "lite0"))
    recognizer = fitted(folder, learner=None)
    training = recognizer.about["training"]
    assert training["network"] == TINY
    assert training["image side"] == 48
    assert training["these weights, as published, were pretrained on"] == tiny.pretraining
    assert training["their license, as published"] == "Apache-2.0"
    recognizer.save(tmp_path / "model")
    monkeypatch.delenv("ZEROKIN_WEIGHTS")
    monkeypatch.setattr(presets, "PRESETS", PRESETS)  # bundles need no table
    again = zerokin.Recognizer.load(tmp_path / "model")
    images = sorted((folder / "test").glob("*/*.png"))
    assert again.recognize(images) == recognizer.recognize(images)
    pixels = np.random.default_rng(0).integers(0, 256, (2, 48, 48, 3), dtype=np.uint8)
    features = again.learner.transform(pixels)
    assert features.shape == (2, 2 * again.learner.network_.backbone.channels)
    card = next((tmp_path / "model").glob("v-*/README.md")).read_text(encoding="utf-8")
    assert "142 million unlabeled images" in card
