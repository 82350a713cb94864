"""Files made to do harm end in one clear line, or do none."""

from __future__ import annotations

import gzip
import io
import json
import resource
import shutil
import struct
import sys
import tarfile
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, PngImagePlugin
from safetensors.numpy import save_file

import zerokin
from builders import OWN_PICTURES, OWN_TABLE, picture_bytes, write_own_folder
from training_parts import network, recipe, source, targets
from zerokin.data import pictures
from zerokin.data.native_features import NativeFeatures
from zerokin.data.pictures import decode, eight_bit_rgb, open_tars
from zerokin.data.readers.tables import read_table
from zerokin.errors import InvalidInput, ZerokinError, did_you_mean, shown
from zerokin.evaluation.ablation.config import read_config, read_network
from zerokin.features.networks.weight_files import read_weights
from zerokin.features.training import train
from zerokin.features.training.checkpoint import load_checkpoint, save_checkpoint
from zerokin.hierarchy.taxonomy_csv import read_taxonomy_csv
from zerokin.recogniser import Recogniser
from zerokin.semantics.word_vectors import word_vectors

BUNDLE = Path(__file__).parent / "data" / "bundle-1"


def encoded(picture, kind, **options):
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def png_chunk(kind, content):
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )


def png(width, height, *, colour=2, chunks=(), data=b""):
    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    parts = (b"IHDR", head), *chunks, (b"IDAT", zlib.compress(data)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(*part) for part in parts)


def peak():
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def refused(error):
    line = str(error.value)
    assert len(line.splitlines()) == 1
    assert len(line) <= 2100
    return line


# Pictures


@pytest.mark.parametrize("size", [(60_000, 60_000), (100_000, 2_000), (2**31 - 1, 2**31 - 1)])
def test_a_bomb_of_pixels_is_refused_before_it_is_decoded(size):
    before = peak()
    with pytest.raises(InvalidInput, match="bomb") as error:
        decode(png(*size), "bomb.png")
    refused(error)
    assert peak() - before < 100 << 20


def test_a_picture_of_100_000_pixels_width_is_a_picture():
    picture = decode(encoded(Image.new("RGB", (100_000, 3), "red"), "PNG"), "wide.png")
    assert picture.size == (100_000, 3)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_of_an_animation_the_first_frame_counts(kind):
    frames = [Image.new("RGB", (8, 6), colour) for colour in ("red", "blue", "lime")]
    options = {"lossless": True} if kind == "WEBP" else {}
    content = encoded(frames[0], kind, save_all=True, append_images=frames[1:], **options)
    assert decode(content, "x").getpixel((4, 3)) == (255, 0, 0)


def test_cmyk_sixteen_bits_palette_and_turned_pictures():
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
def test_strips_give_what_the_whole_picture_gives(monkeypatch, mode):
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
    monkeypatch.setattr(pictures, "STRIP_PIXELS", 17 * 4)
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


def test_text_after_a_picture_is_no_harm():
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", "<script>")
    assert decode(encoded(Image.new("RGB", (2, 2)), "PNG", pnginfo=info) + b"PK", "x").size == (
        2,
        2,
    )


# Archives

TAR_KINDS = {
    "symlink": tarfile.SYMTYPE,
    "hard link": tarfile.LNKTYPE,
    "character device": tarfile.CHRTYPE,
    "block device": tarfile.BLKTYPE,
    "pipe": tarfile.FIFOTYPE,
}


def write_tar(path, *members):
    with tarfile.open(path, "w") as tar:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, "/etc/passwd", len(content)
            tar.addfile(info, io.BytesIO(content))


@pytest.mark.parametrize("kind", TAR_KINDS)
def test_only_files_of_a_tar_are_pictures(tmp_path, kind):
    write_tar(
        tmp_path / "x.tar",
        ("a/link.png", TAR_KINDS[kind], b""),
        ("a/1.png", tarfile.REGTYPE, picture_bytes()),
    )
    found = open_tars([tmp_path / "x.tar"])
    assert list(found.names) == ["a/1.png"]
    assert found.load(0).size == (40, 30)


