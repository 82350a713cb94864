"""Extraction: right features, the same file after any interruption, and clear refusals."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

import zerokin
from builders import OWN_IMAGES, OWN_TABLE, image_bytes, write_own_folder
from zerokin.cli import app
from zerokin.data import ClassTable, Dataset, Provenance, Split
from zerokin.data.images import ArrayImages
from zerokin.data.native_features import NativeFeatures
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.features.extraction import extract_features, extract_xlsa17
from zerokin.features.extractor import Extractor, network_sha256, open_extractor
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.networks import create_backbone, save_weights
from zerokin.features.reading import View
from zerokin.features.training import Recipe

N, BATCH = 11, 3
VIEW = View(image_size=32, batch_size=BATCH)
PIXELS = np.random.default_rng(0).integers(0, 256, (N, 20, 28, 3), dtype=np.uint8)


class Watched(ArrayImages):
    """Images that note which of them were read, and may stop at one of them."""

    def __init__(self, pixels=PIXELS, *, stop_at=None, stop=KeyboardInterrupt):
        super().__init__(pixels)
        self.read, self.stop_at, self.stop = [], stop_at, stop

    def array(self, index):  # what is hashed
        return self.pixels[index]

    def load(self, index):
        if index == self.stop_at:
            raise self.stop(f"image {index}")
        self.read.append(index)
        return super().load(index)


def dataset_of(images, **changes):
    labels = np.arange(len(images)) % 3
    parts = {
        "train": np.flatnonzero(labels != 2),
        "test_seen": np.array([], int),
        "test_unseen": np.flatnonzero(labels == 2),
    }
    unseen = np.array([False, False, True])
    fields = {
        "name": "made",
        "classes": ClassTable(("a", "b", "c"), np.eye(3), "attributes"),
        "inputs": images,
        "labels": labels,
        "splits": {"pure": Split(version="1", unseen=unseen, **parts)},
        "provenance": Provenance("folder=/some/where", "made up"),
    }
    return Dataset(**(fields | changes))


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads only get in each other's way on images this small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def backbone():
    torch.manual_seed(0)
    return create_backbone("conv4", width=8)


def extract(backbone, path, images=None, *, view=VIEW, **options):
    dataset = dataset_of(images or Watched())
    return extract_features(backbone, dataset, path, view=view, quiet=True, **options)


@pytest.fixture(scope="module")
def whole(backbone, tmp_path_factory):
    """The file of an extraction that nothing interrupted."""
    path = tmp_path_factory.mktemp("whole") / "f.safetensors"
    extract(backbone, path)
    return path.read_bytes()


def test_features_are_what_the_backbone_says_of_each_image(backbone, tmp_path):
    found = extract(backbone, tmp_path / "f.safetensors").open()
    for index in range(N):
        square = Image.fromarray(PIXELS[index]).resize((32, 32), Image.Resampling.BICUBIC)
        one = torch.from_numpy(np.asarray(square).copy()).permute(2, 0, 1)[None]
        with torch.no_grad():
            features = backbone.eval()(one).features + backbone(one.flip(3)).features
        np.testing.assert_allclose(found[index], features[0].numpy() / 2, atol=1e-5)


def test_center_zoom_and_no_mirror_are_what_they_say(backbone, tmp_path):
    extractor = Extractor.from_network(
        backbone,
        view=View(image_size=16, zoom=1.25, tta_flip=False, batch_size=4),
        resize_mode="center",
    )
    found = extract_features(extractor, dataset_of(Watched()), tmp_path / "f.safetensors").open()
    assert extractor.cache_size == 20
    # Images are 20 × 28: their center square is 20 × 20, of which zoom leaves the inner 16.
    inner = torch.from_numpy(PIXELS[:, 2:18, 6:22].copy()).permute(0, 3, 1, 2)
    with torch.no_grad():
        np.testing.assert_allclose(found, backbone.eval()(inner).features.numpy(), atol=1e-5)


def test_a_learner_extracts_what_it_transforms(tmp_path):
    learner = FeatureLearner(
        "conv4", "end-to-end", weights=None, recipe=Recipe(epochs=0), image_size=32, device="cpu"
    )
    dataset = dataset_of(Watched())
    learner.fit(dataset)
    file = extract_features(learner, dataset, tmp_path / "f.safetensors", quiet=True)
    assert file.shape == (N, 64 + 3)
    np.testing.assert_allclose(file.open(), learner.transform(dataset.images), atol=1e-6)
    learner.save(tmp_path / "model")
    again = open_extractor(model=tmp_path / "model", device="cpu")
    assert again.recipe() == {key: file.recipe[key] for key in again.recipe()}
    with pytest.raises(InvalidInput, match="brings its own backbone"):
        open_extractor("conv4", model=tmp_path / "model")


def test_the_recipe_tells_everything_but_where_the_data_lies(backbone, tmp_path):
    file = extract(backbone, tmp_path / "f.safetensors", dtype="float16")
    assert (
        file.recipe.items()
        >= {
            "zerokin": zerokin.__version__,
            "torch": torch.__version__,
            "backbone": "conv4",
            "weights": "given",
            "network_sha256": network_sha256(backbone),
            "resize_mode": "whole",
            "image_size": 32,
            "zoom": 1.0,
            "tta_flip": True,
            "dataset": "made",
            "data": "folder",
            "images_sha256": Watched().sha256(),
            "dtype": "float16",
        }.items()
    )
    assert "/some" not in str(file.recipe)


def test_the_hash_of_a_network_is_that_of_what_reads():
    torch.manual_seed(1)
    learner = FeatureLearner("conv4", weights=None, recipe=Recipe(epochs=0), device="cpu")
    network = learner.prepare(dataset_of(Watched())).network_
    before = network_sha256(network)
    assert before == network_sha256(network.backbone)
    with torch.no_grad():
        next(network.head.parameters()).add_(1)
        assert network_sha256(network) == before
        next(network.backbone.parameters())[0, 0, 0, 0] += 1e-3
    assert network_sha256(network) != before


@pytest.mark.parametrize("stop_at", [0, 3, 4, 8, 9, 10])
def test_an_interrupted_file_goes_on_and_ends_up_the_same(backbone, whole, tmp_path, stop_at):
    path = tmp_path / "f.safetensors"
    with pytest.raises(KeyboardInterrupt):
        extract(backbone, path, Watched(stop_at=stop_at))
    assert not path.exists()
    second = Watched()
    extract(backbone, path, second)
    assert path.read_bytes() == whole
    assert sorted(second.read) == list(range(stop_at // BATCH * BATCH, N))
    assert [left.name for left in tmp_path.iterdir()] == ["f.safetensors"]


def test_a_partial_file_cut_anywhere_still_ends_up_the_same(backbone, whole, tmp_path):
    path, partial = tmp_path / "f.safetensors", tmp_path / ".f.safetensors.part"
    for length in [0, 5, 100, *range(len(whole) - 400, len(whole), 41), len(whole)]:
        partial.write_bytes(whole[:length])
        extract(backbone, path)
        assert path.read_bytes() == whole, length
        path.unlink()


def test_a_killed_process_is_gone_on_with(backbone, whole, tmp_path):
    save_weights(backbone, tmp_path / "weights.safetensors")
    code = f"""
