"""Batches of images, whichever way they come."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from PIL import Image

from builders import image_bytes
from zerokin.compute.machine import _free_in_container, available_cores, available_memory, own_cores
from zerokin.data.images import ArrayImages, FolderImages
from zerokin.errors import InvalidInput, MissingFile
from zerokin.features.input import open_source, resize_to_square, sources

SIDE = 12


def folder_of_images(folder, n=23, seed=0):
    """Write noise of various shapes."""
    rng = np.random.default_rng(seed)
    names = []
    for number in range(n):
        shape = (int(rng.integers(5, 40)), int(rng.integers(5, 40)), 3)
        names.append(f"{number}.png")
        Image.fromarray(rng.integers(0, 256, shape, dtype=np.uint8)).save(folder / names[-1])
    return FolderImages(folder, names)


def by_hand(image, side, resize_mode):
    """Frame with Pillow's crop and resize."""
    width, height = image.size
    if resize_mode == "center":
        edge = min(width, height)
        left, top = (width - edge) // 2, (height - edge) // 2
        image = image.crop((left, top, left + edge, top + edge))
    return np.asarray(image.resize((side, side), Image.Resampling.BICUBIC)).transpose(2, 0, 1)


@pytest.mark.parametrize("size", [(30, 20), (20, 30), (SIDE, SIDE), (8, 6)])
@pytest.mark.parametrize("resize_mode", ["whole", "center"])
def test_framing_equals_pillow_by_hand(size, resize_mode):
    rng = np.random.default_rng(0)
    image = Image.fromarray(rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8))
    ours, theirs = resize_to_square(image, SIDE, resize_mode), by_hand(image, SIDE, resize_mode)
    if resize_mode == "whole" or size == (SIDE, SIDE):
        np.testing.assert_array_equal(ours, theirs)
    # At the rim of a square cut out, bicubic weights reach a few pixels past it; and whether rows
    # or columns are resized first, rounding in between, is up to Pillow.
    inner = (slice(None), slice(4, -4), slice(4, -4))
    np.testing.assert_allclose(ours[inner].astype(int), theirs[inner], atol=1)


def test_center_shows_no_side_and_whole_shows_all():
    # Red, green and blue thirds of a wide image: its centered square is green alone.
    thirds = np.repeat(np.eye(3, dtype=np.uint8)[None] * 255, 10, axis=1).repeat(10, axis=0)
    image = Image.fromarray(np.ascontiguousarray(thirds))
    assert image.size == (30, 10)
    inner = resize_to_square(image, 10, "center")[:, :, 3:7]
    assert (inner[1] == 255).all()
    assert (inner[[0, 2]] == 0).all()
    whole = resize_to_square(image, 9, "whole")
    assert whole[:, 4, [0, 4, 8]].argmax(axis=0).tolist() == [0, 1, 2]


@pytest.mark.parametrize("resize_mode", ["whole", "center"])
def test_streamed_and_resident_batches_are_the_same_in_any_order(tmp_path, resize_mode):
    images = folder_of_images(tmp_path)
    streamed, resident = (
        open_source(images, SIDE, resize_mode=resize_mode, resident=kind, workers=3, quiet=True)
        for kind in (False, True)
    )
    assert len(streamed) == len(resident) == len(images)
    rng = np.random.default_rng(1)
    rows = [rng.integers(0, len(images), size) for size in (4, 1, 7, 7, 2, 30, 3, 3, 3)]
    both = zip(streamed.batches(rows), resident.batches(rows), strict=True)
    for chosen, (one, other) in zip(rows, both, strict=True):
        expected = [resize_to_square(images.load(int(row)), SIDE, resize_mode) for row in chosen]
        assert one.dtype == torch.uint8
        np.testing.assert_array_equal(one.numpy(), np.stack(expected))
        assert torch.equal(one, other)


@pytest.mark.parametrize("resident", [True, False])
def test_a_selection_of_a_selection(resident):
    pixels = (
        np.arange(10, dtype=np.uint8)[:, None, None, None].repeat(3, 3).repeat(4, 1).repeat(4, 2)
    )
    source = open_source(pixels, 4, resident=resident, quiet=True)
    odd = source.select(np.array([1, 3, 5, 7, 9]))
    some = odd.select(np.array([4, 0, 4]))
    assert (len(odd), len(some)) == (5, 3)
    assert some.batch(np.array([2, 1, 0]))[:, 0, 0, 0].tolist() == [9, 1, 9]
    assert odd.batch(np.array([3]))[:, 0, 0, 0].tolist() == [7]


