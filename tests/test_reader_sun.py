"""SUN Attribute, in made-up folders of the official layout and with the real split."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from builders import cells, image_bytes
from zerokin.data.load import load_dataset
from zerokin.errors import ZerokinError

# As folders sort, bus/interior comes before bus_depot/outdoor: as class names, after it.
IMAGES = (
    "a/abbey/sun_b.jpg",
    "a/abbey/sun_a.jpg",
    "b/bus/interior/sun_a.jpg",
    "b/bus/interior/sun_b.jpg",
    "b/bus_depot/outdoor/sun_a.jpg",
    "b/bus_depot/outdoor/sun_b.jpg",
    "t/temple/south_asia/sun_a.jpg",
    "t/temple/south_asia/sun_b.jpg",
    "t/temple/south_asia/sun_c.jpg",
)
NAMES = ("abbey", "bus_depot_outdoor", "bus_interior", "temple_south_asia")
VOTES = np.arange(18).reshape(9, 2) / 20


def write_sun(folder: Path, *, tables: str = ".", images: str = "images") -> Path:
    below = folder / tables
    below.mkdir(parents=True, exist_ok=True)
    savemat(below / "images.mat", {"images": cells(IMAGES)})
    savemat(below / "attributes.mat", {"attributes": cells(["sailing", "driving"])})
    savemat(below / "attributeLabels_continuous.mat", {"labels_cv": VOTES})
    for number, name in enumerate(IMAGES):
        path = folder / images / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image_bytes(color=(9 * number, 0, 0)))
    (folder / "testclasses.txt").write_text("bus_interior\n")
    return folder


def write_att_splits(folder: Path, unseen: list[int], names=NAMES, n_samples=9) -> None:
    """Write a split in which these sample numbers are unseen and the last seen one tests."""
    seen = [number for number in range(1, n_samples + 1) if number not in unseen]
    savemat(
        folder / "att_splits.mat",
        {
            "allclasses_names": cells(names),
            "att": np.ones((2, len(names))),
            "trainval_loc": np.array(seen[:-1])[:, None],
            "test_seen_loc": np.array(seen[-1:])[:, None],
            "test_unseen_loc": np.array(unseen)[:, None],
        },
    )


def refusal(folder: Path) -> str:
    with pytest.raises(ZerokinError) as raised:
        load_dataset(f"sun={folder}")
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("tables", [".", "SUNAttributeDB"])
@pytest.mark.parametrize("images", ["images", "SUNAttributeDB_Images", "."])
def test_classes_are_folders_and_their_vectors_mean_votes(tmp_path, tables, images) -> None:
    sun = load_dataset(f"sun={write_sun(tmp_path, tables=tables, images=images)}")
    assert sun.classes.names == NAMES
    assert sun.classes.attribute_names == ("sailing", "driving")
    expected = [VOTES[:2].mean(0), VOTES[4:6].mean(0), VOTES[2:4].mean(0), VOTES[6:].mean(0)]
    np.testing.assert_allclose(sun.classes.vectors, expected)
    order = [0, 1, 4, 5, 2, 3, 6, 7, 8]  # by class, and in a class as images.mat lists them
    assert list(sun.images.names) == [IMAGES[i] for i in order]
    assert sun.evaluation_labels(np.arange(9)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 3]
    assert [sun.images.load(i).getpixel((0, 0))[0] for i in range(9)] == [9 * i for i in order]


def test_lists_of_classes_give_the_pure_and_the_standard_split(tmp_path) -> None:
    write_sun(tmp_path)
    (tmp_path / "standard_split").mkdir()
    (tmp_path / "standard_split" / "testclasses.txt").write_text("abbey\ntemple_south_asia\n")
    sun = load_dataset(f"sun={tmp_path}")
    assert (sun.split_name, sun.unseen.tolist()) == ("pure", [2])
    assert sun.split.test_unseen.tolist() == [4, 5]
    assert sun.with_split("standard").unseen.tolist() == [0, 3]


def test_att_splits_gives_the_order_of_the_classes_and_the_proposed_split(tmp_path) -> None:
    names = tuple(reversed(NAMES))
    write_att_splits(write_sun(tmp_path), unseen=[4, 5], names=names)
    sun = load_dataset(f"sun={tmp_path}")
    assert sun.classes.names == names
    assert [names[i] for i in sun.unseen] == ["bus_interior"]
    assert sun.split.test_seen.tolist() == [8]
    np.testing.assert_allclose(sun.classes.vectors[0], VOTES[6:].mean(0))


def test_att_splits_of_another_order_number_or_class_is_refused(tmp_path) -> None:
    write_att_splits(write_sun(tmp_path), unseen=[2, 3])
    assert "seen and unseen classes overlap" in refusal(tmp_path)
    write_att_splits(tmp_path, unseen=[3, 4], n_samples=10)
    assert "splits 10 images" in refusal(tmp_path)
    write_att_splits(tmp_path, unseen=[3, 4], names=("abbey", "bar", *NAMES[2:]))
    assert "only it has bar, only the folder has bus_depot_outdoor" in refusal(tmp_path)


def test_images_that_are_not_there_are_named(tmp_path) -> None:
    write_sun(tmp_path)
    (tmp_path / "images" / IMAGES[3]).unlink()
    assert f"lacks 1 of the 9 images that images.mat lists: {IMAGES[3]}" in refusal(tmp_path)
    shutil.rmtree(tmp_path / "images")
    message = refusal(tmp_path)
    assert "no images in" in message
    assert "xlsa17=DIR" in message


BAD = {
    "a table missing": (
        lambda d: (d / "attributes.mat").unlink(),
        "no SUN table at .*attributes.mat",
    ),
    "no split": (lambda d: (d / "testclasses.txt").unlink(), "nothing tells .* unseen"),
    "another variable": (
        lambda d: savemat(d / "images.mat", {"photos": cells(IMAGES)}),
        "images.mat lacks the variable images",
    ),
    "votes for fewer images": (
        lambda d: savemat(d / "attributeLabels_continuous.mat", {"labels_cv": VOTES[1:]}),
        r"shape \(8, 2\), but there are 9 images in images.mat and 2 attributes",
    ),
    "votes on more attributes": (
        lambda d: savemat(d / "attributes.mat", {"attributes": cells(["sailing"])}),
        r"shape \(9, 2\), but there are 9 images in images.mat and 1 attributes",
    ),
    "an image listed twice": (
        lambda d: savemat(d / "images.mat", {"images": cells([*IMAGES[:-1], IMAGES[0]])}),
        "lists an image more than once: a/abbey/sun_b.jpg",
    ),
    "an image outside the classes": (
        lambda d: savemat(d / "images.mat", {"images": cells([*IMAGES[:-1], "a/sun_x.jpg"])}),
        "'a/sun_x.jpg' is not in a class folder",
    ),
    "votes that are not finite": (
        lambda d: savemat(d / "attributeLabels_continuous.mat", {"labels_cv": VOTES + np.nan}),
        "NaN or infinite semantic values for abbey",
    ),
    "an unknown test class": (
        lambda d: (d / "testclasses.txt").write_text("abey\n"),
        "'abey' is not a class; did you mean 'abbey'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_in_one_line(tmp_path, case) -> None:
    spoil, expected = BAD[case]
    spoil(write_sun(tmp_path))
    message = refusal(tmp_path)
    assert re.search(expected, message), message


def test_real_split_lies_where_class_order_has_the_unseen_classes(real_data, tmp_path) -> None:
    """With twenty made-up images for each of the 717 real class names."""
    published = real_data / "xlsa17" / "SUN"
    for name in ("att_splits.mat", "testclasses.txt", "trainvalclasses.txt", "valclasses1.txt"):
        shutil.copy(published / name, tmp_path)
    names = [
        line
        for part in ("testclasses.txt", "trainvalclasses.txt")
        for line in (published / part).read_text().split()
    ]
    listed = [f"{name[0]}/{name}/sun_{i:02}.jpg" for name in sorted(names) for i in range(20)]
    savemat(tmp_path / "images.mat", {"images": cells(listed)})
    savemat(tmp_path / "attributes.mat", {"attributes": cells(["a", "b"])})
    savemat(tmp_path / "attributeLabels_continuous.mat", {"labels_cv": np.ones((14340, 2))})
    for name in names:
        (tmp_path / "images" / name[0] / name).mkdir(parents=True)
    for name in listed:
        (tmp_path / "images" / name).touch()
    sun = load_dataset(f"sun={tmp_path}")
    unseen = {sun.classes.names[i] for i in sun.unseen}
    assert unseen == set((published / "testclasses.txt").read_text().split())
    assert tuple(map(len, sun.split.parts.values())) == (10320, 2580, 1440)
    assert (len(sun.classes), sun.split.folds[0].sum()) == (717, 65)