import os, sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_extraction import *

class Killing(Watched):
    def load(self, index):
        # The reader is four batches ahead: wait until the first is in the file.
        while index == 10 and partial.stat().st_size < {len(whole)} - 9 * 32 - 40:
            time.sleep(0.01)
        if index == 10:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().load(index)

partial = Path({str(tmp_path)!r}) / ".f.safetensors.part"
backbone = create_backbone("conv4", width=8, weights={str(tmp_path / "weights.safetensors")!r})
torch.set_num_threads(1)
extract(backbone, Path({str(tmp_path)!r}) / "f.safetensors", Killing())
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    assert not (tmp_path / "f.safetensors").exists()
    second = Watched()
    extract(backbone, tmp_path / "f.safetensors", second)
    assert (tmp_path / "f.safetensors").read_bytes() == whole
    assert 0 not in second.read


def test_another_recipe_starts_over_and_says_so(backbone, tmp_path, capsys):
    path = tmp_path / "f.safetensors"
    with pytest.raises(KeyboardInterrupt):
        extract(backbone, path, Watched(stop_at=7))
    images = Watched()
    extract_features(backbone, dataset_of(images), path, view=VIEW._replace(image_size=48))
    said = capsys.readouterr().err
    assert "starting over, an earlier extraction differed: cache_size was 32, is 48" in said
    assert "image_size was 32, is 48" in said
    assert sorted(images.read) == list(range(N))
    extract(backbone, tmp_path / "fresh.safetensors", view=VIEW._replace(image_size=48))
    assert path.read_bytes() == (tmp_path / "fresh.safetensors").read_bytes()


def test_a_finished_file_is_left_alone_unless_the_recipe_is_another(backbone, tmp_path, capsys):
    path = tmp_path / "f.safetensors"
    extract(backbone, path)
    before = path.stat()
    extract(backbone, path, Watched(stop_at=0))
    assert path.stat() == before
    extract_features(backbone, dataset_of(Watched()), path, view=VIEW, dtype="float16")
    assert "will be replaced: dtype was float32, is float16" in capsys.readouterr().err
    assert NativeFeatures(path).dtype == "float16"