@pytest.mark.parametrize("name", ["../../out.png", "/out.png", "a/../../out.png"])
def test_a_tar_is_read_in_place_whatever_its_names_say(tmp_path, name):
    (tmp_path / "in").mkdir()
    write_tar(tmp_path / "in" / "x.tar", (name, tarfile.REGTYPE, picture_bytes()))
    found = open_tars([tmp_path / "in" / "x.tar"])
    assert found.load(0).size == (40, 30)
    found.sha256()
    assert [path.name for path in tmp_path.rglob("*")] == ["in", "x.tar"]


def test_a_name_in_a_tar_that_is_no_utf_8_has_a_hash_too(tmp_path):
    write_tar(tmp_path / "x.tar", ("a/\udcff.png", tarfile.REGTYPE, picture_bytes()))
    assert len(open_tars([tmp_path / "x.tar"]).sha256()) == 64


@pytest.mark.parametrize("size", [2**63, 2**40, -1])
def test_a_tar_member_that_claims_more_than_there_is(tmp_path, size):
    info = tarfile.TarInfo("a/1.png")
    info.size = size
    path = tmp_path / "x.tar"
    path.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(4096))
    before = peak()
    with pytest.raises(ZerokinError):  # noqa: PT012
        found = open_tars([path])
        found.load(0)
    assert peak() - before < 100 << 20


def test_zip_files_with_bombs_links_and_paths_that_lead_out(tmp_path):
    from zerokin.app.archives import uploaded_pictures
    from zerokin.app.limits import Limits

    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("../out.png", "/out.png", "..\\out.png", "C:\\out.png"):
            archive.writestr(name, picture_bytes())
        link = zipfile.ZipInfo("link.png")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("bomb.png", bytes(100 << 20))
        archive.writestr("good.png", picture_bytes())
    found, left_out = uploaded_pictures([("x.zip", path)], Limits())
    assert list(found.names) == ["good.png"]
    assert found.load(0).size == (40, 30)
    assert len(left_out) == 6
    assert [file.name for file in tmp_path.rglob("*")] == ["x.zip"]


def test_a_packed_file_of_word_vectors_is_not_unpacked_whole(tmp_path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(bytes(300 << 20), 9))
    before = peak()
    with pytest.raises(InvalidInput) as error:
        word_vectors(["okapi"], tmp_path / "x.gz")
    refused(error)
    assert peak() - before < 150 << 20


@pytest.mark.parametrize("head", [b"9" * 5000 + b" 3", b"3 " + b"9" * 5000, b"3 99999999999"])
def test_word_vectors_that_announce_too_much(tmp_path, head):
    (tmp_path / "x.vec").write_bytes(head + b"\nokapi 1 2 3\n")
    with pytest.raises(InvalidInput, match=r"x\.vec") as error:
        word_vectors(["okapi"], tmp_path / "x.vec")
    refused(error)


# Names of classes

NAMES = {
    "separators": "a/b\\c",
    "upwards": "../../outside",
    "absolute": "/outside",
    "dots": "..",
    "HTML": "<script>alert(1)</script>",
    "quotes": "\"a\", 'b' & c",
    "right to left": "\u05d0\u05d5\u05e7\u05e4\u05d9",
    "override": "\u202eipako",
    "newline": "two\nlines",
    "carriage return": "two\rlines",
    "NUL": "a\0b",
    "last NUL": "a\0",
    "escape": "\x1b[31mred",
    "long": "long " * 2000,
    "formula": "=1+1",
    "astral": "\U0001f98c",
}


@pytest.mark.parametrize("kind", NAMES)
def test_a_strange_class_name_works_everywhere_or_is_refused_in_one_line(tmp_path, kind):
    name = NAMES[kind]
    quoted = name.replace('"', '""')
    table = f'{OWN_TABLE}"{quoted}",unseen,0.5,0.5\n'
    folder = write_own_folder(tmp_path / "in" / "data", table, OWN_PICTURES)
    if kind in ("newline", "carriage return", "NUL", "last NUL", "escape"):
        with pytest.raises(ZerokinError, match="control character") as error:
            zerokin.load_dataset(f"folder={folder}")
        refused(error)
        return
    dataset = zerokin.load_dataset(f"folder={folder}")
    assert dataset.classes.names[-1] == name.strip()
    names, Z = list(dataset.classes.names), dataset.classes.semantics
    tree = zerokin.ClassHierarchy.from_semantics(Z, names=names)
    tree.save(tmp_path / "in" / "tree.json")
    assert zerokin.ClassHierarchy.load(tmp_path / "in" / "tree.json").names == tree.names
    rng = np.random.default_rng(0)
    y = np.repeat(names[:4], 5)
    X = rng.normal(size=(20, 8))
    table_of = dict(zip(names, Z, strict=True))
    model = zerokin.ZeroShotClassifier().fit(X, y, semantics=table_of, hierarchy=tree)
    model.save(tmp_path / "in" / "model")
    loaded = zerokin.ZeroShotClassifier.load(tmp_path / "in" / "model")
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert set(loaded.predict(X)) <= {"bee", name.strip()}
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_message_is_one_line_whatever_it_quotes():
    text = str(InvalidInput(f"unknown class {NAMES['newline']} {NAMES['escape']} \u202e \ud800"))
    assert text == "unknown class two\\nlines \\x1b[31mred \\u202e \\ud800"
    assert len(str(InvalidInput("x" * 10**6))) < 2100
    assert did_you_mean({"not": "a word"}, ["a"]) == ""
    assert shown(0x10**9000) == "a number of thousands of digits"


