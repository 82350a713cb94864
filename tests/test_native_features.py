"""Feature files of our own: layout, reading, refusing, and attaching to a data set."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import zerokin
from builders import OWN_IMAGES, OWN_TABLE, cells, write_own_folder, write_xlsa17_folder
from zerokin.benchmark.settings import features_sha256
from zerokin.data.native_features import FORMAT, Layout, NativeFeatures, joined_names
from zerokin.data.native_writer import FeatureWriter
from zerokin.data.readers.xlsa17_writer import write_xlsa17
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.files import sha256


def write(path, names, *, dtype="float32", d_f=7, recipe=None):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(len(names), d_f)).astype(dtype)
    digests = rng.integers(0, 256, (len(names), 32), dtype=np.uint8)
    layout = Layout(features.shape, dtype, len(joined_names(names)), recipe or {"made": "här"})
    with FeatureWriter(path) as writer:
        writer.begin(layout, digests, names, block=2)
        for start in range(0, len(names), 2):
            writer.append(features[start : start + 2])
        writer.finish()
    return features, digests


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_safetensors_reads_the_same_and_the_matrix_is_mapped(tmp_path, dtype):
    names = ["a/1.jpg", "b/ö 2.jpg", "c/3.jpg"]
    features, digests = write(tmp_path / "f.safetensors", names, dtype=dtype, d_f=5)
    reference = load_file(tmp_path / "f.safetensors")
    assert np.array_equal(reference["features"], features)
    assert reference["names"].tobytes().decode().split("\n") == names
    file = NativeFeatures(tmp_path / "f.safetensors")
    mapped = file.open()
    assert isinstance(mapped, np.memmap)
    assert mapped.flags.aligned
    assert not mapped.flags.writeable
    assert mapped.dtype == dtype
    assert np.array_equal(mapped, features)
    for rows in (np.array([2, 0]), slice(1, None), slice(None)):
        assert mapped[rows].dtype == np.float32
        assert np.array_equal(mapped[rows], features[rows])
    assert np.array_equal(file.image_sha256, digests)
    assert list(file.names) == names
    assert file.recipe == {"made": "här"}
    assert [path.name for path in tmp_path.iterdir()] == ["f.safetensors"]


def test_a_file_cut_anywhere_is_refused_in_one_line(tmp_path):
    write(tmp_path / "f.safetensors", ["a", "b", "c"])
    whole = (tmp_path / "f.safetensors").read_bytes()
    cut = tmp_path / "cut.safetensors"
    for length in [*range(0, len(whole), 37), len(whole) - 1]:
        cut.write_bytes(whole[:length])
        with pytest.raises(InvalidInput, match=r"cut\.safetensors is truncated") as refusal:
            NativeFeatures(cut)
        assert "\n" not in str(refusal.value)
    cut.write_bytes(whole + b"x")
    with pytest.raises(InvalidInput, match="truncated, damaged"):
        NativeFeatures(cut)


def test_no_damage_to_the_header_leads_to_anything_but_a_clear_refusal(tmp_path):
    features, _ = write(tmp_path / "f.safetensors", ["a", "b", "c"])
    whole = bytearray((tmp_path / "f.safetensors").read_bytes())
    length = 8 + int.from_bytes(whole[:8], "little")
    damaged = tmp_path / "damaged.safetensors"
    refusals = []
    for position in range(length):
        for value in (whole[position] ^ 1, 0, 0xFF):
            content = whole.copy()
            content[position] = value
            damaged.write_bytes(content)
            try:
                file = NativeFeatures(damaged)
                # What is still accepted differs in the recipe's words alone.
                assert np.array_equal(file.open(), features)
                assert list(file.names) == ["a", "b", "c"]
            except InvalidInput as refusal:
                refusals.append(str(refusal))
    assert len(refusals) > 2 * length
    assert not any("\n" in line for line in refusals)


def test_damaged_names_are_refused(tmp_path):
    path = tmp_path / "f.safetensors"
    write(path, ["a", "b", "c"])
    content = path.read_bytes()
    for names in (b"a\nbbc", b"a\n\xff\nc"):
        path.write_bytes(content[:-5] + names)
        with pytest.raises(InvalidInput, match=r"f\.safetensors is damaged"):
            _ = NativeFeatures(path).names


def test_foreign_files_are_refused(tmp_path):
    weights = tmp_path / "weights.safetensors"
    save_file({"features": np.zeros((2, 3), np.float32)}, weights)
    with pytest.raises(InvalidInput, match="but no feature file"):
        NativeFeatures(weights)
    later = tmp_path / "later.safetensors"
    save_file({"f": np.zeros(2)}, later, metadata={"format": "zerokin-features-3"})
    with pytest.raises(InvalidInput, match="zerokin-features-3, this version reads"):
        NativeFeatures(later)
    other = tmp_path / "other.safetensors"
    tensors = {"features": np.zeros((2, 3), np.float32), "names": np.zeros(3, np.uint8)}
    save_file(tensors, other, metadata={"format": FORMAT, "recipe": "{}"})
    with pytest.raises(InvalidInput, match="laid out otherwise"):
        NativeFeatures(other)
    save_file(tensors, other, metadata={"format": FORMAT})
    with pytest.raises(InvalidInput, match="damaged in its header"):
        NativeFeatures(other)
    (tmp_path / "text.safetensors").write_text("features of birds, all of them, and more")
    with pytest.raises(InvalidInput, match="no zerokin feature file"):
        NativeFeatures(tmp_path / "text.safetensors")
    with pytest.raises(InvalidInput, match="is a folder"):
        NativeFeatures(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no feature file at .*: zerokin extract writes"):
        NativeFeatures(tmp_path / "none.safetensors")


@pytest.mark.parametrize("name", ["a\nb.jpg", "a\udcff.jpg"])
def test_names_that_cannot_be_stored_are_refused(name):
    with pytest.raises(InvalidInput, match="rename it"):
        joined_names(["fine.jpg", name])


@pytest.fixture
def own(tmp_path):
    return f"folder={write_own_folder(tmp_path / 'own', OWN_TABLE, OWN_IMAGES)}"


def test_features_take_the_place_of_their_images(tmp_path, own):
    images = zerokin.load_dataset(own)
    path = tmp_path / "f.safetensors"
    features, _ = write(path, images.images.names)
    dataset = zerokin.load_dataset(own, features=str(path))
    assert dataset.kind == "features"
    assert np.array_equal(dataset.features, features)
    assert list(dataset.training_labels()) == list(images.training_labels())
    assert [file.path.name for file in dataset.provenance.files] == ["classes.csv", path.name]
    assert features_sha256(dataset) == sha256(path)


def test_features_of_other_images_are_refused(tmp_path, own):
    names = list(zerokin.load_dataset(own).images.names)
    path = tmp_path / "f.safetensors"
    for wrong, line in (
        ([*names[:4], names[5], names[4], *names[6:]], f"sample 5 is '{names[5]}' there, "),
        (names[:-1], "holds features of 13 images"),
        ([*names, "zebra/x.png"], "has 14; extract the features of this data again"),
        ([f"x/{name}" for name in names], f"sample 1 is 'x/{names[0]}' there, '{names[0]}' here"),
    ):
        write(path, wrong)
        with pytest.raises(InvalidInput) as refusal:
            zerokin.load_dataset(own, features=str(path))
        assert line in str(refusal.value)
        assert "\n" not in str(refusal.value)


def test_an_xlsa17_folder_takes_them_too_and_keeps_its_own(tmp_path):
    folder = write_xlsa17_folder(tmp_path / "made")
    spec = f"xlsa17={folder}"
    own = zerokin.load_dataset(spec)
    names = list(own.inputs.names)
    path = tmp_path / "f.safetensors"
    features, _ = write(path, names, d_f=3)
    dataset = zerokin.load_dataset(spec, features=str(path))
    assert np.array_equal(dataset.features, features)
    assert list(dataset.training_labels()) == list(own.training_labels())
    (folder / "second.mat").write_bytes((folder / "res7.mat").read_bytes())
    assert zerokin.load_dataset(spec, features=str(path)).features.shape == (30, 3)
    assert zerokin.load_dataset(spec, features="second").features.shape == (30, 7)
    write(path, [*names[1:], names[0]])
    with pytest.raises(InvalidInput, match=r"sample 1 is 'c1/2\.jpg' there, 'c1/1\.jpg' here"):
        zerokin.load_dataset(spec, features=str(path))


def test_xlsa17_paths_of_another_machine_count_by_their_end(tmp_path):
    names = [f"c{(n - 1) // 5 + 1}/{n}.jpg" for n in range(1, 31)]
    there = {"image_files": cells([f"/their/disk/images/{name}" for name in names])}
    spec = f"xlsa17={write_xlsa17_folder(tmp_path / 'made', features=there)}"
    for mine in (names, [name.replace(".jpg", ".webp") for name in names]):
        write(tmp_path / "f.safetensors", mine)
        dataset = zerokin.load_dataset(spec, features=str(tmp_path / "f.safetensors"))
        assert list(dataset.inputs.names) == mine
    write(tmp_path / "f.safetensors", ["x" + name for name in names])
    with pytest.raises(ZerokinError, match="sample 1 is"):
        zerokin.load_dataset(spec, features=str(tmp_path / "f.safetensors"))


def test_xlsa17_without_samples_or_names_cannot_be_checked(tmp_path):
    write(tmp_path / "f.safetensors", ["a", "b"])
    for unnamed in ([], [""] * 30):
        folder = write_xlsa17_folder(tmp_path / "made", features={"image_files": cells(unnamed)})
        with pytest.raises(InvalidInput, match="holds features that name no images"):
            zerokin.load_dataset(f"xlsa17={folder}", features=str(tmp_path / "f.safetensors"))
    (folder / "res7.mat").unlink()
    (folder / "testclasses.txt").write_text("class5\nclass6\n")
    with pytest.raises(InvalidInput, match=r"cannot be checked: xlsa17=.* holds no samples"):
        zerokin.load_dataset(f"xlsa17={folder}", features=str(tmp_path / "f.safetensors"))


def test_the_header_is_plain_json_with_the_recipe(tmp_path):
    write(tmp_path / "f.safetensors", ["a"], recipe={"backbone": "conv4", "zoom": 1.5})
    content = (tmp_path / "f.safetensors").read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert json.loads(header["__metadata__"]["recipe"]) == {"backbone": "conv4", "zoom": 1.5}


def test_half_precision_is_written_as_xlsa17_in_single(tmp_path):
    made = zerokin.load_dataset(f"xlsa17={write_xlsa17_folder(tmp_path / 'made')}")
    path = tmp_path / "f.safetensors"
    features, _ = write(path, list(made.inputs.names), dtype="float16")
    dataset = zerokin.load_dataset(made.provenance.source, features=str(path))
    write_xlsa17(dataset, tmp_path / "again")
    stored = zerokin.load_dataset(f"xlsa17={tmp_path / 'again'}").features
    assert stored.dtype == np.float32
    assert np.array_equal(stored, features)


def test_only_one_process_writes(tmp_path):
    with (
        FeatureWriter(tmp_path / "f.safetensors"),
        pytest.raises(InvalidInput, match="being written by another process"),
        FeatureWriter(tmp_path / "f.safetensors"),
    ):
        pass
    assert not list(tmp_path.iterdir())