def test_a_damaged_image_is_named_and_after_mending_only_the_rest_is_read(
    backbone, tmp_path, capsys
):
    own = write_own_folder(tmp_path / "own", OWN_TABLE, OWN_IMAGES)
    names = list(zerokin.load_dataset(f"folder={own}").images.names)
    for number, name in enumerate(names):
        (own / name).write_bytes(image_bytes((9 * number, 0, 0)))
    mended = (own / names[8]).read_bytes()
    (own / names[8]).write_bytes(mended[:60])
    path = tmp_path / "f.safetensors"

    def run(target, *, quiet=True):
        dataset = zerokin.load_dataset(f"folder={own}")
        return extract_features(backbone, dataset, target, view=VIEW, quiet=quiet)

    with pytest.raises(InvalidInput) as refusal:
        run(path)
    assert f"{own / names[8]} cannot be decoded" in str(refusal.value)
    assert "6 of 14 images are done and kept" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    (own / names[8]).write_bytes(mended)
    run(path, quiet=False)
    assert "going on after 6 of 14 images" in capsys.readouterr().err
    run(tmp_path / "fresh.safetensors")
    assert path.read_bytes() == (tmp_path / "fresh.safetensors").read_bytes()


def test_renamed_images_keep_their_features(backbone, tmp_path):
    path = tmp_path / "f.safetensors"
    with pytest.raises(KeyboardInterrupt):
        extract(backbone, path, Watched(stop_at=9))
    images = Watched()
    images.names = images.names[::-1]
    extract(backbone, path, images)
    assert min(images.read) == 9
    assert list(NativeFeatures(path).names) == images.names
    assert NativeFeatures(path).recipe["images_sha256"] == images.sha256()


def test_a_image_that_changed_is_read_again_with_all_after_it(backbone, tmp_path):
    path = tmp_path / "f.safetensors"
    with pytest.raises(KeyboardInterrupt):
        extract(backbone, path, Watched(stop_at=9))
    changed = PIXELS.copy()
    changed[4] = 0
    images = Watched(changed)
    extract(backbone, path, images)
    assert sorted(images.read) == list(range(3, N))
    extract(backbone, tmp_path / "fresh.safetensors", Watched(changed))
    assert path.read_bytes() == (tmp_path / "fresh.safetensors").read_bytes()


