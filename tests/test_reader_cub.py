"""CUB images in tar files and in the official layout."""

from __future__ import annotations

import numpy as np
import pytest

import zerokin
from builders import cub_entries, write_tar, write_xlsa17_folder
from zerokin.errors import ZerokinError


def load(folder):
    return zerokin.load_dataset(f"cub={folder}")


def tar_layout(folder):
    write_xlsa17_folder(folder)
    (folder / "res7.mat").unlink()
    entries = cub_entries()
    names = sorted(entries)
    write_tar(folder / "images-0.tar", {name: entries[name] for name in names[::2]})
    write_tar(folder / "images-1.tar", {name: entries[name] for name in names[1::2]})
    return folder


def official_layout(folder):
    root = folder / "CUB_200_2011"
    write_xlsa17_folder(root)
    (root / "res7.mat").unlink()
    lines = []
    # The official list is not in alphabetical order.
    for number, (name, content) in enumerate(reversed(cub_entries().items()), start=1):
        (root / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "images" / name).write_bytes(content)
        lines.append(f"{number} {name}\n")
    (root / "images.txt").write_text("".join(lines))
    (root / "attributes").mkdir()
    (root / "attributes" / "attributes.txt").write_text("1 a\n2 b\n3 c\n4 d\n")
    return folder


@pytest.mark.parametrize("layout", [tar_layout, official_layout])
def test_samples_are_in_path_order_with_the_split_of_that_order(tmp_path, layout):
    cub = load(layout(tmp_path))
    assert list(cub.images.names) == sorted(cub_entries())
    assert cub.evaluation_labels(np.arange(30)).tolist() == np.repeat(np.arange(6), 5).tolist()
    assert cub.unseen.tolist() == [4, 5]
    assert cub.split.test_seen.tolist() == [4, 9, 14, 19]
    assert cub.images.load(7).getpixel((0, 0)) == (20, 10, 0)  # class 2, its third image


def test_both_layouts_hold_the_same(tmp_path):
    tar, official = load(tar_layout(tmp_path / "a")), load(official_layout(tmp_path / "b"))
    assert tar.images.sha256() == official.images.sha256()
    assert official.classes.attribute_names == ("a", "b", "c", "d")


def remove(path):
    path.unlink()


BAD = {
    "no att_splits.mat in": lambda p: remove(p / "att_splits.mat"),
    "split index": lambda p: remove(p / "images-1.tar"),
    "truncated": lambda p: (p / "images-1.tar").write_bytes(
        (p / "images-1.tar").read_bytes()[:3000]
    ),
    "1 images lie in 'clas1', which is not a class; did you mean 'class1'?": lambda p: write_tar(
        p / "more.tar", {"clas1/x.png": b""}
    ),
    "image 'loose.png' lies in no class folder": lambda p: write_tar(
        p / "more.tar", {"loose.png": b""}
    ),
    "no images in": lambda p: [remove(path) for path in p.glob("*.tar")],
}


@pytest.mark.parametrize("line", BAD)
def test_bad_files_are_named_in_one_line(tmp_path, line):
    folder = tar_layout(tmp_path)
    BAD[line](folder)
    with pytest.raises(ZerokinError) as refusal:
        load(folder)
    assert line in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_image_missing_from_the_official_layout_is_named(tmp_path):
    folder = official_layout(tmp_path)
    remove(folder / "CUB_200_2011" / "images" / "class1" / "1_0002.png")
    with pytest.raises(ZerokinError, match=r"lacks 1 images that images.txt lists: .*1_0002"):
        load(folder)


def test_real_images_and_features_are_the_same_samples(real_data):
    images = load(real_data / "cub")
    features = zerokin.load_dataset(f"xlsa17={real_data / 'cub'}")
    everything = np.arange(11788)
    assert len(images) == len(features) == 11788
    assert np.array_equal(
        images.evaluation_labels(everything), features.evaluation_labels(everything)
    )
    stems = [name.rsplit(".", 1)[0] for name in images.images.names]
    assert stems == [name.rsplit(".", 1)[0] for name in features.inputs.names]
    assert [len(part) for part in images.split.parts.values()] == [7057, 1764, 2967]
    assert min(images.images.load(11787).size) == 320
    orders, families, genera = (
        {path[: n + 1] for path in images.classes.taxonomy} for n in range(3)
    )
    assert (len(orders), len(families), len(genera)) == (13, 37, 121)
