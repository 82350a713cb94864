"""Targets among images, data sets and class semantics."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from zerokin.errors import ZerokinError

from .targets import Target

TABLE = (
    "name,role,description,order,family,genus,stripes,wings\n"
    "zebra,seen,a striped horse,Perissodactyla,Equidae,Equus,1,0\n"
    '"horse, tame",seen,"a ""horse""",Perissodactyla,Equidae,Equus,0,0.1\n'
    "robin,seen,a small bird,Passeriformes,Muscicapidae,Erithacus,0.1,1\n"
    "eagle,seen,a large bird,Accipitriformes,Accipitridae,Aquila,0,0.9\n"
    "bee,unseen,a striped insect,Hymenoptera,Apidae,Apis,1,1\n"
)
WORDNET = (
    "wnid,name,wordnet_path\n"
    "n02012849,crane,n02012849:crane > n01503061:bird > n00015388:animal\n"
    "n03126707,crane,n03126707:crane > n03699975:machine > n00021939:artifact\n"
    "n02118333,fox,n02118333:fox > n02083346:canine > n00015388:animal\n"
)


def gradient(mode: str = "RGB", size: tuple[int, int] = (12, 9)) -> Image.Image:
    """Return a small image of a mode."""
    values = np.arange(size[0] * size[1] * 3, dtype=np.uint8).reshape(size[1], size[0], 3)
    return Image.fromarray(values).convert(mode)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    """Return an image as a file."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def _make_images(folder: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    several = {"save_all": True, "append_images": [gradient(), gradient("L").convert("RGB")]}
    sixteen = Image.fromarray(np.arange(108, dtype=np.uint16).reshape(9, 12) * 600)
    files = {
        "rotated.jpg": encoded(gradient(), "JPEG", exif=exif),
        "progressive.jpg": encoded(gradient(), "JPEG", progressive=True),
        "cmyk.jpg": encoded(gradient("CMYK"), "JPEG"),
        "plain.png": encoded(gradient(), "PNG", exif=exif, icc_profile=b"profile" * 9),
        "palette.png": encoded(gradient("P"), "PNG", transparency=3),
        "alpha.png": encoded(gradient("RGBA"), "PNG"),
        "sixteen.png": encoded(sixteen, "PNG"),
        "animated.png": encoded(gradient(), "PNG", **several),
        "plain.webp": encoded(gradient(), "WEBP", exif=exif),
        "animated.webp": encoded(gradient(), "WEBP", lossless=True, **several),
        "plain.gif": encoded(gradient(), "GIF", transparency=0),
        "animated.gif": encoded(gradient(), "GIF", **several),
        "plain.bmp": encoded(gradient(), "BMP"),
        "bits.bmp": encoded(gradient("1"), "BMP"),
        "plain.tif": encoded(gradient(), "TIFF", exif=exif),
        "deflate.tif": encoded(gradient(), "TIFF", compression="tiff_adobe_deflate"),
        "lzw.tif": encoded(gradient("RGBA"), "TIFF", compression="tiff_lzw"),
        "float.tif": encoded(gradient("F"), "TIFF"),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)


def _read_image(folder: Path, file: str) -> None:
    from zerokin.data.images import decode

    image = decode((folder / file).read_bytes(), file)
    assert image.mode == "RGB"
    assert np.asarray(image).shape == (image.height, image.width, 3)


def _make_folder(folder: Path) -> None:
    (folder / "classes.csv").write_text(TABLE, encoding="utf-8")
    for name in ("zebra", "horse, tame", "robin", "eagle", "test/bee"):
        (folder / name).mkdir(parents=True)
        (folder / name / "1.png").write_bytes(encoded(gradient(), "PNG"))


def _read_folder(folder: Path, file: str) -> None:
    from zerokin import load_dataset
    from zerokin.data.check import check

    dataset = load_dataset(f"folder={folder}")
    for index in range(len(dataset.images)):
        dataset.images.load(index)
    with suppress(ZerokinError):  # classes may have descriptions alone
        assert np.isfinite(dataset.classes.semantics).all()
    check(f"folder={folder}")


def _make_words(folder: Path) -> None:
    words = ["zebra", "horse", "robin", "eagle", "polar_bear"]
    vectors = np.random.default_rng(0).normal(size=(len(words), 3)).astype("<f4")
    rows = [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, vectors, strict=True)]
    text = "\n".join(rows).encode() + b"\n"
    head = b"%d 3\n" % len(words)
    pairs = zip(words, vectors, strict=True)
    binary = b"".join(word.encode() + b" " + row.tobytes() + b"\n" for word, row in pairs)
    (folder / "glove.txt").write_bytes(text)
    (folder / "fasttext.vec").write_bytes(head + text)
    (folder / "word2vec.bin").write_bytes(head + binary)
    (folder / "packed.gz").write_bytes(gzip.compress(head + text, mtime=0))
    (folder / "table.csv").write_text("wnid,a,b\nn01532829,0.5,2\nn01558993,1,-3\n")
    (folder / "table.txt").write_text("n01532829 0.5 2\nn01558993 1 -3\n")


def _read_words(folder: Path, file: str) -> None:
    from zerokin.semantics.word_vectors import vector_table, word_vectors

    if file.startswith("table"):
        _, vectors = vector_table(folder / file)
    else:
        names = ["zebra", "Polar Bear", "eagle"]
        vectors = word_vectors(names, folder / file, missing="skip-word")
    assert np.isfinite(vectors).all()


def _make_corpora(folder: Path) -> None:
    text = "A zebra met a horse.\nThe polar bear saw the robin, and the eagle.\n" * 3
    (folder / "corpus.txt").write_text(text)
    (folder / "corpus.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def _read_corpora(folder: Path, file: str) -> None:
    from zerokin.semantics.corpus import Corpus
    from zerokin.semantics.skipgram import train_skipgram

    for _ in Corpus(folder / file, phrases=["polar bear"]):
        pass
    names = ["polar bear", "zebra"]
    options: dict[str, int] = {"dimension": 2, "epochs": 1, "min_count": 1}
    train_skipgram(folder / file, folder / "out.vec", class_names=names, quiet=True, **options)


def _make_taxonomies(folder: Path) -> None:
    (folder / "levels.csv").write_text(TABLE, encoding="utf-8")
    (folder / "wordnet.csv").write_text(WORDNET, encoding="utf-8")


def _read_taxonomies(folder: Path, file: str) -> None:
    from zerokin import ClassHierarchy
    from zerokin.data.readers.tables import read_table
    from zerokin.data.readers.wordnet_sheet import taxonomy_of, unique_names
    from zerokin.hierarchy.taxonomy_csv import read_taxonomy_csv

    if file == "wordnet.csv":
        paths = read_taxonomy_csv(folder / file, key="wnid", levels=None)
        rows = read_table(folder / file, ["wnid", "name"])
        unique_names(rows)
        taxonomy_of(rows, folder / file)
    else:
        paths = read_taxonomy_csv(folder / file)
    tree = ClassHierarchy.from_taxonomy(list(paths.values()), names=list(paths))
    str(tree)
    tree.save(folder / "tree.json")
    assert ClassHierarchy.load(folder / "tree.json").sizes == tree.sizes


def _make_xlsa17(folder: Path) -> None:
    from tests.builders import write_xlsa17_folder

    for name, compress in (("plain", False), ("packed", True)):
        write_xlsa17_folder(folder / name, compress=compress)


def _read_xlsa17(folder: Path, file: str) -> None:
    from zerokin.data.check import check
    from zerokin.data.load import load_dataset

    source = f"xlsa17={folder / Path(file).parent}"
    dataset = load_dataset(source)
    np.asarray(dataset.features)
    _ = dataset.inputs.names  # type: ignore[union-attr]
    check(source)


def _make_tars(folder: Path) -> None:
    with tarfile.open(folder / "images.tar", "w") as tar:
        for number in range(3):
            content = encoded(gradient(), "PNG")
            info = tarfile.TarInfo(f"class{number}/{number}.png")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def _read_tars(folder: Path, file: str) -> None:
    from zerokin.data.images import open_tars

    images = open_tars([folder / file])
    for index in range(len(images)):
        with suppress(ZerokinError):
            images.load(index)
    images.sha256()


def _make_zips(folder: Path) -> None:
    for kind in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(folder / f"{kind}.zip", "w", kind) as archive:
            for number in range(3):
                archive.writestr(f"garden/path/{number}.png", encoded(gradient(), "PNG"))


def _read_zips(folder: Path, file: str) -> None:
    from zerokin.app.archives import uploaded_images
    from zerokin.app.limits import Limits

    images, left_out = uploaded_images([(file, folder / file)], Limits())
    assert len(images) + len(left_out) < 100
    for index in range(len(images)):
        with suppress(ZerokinError):
            images.load(index)


def _make_native(folder: Path) -> None:
    from zerokin.data.native_features import Layout, joined_names

    rng = np.random.default_rng(0)
    for dtype in ("float16", "float32"):
        names = joined_names(["a/1.png", "b/2.png", "ü/3.png"])
        layout = Layout((3, 4), dtype, len(names), {"backbone": "conv4"})
        values = rng.normal(size=(3, 4)).astype(dtype).tobytes()
        content = layout.header + rng.bytes(3 * 32) + values + names
        (folder / f"{dtype}.safetensors").write_bytes(content)
        stamped = replace(layout, stamped=True)
        content = stamped.header + rng.bytes(3 * 48) + values + names
        (folder / f"{dtype}-stamped.safetensors").write_bytes(content)


def _read_native(folder: Path, file: str) -> None:
    from zerokin.data.native_features import NativeFeatures

    features = NativeFeatures(folder / file)
    assert len(features.names) == len(features) == len(features.image_sha256)
    assert np.asarray(features.open()[:]).shape == features.shape
    stamps = features.image_stamps
    assert stamps is None or stamps.shape == (len(features), 2)
    repr(features)


def _make_arrays(folder: Path) -> None:
    values = np.random.default_rng(0).normal(size=(3, 4))
    for dtype in ("float16", "float32", "int8"):
        np.save(folder / f"{dtype}.npy", values.astype(dtype))


def _read_arrays(folder: Path, file: str) -> None:
    from zerokin.data.array_features import ArrayFeatures

    features = ArrayFeatures(folder / file)
    assert np.asarray(features.open()[:]).shape == features.shape
    repr(features)


DATA_TARGETS = (
    Target("images", _make_images, _read_image, weight=6),
    Target("folder", _make_folder, _read_folder, files="classes.csv"),
    Target("word-vectors", _make_words, _read_words, weight=2),
    Target("corpora", _make_corpora, _read_corpora, needs="gensim"),
    Target("taxonomies", _make_taxonomies, _read_taxonomies, weight=2),
    Target("xlsa17", _make_xlsa17, _read_xlsa17, files="*/*.mat", weight=2),
    Target("tars", _make_tars, _read_tars, weight=2),
    Target("zips", _make_zips, _read_zips, weight=2),
    Target("features", _make_native, _read_native, weight=2),
    Target("arrays", _make_arrays, _read_arrays),
)
