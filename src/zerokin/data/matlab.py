"""MATLAB files: reading them safely, and mapping uncompressed matrices into memory."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput, listing
from zerokin.files import existing, replacing

# Level 5 MAT-file format: https://www.mathworks.com/help/pdf_doc/matlab/matfile_format.pdf
HEADER_BYTES = 128
MATRIX = 14
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8"}
LARGEST_VARIABLE = 2**31 - 1


def read_mat(path: Path, variables: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    """Read variables of a MATLAB file (version 5 to 7), naming what is missing."""
    from scipy.io import loadmat

    existing(path, "MATLAB file", "check the folder")
    _refuse_cut(path)
    try:
        content = loadmat(path, variable_names=[*variables, *optional])
    except NotImplementedError as error:
        raise InvalidInput(f"{path} is a version 7.3 file: save it again with -v7") from error
    # A damaged file makes the reader fail in many ways (zlib.error, struct.error, TypeError, …).
    except Exception as error:
        raise _damaged(path) from error
    absent = [name for name in variables if name not in content]
    if absent:
        raise InvalidInput(f"{path} lacks the variable {listing(absent)}")
    return {name: value for name, value in content.items() if not name.startswith("__")}


def variable_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return name and shape of every variable, without reading their values."""
    from scipy.io import whosmat

    existing(path, "MATLAB file", "check the folder")
    _refuse_cut(path)
    try:
        return {name: shape for name, shape, _ in whosmat(path)}
    except NotImplementedError as error:
        raise InvalidInput(f"{path} is a version 7.3 file: save it again with -v7") from error
    except Exception as error:
        raise _damaged(path) from error


def map_matrix(path: Path, variable: str) -> NDArray[Any] | None:
    """Map a real matrix of an uncompressed MATLAB file into memory, or return None.

    None means that the variable must be read: it is compressed, or stored in a narrower type.
    """
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
        if len(header) < HEADER_BYTES or header[126:128] not in (b"IM", b"MI"):
            return None
        order = "<" if header[126:128] == b"IM" else ">"
        while tag := file.read(8):
            if len(tag) < 8:
                return None
            kind, size = struct.unpack(f"{order}II", tag)
            start = file.tell()
            if kind == MATRIX:
                located = _locate(file, order)
                if located is not None and located[0] == variable:
                    _, dtype, shape, offset = located
                    if offset + int(np.prod(shape)) * dtype.itemsize > path.stat().st_size:
                        raise _damaged(path)
                    return np.memmap(path, dtype, "r", offset, shape, order="F")
            file.seek(start + size)
    return None


def _refuse_cut(path: Path) -> None:
    """Refuse a file whose last element goes on beyond its end; SciPy would just not see it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
        if header[126:128] not in (b"IM", b"MI") or header.startswith(b"MATLAB 7.3"):
            return
        order = "<" if header[126:128] == b"IM" else ">"
        while tag := file.read(8):
            length = struct.unpack(f"{order}I", tag[4:])[0] if len(tag) == 8 else size
            if file.tell() + length > size:
                raise _damaged(path)
            file.seek(length, 1)


def _locate(file: BinaryIO, order: str) -> tuple[str, np.dtype[Any], tuple[int, ...], int] | None:
    """Read the head of a matrix: its name, type, shape and the offset of its values."""
    try:
        flags = _element(file, order)
        shape = struct.unpack(f"{order}{len(dims := _element(file, order)) // 4}i", dims)
        name = _element(file, order).decode("ascii")
        kind, size = struct.unpack(f"{order}II", file.read(8))
        stored_as = np.dtype(order + NUMBERS[kind])
    except (struct.error, KeyError, UnicodeDecodeError):
        return None
    is_complex = bool(flags[1 if order == "<" else 2] & 0x08)
    if is_complex or size != int(np.prod(shape)) * stored_as.itemsize:
        return None
    return name, stored_as, shape, file.tell()


def _element(file: BinaryIO, order: str) -> bytes:
    """Read one data element, in the long or the short (at most four bytes) form."""
    tag = file.read(8)
    kind, size = struct.unpack(f"{order}II", tag)
    if kind >> 16:
        return tag[4 : 4 + (kind >> 16)]
    content = file.read(size)
    file.seek(-size % 8, 1)
    return content


def write_mat(path: Path, variables: Mapping[str, object]) -> None:
    """Write a MATLAB file, uncompressed so that its matrices can be mapped into memory."""
    from scipy.io import savemat

    for name, value in variables.items():
        if isinstance(value, np.ndarray) and value.nbytes > LARGEST_VARIABLE:
            raise InvalidInput(
                f"{name} takes {value.nbytes:,} bytes, over this format's limit of 2 GiB: "
                "store them as float32, or in parts"
            )
    with replacing(path) as temporary:
        savemat(temporary, dict(variables), do_compression=False)


def cell_strings(cells: NDArray[Any]) -> list[str]:
    """Return the strings of a MATLAB cell array of strings."""
    return [str(np.asarray(cell).ravel()[0]) if np.size(cell) else "" for cell in cells.ravel()]


def string_cells(strings: Sequence[str]) -> NDArray[np.object_]:
    """Return a MATLAB cell column of strings."""
    cells = np.empty((len(strings), 1), dtype=object)
    cells[:, 0] = strings
    return cells


def _damaged(path: Path) -> InvalidInput:
    return InvalidInput(
        f"{path} cannot be read as a MATLAB file: it is truncated or damaged; get it again"
    )