def test_a_line_break_inside_quotes_is_part_of_the_value(tmp_path):
    path = tmp_path / "classes.csv"
    path.write_bytes(b'name,note\r\nokapi,"two\r\nlines"\rzebra,"a\xe2\x80\xa8b"\n')
    rows = read_table(path, ["name"])
    assert [row["note"] for row in rows] == ["two\r\nlines", "a\u2028b"]


# Tables


@pytest.mark.parametrize(
    "line", [b"x" * 10_000_000, b"a," * 5_000_000, b'"' + b"x" * 10_000_000], ids=[0, 1, 2]
)
def test_a_table_of_one_line_of_ten_megabytes(tmp_path, line):
    path = tmp_path / "classes.csv"
    path.write_bytes(line)
    for read in (lambda: read_table(path, ["name"]), lambda: read_taxonomy_csv(path)):
        with pytest.raises(InvalidInput) as error:
            read()
        assert "classes.csv" in refused(error)


def test_a_table_of_many_columns_of_one_name(tmp_path):
    path = tmp_path / "classes.csv"
    path.write_text("name," + "a," * 100_000 + "b\n")
    with pytest.raises(InvalidInput, match="more than once"):
        read_table(path, ["name"])


# JSON and YAML

DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize("text", [DEEP, '{"a":' * 100_000, "9" * 5000, "NaN", ""])
def test_json_made_to_break_the_reader(tmp_path, text):
    shutil.copytree(BUNDLE, tmp_path / "bundle")
    root = next(path for path in (tmp_path / "bundle").iterdir() if path.is_dir())
    for path, read in (
        (root / "classifier" / "hierarchy.json", zerokin.ClassHierarchy.load),
        (root / "classifier" / "config.json", lambda _: load_classifier(root)),
        (root / "network" / "features.json", lambda _: load_network(root)),
        (tmp_path / "bundle" / "bundle.json", lambda _: Recogniser.load(tmp_path / "bundle")),
    ):
        path.write_text(text)
        with pytest.raises(InvalidInput) as error:
            read(path)
        assert path.name in refused(error)


def load_classifier(root):
    return zerokin.ZeroShotClassifier.load(root / "classifier")


def load_network(root):
    return zerokin.FeatureLearner.load(root / "network", device="cpu")


def laughs(levels=30):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines) + f"\nlast: *a{levels - 1}\n"


LAST = "*a29"
YAML = {
    "deep": DEEP,
    "laughs": laughs(),
    "no date": "seeds: 2001-99-99",
    "date of a tag": "seeds: !!timestamp x",
    "truth of a tag": "seeds: !!bool x",
    "object": "seeds: !!python/object/apply:os.getcwd []",
    "rows": "networks: {a: {}}\nrows: 5",
    "row without a name": "networks: {a: {}}\nrows: [{networks: [a]}]",
    "networks of a row": "networks: {a: {}}\nrows: [{name: x, networks: 5}]",
    "network of a row": "networks: {a: {}}\nrows: [{name: x, networks: [{}]}]",
    "seeds": "networks: {a: {}}\nrows: [{name: x, networks: [a]}]\nseeds: 3",
    "true seed": "networks: {a: {}}\nrows: [{name: x, networks: [a]}]\nseeds: [true]",
    "side": "networks: {a: {}}\nrows: [{name: x, networks: [a]}]\nstored_side: [1]",
    "number as a name": "networks: {1: {}}\nrows: []",
    "nothing": "",
    "huge number": f"networks: {{a: {{recipe: {{lr: {'9' * 400}}}}}}}\nrows: []",
    "huge hexadecimal": f"networks: {{a: {{recipe: {{lr: 0x{'f' * 9000}}}}}}}\nrows: []",
    "hidden": "networks: {a: {hidden: [1]}}\nrows: []",
    "branching": "networks: {a: {branching: 1}}\nrows: []",
    "backbone": "networks: {a: {backbone: 5}}\nrows: []",
    "options": "networks: {a: {options: 5}}\nrows: []",
    "mirrored": "networks: {a: {mirrored: 5}}\nrows: []",
    "scale": "networks: {a: {scale: .nan}}\nrows: []",
    "framing": "networks: {a: {framing: {}}}\nrows: []",
}


