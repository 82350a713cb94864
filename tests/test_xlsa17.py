"""xlsa17 files: reading, writing, mapping, and everything that can be wrong with them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import loadmat, savemat

import zerokin
from builders import cells, write_xlsa17_folder, xlsa17_variables
from zerokin.data.matlab import map_matrix
from zerokin.data.readers.xlsa17_writer import write_xlsa17
from zerokin.errors import ZerokinError


def load(folder, **options):
    return zerokin.load_dataset(f"xlsa17={folder}", **options)


def same(one, other):
    """Two data sets hold the same in every part."""
    assert np.array_equal(one.features, other.features)
    assert one.features.dtype == other.features.dtype
    everything = np.arange(len(one))
    assert np.array_equal(one.evaluation_labels(everything), other.evaluation_labels(everything))
    assert one.classes.names == other.classes.names
    assert np.array_equal(one.classes.vectors, other.classes.vectors)
    assert np.array_equal(one.semantics, other.semantics)
    assert one.classes.attribute_names == other.classes.attribute_names
    assert one.classes.taxonomy == other.classes.taxonomy
    assert list(one.inputs.names) == list(other.inputs.names)
    assert one.splits.keys() == other.splits.keys()
    for name, split in one.splits.items():
        assert np.array_equal(split.unseen, other.splits[name].unseen)
        for part, indices in split.parts.items():
            assert np.array_equal(indices, other.splits[name].parts[part])
        for fold, fold_read in zip(split.folds, other.splits[name].folds, strict=True):
            assert np.array_equal(fold, fold_read)


@pytest.mark.parametrize("compress", [False, True])
def test_reading_gives_what_the_files_hold(tmp_path, compress):
    features, splits = xlsa17_variables()
    made = load(write_xlsa17_folder(tmp_path, compress=compress))
    assert np.array_equal(made.features, features["features"].T)
    assert made.classes.names == tuple(f"class{k}" for k in range(1, 7))
    assert np.array_equal(made.classes.vectors, splits["original_att"].T)
    np.testing.assert_allclose(made.semantics, splits["att"].T, rtol=1e-14)
    assert made.unseen.tolist() == [4, 5]
    assert np.array_equal(made.split.train, splits["trainval_loc"].ravel() - 1)
    assert np.array_equal(made.training_labels(), np.repeat([0, 1, 2, 3], 4))
    assert made.inputs.names[7] == "c2/8.jpg"


def test_an_uncompressed_matrix_is_mapped_and_a_compressed_one_read(tmp_path):
    plain = load(write_xlsa17_folder(tmp_path / "plain"))
    packed = load(write_xlsa17_folder(tmp_path / "packed", compress=True))
    assert isinstance(plain.features, np.memmap)
    assert plain.features.flags.c_contiguous
    assert not isinstance(packed.features, np.memmap)
    assert np.array_equal(plain.features, packed.features)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1"])
def test_mapping_agrees_with_scipy(tmp_path, dtype):
    rng = np.random.default_rng(1)
    matrix = (100 * rng.random((13, 29))).astype(dtype)
    others = {"first": rng.random((3, 5)), "words": cells(["a", "bb"]), "last": np.arange(4)}
    savemat(tmp_path / "m.mat", {**others, "a_rather_long_name": matrix, "x": 1 + 2j})
    mapped = map_matrix(tmp_path / "m.mat", "a_rather_long_name")
    assert isinstance(mapped, np.memmap)
    assert np.array_equal(mapped, loadmat(tmp_path / "m.mat")["a_rather_long_name"])
    assert mapped.dtype == np.dtype(dtype)
    assert map_matrix(tmp_path / "m.mat", "absent") is None


@pytest.mark.parametrize("compress", [False, True])
def test_written_and_read_back_is_identical(tmp_path, compress):
    folder = write_xlsa17_folder(tmp_path / "a", compress=compress)
    (folder / "attributes.txt").write_text("1 has wings\n2 stripes\n3 x\n4 y::z\n")
    (folder / "standard_split").mkdir()
    (folder / "standard_split" / "testclasses.txt").write_text("class1\nclass3\n")
    table = "name,order,family\n" + "".join(f"class{k},o{k % 2},f{k}\n" for k in range(1, 7))
    (folder / "classes.csv").write_text(table)
    one = load(folder)
    write_xlsa17(one, tmp_path / "b")
    other = load(tmp_path / "b")
    same(one, other)
    assert other.with_split("standard").unseen.tolist() == [0, 2]
    write_xlsa17(other, tmp_path / "c")
    same(one, load(tmp_path / "c"))


def test_folds_are_the_public_ones_where_there_are_any(tmp_path):
    folder = write_xlsa17_folder(tmp_path)
    assert "drawn" in load(folder).split.folds_version
    (folder / "valclasses1.txt").write_text("class1\n")
    (folder / "valclasses2.txt").write_text("class2\nclass3\n")
    split = load(folder).split
    assert split.folds_version == "public"
    assert [np.flatnonzero(fold).tolist() for fold in split.folds] == [[0], [1, 2]]


def test_without_features_the_classes_can_still_be_used(tmp_path):
    folder = write_xlsa17_folder(tmp_path)
    (folder / "res7.mat").unlink()
    with pytest.raises(ZerokinError, match="neither a feature file nor"):
        load(folder)
    (folder / "testclasses.txt").write_text("class5\nclass6\n")
    made = load(folder)
    assert made.kind == "classes only"
    assert made.unseen.tolist() == [4, 5]
    with pytest.raises(ZerokinError, match="not features"):
        _ = made.features


def wrong(tmp_path, features=None, att_splits=None):
    write_xlsa17_folder(tmp_path, features=features, att_splits=att_splits)


def cut(path, fraction):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * fraction)])


FEATURES, SPLITS = xlsa17_variables()
BAD = {
    "no att_splits.mat in": lambda p: (p / "att_splits.mat").unlink(),
    "cannot be read as a MATLAB file: it is truncated": lambda p: cut(p / "att_splits.mat", 0.6),
    "res7.mat cannot be read as a MATLAB file": lambda p: cut(p / "res7.mat", 0.3),
    "several feature files (res7, vgg)": lambda p: savemat(p / "vgg.mat", FEATURES),
    "lacks the variable labels": lambda p: savemat(p / "res7.mat", {"features": np.eye(3)}),
    "lacks the matrix 'features'": lambda p: savemat(p / "res7.mat", {"labels": [[1]]}),
    "lacks the variable test_seen_loc": lambda p: savemat(
        p / "att_splits.mat", {k: v for k, v in SPLITS.items() if k != "test_seen_loc"}
    ),
    "sample 30 has label 7, outside the class table of 6": lambda p: wrong(
        p, features={"labels": np.append(FEATURES["labels"][:-1], 7)[:, None]}
    ),
    "sample 1 has label 0, outside": lambda p: wrong(
        p, features={"labels": np.append(0, FEATURES["labels"][1:])[:, None]}
    ),
    "whole class numbers": lambda p: wrong(p, features={"labels": FEATURES["labels"] + 0.5}),
    "30 features but 29 labels": lambda p: wrong(p, features={"labels": FEATURES["labels"][:-1]}),
    "NaN or infinite semantic values for class2": lambda p: wrong(
        p, att_splits={"original_att": np.where(np.arange(6) == 1, np.nan, SPLITS["att"])}
    ),
    "no semantic vector (all zeros) for class3": lambda p: wrong(
        p, att_splits={"original_att": SPLITS["att"] * (np.arange(6) != 2)}
    ),
    "have 5 columns (one per class), but allclasses_names has 6": lambda p: wrong(
        p, att_splits={"original_att": SPLITS["att"][:, :5]}
    ),
    "unique, but class1 occurs": lambda p: wrong(
        p,
        att_splits={"allclasses_names": cells([f"class{k}" for k in (1, 1, 2, 3, 4, 5)])},
    ),
    "split index 30 of train is out of range": lambda p: wrong(
        p, att_splits={"trainval_loc": np.append(SPLITS["trainval_loc"], 31)[:, None]}
    ),
    "whole sample numbers from 1": lambda p: wrong(p, att_splits={"trainval_loc": [[0]]}),
    "seen and unseen classes overlap: train holds": lambda p: wrong(
        p, att_splits={"trainval_loc": SPLITS["test_unseen_loc"], "test_unseen_loc": [[30]]}
    ),
    "both list class5": lambda p: (
        (p / "res7.mat").unlink(),
        (p / "testclasses.txt").write_text("class5\n"),
        (p / "trainvalclasses.txt").write_text("class4\nclass5\n"),
    ),
    "'clas5' is not a class; did you mean 'class5'?": lambda p: (p / "valclasses1.txt").write_text(
        "clas5\n"
    ),
    "4 attribute columns but 1 attribute names": lambda p: (p / "attributes.txt").write_text(
        "1 wings\n"
    ),
    "version 7.3 file: save it again with -v7": lambda p: (p / "res7.mat").write_bytes(
        b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\x89HDF"
    ),
}


@pytest.mark.parametrize("line", BAD)
def test_bad_files_are_named_in_one_line(tmp_path, line):
    write_xlsa17_folder(tmp_path)
    BAD[line](tmp_path)
    with pytest.raises(ZerokinError) as refusal:
        _ = load(tmp_path).features
    assert line in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("name", ["res7.mat", "att_splits.mat"])
def test_a_file_cut_anywhere_is_refused_or_harmless(tmp_path, name, compress):
    """Whatever is left of a file, reading it ends in our error or in the same data."""
    folder = write_xlsa17_folder(tmp_path, compress=compress)
    whole = load(folder)
    expected, _ = whole.features.copy(), whole.inputs.names
    content = (folder / name).read_bytes()
    refused = 0
    for length in range(0, len(content), 37):
        (folder / name).write_bytes(content[:length])
        try:
            made = load(folder)
            assert np.array_equal(made.features, expected)
            assert list(made.inputs.names) == list(whole.inputs.names)
        except ZerokinError:
            refused += 1
    assert refused > 0.9 * len(range(0, len(content), 37))


def test_writing_that_fails_leaves_no_data_set(tmp_path, monkeypatch):
    made = load(write_xlsa17_folder(tmp_path / "a"))
    monkeypatch.setattr("zerokin.data.matlab.LARGEST_VARIABLE", 10)
    with pytest.raises(ZerokinError, match="over this format's limit"):
        write_xlsa17(made, tmp_path / "b")
    assert not list((tmp_path / "b").glob("**/*") if (tmp_path / "b").exists() else [])


def test_real_cub_features(real_data):
    cub = load(real_data / "cub")
    raw = loadmat(real_data / "cub" / "lite0.mat")
    splits = loadmat(real_data / "cub" / "att_splits.mat")
    assert len(cub.classes) == 200
    assert [len(part) for part in cub.split.parts.values()] == [7057, 1764, 2967]
    assert np.array_equal(cub.features, raw["features"].T)
    train = splits["trainval_loc"].ravel() - 1
    assert np.array_equal(cub.training_labels(), raw["labels"].ravel()[train] - 1)
    np.testing.assert_allclose(cub.semantics, splits["att"].T, atol=1e-15)
    assert [fold.sum() for fold in cub.split.folds] == [50, 50, 50]
    standard = cub.with_split("standard")
    assert standard.unseen.tolist() == list(range(150, 200))


def test_real_cub_written_and_read_back(real_data, tmp_path):
    cub = load(real_data / "cub")
    write_xlsa17(cub, tmp_path, features="lite0")
    again = load(tmp_path)
    assert isinstance(again.features, np.memmap)
    same(cub, again)


@pytest.mark.parametrize(
    ("name", "seen", "unseen", "d_z"),
    [("AWA1", 40, 10, 85), ("AWA2", 40, 10, 85), ("SUN", 645, 72, 102), ("APY", 20, 12, 64)],
)
def test_real_class_tables(real_data, name, seen, unseen, d_z):
    made = load(real_data / "xlsa17" / name)
    assert (len(made.seen), len(made.unseen)) == (seen, unseen)
    assert made.semantics.shape == (seen + unseen, d_z)
    assert len(made.split.folds) == 3
