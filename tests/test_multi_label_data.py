"""Several labels a sample: the data set, its splits, and its readers on made-up files."""

from __future__ import annotations

import re

import numpy as np
import pytest

from builders import image_bytes
from label_sets import (
    csr,
    label_dataset,
    voc_xml,
    write_coco,
    write_nus_wide,
    write_voc,
)
from zerokin import load_dataset
from zerokin.critters import SPECIES, render_group
from zerokin.data import ClassTable, InvalidDataset, MultiLabelDataset, Provenance, Split
from zerokin.data.check import check
from zerokin.data.label_rows import hold_out_rows, label_matrix_of
from zerokin.data.readers.coco import read_coco
from zerokin.data.readers.nus_wide import read_nus_wide
from zerokin.data.readers.voc import HostileXml, read_objects, read_voc
from zerokin.errors import InvalidInput, MissingFile, UnseenLabels


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_whatever_fits_sees_no_unseen_label(seed):
    data = label_dataset(seed)
    split = data.split
    assert not data.training_label_matrix()[:, split.unseen].any()
    assert not data.evaluation_label_matrix(split.test_seen)[:, split.unseen].any()
    assert data.evaluation_label_matrix(split.test_unseen)[:, split.unseen].any(axis=1).all()
    with pytest.raises(UnseenLabels, match="have unseen labels"):
        data.training_label_matrix(split.test_unseen)
    for door in (data.training_labels, lambda: data.evaluation_labels(split.train)):
        with pytest.raises(InvalidInput, match="several labels a sample, and this takes one"):
            door()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_fold_shows_its_classes_to_nothing_that_fits(seed):
    data = label_dataset(seed)
    train = data.split.train
    for number, fold_classes in enumerate(data.split.folds, start=1):
        fold = data.fold(number)
        held = [data.classes.names[at] for at in np.flatnonzero(fold_classes)]
        assert [fold.classes.names[at] for at in fold.unseen] == held
        whole = data.evaluation_label_matrix(fold.split.train)
        assert not whole[:, fold_classes | data.split.unseen].any()
        used = np.concatenate(list(fold.split.parts.values()))
        assert set(used.tolist()) <= set(train.tolist())
        assert len(set(used.tolist())) == len(used)
        # All training samples with a class of the fold test, and test classes do not exist.
        assert fold.split.test_unseen.tolist() == [
            at for at in train.tolist() if data.evaluation_label_matrix([at])[0, fold_classes].any()
        ]
        others = np.setdiff1d(np.arange(len(data)), train)
        assert not fold.evaluation_label_matrix(others).any()
        assert (fold.training_counts()[fold.seen] > 0).all()
        names = data.classes.index(fold.classes.names)
        np.testing.assert_array_equal(
            fold.evaluation_label_matrix(used), data.evaluation_label_matrix(used)[:, names]
        )


def test_rows_are_held_out_so_that_no_class_is_lost():
    rng = np.random.default_rng(3)
    labels = rng.random((83, 11)) < 0.04
    labels[7, 4], labels[:, 4] = True, np.arange(83) == 7  # a class of a single sample
    rows = np.flatnonzero(labels.any(axis=1))
    for seed in range(20):
        kept, held = hold_out_rows(csr(labels), rows, fraction=0.3, seed=seed)
        assert np.sort(np.concatenate([kept, held])).tolist() == rows.tolist()
        assert len(held) <= 0.3 * len(rows)
        assert (labels[kept].any(axis=0) == labels[rows].any(axis=0)).all()
        assert 7 in kept


