"""mini-ImageNet, in made-up folders of both layouts and as it is."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from builders import image_bytes, write_tar
from zerokin.data.load import load_dataset
from zerokin.data.readers.tables import Row
from zerokin.data.readers.wordnet_sheet import taxonomy_of
from zerokin.errors import ZerokinError

PART_OF = {
    "n00000009": "train",
    "n00000003": "train",
    "n00000005": "val",
    "n00000001": "test",
    "n00000007": "test",
}
ORDER = ("n00000003", "n00000009", "n00000005", "n00000001", "n00000007")
NAMES = {
    "n00000009": "robin",
    "n00000003": "crane",
    "n00000005": "crane",
    "n00000001": "triceratops",
    "n00000007": "cutter",
}
PATHS = {
    "n00000009": "n00000021:thrush > n00000011:bird > n00000010:animal",
    "n00000003": "n00000022:wader > n00000011:bird > n00000010:animal",
    "n00000005": "n00000012:machine > n00000014:tool > n00000013:thing",
    "n00000001": "n00000023:reptile > n00000010:animal",
    "n00000007": "n00000024:tool > n00000013:thing",
}


def image_names() -> list[tuple[str, str, str]]:
    """Give (part, wnid, file) of three images for every class."""
    return [(p, wnid, f"{wnid}{i:08}.png") for wnid, p in PART_OF.items() for i in range(3)]


def write_tables(folder: Path) -> None:
    rows = [f"{w},{p},{NAMES[w]},{w}:{NAMES[w]} > {PATHS[w]}" for w, p in PART_OF.items()]
    (folder / "classes.csv").write_text("\n".join(["wnid,split,name,wordnet_path", *rows]) + "\n")
    vectors = [f"{wnid},{int(wnid[1:])},1" for wnid in PART_OF]
    (folder / "word_vectors.csv").write_text("\n".join(["wnid,d0,d1", *vectors]) + "\n")


def write_tars(folder: Path) -> Path:
    entries = {f"{p}/{w}/{f}": image_bytes(size=(8, 8)) for p, w, f in image_names()}
    write_tar(folder / "images-0.tar", dict(list(entries.items())[::2]))
    write_tar(folder / "images-1.tar", dict(list(entries.items())[1::2]))
    return folder


def write_folders(folder: Path) -> Path:
    for part, wnid, file in image_names():
        (folder / part / wnid).mkdir(parents=True, exist_ok=True)
        (folder / part / wnid / file).write_bytes(image_bytes(size=(8, 8)))
    return folder


def write_lists(folder: Path) -> Path:
    (folder / "images").mkdir(parents=True)
    for part in ("train", "val", "test"):
        rows = [(file, wnid) for p, wnid, file in image_names() if p == part]
        text = "".join(f"{file},{wnid}\n" for file, wnid in rows)
        (folder / f"{part}.csv").write_text("filename,label\n" + text)
        for file, _ in rows:
            (folder / "images" / file).write_bytes(image_bytes(size=(8, 8)))
    return folder


def load(folder: Path):
    return load_dataset(f"mini-imagenet={folder}")


def refusal(folder: Path) -> str:
    with pytest.raises(ZerokinError) as raised:
        load(folder)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("write", [write_tars, write_folders, write_lists])
def test_every_layout_gives_the_same_classes_labels_and_split(tmp_path, write) -> None:
    write_tables(write(tmp_path))
    mini = load(tmp_path)
    assert mini.classes.names == (
        "crane (n00000003)",
        "robin",
        "crane (n00000005)",
        "triceratops",
        "cutter",
    )
    assert mini.classes.vectors[:, 0].tolist() == [3, 9, 5, 1, 7]
    files = [name.rsplit("/", 1)[-1] for name in mini.images.names]
    assert sorted(files) == sorted(file for _, _, file in image_names())
    labels = mini.evaluation_labels(np.arange(15))
    assert [file[:9] for file in files] == [ORDER[label] for label in labels]
    split = mini.split
    assert (mini.split_name, split.version) == ("few-shot", "Ravi and Larochelle")
    assert mini.unseen.tolist() == [3, 4]
    assert set(labels[split.train].tolist()) == {0, 1, 2}
    assert set(labels[split.test_unseen].tolist()) == {3, 4}
    assert [np.flatnonzero(fold).tolist() for fold in split.folds] == [[2]]
    assert split.folds_version == "public"
    assert mini.images.load(14).size == (8, 8)


def test_names_vectors_and_taxonomy_are_optional(tmp_path) -> None:
    mini = load(write_tars(tmp_path))
    assert mini.classes.names == ORDER
    assert mini.classes.vectors is None
    assert mini.classes.taxonomy is None


def test_superclasses_run_from_the_root_and_share_names_with_no_other(tmp_path) -> None:
    write_tables(write_tars(tmp_path))
    assert load(tmp_path).classes.taxonomy == (
        ("animal", "bird", "wader"),
        ("animal", "bird", "thrush"),
        ("thing", "tool#n00000014", "machine"),
        ("animal", "reptile"),
        ("thing", "tool#n00000024"),
    )


def test_a_table_without_paths_has_no_taxonomy() -> None:
    assert taxonomy_of([Row(2, {"wnid": "n00000001", "name": "x"})], Path("classes.csv")) is None


def edit(name: str, old: str, new: str):
    def spoil(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return spoil


BAD_TARS = {
    "no images": (
        lambda d: [path.unlink() for path in d.glob("*.tar")],
        "no images in .*it should hold train.csv",
    ),
    "a part that is none": (
        lambda d: write_tar(d / "images-2.tar", {"valid/n00000005/x.png": b""}),
        "'valid/n00000005/x.png' should be train/WNID/FILE",
    ),
    "a class in two parts": (
        lambda d: write_tar(d / "images-2.tar", {"test/n00000003/x.png": b""}),
        "seen and unseen classes overlap: .* hold n00000003",
    ),
    "a class without a row": (
        lambda d: write_tar(d / "images-2.tar", {"test/n00000099/x.png": b""}),
        "classes.csv has no row for n00000099",
    ),
    "a row without images": (
        lambda d: (
            (d / "images-0.tar").unlink()
            or (d / "images-1.tar").unlink()
            or write_tar(d / "i.tar", {f"train/{w}/x.png": b"" for w in ORDER[:2]})
        ),
        "rows of classes without images: n00000001, n00000005, n00000007",
    ),
    "a row twice": (
        edit("classes.csv", "n00000009,train", "n00000003,train"),
        "several rows for n00000003",
    ),
    "another part in the table": (
        edit("classes.csv", "n00000005,val", "n00000005,test"),
        "row 4: n00000005 is in 'test', but its images are in 'val'",
    ),
    "no names": (edit("classes.csv", "name", "title"), "has no column 'name'"),
    "a path of another class": (
        edit("classes.csv", "n00000009:robin", "n00000008:robin"),
        "row 2: the path of n00000009 begins with n00000008",
    ),
    "a broken path": (
        edit("classes.csv", "n00000011:bird", "bird"),
        "row 2: 'bird' is not 'wnid:name'",
    ),
    "a class without a vector": (
        edit("word_vectors.csv", "n00000005", "n00000055"),
        "lacks the vectors of 1 of 5 classes: add n00000005",
    ),
}


@pytest.mark.parametrize("case", BAD_TARS)
def test_bad_input_is_named_in_one_line(tmp_path, case) -> None:
    write_tables(write_tars(tmp_path))
    spoil, expected = BAD_TARS[case]
    spoil(tmp_path)
    message = refusal(tmp_path)
    assert re.search(expected, message), message


BAD_LISTS = {
    "a list missing": (lambda d: (d / "val.csv").unlink(), "no list of images at .*val.csv"),
    "an image missing": (
        lambda d: (d / "images/n0000000500000001.png").unlink(),
        "lacks 1 images that the lists name: n0000000500000001.png",
    ),
    "an image twice": (
        edit("val.csv", "n0000000500000001.png", "n0000000500000002.png"),
        "name more than once: n0000000500000002.png",
    ),
    "a class in two lists": (
        edit("val.csv", "png,n00000005", "png,n00000001"),
        "seen and unseen classes overlap: .* hold n00000001",
    ),
    "a row too short": (
        edit("test.csv", "n0000000100000001.png,", "n0000000100000001.png "),
        "row 3: 1 values, but the header has 2 columns",
    ),
}


@pytest.mark.parametrize("case", BAD_LISTS)
def test_bad_lists_are_named_in_one_line(tmp_path, case) -> None:
    write_lists(tmp_path)
    spoil, expected = BAD_LISTS[case]
    spoil(tmp_path)
    message = refusal(tmp_path)
    assert re.search(expected, message), message


def test_real_mini_imagenet(real_data) -> None:
    mini = load(real_data / "mini-imagenet")
    split = mini.split
    labels = mini.evaluation_labels(np.arange(len(mini)))
    assert np.bincount(labels).tolist() == [600] * 100
    assert (len(mini.seen), split.folds[0].sum(), len(mini.unseen)) == (80, 16, 20)
    assert (len(split.train), len(split.test_unseen)) == (48_000, 12_000)
    assert mini.images.load(0).size == (84, 84)
    assert mini.classes.semantics.shape == (100, 100)
    fold = mini.fold(1)
    assert (len(fold.seen), len(fold.unseen)) == (64, 16)
    finch = mini.classes.index("house finch")[0]
    assert mini.classes.taxonomy[finch][0] == "entity"
    assert mini.classes.taxonomy[finch][-3:] == ("passerine", "oscine", "finch")
    first = mini.images.names[split.train[0]]
    assert first.split("/")[0] in ("train", "val")
