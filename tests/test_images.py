"""Images in folders and tar files: decoded when asked for, named when they cannot be."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from builders import cub_entries, image_bytes, write_tar
from zerokin.data.images import FolderImages, decode, list_folder, open_tars
from zerokin.errors import MissingFile, ZerokinError


def encoded(image, kind="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def test_tar_images_are_the_packed_files_in_order_of_their_names(tmp_path):
    entries = cub_entries()
    names = sorted(entries)
    write_tar(tmp_path / "1.tar", {name: entries[name] for name in names[20:]} | {"x.txt": b"no"})
    write_tar(tmp_path / "2.tar", {f"./{name}": entries[name] for name in names[:20]})
    images = open_tars([tmp_path / "1.tar", tmp_path / "2.tar"])
    assert images.names == names
    for index in (0, 19, 20, 29):
        expected = np.asarray(Image.open(io.BytesIO(entries[names[index]])))
        assert np.array_equal(images.array(index), expected)


def test_folder_and_tar_of_the_same_images_have_the_same_hash(tmp_path):
    entries = cub_entries(2, 2)
    write_tar(tmp_path / "all.tar", entries)
    for name, content in entries.items():
        (tmp_path / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "images" / name).write_bytes(content)
    in_tar = open_tars([tmp_path / "all.tar"])
    in_folder = FolderImages(tmp_path / "images", list_folder(tmp_path / "images"))
    assert list(in_folder.names) == list(in_tar.names)
    assert in_folder.sha256() == in_tar.sha256()
    first = tmp_path / "images" / in_folder.names[0]
    first.write_bytes(image_bytes(color=(1, 2, 3)))
    assert in_folder.sha256() != in_tar.sha256()


def test_listing_takes_images_alone(tmp_path):
    for name in ("b/2.JPG", "b/1.png", "a/x.txt", ".hidden/3.png", "a/.4.png", "c/deep/5.webp"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert list_folder(tmp_path) == ["b/1.png", "b/2.JPG", "c/deep/5.webp"]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.98])
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_truncated_image_is_named(kind, share):
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    content = encoded(Image.fromarray(noise), kind)
    said = "cannot be decoded" if share else "is empty: replace or remove it"
    with pytest.raises(ZerokinError, match=rf"somewhere/it\.jpg {said}") as refusal:
        decode(content[: int(share * len(content))], "somewhere/it.jpg")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("content", [b"a list of animals\n", b"%PDF-1.7", bytes(500)])
def test_of_what_is_no_image_only_that_is_said(content):
    with pytest.raises(ZerokinError) as refusal:
        decode(content, "it.jpg")
    said = "image it.jpg cannot be decoded: it is no image or damaged; replace or remove it"
    assert str(refusal.value) == said


def test_a_image_of_several_views_is_its_first():
    first, second = (Image.new("RGB", (16, 8), color) for color in ("red", "blue"))
    content = io.BytesIO()
    first.save(content, "MPO", save_all=True, append_images=[second])
    red = np.asarray(decode(content.getvalue(), "phone.jpg"), dtype=int)
    assert np.abs(red - [255, 0, 0]).max() < 5


def test_a_truncated_image_in_a_tar_is_named_with_its_archive(tmp_path):
    write_tar(tmp_path / "a.tar", {"c/1.png": image_bytes()[:40]})
    with pytest.raises(ZerokinError, match=r"a\.tar:c/1\.png cannot be decoded"):
        open_tars([tmp_path / "a.tar"]).load(0)


def test_a_truncated_tar_is_refused_wherever_it_ends(tmp_path):
    path = tmp_path / "a.tar"
    write_tar(path, cub_entries(2, 2))
    content = path.read_bytes().rstrip(b"\0")
    for length in range(0, len(content), 100):
        path.write_bytes(content[:length])
        with pytest.raises(ZerokinError, match=r"a\.tar .*(truncated|lacks)"):
            open_tars([path])


def test_the_same_image_in_two_tars_is_refused(tmp_path):
    for name in ("1.tar", "2.tar"):
        write_tar(tmp_path / name, {"c/1.png": image_bytes()})
    with pytest.raises(ZerokinError, match=r"both hold c/1\.png"):
        open_tars([tmp_path / "1.tar", tmp_path / "2.tar"])


def test_a_image_that_vanished_is_named(tmp_path):
    with pytest.raises(MissingFile, match=r"cannot read image .*gone\.png"):
        FolderImages(tmp_path, ["gone.png"]).load(0)


def test_every_mode_becomes_eight_bit_rgb():
    ramp = np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16)
    sixteen = decode(encoded(Image.fromarray(ramp)), "16 bit")
    assert np.abs(np.asarray(sixteen)[..., 0].astype(int) - ramp // 256).max() <= 1
    clear = Image.new("RGBA", (4, 4), (255, 0, 0, 0))
    assert (np.asarray(decode(encoded(clear), "clear")) == 255).all()
    cmyk = Image.new("CMYK", (4, 4), (0, 255, 255, 0))
    assert decode(encoded(cmyk, "JPEG"), "cmyk").getpixel((0, 0))[0] > 200
    palette = Image.new("RGB", (4, 4), (0, 0, 255)).convert("P")
    assert decode(encoded(palette, "GIF"), "palette").getpixel((0, 0)) == (0, 0, 255)


def test_a_turned_image_is_set_upright():
    image = Image.new("RGB", (4, 2), "black")
    image.putpixel((0, 0), (255, 255, 255))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned a quarter clockwise
    upright = decode(encoded(image, "PNG", exif=exif), "turned")
    assert upright.size == (2, 4)
    assert upright.getpixel((1, 0)) == (255, 255, 255)


def test_a_huge_image_is_refused_before_it_is_decoded(monkeypatch):
    monkeypatch.setattr("zerokin.data.images.MOST_PIXELS", 1000)
    with pytest.raises(ZerokinError, match="40 × 30 pixels, over the limit of 1,000"):
        decode(image_bytes(), "huge")
