"""MATLAB files: what SciPy writes is read as SciPy reads it, and no lie in a file does harm."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from zerokin.data.matlab import cell_strings, map_matrix, read_mat, variable_shapes
from zerokin.errors import InvalidInput


def element(kind, content, order="<"):
    return struct.pack(f"{order}II", kind, len(content)) + content + bytes(-len(content) % 8)


def matrix(name, values, *, order="<", kind=6, stored=9, shape=None, size=None):
    """A matrix as the format describes it; ``shape`` and ``size`` may claim anything."""
    dims = values.shape if shape is None else shape
    data = values.astype(f"{order}f8").tobytes(order="F")
    tag = struct.pack(f"{order}II", stored, len(data) if size is None else size)
    content = (
        element(6, struct.pack(f"{order}II", kind, 0), order)
        + element(5, struct.pack(f"{order}{len(dims)}i", *dims), order)
        + element(1, name, order)
        + tag
        + data
    )
    return element(14, content, order)


def write(path, *elements, order="<"):
    mark = b"\0\1IM" if order == "<" else b"\1\0MI"
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + mark + b"".join(elements))
    return path


@pytest.mark.parametrize("compress", [False, True])
def test_what_scipy_writes_is_read_as_scipy_reads_it(tmp_path, compress):
    rng = np.random.default_rng(0)
    names = np.empty((3, 1), dtype=object)
    names[:, 0] = ["okapi", "größe", ""]
    given = {
        "real": rng.normal(size=(5, 7)),
        "single": rng.normal(size=(2, 3, 4)).astype(np.float32),
        "whole": np.arange(6, dtype=np.int64)[:, None] - 3,
        "bytes": np.arange(3, dtype=np.uint8)[None],
        "none": np.empty((0, 4)),
        "text": "a text",
        "rows": np.array(["one", "two"]),
        "cells": names,
        "records": {"id": 7.0, "wnid": "n01"},
    }
    path = tmp_path / "x.mat"
    savemat(path, given, do_compression=compress)
    theirs, ours = loadmat(path), read_mat(path, list(given))
    for name in ("real", "single", "whole", "bytes", "none", "text", "rows"):
        np.testing.assert_array_equal(ours[name], theirs[name])
        assert ours[name].dtype == theirs[name].dtype
    assert cell_strings(ours["cells"]) == ["okapi", "größe", ""]
    assert cell_strings(ours["records"]["wnid"]) == ["n01"]
    assert ours["records"]["id"][0, 0] == 7
    assert variable_shapes(path)["single"] == (2, 3, 4)


def test_the_other_byte_order(tmp_path):
    values = np.arange(6.0).reshape(2, 3)
    path = write(tmp_path / "x.mat", matrix(b"x", values, order=">"), order=">")
    np.testing.assert_array_equal(read_mat(path, ["x"])["x"], values)
    np.testing.assert_array_equal(map_matrix(path, "x"), values)
    np.testing.assert_array_equal(loadmat(path)["x"], values)


HONEST = np.ones((2, 3))


@pytest.mark.parametrize(
    "lie",
    [
        {"shape": (2**31 - 1, 2**31 - 1)},
        {"shape": (-2, -3)},
        {"shape": (2, 4)},
        {"shape": (6,)},
        {"shape": (1,) * 40},
        {"size": 2**32 - 1},
        {"stored": 14},
        {"stored": 99},
        {"kind": 1},
        {"kind": 2},
        {"kind": 3},
        {"kind": 5},
        {"kind": 17},
        {"kind": 0},
    ],
    ids=str,
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_lies_is_refused(tmp_path, lie, packed):
    """SciPy ends the whole process on some of these."""
    content = matrix(b"x", HONEST, **lie)
    if packed:
        stored = zlib.compress(content)
        content = struct.pack("<II", 15, len(stored)) + stored
    path = write(tmp_path / "x.mat", content)
    with pytest.raises(InvalidInput, match=r"x\.mat"):
        read_mat(path, ["x"])
    if not packed and "kind" not in lie:
        with pytest.raises(InvalidInput, match=r"x\.mat"):
            map_matrix(path, "x")


def test_a_packed_bomb_is_refused_before_it_takes_memory(tmp_path):
    rows = 1 << 28  # 2 GiB of zeros
    head = matrix(b"x", np.empty((0, 0)), shape=(rows, 1), size=8 * rows)
    head = struct.pack("<II", 14, len(head) - 8 + 8 * rows) + head[8:]
    stored = zlib.compress(head + bytes(1 << 20))
    path = write(tmp_path / "x.mat", struct.pack("<II", 15, len(stored)) + stored)
    assert path.stat().st_size < 10_000
    with pytest.raises(InvalidInput, match="get it again"):
        read_mat(path, ["x"])


def test_a_cell_of_cells_without_end_is_refused(tmp_path):
    inner = matrix(b"", HONEST)
    for _ in range(200):
        head = element(6, struct.pack("<II", 1, 0)) + element(5, struct.pack("<2i", 1, 1))
        inner = element(14, head + element(1, b"x") + inner)
    with pytest.raises(InvalidInput, match="neither"):
        read_mat(write(tmp_path / "x.mat", inner), ["x"])