def parts(**changes):
    """Four samples of three classes, the last one unseen."""
    labels = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 1, 1]])
    given = {
        "train": np.array([0, 1]),
        "test_seen": np.array([2]),
        "test_unseen": np.array([3]),
        "unseen": np.array([False, False, True]),
        "labels": labels,
    } | changes
    labels = given.pop("labels")
    return MultiLabelDataset(
        name="x",
        classes=ClassTable(("a", "b", "c"), np.eye(3)),
        inputs=np.zeros((len(labels), 5)),
        labels=labels,
        splits={"pure": Split(version="v", **given)},
        provenance=Provenance("here", "x"),
    )


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"labels": np.array([[1, 0, 0], [0, 0, 0], [1, 1, 0], [0, 1, 1]])},
         "train holds sample 2 without labels"),
        ({"train": np.array([0, 1, 3]), "test_unseen": np.array([], dtype=int)},
         "train holds samples with unseen labels (c)"),
        ({"test_unseen": np.array([2]), "test_seen": np.array([], dtype=int)},
         "test_unseen holds sample 3 without an unseen label"),
        ({"unseen": np.array([True] * 3)}, "all classes are unseen"),
        ({"train": np.array([0])}, "seen classes without training samples: b"),
        ({"train": np.array([0, 1, 1])}, "in more than one part of the split, or twice"),
        ({"train": np.array([0, 9])}, "split index 9 of train is out of range"),
        ({"labels": np.eye(4)}, "labels have 4 columns, but the class table has 3 classes"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_labels_is_said_in_one_line(changes, line):
    with pytest.raises(InvalidDataset, match=re.escape(line)):
        parts(**changes)


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        (np.array([[2, 0, 0]] * 4), "labels hold 2: a sample has a label"),
        (np.array([0, 1, 1, 0]), "labels must be a matrix"),
        (np.array([["a"]] * 4), "labels must be a matrix"),
    ],
)
def test_labels_are_zeros_and_ones(labels, line):
    with pytest.raises(InvalidInput, match=line):
        parts(labels=labels)


def test_lists_of_names_become_labels_and_what_cannot_be_is_named():
    names = ["ant", "bee", "cow"]
    found = label_matrix_of([["cow", "ant"], ["bee"]], names).toarray().astype(int)
    assert found.tolist() == [[1, 0, 1], [0, 1, 0]]
    for given, line in (
        ([["ant"], []], "sample 1 has no label"),
        ([["ant", "be"]], "sample 0 has the label 'be', which is no class; did you mean 'bee'"),
        ([["ant", "cow", "ant"]], "sample 0 has the label 'ant' twice"),
        (["ant"], "sample 0 must have a list of labels: got 'ant'"),
    ):
        with pytest.raises(InvalidInput, match=re.escape(line)):
            label_matrix_of(given, names)


def test_critters_scenes_are_what_they_say():
    data = load_dataset("critters-scenes")
    train, split = data.split.train, data.split
    counts = data.label_counts(np.arange(len(data)))
    assert (counts.min(), counts.max()) == (2, 5)
    assert [len(part) for part in split.parts.values()] == [1800, 310, 590]
    assert (data.training_counts()[data.seen] > 100).all()
    again = load_dataset("critters-scenes")
    np.testing.assert_array_equal(
        data.training_label_matrix(train[:37]), again.training_label_matrix(train[:37])
    )
    images = data.images
    for index in (3, 1811, 2699):
        np.testing.assert_array_equal(images.array(index), again.images.array(index))
        boxes = images.boxes(index)
        labels = np.flatnonzero(data.evaluation_label_matrix([index])[0])
        assert sorted(images.animals[index].tolist()) == labels.tolist()
        assert boxes.shape == (len(labels), 4)
        assert ((boxes >= 0) & (boxes <= 1)).all()
        assert (boxes[:, :2] < boxes[:, 2:]).all()


def test_an_animal_is_drawn_inside_its_box():
    """Where an animal stands does not depend on who it is: pixels that change lie in its box."""
    rng = np.random.default_rng(5)
    for index in range(4):
        chosen = rng.choice(len(SPECIES), 3, replace=False).tolist()
        group = render_group([SPECIES[at] for at in chosen], index, size=96)
        plain = group.image.astype(int)
        assert plain.std() > 5
        for at, (left, top, right, bottom) in enumerate(group.boxes):
            assert 0.02 < (right - left) * (bottom - top) < 0.4, (index, at)


