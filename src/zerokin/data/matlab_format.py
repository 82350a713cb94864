"""The level 5 MAT-file format, read so that no file can do harm.

A general reader trusts what a file says of itself and crashes on one that lies. Here are the
variables that data sets are made of: matrices of real numbers, texts, and cells and records of
these.

The format: https://www.mathworks.com/help/pdf_doc/matlab/matfile_format.pdf
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

HEADER_BYTES = 128
MATRIX, COMPRESSED = 14, 15
CELL, RECORD, CHARACTERS, NUMERIC = 1, 2, 4, range(6, 16)
NUMBERS = dict(
    zip(
        (1, 2, 3, 4, 5, 6, 7, 9, 12, 13),
        ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8", "i8", "u8"),
        strict=True,
    )
)
TEXTS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
COMPLEX = 0x0800
MOST_DIMENSIONS = 8
DEEPEST = 8
MOST_FIELDS = 1000
PIECE = 1 << 20
# Real features hardly shrink by packing; what shrinks more is made to fill the memory.
SUSPICIOUS_BYTES, SUSPICIOUS_RATIO = 1 << 28, 100


class Damaged(ValueError):
    """The file is not what the format says."""


class Unsupported(ValueError):
    """The variable is of a kind that is not read here."""


@dataclass(frozen=True)
class Head:
    """What a variable says of itself before its values."""

    name: str
    kind: int
    shape: tuple[int, ...]
    is_complex: bool


class Variable:
    """The bytes of one variable, stored as they are or packed, and never more of them."""

    def __init__(self, file: BinaryIO, order: str, stored: int, *, packed: bool) -> None:
        self.order, self.packed = order, packed
        self._file, self._stored = file, stored
        self._unpack = zlib.decompressobj() if packed else None
        self.left = 8 if packed else stored
        if packed:
            kind, self.left = self.numbers("II", 8)
            if kind != MATRIX:
                raise Damaged
            if self.left > max(SUSPICIOUS_BYTES, SUSPICIOUS_RATIO * stored):
                raise Damaged

    @property
    def position(self) -> int:
        """Where in the file the next bytes lie, for a variable that is not packed."""
        return self._file.tell()

    def read(self, count: int) -> bytes:
        """Return the next bytes, exactly as many."""
        if count > self.left:
            raise Damaged
        self.left -= count
        content = self._file.read(count) if self._unpack is None else self._unpacked(count)
        if len(content) < count:
            raise Damaged
        return content

    def _unpacked(self, count: int) -> bytes:
        assert self._unpack is not None
        pieces, missing = [], count
        while missing:
            packed = self._unpack.unconsumed_tail or self._file.read(min(PIECE, self._stored))
            self._stored -= 0 if self._unpack.unconsumed_tail else len(packed)
            piece = self._unpack.decompress(packed, missing)
            if not piece and not packed:
                raise Damaged
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def numbers(self, form: str, count: int) -> tuple[int, ...]:
        """Return the next bytes as numbers of a `struct` form."""
        return struct.unpack(self.order + form, self.read(count))

    def tag(self) -> tuple[int, int, bytes | None]:
        """Return type and size of the next element, and its content where that is in the tag."""
        raw = self.read(8)
        kind, size = struct.unpack(f"{self.order}II", raw)
        if kind >> 16 == 0:
            return kind, size, None
        kind, size = kind & 0xFFFF, kind >> 16
        if size > 4:
            raise Damaged
        return kind, size, raw[4 : 4 + size]

    def element(self) -> tuple[int, bytes]:
        """Return type and content of the next element."""
        kind, size, content = self.tag()
        if content is None:
            content = self.read(size)
            self.skip_padding(size)
        return kind, content

    def skip_padding(self, size: int) -> None:
        """Go on to where the next element starts, a multiple of eight bytes."""
        self.read(min(-size % 8, self.left))


def variables(file: BinaryIO, size: int) -> Iterator[Variable]:
    """Go through the variables of a file, each positioned at its head.

    Parameters
    ----------
    file
        Open at its beginning.
    size
        Its length.
    """
    header = file.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES or header[126:128] not in (b"IM", b"MI"):
        raise Damaged
    order = "<" if header[126:128] == b"IM" else ">"
    start = HEADER_BYTES
    while start < size:
        file.seek(start)
        tag = file.read(8)
        if len(tag) < 8:
            raise Damaged
        kind, stored = struct.unpack(f"{order}II", tag)
        start += 8 + stored
        if start > size or kind not in (MATRIX, COMPRESSED):
            raise Damaged
        yield Variable(file, order, stored, packed=kind == COMPRESSED)


def read_head(variable: Variable) -> Head:
    """Read what comes before the values."""
    _, flags = variable.element()
    _, sizes = variable.element()
    _, name = variable.element()
    if len(flags) != 8 or len(sizes) % 4 or not 2 <= len(sizes) // 4 <= MOST_DIMENSIONS:
        raise Damaged
    bits = struct.unpack(f"{variable.order}I", flags[:4])[0]
    shape = struct.unpack(f"{variable.order}{len(sizes) // 4}i", sizes)
    if min(shape) < 0:
        raise Damaged
    return Head(name.decode("latin-1"), bits & 0xFF, shape, bool(bits & COMPLEX))


def read_values(variable: Variable, head: Head, depth: int = 0) -> NDArray[Any]:
    """Read the values that follow a head; what numbers are stored as, they stay."""
    if head.is_complex or depth > DEEPEST:
        raise Unsupported
    if head.kind in NUMERIC:
        return _numbers(variable, head.shape)
    if head.kind == CHARACTERS:
        return _texts(variable, head.shape)
    if head.kind == CELL:
        return _cells(variable, head.shape, depth)
    if head.kind == RECORD:
        return _records(variable, head.shape, depth)
    raise Unsupported


def number_type(variable: Variable, shape: tuple[int, ...]) -> tuple[np.dtype[Any], bytes | None]:
    """Read the tag of a matrix of numbers: their type, and they themselves if they are in it."""
    kind, size, content = variable.tag()
    if kind not in NUMBERS:
        raise Damaged
    dtype = np.dtype(variable.order + NUMBERS[kind])
    if size != math.prod(shape) * dtype.itemsize or (content is None and size > variable.left):
        raise Damaged
    return dtype, content


def _numbers(variable: Variable, shape: tuple[int, ...]) -> NDArray[Any]:
    dtype, content = number_type(variable, shape)
    if content is not None:
        return np.frombuffer(content, dtype).reshape(shape, order="F").astype(_native(dtype))
    values = np.empty(math.prod(shape), dtype)
    into = values.view(np.uint8)
    for start in range(0, values.nbytes, PIECE):
        end = min(start + PIECE, values.nbytes)
        into[start:end] = np.frombuffer(variable.read(end - start), np.uint8)
    variable.skip_padding(values.nbytes)
    return values.astype(_native(dtype), copy=False).reshape(shape, order="F")


def _native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype.newbyteorder("=")


def _texts(variable: Variable, shape: tuple[int, ...]) -> NDArray[Any]:
    """Read a matrix of characters as its rows, each a string."""
    kind, content = variable.element()
    if kind not in TEXTS:
        raise Damaged
    suffix = ("-le" if variable.order == "<" else "-be") if kind in (4, 17, 18) else ""
    try:
        text = content.decode(TEXTS[kind] + suffix)
    except UnicodeDecodeError as error:
        raise Damaged from error
    rows = shape[0]
    if rows <= 1:
        return np.array([text] if text else [], dtype=np.str_)
    if rows > len(text):
        raise Damaged
    return np.array([text[row::rows] for row in range(rows)])


def _cells(variable: Variable, shape: tuple[int, ...], depth: int) -> NDArray[Any]:
    cells = np.empty(_count(variable, shape), dtype=object)
    for number in range(len(cells)):
        cells[number] = _matrix(variable, depth)
    return cells.reshape(shape, order="F")


def _records(variable: Variable, shape: tuple[int, ...], depth: int) -> NDArray[Any]:
    """Read an array of records, whose fields come as in a table."""
    _, width = variable.element()
    _, joined = variable.element()
    length = struct.unpack(f"{variable.order}i", width)[0] if len(width) == 4 else 0
    if length < 1 or len(joined) % length or len(joined) // length > MOST_FIELDS:
        raise Damaged
    starts = range(0, len(joined), length)
    names = [joined[at : at + length].split(b"\0")[0].decode("latin-1") for at in starts]
    if not names or not all(names) or len(set(names)) < len(names):
        raise Damaged
    records = np.empty(_count(variable, (*shape, len(names))) // len(names), dtype=object)
    for number in range(len(records)):
        records[number] = tuple(_matrix(variable, depth) for _ in names)
    table = np.array(records.tolist(), dtype=[(name, object) for name in names])
    return table.reshape(shape, order="F")


def _count(variable: Variable, shape: tuple[int, ...]) -> int:
    """Return how many matrices follow, if there can be so many: each has a tag of eight bytes."""
    count = math.prod(shape)
    if 8 * count > variable.left:
        raise Damaged
    return count


def _matrix(variable: Variable, depth: int) -> NDArray[Any]:
    kind, size, _ = variable.tag()
    if kind != MATRIX or size > variable.left:
        raise Damaged
    if not size:
        return np.empty((0, 0))
    return read_values(variable, read_head(variable), depth + 1)