@pytest.mark.parametrize("resident", [True, False])
def test_rows_may_be_read_only(resident, recwarn):
    rows = np.array([1, 0])
    rows.setflags(write=False)
    source = open_source(np.zeros((2, 4, 4, 3), np.uint8), 4, resident=resident, quiet=True)
    assert source.batch(rows).shape == (2, 3, 4, 4)
    assert not recwarn.list


def test_arrays_are_images(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 9, 7, 3), dtype=np.uint8)
    source = open_source(pixels, SIDE, resident=False, quiet=True)
    expected = [resize_to_square(Image.fromarray(pixels[row]), SIDE) for row in (4, 2)]
    np.testing.assert_array_equal(source.batch(np.array([4, 2])).numpy(), np.stack(expected))
    same = open_source(ArrayImages(pixels), SIDE, resident=True, quiet=True)
    assert torch.equal(same.batch(np.array([4, 2])), source.batch(np.array([4, 2])))


@pytest.mark.parametrize("wrong", [np.zeros((2, 4, 4)), np.zeros((2, 4, 4, 3), np.float32)])
def test_arrays_of_another_kind_are_refused(wrong):
    with pytest.raises(InvalidInput, match="uint8 of shape"):
        open_source(wrong, 4)


@pytest.mark.parametrize("resident", [True, False])
def test_a_damaged_image_is_named_and_nothing_hangs(tmp_path, resident):
    images = folder_of_images(tmp_path, 20)
    (tmp_path / "7.png").write_bytes(image_bytes()[:50])
    before = threading.active_count()
    rows = [np.arange(s, s + 4) for s in range(0, 20, 4)]

    def read():
        source = open_source(images, SIDE, resident=resident, workers=3, quiet=True)
        return list(source.batches(rows))

    with pytest.raises(InvalidInput, match=r"7\.png cannot be decoded"):
        read()
    assert threading.active_count() <= before


def test_a_missing_image_is_named(tmp_path):
    images = folder_of_images(tmp_path, 5)
    (tmp_path / "3.png").unlink()
    with pytest.raises(MissingFile, match=r"3\.png"):
        open_source(images, SIDE, resident=True, quiet=True)


def test_batches_given_up_leave_no_threads(tmp_path):
    before = threading.active_count()
    source = open_source(folder_of_images(tmp_path), SIDE, resident=False, workers=3, quiet=True)
    batches = source.batches([np.arange(4)] * 10)
    next(batches)
    batches.close()
    assert threading.active_count() <= before


def test_files_are_read_only_a_few_batches_ahead(tmp_path):
    source = open_source(folder_of_images(tmp_path), SIDE, resident=False, quiet=True)
    asked = []

    def rows():
        for number in range(100):
            asked.append(number)
            yield np.arange(2)

    next(source.batches(rows()))
    assert len(asked) <= sources.AHEAD + 1


def test_memory_decides_what_stays_resident(monkeypatch):
    pixels = np.zeros((10, 4, 4, 3), np.uint8)
    needed = 10 * 3 * 8 * 8
    kinds = []
    for free in (needed / sources.SHARE_OF_MEMORY + 1, needed / sources.SHARE_OF_MEMORY - 1):
        monkeypatch.setattr(sources, "available_memory", lambda _, free=free: free)
        kinds.append(type(open_source(pixels, 8, quiet=True)))
    assert kinds == [sources.ResidentSource, sources.StreamedSource]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"side": 0}, "side must be a whole number from 1 to 10,000: got 0"),
        ({"side": 4, "resize_mode": "centr"}, "did you mean 'center'"),
        ({"side": 4, "workers": 0}, "workers must be a whole number from 1 to 1,024"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(InvalidInput, match=message):
        open_source(np.zeros((1, 4, 4, 3), np.uint8), **settings)


def test_processes_share_cores_and_memory(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert (available_cores(), own_cores()) == (1, 8)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert (available_cores(), own_cores()) == (4, 4)
    monkeypatch.setattr("zerokin.compute.machine._free_memory", lambda _: 1000)
    monkeypatch.setattr("zerokin.compute.machine._free_in_container", lambda _: 800)
    assert available_memory(torch.device("cpu")) == 400


def test_a_container_lowers_the_memory(tmp_path):
    assert _free_in_container(tmp_path) is None
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 400\ninactive_file 150\n")
    assert _free_in_container(tmp_path) == 450
    (tmp_path / "memory.max").write_text("max\n")
    assert _free_in_container(tmp_path) is None