@contextmanager
def at_most(n_bytes):
    """Let no file grow beyond so many bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_one_line_and_nothing_is_lost(backbone, whole, tmp_path):
    path = tmp_path / "f.safetensors"
    with pytest.raises(InvalidInput) as refusal, at_most(len(whole) - 5 * 32):
        extract(backbone, path)
    assert "cannot write" in str(refusal.value)
    assert "6 of 11 images are done and kept" in str(refusal.value)
    second = Watched()
    extract(backbone, path, second)
    assert path.read_bytes() == whole
    assert min(second.read) == 6


def test_what_is_no_feature_file_is_not_replaced(backbone, tmp_path):
    note = tmp_path / "note.safetensors"
    note.write_text("something of mine")
    (tmp_path / "folder.safetensors").mkdir()
    for path, line in (
        (note, "will not replace what is no feature file"),
        (tmp_path / "folder.safetensors", "is a folder"),
        (tmp_path / "f.npy", "feature files end in .safetensors"),
        (note / "below.safetensors", "cannot write"),
    ):
        with pytest.raises(InvalidInput, match=line) as refusal:
            extract(backbone, path, Watched(stop_at=0))
        assert "\n" not in str(refusal.value)
    assert note.read_text() == "something of mine"
    assert {path.name for path in tmp_path.iterdir()} == {note.name, "folder.safetensors"}


def test_numbers_that_the_file_cannot_hold_are_refused(tmp_path):
    torch.manual_seed(0)
    backbone = create_backbone("conv4", width=8)
    last = [m for m in backbone.modules() if isinstance(m, torch.nn.BatchNorm2d)][-1]
    with torch.no_grad():
        last.weight.mul_(1e7)
    with pytest.raises(InvalidInput, match=r"a feature of 0 is .*, too large for float16"):
        extract(backbone, tmp_path / "f.safetensors", dtype="float16")
    assert np.isfinite(extract(backbone, tmp_path / "f.safetensors").open()).all()
    with torch.no_grad():
        last.weight.mul_(torch.nan)
    with pytest.raises(InvalidInput, match="features of 0 that are not finite"):
        extract(backbone, tmp_path / "g.safetensors")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"view": View(image_size=0)}, "image_size must be at least 1"),
        ({"view": View(image_size=32, batch_size=0)}, "batch_size must be at least 1"),
        ({"view": View(image_size=32, zoom=0.5)}, "zoom must be at least 1"),
        ({"dtype": "float8"}, "unknown dtype 'float8'"),
    ],
)
def test_impossible_arguments_are_refused_and_nothing_is_left(backbone, tmp_path, options, line):
    with pytest.raises(InvalidInput, match=line):
        extract(backbone, tmp_path / "f.safetensors", Watched(stop_at=0), **options)
    assert not list(tmp_path.iterdir())


def test_features_have_no_images_to_read(backbone, tmp_path):
    dataset = dataset_of(np.zeros((N, 4), np.float32))
    with pytest.raises(InvalidInput, match="holds features, not images"):
        extract_features(backbone, dataset, tmp_path / "f.safetensors", quiet=True)
    assert not list(tmp_path.iterdir())


def test_the_xlsa17_form_holds_the_same(backbone, whole, tmp_path):
    (tmp_path / "w.safetensors").write_bytes(whole)
    native = NativeFeatures(tmp_path / "w.safetensors")
    folder = tmp_path / "made"
    with pytest.raises(KeyboardInterrupt):
        extract_xlsa17(backbone, dataset_of(Watched(stop_at=7)), folder, view=VIEW, quiet=True)
    assert not folder.exists()
    images = Watched()
    extract_xlsa17(backbone, dataset_of(images), folder, view=VIEW, quiet=True)
    assert min(images.read) == 6
    assert {path.name for path in tmp_path.iterdir()} == {"made", "w.safetensors"}
    back, made = zerokin.load_dataset(f"xlsa17={folder}"), dataset_of(images)
    assert np.array_equal(back.features, native.open())
    assert list(back.inputs.names) == list(made.images.names)
    assert list(back.split.train) == list(made.split.train)
    assert list(back.training_labels()) == list(made.training_labels())
    assert back.inputs.path.name == "conv4.mat"
    before = (folder / "conv4.mat").stat()
    extract_xlsa17(backbone, dataset_of(Watched(stop_at=0)), folder, view=VIEW, quiet=True)
    assert (folder / "conv4.mat").stat() == before


def test_the_xlsa17_form_replaces_nothing_else(backbone, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "att_splits.mat").write_text("mine")
    dataset = dataset_of(Watched(stop_at=0))
    with pytest.raises(InvalidInput, match="mine holds something else"):
        extract_xlsa17(backbone, dataset, tmp_path / "mine", quiet=True)
    with pytest.raises(InvalidInput, match="is a file"):
        extract_xlsa17(backbone, dataset, tmp_path / "mine" / "att_splits.mat", quiet=True)
    vectorless = dataset_of(Watched(), classes=ClassTable(("a", "b", "c"), None, "none"))
    with pytest.raises(InvalidInput, match="lacks a pure split or semantic vectors"):
        extract_xlsa17(backbone, vectorless, tmp_path / "new", quiet=True)
    assert {path.name for path in tmp_path.iterdir()} == {"mine"}


def test_the_command_writes_what_load_dataset_opens(tmp_path):
    own = write_own_folder(tmp_path / "own", OWN_TABLE, OWN_IMAGES)
    backbone = create_backbone("conv4")
    save_weights(backbone, tmp_path / "conv4.safetensors")
    target = str(tmp_path / "f.safetensors")
    size = ["--image-size", "32", "--batch", "4", "--no-tta-flip", "--device", "cpu"]
    chosen = ["--backbone", "conv4", "--weights", str(tmp_path / "conv4.safetensors")]
    command = ["extract", f"folder={own}", "--out", target, *chosen, *size]
    ran = CliRunner().invoke(app, [*command, "--dtype", "float16", "--resize-mode", "center"])
    assert ran.exit_code == 0, ran.output
    assert "14 images, 64 features each" in ran.stdout
    recipe = NativeFeatures(target).recipe
    assert (
        recipe.items()
        >= {
            "weights": "file conv4.safetensors",
            "network_sha256": network_sha256(backbone),
            "resize_mode": "center",
            "tta_flip": False,
            "image_size": 32,
            "batch_size": 4,
        }.items()
    )
    assert zerokin.load_dataset(f"folder={own}", features=target).features.shape == (14, 64)
    for wrong, line in (
        (["--backbone", "resnet12"], "does not fit resnet12"),
        (["--weights", "packaged"], "no packaged weights for 'conv4'"),
        (["--weights", str(tmp_path / "none.pth")], "no weight file at"),
        (["--backbone", "conv5"], "did you mean 'conv4'"),
        (["--device", "gpu"], "unknown device 'gpu'"),
        (["--model", str(tmp_path)], "brings its own backbone"),
        (["--format", "xlsa17", "--dtype", "float16"], "no float16"),
    ):
        ran = CliRunner().invoke(app, [*command, *wrong])
        assert isinstance(ran.exception, ZerokinError), ran.output
        assert line in str(ran.exception)
        assert "\n" not in str(ran.exception)
