"""Matrices as a user gives them: real, finite, and small enough to be squared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput, shown

BLOCK = 4096


def plain_array(values: object, name: str) -> NDArray[Any]:
    """Return an argument as an array of whatever type, refusing lists of unequal length."""
    try:
        array: NDArray[Any] = np.asarray(values)
    except ValueError as error:
        raise InvalidInput(
            f"{name} must be a list or an array, its rows of one length: got {shown(values)}"
        ) from error
    return array


def real_array(values: object, name: str, what: str = "a matrix of numbers") -> NDArray[Any]:
    """Return an argument as an array of real numbers, of whatever shape and precision.

    Texts, complex numbers, dates and objects are refused, texts of digits among them: a column
    of texts is a mistake more often than numbers.

    Parameters
    ----------
    values
        The argument.
    name
        What it is called.
    what
        What it must be, for the message.
    """
    try:
        array: NDArray[Any] = np.asarray(values)
        if array.dtype.kind == "O":
            array = np.asarray(array.tolist())  # numbers may come as objects, as from a DataFrame
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} must be {what}, its rows of one length") from error
    if array.dtype.kind not in "fiub":
        kind = shown(values) if array.ndim == 0 else f"{array.dtype} of shape {array.shape}"
        raise InvalidInput(f"{name} must be {what}: got {kind}")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    return array


def real_matrix(values: object, name: str) -> NDArray[Any]:
    """Return an argument as a matrix of floats with at least one row and one column.

    float32 and float64 stay, half precision becomes float32, and whole numbers float64.
    """
    matrix = real_array(values, name)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidInput(
            f"{name} must be a matrix with at least one row and column: got shape {matrix.shape}"
        )
    if matrix.dtype.kind != "f":
        return matrix.astype(np.float64)
    return matrix.astype(np.float32) if matrix.dtype.itemsize < 4 else matrix


def finite_matrix(values: object, name: str) -> NDArray[Any]:
    """Check that an argument is a matrix of finite numbers, and return it as floats.

    Examples
    --------
    >>> finite_matrix([[1, 2]], "F")
    array([[1., 2.]])
    >>> finite_matrix([[1, float("nan")]], "F")
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: F holds nan in row 0, column 1: drop or fill such values first
    """
    matrix = real_matrix(values, name)
    for rows in _blocks(len(matrix)):
        finite = np.isfinite(matrix[rows])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            row += rows.start
            raise InvalidInput(
                f"{name} holds {matrix[row, column]} in row {row}, column {column}: "
                "drop or fill such values first"
            )
    return refuse_too_large(matrix, name)


def refuse_too_large(matrix: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a finite matrix, refusing numbers whose squares could not be summed.

    Examples
    --------
    >>> refuse_too_large(np.array([[1.0], [1e300]]), "X")
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: X: row 1 holds 1e+300, and squares of numbers above 1e+150 ...
    """
    if matrix.dtype.kind != "f" or not matrix.size:
        return matrix
    # A hundred million such squares add up to no more than the largest float.
    most = float(np.sqrt(np.finfo(matrix.dtype).max)) * 1e-4
    if max(float(matrix.max()), -float(matrix.min())) <= most:
        return matrix
    sizes = np.abs(matrix)
    row = int((sizes > most).any(axis=1).argmax())
    raise InvalidInput(
        f"{name}: row {row} holds {matrix[row, sizes[row].argmax()]:g}, and squares of numbers "
        f"above {most:.0e} do not fit into {matrix.dtype}: scale {name} down"
    )


def _blocks(rows: int) -> Iterator[slice]:
    for start in range(0, rows, BLOCK):
        yield slice(start, start + BLOCK)
