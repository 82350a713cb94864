"""zerokin's own feature file: a safetensors file that says how its features came about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from zerokin.data.feature_files import FeatureFile, HalfPrecision
from zerokin.errors import InvalidInput
from zerokin.files import existing

FORMAT = "zerokin-features-1"
STAMPED = "zerokin-features-2"
"""The same with stamps of the images."""
SUFFIX = ".safetensors"
DTYPES = {"float16": "F16", "float32": "F32"}
DIGEST_BYTES = 32
STAMP_BYTES = 16
REMEDY = "extract the features again with zerokin extract"

Recipe = Mapping[str, Any]


@dataclass(frozen=True)
class Layout:
    """Where everything lies in a feature file.

    After the header come the SHA-256 of each image (N, 32), its stamp (N, 2), the features
    (N, d_f), and the names of the images, joined by newlines.

    Parameters
    ----------
    shape
        (N, d_f).
    dtype
        ``"float16"`` or ``"float32"``.
    names_bytes
        Length of the joined names.
    recipe
        How the features came about.
    stamped
        Whether there are stamps: earlier versions wrote none.
    """

    shape: tuple[int, int]
    dtype: str
    names_bytes: int
    recipe: Recipe
    stamped: bool = False

    @property
    def row_bytes(self) -> int:
        """Length of one image's features."""
        return self.shape[1] * np.dtype(self.dtype).itemsize

    @property
    def rows_start(self) -> int:
        """Where the features start, after the header."""
        return self.shape[0] * (DIGEST_BYTES + STAMP_BYTES * self.stamped)

    @property
    def header(self) -> bytes:
        """The file's beginning: its length, then JSON, padded so that all values are aligned."""
        n, d_f = self.shape
        digests_end, start = n * DIGEST_BYTES, self.rows_start
        features_end = start + n * self.row_bytes
        stamps = {"picture_stamps": _entry("I64", [n, 2], digests_end, start)}
        text = json.dumps(
            {
                "__metadata__": {
                    "format": STAMPED if self.stamped else FORMAT,
                    "recipe": json.dumps(self.recipe, ensure_ascii=False, sort_keys=True),
                },
                "picture_sha256": _entry("U8", [n, DIGEST_BYTES], 0, digests_end),
                **(stamps if self.stamped else {}),
                "features": _entry(DTYPES[self.dtype], [n, d_f], start, features_end),
                "names": _entry(
                    "U8", [self.names_bytes], features_end, features_end + self.names_bytes
                ),
            },
            ensure_ascii=False,
        ).encode()
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text


