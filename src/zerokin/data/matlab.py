"""MATLAB files: reading them safely, and mapping uncompressed matrices into memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.data.matlab_format import (
    NUMERIC,
    Damaged,
    Head,
    Unsupported,
    Variable,
    number_type,
    read_head,
    read_values,
    variables,
)
from zerokin.errors import InvalidInput, listing
from zerokin.files import existing, replacing

LARGEST_VARIABLE = 2**31 - 1


def read_mat(path: Path, wanted: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    """Read variables of a MATLAB file (version 5 to 7), naming what is missing."""
    content = {}
    with _heads(path) as heads:
        for variable, head in heads:
            if head.name in wanted or head.name in optional:
                try:
                    content[head.name] = read_values(variable, head)
                except Unsupported:
                    raise InvalidInput(
                        f"{path}: {head.name!r} holds neither real numbers nor texts: get it again"
                    ) from None
    absent = [name for name in wanted if name not in content]
    if absent:
        raise InvalidInput(f"{path} lacks the variable {listing(absent)}")
    return content


def variable_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return name and shape of every variable, without reading their values."""
    with _heads(path) as heads:
        return {head.name: head.shape for _, head in heads}


def map_matrix(path: Path, name: str) -> NDArray[Any] | None:
    """Map a real matrix of an uncompressed MATLAB file into memory, or return None.

    None means that the variable must be read: it is compressed, or not there.
    """
    with _heads(path) as heads:
        for variable, head in heads:
            if head.name != name or variable.packed:
                continue
            if head.kind in NUMERIC and not head.is_complex:
                dtype, within = number_type(variable, head.shape)
                if within is None and 0 not in head.shape:
                    start = variable.position
                    return np.memmap(path, dtype, "r", start, head.shape, order="F")
    return None


@contextmanager
def _heads(path: Path) -> Iterator[Iterator[tuple[Variable, Head]]]:
    """Open a file to go through its variables; whatever is wrong with it is said in one line."""
    existing(path, "MATLAB file", "check the folder")
    try:
        with path.open("rb") as file:
            if file.read(10) == b"MATLAB 7.3":
                raise InvalidInput(f"{path} is a version 7.3 file: save it again with -v7")
            file.seek(0)
            found = variables(file, path.stat().st_size)
            yield ((variable, read_head(variable)) for variable in found)
    except (Damaged, zlib.error) as error:
        raise _damaged(path) from error
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror or error}") from error


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
