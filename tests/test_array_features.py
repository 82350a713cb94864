"""Features in NumPy files: reading, refusing, and taking the place of images."""

from __future__ import annotations

import numpy as np
import pytest

import zerokin
from builders import OWN_IMAGES, OWN_TABLE, write_own_folder, write_xlsa17_folder
from zerokin.benchmark.settings import features_sha256
from zerokin.data.array_features import ArrayFeatures
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.files import sha256


@pytest.fixture
def own(tmp_path):
    return f"folder={write_own_folder(tmp_path / 'own', OWN_TABLE, OWN_IMAGES)}"


def saved(path, shape, dtype=np.float32, order="C"):
    features = np.random.default_rng(0).normal(size=shape) * 9
    features = np.asarray(features, dtype=dtype, order=order)
    np.save(path, features)
    return features


@pytest.mark.parametrize("dtype", ["float16", "float32", ">f8", "int8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_those_of_the_array_and_half_precision_is_widened(tmp_path, dtype, order):
    features = saved(tmp_path / "f.npy", (6, 4), dtype, order)
    mapped = ArrayFeatures(tmp_path / "f.npy").open()
    assert isinstance(mapped, np.memmap)
    assert not mapped.flags.writeable
    for rows in (np.array([2, 0]), slice(1, None)):
        assert np.array_equal(mapped[rows], features[rows])
        assert mapped[rows].dtype == ("float32" if dtype == "float16" else dtype)


def test_an_array_takes_the_place_of_images(tmp_path, own):
    images = zerokin.load_dataset(own)
    features = saved(tmp_path / "f.npy", (len(images), 5))
    dataset = zerokin.load_dataset(own, features=str(tmp_path / "f.npy"))
    assert dataset.kind == "features"
    assert np.array_equal(dataset.features, features)
    assert list(dataset.inputs.names) == list(images.images.names)
    assert features_sha256(dataset) == sha256(tmp_path / "f.npy")


def test_an_xlsa17_folder_takes_one_too(tmp_path):
    spec = f"xlsa17={write_xlsa17_folder(tmp_path / 'made')}"
    features = saved(tmp_path / "f.npy", (len(zerokin.load_dataset(spec)), 3))
    dataset = zerokin.load_dataset(spec, features=str(tmp_path / "f.npy"))
    assert np.array_equal(dataset.features, features)


@pytest.mark.parametrize(
    ("array", "line"),
    [
        (np.zeros((13, 4)), "has 13 rows, but "),
        (np.zeros(14), r"float64 of shape \(14,\): features are numbers of shape \(samples, d_f\)"),
        (np.zeros((14, 2, 2)), r"of shape \(14, 2, 2\)"),
        (np.array([["a"] * 4] * 14), "holds <U1 of shape"),
        (np.array([[None] * 4] * 14), r"no NumPy array \(Array can't be memory-mapped"),
    ],
)
def test_other_arrays_are_refused_in_one_line(tmp_path, own, array, line):
    np.save(tmp_path / "f.npy", array)
    with pytest.raises(InvalidInput, match=line) as refusal:
        zerokin.load_dataset(own, features=str(tmp_path / "f.npy"))
    assert "\n" not in str(refusal.value)


@pytest.mark.filterwarnings("ignore:Reading `.npy`")
def test_a_file_cut_or_changed_anywhere_is_refused_in_one_line_or_read(tmp_path):
    saved(tmp_path / "f.npy", (3, 4))
    whole = (tmp_path / "f.npy").read_bytes()
    broken = tmp_path / "broken.npy"
    for length in range(len(whole)):
        broken.write_bytes(whole[:length])
        with pytest.raises(InvalidInput, match="truncated, damaged or no NumPy array") as refusal:
            ArrayFeatures(broken)
        assert "\n" not in str(refusal.value)
    said = []
    for place in range(128):
        for byte in (0, 0x28, 0x39, 0xFF):
            broken.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
            try:
                ArrayFeatures(broken).open()
            except ZerokinError as error:
                said.append(str(error))
    assert said
    assert not any("\n" in line for line in said)


def test_missing_files_and_folders_are_named(tmp_path, own):
    (tmp_path / "d.npy").mkdir()
    for name, line in (
        ("none.npy", "no NumPy file at .*none.npy"),
        ("d.npy", "cannot read .*d.npy"),
    ):
        with pytest.raises(ZerokinError, match=line):
            zerokin.load_dataset(own, features=str(tmp_path / name))