@pytest.mark.parametrize("kind", YAML)
def test_a_hostile_configuration_is_refused_in_one_line(tmp_path, kind):
    path = tmp_path / "x.yaml"
    path.write_text(YAML[kind])
    with pytest.raises(InvalidInput) as error:
        read_config(path)
    assert "x.yaml" in refused(error)


@pytest.mark.parametrize("place", ["mode", "side", "options", "recipe", "lr", "optimiser", "area"])
def test_a_billion_laughs_are_not_written_out(tmp_path, place):
    """Aliases share what they stand for: only a message would write all of it."""
    within = {
        "lr": f"recipe: {{lr: {LAST}}}",
        "optimiser": f"recipe: {{optimiser: {LAST}}}",
        "area": f"recipe: {{augmentation: {{area: {LAST}}}}}",
    }
    asked = within.get(place, f"{place}: {LAST}")
    head = laughs().removesuffix(f"last: {LAST}\n").replace("\n", "\n  ").rstrip()
    # Defined where anything may stand, or an unknown entry would be refused first.
    around = "weights" if place == "options" else "options"
    path = tmp_path / "x.yaml"
    path.write_text(f"{around}:\n  {head}\n{asked}\n")
    with pytest.raises(InvalidInput) as error:
        read_network(path)
    assert "x.yaml" in refused(error)


# Numbers in safetensors files


def safetensors(header, values=b""):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + values


def entry(shape, start, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


LIES = {
    "header of 2^63 bytes": (2**63).to_bytes(8, "little") + b"{}",
    "header of 2^64 - 1 bytes": b"\xff" * 8 + b"{}",
    "overlap": safetensors({"a": entry([4], 0, 16), "b": entry([4], 8, 24)}, bytes(24)),
    "same place": safetensors({"a": entry([4], 0, 16), "b": entry([4], 0, 16)}, bytes(16)),
    "out of range": safetensors({"a": entry([4], 0, 16)}, bytes(8)),
    "backwards": safetensors({"a": entry([4], 16, 0)}, bytes(16)),
    "negative": safetensors({"a": entry([4], -16, 0)}, bytes(16)),
    "shape": safetensors({"a": entry([2**62, 4], 0, 16)}, bytes(16)),
    "unknown type": safetensors({"a": entry([4], 0, 16, "F99")}, bytes(16)),
    "deep": len(DEEP).to_bytes(8, "little") + DEEP.encode(),
    "nothing": b"",
}


@pytest.mark.parametrize("kind", LIES)
def test_a_safetensors_file_that_lies_is_refused(tmp_path, kind):
    path = tmp_path / "x.safetensors"
    path.write_bytes(LIES[kind])
    for read in (read_weights, load_checkpoint, NativeFeatures):
        with pytest.raises(InvalidInput) as error:
            read(path)
        assert "x.safetensors" in refused(error)


def test_a_torch_file_of_the_older_form_is_not_taken_at_its_word(tmp_path):
    """Its reader makes room for as many bytes as a text claims to have, here 2 GiB."""
    path = tmp_path / "x.pth"
    weights = {"weight": torch.ones(3)}
    torch.save(weights, path, _use_new_zipfile_serialization=False)
    assert torch.equal(read_weights(path)["weight"], torch.ones(3))
    content = path.read_bytes()
    claim = b"X\x06\0\0\0weight"
    assert content.count(claim) == 1
    path.write_bytes(content.replace(claim, b"X\xff\xff\xff\x7fweight"))
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not tell how much memory a process has")
    held = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 30), held[1]))
    try:
        with pytest.raises(InvalidInput, match=r"x\.pth") as error:
            read_weights(path)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, held)
    assert not isinstance(error.value.__cause__, MemoryError)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("part", ["prototypes", "means", "normaliser.1.matrix", "semantics"])