@pytest.mark.parametrize("chosen", [[3], [4, 4], [0, 1, 2, 3, 4, 5], []])
def test_a_group_is_two_to_five_different_animals(chosen):
    with pytest.raises(InvalidInput, match=r"2 to 5 different species|must be"):
        render_group([SPECIES[at] for at in chosen], 0)


COCO_NAMES = ["bus", "car", "cat", "dog", "kite", "sheep"]
COCO_IMAGES = [
    ["car", "car", "cat"], ["sheep"], ["kite", "cat"], ["car", "dog"], [], ["bus", "car"],
    ["kite"], ["dog", "dog", "bus"], ["sheep", "car"], [],
]  # fmt: skip


def test_coco_is_read_in_its_layout(tmp_path):
    write_coco(tmp_path / "coco", COCO_NAMES, COCO_IMAGES, test_from=6)
    (tmp_path / "coco" / "unseen.txt").write_text("bus\ndog\n", encoding="utf-8")
    data = load_dataset(f"coco={tmp_path / 'coco'}")
    assert data.classes.names == tuple(COCO_NAMES)
    assert data.classes.taxonomy[:2] == (("kind 0",), ("kind 1",))
    names = [
        [COCO_NAMES[c] for c in row.nonzero()[0]]
        for row in data.evaluation_label_matrix(np.arange(10))
    ]
    assert names == [sorted(set(labels)) for labels in COCO_IMAGES]
    # Training images with an unseen class test; those without labels are in no part.
    assert data.split.train.tolist() == [0, 1, 2]
    assert data.split.test_unseen.tolist() == [3, 5, 7]
    assert data.split.test_seen.tolist() == [6, 8]
    assert data.images.load(8).size == (40, 30)
    report = check(f"coco={tmp_path / 'coco'}")
    assert report.passed
    assert "2 images without any" in dict(report.facts)["labels"]


def test_coco_without_a_list_takes_the_split_of_bansal(tmp_path):
    from zerokin.data.readers import coco

    seen, unseen = (
        [one.strip() for one in text.split(",")] for text in (coco.BANSAL_SEEN, coco.BANSAL_UNSEEN)
    )
    assert (len(set(seen)), len(set(unseen)), set(seen) & set(unseen)) == (48, 17, set())
    names = sorted([*seen, *unseen, "stop sign"])
    images = [[name] for name in seen] + [["cat", "stop sign"], ["stop sign"]]
    write_coco(tmp_path / "all", names, images, test_from=48, images_too=False)
    data = read_coco("coco", tmp_path / "all")
    assert (len(data.seen), len(data.unseen)) == (48, 17)
    assert "stop sign" not in data.classes.names
    assert data.split.test_unseen.tolist() == [48]
    write_coco(tmp_path / "few", COCO_NAMES, COCO_IMAGES, test_from=6, images_too=False)
    with pytest.raises(MissingFile, match=r"list the unseen ones in .*unseen\.txt"):
        read_coco("coco", tmp_path / "few")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("{", "is no file of COCO instances"),
        ('{"images": [], "annotations": []}', "KeyError"),
        ('{"images": [{"id": 1, "file_name": "../x.jpg"}], "annotations": [], "categories": []}',
         "lies outside the folder"),
        ('{"images": [], "annotations": [{"image_id": 4, "category_id": 1}], "categories": []}',
         "an annotation is of image 4, which is not listed"),
        ("[" * 50_000, "is no file of COCO instances"),
    ],
)  # fmt: skip
def test_a_damaged_file_of_coco_is_refused_in_one_line(tmp_path, content, line):
    write_coco(tmp_path / "coco", COCO_NAMES, COCO_IMAGES, test_from=6, images_too=False)
    path = tmp_path / "coco" / "annotations" / "instances_val2017.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match=line):
        load_dataset(f"coco={tmp_path / 'coco'}")


