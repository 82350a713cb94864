"""Images made to do harm end in one clear line, or do none."""

from __future__ import annotations

import zlib
from contextlib import suppress

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from hostile_files import encoded, peak, png, refused
from zerokin.data import images
from zerokin.data.images import decode, eight_bit_rgb
from zerokin.errors import InvalidInput


@pytest.mark.parametrize("size", [(60_000, 60_000), (100_000, 2_000), (2**31 - 1, 2**31 - 1)])
def test_a_bomb_of_pixels_is_refused_before_it_is_decoded(size):
    before = peak()
    with pytest.raises(InvalidInput, match="bomb") as error:
        decode(png(*size), "bomb.png")
    refused(error)
    assert peak() - before < 100 << 20


def test_a_image_of_100_000_pixels_width_is_a_image():
    image = decode(encoded(Image.new("RGB", (100_000, 3), "red"), "PNG"), "wide.png")
    assert image.size == (100_000, 3)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_of_an_animation_the_first_frame_counts(kind):
    frames = [Image.new("RGB", (8, 6), color) for color in ("red", "blue", "lime")]
    options = {"lossless": True} if kind == "WEBP" else {}
    content = encoded(frames[0], kind, save_all=True, append_images=frames[1:], **options)
    assert decode(content, "x").getpixel((4, 3)) == (255, 0, 0)


def test_cmyk_sixteen_bits_palette_and_turned_images():
    cmyk = decode(encoded(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG"), "x")
    assert cmyk.getpixel((4, 4))[0] > 240
    assert max(cmyk.getpixel((4, 4))[1:]) < 15
    deep = Image.fromarray(np.full((4, 4), 0x8001, np.uint16))
    assert decode(encoded(deep, "PNG"), "x").getpixel((0, 0)) == (0x80, 0x80, 0x80)
    flat = Image.new("P", (4, 4), 1)
    flat.putpalette([0, 0, 0, 10, 20, 30])
    assert decode(encoded(flat, "PNG"), "x").getpixel((0, 0)) == (10, 20, 30)
    assert decode(encoded(flat, "PNG", transparency=1), "x").getpixel((0, 0)) == (255, 255, 255)
    turned = Image.new("RGB", (6, 4), "black")
    turned.putpixel((0, 0), (255, 255, 255))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned right by a quarter
    upright = decode(encoded(turned, "PNG", exif=exif), "x")
    assert upright.size == (4, 6)
    assert upright.getpixel((3, 0)) == (255, 255, 255)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "I;16", "CMYK", "1", "F"])
def test_strips_give_what_the_whole_image_gives(monkeypatch, mode):
    rng = np.random.default_rng(0)
    if mode == "I;16":
        given = Image.fromarray(rng.integers(0, 2**16, (23, 17), dtype=np.uint16))
    else:
        given = Image.fromarray(rng.integers(0, 256, (23, 17, 4), dtype=np.uint8)).convert(
            "RGB" if mode in ("P", "CMYK", "1", "F") else "RGBA"
        )
        given = given.convert(mode)
    if mode == "P":
        given.info["transparency"] = 5
    whole = np.asarray(eight_bit_rgb(given))
    monkeypatch.setattr(images, "STRIP_PIXELS", 17 * 4)
    np.testing.assert_array_equal(np.asarray(eight_bit_rgb(given)), whole)


@pytest.mark.parametrize(
    "chunk",
    [
        (b"iCCP", b"x\0\0" + zlib.compress(bytes(200 << 20))),
        (b"zTXt", b"x\0\0" + zlib.compress(bytes(200 << 20))),
        (b"iTXt", b"x\0\1\0\0\0" + zlib.compress(bytes(200 << 20))),
        (b"tEXt", b"x\0" + b"y" * (5 << 20)),
    ],
    ids=lambda chunk: chunk[0].decode(),
)
def test_a_huge_profile_or_text_takes_no_memory(chunk):
    content = png(2, 1, chunks=[chunk], data=b"\0" + b"\x07" * 6)
    before = peak()
    with suppress(InvalidInput):
        assert decode(content, "x.png").getpixel((0, 0)) == (7, 7, 7)
    assert peak() - before < 150 << 20


@pytest.mark.parametrize("kind", ["EPS", "PPM", "PCX", "TGA", "ICO", "PDF"])
def test_other_formats_are_not_even_tried(kind):
    """Pillow runs Ghostscript for EPS."""
    with pytest.raises(InvalidInput, match=r"x\.jpg"):
        decode(encoded(Image.new("RGB", (8, 8)), kind), "x.jpg")


def test_text_after_a_image_is_no_harm():
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", "<script>")
    assert decode(encoded(Image.new("RGB", (2, 2)), "PNG", pnginfo=info) + b"PK", "x").size == (
        2,
        2,
    )