def _entry(dtype: str, shape: list[int], start: int, end: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def joined_names(names: Sequence[str]) -> bytes:
    """Return names joined by newlines, in UTF-8."""
    for name in names:
        if "\n" in name:
            raise InvalidInput(f"image {name!r} has a line break in its name: rename it")
    try:
        return "\n".join(names).encode()
    except UnicodeEncodeError as error:
        broken = next(name for name in names if not _encodable(name))
        raise InvalidInput(f"the name of image {broken!r} is no UTF-8: rename it") from error


def _encodable(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)


class NativeFeatures(FeatureFile):
    """A feature file that `zerokin.features.extraction.extract_features` wrote.

    Of a grid of regions, features are (N, R, d_f), row by row of the grid.

    Opening it reads the header alone; the matrix is mapped into memory when asked for.

    Attributes
    ----------
    recipe : mapping
        How the features came about: backbone, weights, view, images, versions.
    dtype : str
        ``"float16"`` or ``"float32"``.
    layout : Layout
    """

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        self._start, self.layout = read_layout(path)
        super().__init__(path, opened_shape(self.layout, path))
        self.recipe, self.dtype = self.layout.recipe, self.layout.dtype

    def __repr__(self) -> str:
        shape = " × ".join(f"{length:,}" for length in self.shape)
        return f"<NativeFeatures {self.path.name}: {shape} {self.dtype}>"

    @cached_property
    def _names(self) -> list[str]:
        start = self._features_start + len(self) * self.layout.row_bytes
        with self.path.open("rb") as file:
            file.seek(start)
            content = file.read(self.layout.names_bytes)
        try:
            names = content.decode().split("\n")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{self.path} is damaged in its names: {REMEDY}") from error
        if len(names) != len(self):
            raise InvalidInput(
                f"{self.path} is damaged: it names {len(names):,} of {len(self):,} images; {REMEDY}"
            )
        return names

    @property
    def names(self) -> Sequence[str]:
        return self._names

    @cached_property
    def image_sha256(self) -> NDArray[np.uint8]:
        """(N, 32) SHA-256 of each image."""
        return np.memmap(self.path, np.uint8, "r", self._start, (len(self), DIGEST_BYTES))

    @cached_property
    def image_stamps(self) -> NDArray[np.int64] | None:
        """(N, 2) size and time of each image's file; None in files of earlier versions."""
        if not self.layout.stamped:
            return None
        start = self._start + len(self) * DIGEST_BYTES
        return np.memmap(self.path, "<i8", "r", start, (len(self), 2))

    @cached_property
    def _matrix(self) -> NDArray[np.floating]:
        dtype = np.dtype(self.dtype).newbyteorder("<")
        kind = HalfPrecision if self.dtype == "float16" else np.memmap
        return kind(self.path, dtype, "r", self._features_start, self.shape)

    @property
    def _features_start(self) -> int:
        return self._start + self.layout.rows_start

    def open(self) -> NDArray[np.floating]:
        return self._matrix


def opened_shape(layout: Layout, path: Path) -> tuple[int, ...]:
    """Return the shape that features are opened in: (N, d_f), or (N, R, d_f) of regions."""
    n, width = layout.shape
    side = layout.recipe.get("regions", 0) if isinstance(layout.recipe, dict) else 0
    if not side:
        return n, width
    if not isinstance(side, int) or side < 1 or width % side**2:
        raise InvalidInput(f"{path} is damaged in its header: {REMEDY}")
    return n, side**2, width // side**2


def read_layout(path: Path) -> tuple[int, Layout]:
    """Return where the values of a feature file start, and its layout; refuse any other file."""
    existing(path, "feature file", "zerokin extract writes one")
    if not path.is_file():
        raise InvalidInput(f"{path} is a folder: give the feature file in it")
    try:
        # Checks the header, that the tensors fill the file, and that it is as long as they are.
        with safe_open(path, framework="np"):
            pass
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
    except (SafetensorError, ValueError) as error:
        reason = "truncated, damaged or no zerokin feature file"
        raise InvalidInput(f"{path} is {reason} ({error}): {REMEDY}") from error
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror or error}") from error
    return 8 + length, parse_header(header, path)


def parse_header(header: Mapping[str, Any], path: Path) -> Layout:
    """Return the layout that a header describes."""
    metadata = header.get("__metadata__", {})
    if not str(metadata.get("format", "")).startswith("zerokin-features-"):
        raise InvalidInput(f"{path} is a safetensors file, but no feature file: {REMEDY}")
    form = metadata["format"]
    if form not in (FORMAT, STAMPED):
        raise InvalidInput(f"{path} is a {form}, this version reads {STAMPED}: {REMEDY}")
    try:
        n, d_f = header["features"]["shape"]
        layout = Layout(
            shape=(n, d_f),
            dtype={code: name for name, code in DTYPES.items()}[header["features"]["dtype"]],
            names_bytes=header["names"]["shape"][0],
            recipe=json.loads(metadata["recipe"]),
            stamped=form == STAMPED,
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InvalidInput(f"{path} is damaged in its header: {REMEDY}") from error
    described = json.loads(layout.header[8:])
    if {key: value for key, value in header.items() if key != "__metadata__"} != {
        key: value for key, value in described.items() if key != "__metadata__"
    }:
        raise InvalidInput(f"{path} is laid out otherwise than {form}: {REMEDY}")
    return layout