def nus_wide(folder, seed=0):
    rng = np.random.default_rng(seed)
    tags = [*(f"tag{at}" for at in range(11)), "sky", "dog"]
    concepts = ["airport", "dog", "sky"]
    tagged = [rng.random((n, len(tags))) < 0.3 for n in (53, 31)]
    truth = [rng.random((n, 3)) < 0.3 for n in (53, 31)]
    write_nus_wide(folder, tags, concepts, tagged, truth)
    return tagged, truth


def test_nus_wide_is_read_in_its_layout(tmp_path):
    tagged, truth = nus_wide(tmp_path / "nus")
    data = load_dataset(f"nus-wide={tmp_path / 'nus'}")
    assert data.classes.names == (*(f"tag{at}" for at in range(11)), "airport", "dog", "sky")
    assert data.unseen.tolist() == [11, 12, 13]
    found = data.evaluation_label_matrix(np.arange(84))
    np.testing.assert_array_equal(found[:, :11], np.concatenate(tagged)[:, :11])
    np.testing.assert_array_equal(found[53:, 11:], truth[1])
    assert not found[:53, 11:].any()  # hidden
    assert data.images.names[0] == "Flickr/actor/Train_0000.jpg"
    assert data.split.train.tolist() == np.flatnonzero(tagged[0][:, :11].any(axis=1)).tolist()


def test_lists_of_nus_wide_that_do_not_fit_are_refused(tmp_path):
    folder = tmp_path / "nus"
    nus_wide(folder)
    path = folder / "NUS_WID_Tags" / "Test_Tags1k.dat"
    content = path.read_text(encoding="utf-8")
    for changed, line in (
        (content[:-8], "marks, not 31 × 13"),
        (content.replace("0", "7", 1), "other than 0 and 1"),
    ):
        path.write_text(changed, encoding="utf-8")
        with pytest.raises(InvalidInput, match=line):
            read_nus_wide("nus", folder)
    path.unlink()
    with pytest.raises(MissingFile, match="Test_Tags1k"):
        read_nus_wide("nus", folder)


VOC_IMAGES = [
    ["person", "horse"], ["dog"], ["cat", "dog", "dog"], ["horse", "car?"], ["person", "cat"],
    ["car", "person"], ["dog?"], ["cat"],
]  # fmt: skip


def test_voc_is_read_in_its_layout(tmp_path):
    write_voc(tmp_path / "voc", VOC_IMAGES, test_from=5, unseen=["car"])
    data = load_dataset(f"voc={tmp_path / 'voc'}")
    assert data.classes.names == ("car", "cat", "dog", "horse", "person")
    assert data.unseen.tolist() == [0]
    assert data.split.train.tolist() == [0, 1, 2, 3, 4]  # a difficult car is no label
    assert data.split.test_unseen.tolist() == [5]
    assert [data.images.names[at] for at in data.split.test_seen] == ["JPEGImages/000007.jpg"]
    (tmp_path / "voc" / "unseen.txt").unlink()
    with pytest.raises(MissingFile, match=r"no unseen\.txt"):
        read_voc("voc", tmp_path / "voc")


BOMB = """<?xml version="1.0"?>
<!DOCTYPE annotation [<!ENTITY a "aaaaaaaaaa">%s]>
<annotation><object><name>&x;</name></object></annotation>"""
LEVELS = "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghi", "bcdefghix", strict=True)
)


@pytest.mark.parametrize(
    "content",
    [
        BOMB % LEVELS,
        '<!DOCTYPE annotation [<!ENTITY x SYSTEM "file:///etc/hostname">]><annotation>&x;</annotation>',
        '<!DOCTYPE annotation SYSTEM "http://localhost/x.dtd"><annotation/>',
    ],
)
def test_entities_of_hostile_xml_are_never_expanded(tmp_path, content):
    path = tmp_path / "000001.xml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(HostileXml, match="declares a document type or entities"):
        read_objects(path)