def test_a_classifier_of_numbers_that_are_not_finite_is_refused(tmp_path, part, value):
    from safetensors.numpy import load_file

    root = next(path for path in BUNDLE.iterdir() if path.is_dir())
    shutil.copytree(root / "classifier", tmp_path / "model")
    path = tmp_path / "model" / "numbers.safetensors"
    numbers = load_file(path)
    changed = numbers[part].copy()
    changed.flat[0] = value
    save_file({**numbers, part: changed}, path)
    with pytest.raises(InvalidInput, match="finite"):
        zerokin.ZeroShotClassifier.load(tmp_path / "model")


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": {"calibration": "x"}},
        {"parameters": {"calibration": float("nan")}},
        {"parameters": {"hub_neighbors": 1.5}},
        {"parameters": {"normalisation": 5}},
        {"parameters": {"inference": "x"}},
        {"parameters": {"device": "\ud800"}},
        {"parameters": {"two\nlines": 1}},
        {"classes": "abc"},
        {"classes": [[1], [2]]},
        {"classes": ["a", "a"]},
        {"classes": ["a", "\ud800"]},
        {"n_features": 10**400},
        {"layers": -1},
        {"layers": 10**9},
    ],
    ids=ascii,
)
def test_a_classifier_edited_by_hand_is_refused(tmp_path, change):
    root = next(path for path in BUNDLE.iterdir() if path.is_dir())
    shutil.copytree(root / "classifier", tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    for key, value in change.items():
        config[key] = {**config[key], **value} if isinstance(value, dict) else value
    path.write_text(json.dumps(config))
    with pytest.raises(InvalidInput) as error:
        zerokin.ZeroShotClassifier.load(tmp_path / "model")
    assert str(tmp_path) in refused(error)


def test_a_bundle_edited_by_hand_is_refused(tmp_path):
    shutil.copytree(BUNDLE, tmp_path / "bundle")
    sheet = next((tmp_path / "bundle").glob("v-*/classes.csv"))
    sheet.write_text(sheet.read_text(encoding="utf-8") + "okapi,unseen\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"classes\.csv") as error:
        Recogniser.load(tmp_path / "bundle")
    refused(error)


# Checkpoints


def edited(groups, state, change):
    progress = state["progress"]
    if change == "no network":
        del groups["network"]
    elif change == "no tensor":
        groups["network"].popitem()
    elif change == "other shape":
        name = next(iter(groups["network"]))
        groups["network"][name] = torch.ones(1)
    elif change == "unknown weight":
        groups["optimiser"]["999/momentum_buffer"] = torch.ones(1)
    elif change == "no number":
        groups["optimiser"]["x/momentum_buffer"] = torch.ones(1)
    elif change == "no fingerprint":
        del state["fingerprint"]
    elif change == "list":
        state["fingerprint"] = []
    elif change == "later":
        progress["step"] = 10**30
    elif change == "earlier":
        progress["step"] = -1
    elif change == "sums":
        progress["sums"] = {"total": "x"}
    elif change == "epochs":
        progress["epochs"] = [{"epoch": 1}]
    elif change == "unknown field":
        progress["x"] = 1
    else:
        progress["best_epoch"] = 7


@pytest.mark.parametrize(
    "change",
    [
        *("no network", "no tensor", "other shape", "unknown weight", "no number", "list"),
        *("no fingerprint", "later", "earlier", "sums", "epochs", "unknown field", "best epoch"),
    ],
)
def test_a_checkpoint_edited_by_hand_is_refused(tmp_path, change):
    def run():
        given = network(), source(), targets(), recipe(epochs=1)
        train(*given, folder=tmp_path, device="cpu", quiet=True)

    run()
    path = tmp_path / "checkpoint.safetensors"
    groups, state = load_checkpoint(path)
    edited(groups, state, change)
    save_checkpoint(path, groups, state)
    with pytest.raises(InvalidInput, match="start over") as error:
        run()
    assert "checkpoint.safetensors" in refused(error)
