"""Animals with Attributes, in made-up folders of the official layout and with the real splits."""

from __future__ import annotations

import re
import shutil
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from builders import cells, write_tar
from zerokin.data.load import load_dataset
from zerokin.data.readers.awa import STANDARD_UNSEEN
from zerokin.data.readers.split_files import read_att_splits
from zerokin.errors import MissingFile, ZerokinError

SEEN = ("zebra", "antelope", "walrus", "bat", "otter")
CLASSES = ("zebra", *reversed(STANDARD_UNSEEN), *SEEN[1:])  # not sorted, as in classes.txt


def write_lines(path: Path, lines: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def awa(tmp_path: Path) -> Path:
    """Fifteen classes with three attributes; class number n has n % 2 + 2 images."""
    write_lines(tmp_path / "classes.txt", (f"{n:3}\t{c}" for n, c in enumerate(CLASSES, 1)))
    write_lines(tmp_path / "predicates.txt", ["  1\tblack", "  2\tpatches", "  3\ttail"])
    write_lines(
        tmp_path / "predicate-matrix-continuous.txt",
        (f"  {n}.50 -1.00  {100 - n}.25" for n in range(len(CLASSES))),
    )
    for number, name in enumerate(CLASSES):
        (tmp_path / "JPEGImages" / name).mkdir(parents=True)
        for i in range(number % 2 + 2):
            path = tmp_path / "JPEGImages" / name / f"{name}_1000{i}.jpg"
            Image.new("RGB", (5, 4), (number, 0, 0)).save(path)
    write_lines(tmp_path / "testclasses.txt", STANDARD_UNSEEN)
    return tmp_path


def sample_classes() -> list[str]:
    """Give every sample's class in path order."""
    return sorted(chain.from_iterable([c] * (n % 2 + 2) for n, c in enumerate(CLASSES)))


def write_att_splits(folder: Path, unseen: set[str], order: list[str]) -> None:
    """Write a split for samples whose classes come in this order; the last seen one tests."""
    is_unseen = np.array([name in unseen for name in order])
    seen = np.flatnonzero(~is_unseen) + 1
    names = sorted(CLASSES)
    savemat(
        folder / "att_splits.mat",
        {
            "allclasses_names": cells(names),
            "att": np.ones((3, len(names))),
            "trainval_loc": seen[:-1][:, None],
            "test_seen_loc": seen[-1:][:, None],
            "test_unseen_loc": np.flatnonzero(is_unseen)[:, None] + 1,
        },
    )


def refusal(spec: str) -> str:
    with pytest.raises(ZerokinError) as raised:
        load_dataset(spec)
    message = str(raised.value)
    assert "\n" not in message
    return message


def test_classes_follow_the_class_list_and_samples_their_paths(awa: Path) -> None:
    dataset = load_dataset(f"awa2={awa}")
    assert dataset.classes.names == CLASSES
    assert dataset.classes.attribute_names == ("black", "patches", "tail")
    expected = [[n + 0.5, -1, 100.25 - n] for n in range(len(CLASSES))]
    np.testing.assert_allclose(dataset.classes.vectors, expected)
    labels = dataset.evaluation_labels(np.arange(len(dataset)))
    assert [CLASSES[label] for label in labels] == sample_classes()
    assert dataset.images.names[0] == "antelope/antelope_10000.jpg"
    red = dataset.images.array(0)[..., 0].mean()
    assert dataset.images.array(0).shape == (4, 5, 3)
    assert abs(red - CLASSES.index("antelope")) <= 2
    read = {file.path.name for file in dataset.provenance.files}
    assert {"classes.txt", "predicate-matrix-continuous.txt", "testclasses.txt"} <= read


def test_the_binary_matrix_stands_in_for_the_continuous_one(awa: Path) -> None:
    (awa / "predicate-matrix-continuous.txt").unlink()
    write_lines(awa / "predicate-matrix-binary.txt", ["1 0 1"] * len(CLASSES))
    assert load_dataset(f"awa1={awa}").classes.vectors.tolist() == [[1, 0, 1]] * len(CLASSES)


def test_the_ten_well_known_classes_are_the_standard_split_and_no_pure_one(awa: Path) -> None:
    dataset = load_dataset(f"awa1={awa}")
    assert list(dataset.splits) == ["standard"]
    unseen = {CLASSES[i] for i in dataset.unseen}
    assert unseen == set(STANDARD_UNSEEN)
    is_unseen = [name in unseen for name in sample_classes()]
    assert dataset.split.test_unseen.tolist() == np.flatnonzero(is_unseen).tolist()
    assert dataset.split.train.tolist() == np.flatnonzero(np.invert(is_unseen)).tolist()


@pytest.mark.parametrize("lists", [".", "proposed_split"])
def test_another_list_of_test_classes_is_the_pure_split(awa: Path, lists: str) -> None:
    write_lines(awa / lists / "testclasses.txt", ["bat", "seal"])
    write_lines(awa / lists / "valclasses1.txt", ["pig", "rat"])
    dataset = load_dataset(f"awa2={awa}")
    assert list(dataset.splits) == ["pure", "standard"]
    assert {CLASSES[i] for i in dataset.unseen} == {"bat", "seal"}
    assert dataset.split.folds_version == "public"
    assert {CLASSES[i] for i in np.flatnonzero(dataset.split.folds[0])} == {"pig", "rat"}
    assert len(dataset.split.test_seen) == 0
    assert {CLASSES[i] for i in dataset.with_split("standard").unseen} == set(STANDARD_UNSEEN)


def test_att_splits_gives_the_proposed_split_though_its_classes_are_in_another_order(
    awa: Path,
) -> None:
    write_att_splits(awa, {"bat", "seal"}, sample_classes())
    dataset = load_dataset(f"awa2={awa}")
    assert dataset.split.version == "xlsa17 proposed"
    assert {CLASSES[i] for i in dataset.unseen} == {"bat", "seal"}
    labels = dataset.evaluation_labels(dataset.split.test_unseen)
    assert {CLASSES[label] for label in labels} == {"bat", "seal"}
    assert len(dataset.split.train) + 1 == len(dataset) - len(dataset.split.test_unseen)
    assert dataset.split.test_seen.tolist() == [len(dataset) - 1]


def test_att_splits_for_samples_in_another_order_is_refused(awa: Path) -> None:
    in_list_order = [c for n, c in enumerate(CLASSES) for _ in range(n % 2 + 2)]
    write_att_splits(awa, {"bat", "pig"}, in_list_order)
    assert "seen and unseen classes overlap" in refusal(f"awa2={awa}")


def test_att_splits_of_other_images_or_classes_is_refused(awa: Path) -> None:
    write_att_splits(awa, {"bat"}, [*sample_classes(), "zebra"])
    assert f"splits {len(sample_classes()) + 1} images" in refusal(f"awa2={awa}")
    write_lines(awa / "classes.txt", (f"{n}\t{c}" for n, c in enumerate(CLASSES, 1)))
    text = (awa / "classes.txt").read_text().replace("otter", "sloth")
    (awa / "classes.txt").write_text(text)
    (awa / "JPEGImages" / "otter").rename(awa / "JPEGImages" / "sloth")
    message = refusal(f"awa2={awa}")
    assert "only it has otter, only the folder has sloth" in message


def test_the_unpacked_archive_may_lie_one_folder_down(awa: Path, tmp_path_factory) -> None:
    outer = tmp_path_factory.mktemp("outer")
    shutil.copytree(awa, outer / "Animals_with_Attributes")
    shutil.copytree(awa, outer / "Animals_with_Attributes2")
    (outer / "Animals_with_Attributes2" / "JPEGImages" / "bat" / "bat_10009.jpg").touch()
    assert len(load_dataset(f"awa2={outer}")) == len(load_dataset(f"awa1={outer}")) + 1


def test_features_without_images_are_sent_to_xlsa17(awa: Path) -> None:
    shutil.rmtree(awa / "JPEGImages")
    (awa / "Features" / "ResNet101").mkdir(parents=True)
    write_lines(awa / "Features" / "ResNet101" / "AwA2-features.txt", ["0.1 0.2"])
    message = refusal(f"awa2={awa}")
    assert "no JPEGImages" in message
    assert "xlsa17=DIR" in message


BAD = {
    "no class list": (lambda d: (d / "classes.txt").unlink(), "no class list at .*classes.txt"),
    "no attributes": (
        lambda d: (d / "predicate-matrix-continuous.txt").unlink(),
        "no predicate-matrix-continuous.txt or predicate-matrix-binary.txt",
    ),
    "a row too few": (
        lambda d: write_lines(d / "predicate-matrix-continuous.txt", ["1 2 3"] * 14),
        "has 14 rows, but classes.txt has 15 classes",
    ),
    "a ragged row": (
        lambda d: write_lines(d / "predicate-matrix-continuous.txt", [*["1 2 3"] * 14, "1 2"]),
        "row 15: 2 attributes, but row 1 has 3",
    ),
    "a word for a number": (
        lambda d: write_lines(d / "predicate-matrix-continuous.txt", ["1 2 x"] * 15),
        "must hold numbers only: .*'x'",
    ),
    "a column without a name": (
        lambda d: write_lines(d / "predicates.txt", ["1 black", "2 tail"]),
        "3 attribute columns but 2 attribute names",
    ),
    "a folder that is no class": (
        lambda d: (d / "JPEGImages" / "otter").rename(d / "JPEGImages" / "oter"),
        "'oter', which is not a class; did you mean 'otter'",
    ),
    "a class without images": (
        lambda d: shutil.rmtree(d / "JPEGImages" / "seal"),
        "no images of seal, which classes.txt lists",
    ),
    "an unknown test class": (
        lambda d: write_lines(d / "testclasses.txt", ["oter"]),
        "'oter' is not a class; did you mean 'otter'",
    ),
    "a class in both lists": (
        lambda d: write_lines(d / "trainclasses.txt", ["otter", "seal"]),
        "seen and unseen classes overlap: testclasses.txt and trainclasses.txt .* list seal",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_in_one_line(awa: Path, case: str) -> None:
    spoil, expected = BAD[case]
    spoil(awa)
    message = refusal(f"awa2={awa}")
    assert re.search(expected, message), message


def test_without_any_list_nothing_tells_the_unseen_classes(tmp_path: Path) -> None:
    write_lines(tmp_path / "classes.txt", ["1 bat", "2 otter"])
    write_lines(tmp_path / "predicate-matrix-binary.txt", ["1 0", "0 1"])
    for name in ("bat", "otter"):
        write_lines(tmp_path / "JPEGImages" / name / "1.jpg", [])
    with pytest.raises(MissingFile, match="nothing tells which classes are unseen"):
        load_dataset(f"awa2={tmp_path}")


@pytest.mark.parametrize("version", ["awa1", "awa2"])
def test_real_split_lies_where_path_order_has_the_unseen_classes(
    real_data: Path, tmp_path: Path, version: str
) -> None:
    """The real indices fit classes in alphabetical blocks, and only such.

    The sizes of neighboring classes of one kind cannot be told apart; any sizes that fit will do.
    """
    published = real_data / "xlsa17" / version.upper()
    for name in ("att_splits.mat", "testclasses.txt", "trainvalclasses.txt", "valclasses1.txt"):
        shutil.copy(published / name, tmp_path)
    att_splits = read_att_splits(published / "att_splits.mat")
    test_classes = set((published / "testclasses.txt").read_text().split())
    write_lines(tmp_path / "classes.txt", (f"{n} {c}" for n, c in enumerate(att_splits.names, 1)))
    write_lines(tmp_path / "predicate-matrix-binary.txt", ["1 1"] * 50)
    names = sorted(att_splits.names)
    runs = unseen_runs(att_splits.test_unseen, len(att_splits.train) + len(att_splits.test_seen))
    sizes = class_sizes([name in test_classes for name in names], runs)
    entries = {
        f"{name}/{10000 + number}.jpg": b""
        for name, size in zip(names, sizes, strict=True)
        for number in range(size)
    }
    write_tar(tmp_path / "images.tar", entries)
    dataset = load_dataset(f"{version}={tmp_path}")
    assert {dataset.classes.names[i] for i in dataset.unseen} == test_classes
    counts = {"awa1": (19832, 4958, 5685), "awa2": (23527, 5882, 7913)}[version]
    assert tuple(map(len, dataset.split.parts.values())) == counts
    assert set(STANDARD_UNSEEN) == {
        dataset.classes.names[i] for i in dataset.with_split("standard").unseen
    }
    assert dataset.split.folds[0].sum() == 13


def unseen_runs(test_unseen: np.ndarray, n_seen: int) -> list[tuple[bool, int]]:
    """Return (is unseen, length) of the stretches of seen and unseen samples."""
    is_unseen = np.zeros(len(test_unseen) + n_seen, dtype=bool)
    is_unseen[test_unseen] = True
    edges = np.flatnonzero(np.diff(is_unseen)) + 1
    return [(bool(part[0]), len(part)) for part in np.split(is_unseen, edges)]


def class_sizes(unseen: list[bool], runs: list[tuple[bool, int]]) -> list[int]:
    """Share every stretch among the classes that it must hold, the last taking what is over."""
    sizes: list[int] = []
    for is_unseen, length in runs:
        start = len(sizes)
        n_classes = next(
            (i for i, kind in enumerate(unseen[start:]) if kind != is_unseen), len(unseen) - start
        )
        assert n_classes, "the stretches are not those of the classes in path order"
        share = length // n_classes
        sizes += [*[share] * (n_classes - 1), length - share * (n_classes - 1)]
    assert len(sizes) == len(unseen)
    return sizes