@pytest.mark.parametrize(
    ("content", "line"),
    [("<annotation><object>", "is no XML"), ("", "is no XML"), (voc_xml([" "]), "has no name")],
)
def test_damaged_xml_is_refused_in_one_line(tmp_path, content, line):
    path = tmp_path / "000001.xml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match=line):
        read_objects(path)


CLASSES = (
    "name,role,stripes,wings\nbee,seen,1,1\ntiger,seen,1,0\ncrow,seen,0,1\nwasp,unseen,1,0.9\n"
)


def own(folder, rows, classes=CLASSES):
    folder.mkdir()
    (folder / "classes.csv").write_text(classes, encoding="utf-8")
    (folder / "labels.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "test").mkdir()
    for name in ("1.png", "2.png", "3.png", "test/4.png", "5.png"):
        (folder / name).write_bytes(image_bytes())
    return folder


ROWS = ["1.png,bee,tiger", "2.png,crow", "3.png,bee,crow", "test/4.png,tiger", "5.png,wasp,bee"]


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        ["file,label,label", *ROWS],
        [f"{row},," for row in ROWS],
        [r.replace(",", ";") for r in ROWS],
    ],
)
def test_an_own_folder_with_labels_is_read(tmp_path, rows):
    folder = own(tmp_path / "mine", rows)
    for spec in (f"folder={folder}", str(folder)):
        data = load_dataset(spec)
        assert data.multi_label
        assert data.split.train.tolist() == [0, 1, 2]
        assert data.split.test_seen.tolist() == [3]
        assert data.split.test_unseen.tolist() == [4]
        found = data.evaluation_label_matrix(np.arange(5)).astype(int).tolist()
        assert found == [[1, 1, 0, 0], [0, 0, 1, 0], [1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 1]]


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ("2.png", "row 6: 2.png has no label"),
        ("6.png,bee", "row 6: there is no image"),
        ("5.png,be", "row 6: 5.png has the label 'be', which is no class; did you mean 'bee'"),
        ("5.png,bee,bee", "row 6: 5.png has the label 'bee' twice"),
        ("1.png,bee", "row 6: 1.png stands in row 1, too"),
        ("../5.png,bee", "row 6: ../5.png lies outside the folder"),
        ("notes.txt,bee", "row 6: notes.txt is no image file"),
    ],
)
def test_a_wrong_row_is_named_and_all_are_collected(tmp_path, row, line):
    folder = own(tmp_path / "mine", [*ROWS, row, "7.png,nothing"])
    with pytest.raises(InvalidDataset) as caught:
        load_dataset(f"folder={folder}")
    assert line in str(caught.value)
    assert any("row 7: there is no image" in problem for problem in caught.value.problems)
    assert not check(f"folder={folder}").passed


def test_all_labels_unseen_is_refused(tmp_path):
    folder = own(tmp_path / "mine", ROWS, CLASSES.replace(",seen", ",unseen"))
    with pytest.raises(InvalidDataset, match="all classes are unseen"):
        load_dataset(f"folder={folder}")


def test_features_of_regions_fit_several_labels_alone(tmp_path):
    folder = own(tmp_path / "mine", ROWS)
    np.save(tmp_path / "regions.npy", np.ones((5, 3, 7), np.float32))
    data = load_dataset(str(folder), features=str(tmp_path / "regions.npy"))
    assert data.finite_features(np.array([4, 1])).shape == (2, 3, 7)
    assert dict(check(str(folder), features=str(tmp_path / "regions.npy")).facts)["samples"] == (
        "5 feature vectors, 3 regions each, of length 7"
    )
    np.save(tmp_path / "wide.npy", np.ones((3600, 2, 3), np.float32))
    with pytest.raises(InvalidDataset, match=r"features are of shape \(3600, 2, 3\), and must be"):
        load_dataset("critters", features=str(tmp_path / "wide.npy"))
