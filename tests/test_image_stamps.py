"""Feature files notice images that changed after their features were extracted."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file

import zerokin
from builders import OWN_IMAGES, OWN_TABLE, image_bytes, write_own_folder, write_tar
from zerokin.data import image_stamps
from zerokin.data.image_stamps import changed_images
from zerokin.data.images import FolderImages, open_tars
from zerokin.data.native_features import FORMAT, STAMPED, Layout, NativeFeatures
from zerokin.data.native_writer import FeatureWriter
from zerokin.errors import InvalidInput
from zerokin.features.extraction import extract_features, image_digests
from zerokin.features.networks import create_backbone
from zerokin.features.reading import View


@pytest.fixture
def own(tmp_path):
    folder = write_own_folder(tmp_path / "own", OWN_TABLE, OWN_IMAGES)
    backbone = create_backbone("conv4", width=4, input_size=16)
    data = f"folder={folder}"
    path = tmp_path / "f.safetensors"
    extract_features(
        backbone,
        zerokin.load_dataset(data),
        path,
        view=View(image_size=16, batch_size=4),
        quiet=True,
    )
    return folder, data, path


def change(image):
    """Make another image of the same size in bytes, as an editor might."""
    content = bytearray(image.read_bytes())
    pixels = np.asarray(Image.open(image).convert("RGB")).copy()
    pixels[0, 0] ^= 255
    Image.fromarray(pixels).save(image)
    os.utime(image, ns=(0, 0))
    assert image.read_bytes() != content


def test_a_image_that_changed_is_named_when_features_are_used(own):
    folder, data, path = own
    zerokin.load_dataset(data, features=str(path))
    images = sorted(folder.rglob("*.png")) or sorted(folder.rglob("*.jpg"))
    change(images[1])
    with pytest.raises(InvalidInput) as caught:
        zerokin.load_dataset(data, features=str(path))
    line = str(caught.value)
    assert f"1 of {len(NativeFeatures(path))} images changed since {path}" in line
    assert images[1].relative_to(folder).as_posix() in line
    assert "zerokin extract" in line
    assert "\n" not in line


def test_after_extracting_again_they_fit_again(own):
    folder, data, path = own
    change(next(folder.rglob("*.png")))
    before = NativeFeatures(path).open()[:].copy()
    backbone = create_backbone("conv4", width=4, input_size=16)
    dataset = zerokin.load_dataset(data)
    extract_features(backbone, dataset, path, view=View(image_size=16, batch_size=4), quiet=True)
    zerokin.load_dataset(data, features=str(path))
    assert not np.array_equal(NativeFeatures(path).open()[:], before)


def test_a_copy_of_the_images_is_the_same(own, tmp_path):
    folder, _, path = own
    copied = shutil.copytree(folder, tmp_path / "copy", copy_function=shutil.copyfile)
    for image in copied.rglob("*.png"):
        os.utime(image, ns=(1, 1))
    zerokin.load_dataset(f"folder={copied}", features=str(path))


def test_images_that_did_not_change_are_not_read(own, monkeypatch):
    _, data, path = own

    def read(*_):
        raise AssertionError("read")

    monkeypatch.setattr(FolderImages, "digest", read)
    zerokin.load_dataset(data, features=str(path))


def test_of_many_copies_only_some_are_read(own, monkeypatch):
    folder, data, path = own
    count, digest, limit = [], FolderImages.digest, 3
    for image in folder.rglob("*.png"):
        os.utime(image, ns=(1, 1))

    def counted(self, index):
        count.append(index)
        return digest(self, index)

    monkeypatch.setattr(FolderImages, "digest", counted)
    monkeypatch.setattr(image_stamps, "MOST_READ", limit)
    zerokin.load_dataset(data, features=str(path))
    n = len(NativeFeatures(path))
    assert count == [0, (n - 1) // 2, n - 1]


def test_files_without_stamps_still_load(own):
    folder, data, path = own
    written = NativeFeatures(path)
    assert load_file(path)["picture_stamps"].tolist() == written.image_stamps.tolist()
    layout = Layout(written.shape, "float32", written.layout.names_bytes, written.recipe)
    features, digests, names = (
        written.open()[:].copy(),
        np.array(written.image_sha256),
        list(written.names),
    )
    assert STAMPED.encode() in path.read_bytes()[:200]
    with FeatureWriter(path) as writer:
        writer.begin(layout, digests, names, block=1)
        writer.append(features)
        writer.finish()
    assert FORMAT.encode() in path.read_bytes()[:200]
    change(next(folder.rglob("*.png")))
    old = zerokin.load_dataset(data, features=str(path))
    assert NativeFeatures(path).image_stamps is None
    assert np.array_equal(old.features, features)


def test_images_in_an_archive_are_told_by_the_archive(tmp_path):
    def tar(color):
        images = {"a.png": image_bytes(color=color), "b.png": image_bytes()}
        write_tar(tmp_path / "a.tar", images)

    tar((1, 2, 3))
    images = open_tars([tmp_path / "a.tar"])
    stamps, digests = image_stamps.image_stamps(images), image_digests(images)
    assert changed_images(images, stamps, digests) == []
    tar((3, 2, 1))
    os.utime(tmp_path / "a.tar", ns=(5, 5))
    assert changed_images(open_tars([tmp_path / "a.tar"]), stamps, digests) == ["a.png"]
