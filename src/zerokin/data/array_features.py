"""Features in a NumPy file: an array with a row for every sample, and nothing that names them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from tokenize import TokenError

import numpy as np
from numpy.typing import NDArray

from zerokin.data.feature_files import FeatureFile, HalfPrecision
from zerokin.errors import InvalidInput
from zerokin.files import existing

SUFFIX = ".npy"
# NumPy reads a header as Python's source, and lets through what that may raise.
HEADER_ERRORS = (ValueError, TypeError, SyntaxError, TokenError, ArithmeticError, MemoryError)


class ArrayFeatures(FeatureFile):
    """An (N, d_f) or (N, R, d_f) array that `numpy.save` wrote, mapped into memory.

    Parameters
    ----------
    path
        The file.
    names
        What its rows are called, in their order: the file cannot tell.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "clip.npy")
    ...     np.save(path, np.zeros((3, 512), np.float16))
    ...     ArrayFeatures(path)
    <ArrayFeatures clip.npy: 3 × 512 float16>
    """

    def __init__(self, path: str | Path, names: Sequence[str] | None = None) -> None:
        path = Path(path)
        mapped = mapped_array(path)
        if mapped.ndim not in (2, 3) or mapped.dtype.kind not in "fiu":
            raise InvalidInput(
                f"{path} holds {mapped.dtype} of shape {mapped.shape}: features are numbers of "
                "shape (samples, d_f), or (samples, regions, d_f)"
            )
        super().__init__(path, mapped.shape)
        self.dtype, self._names = mapped.dtype, names

    def __repr__(self) -> str:
        shape = " × ".join(f"{length:,}" for length in self.shape)
        return f"<ArrayFeatures {self.path.name}: {shape} {self.dtype}>"

    @property
    def names(self) -> Sequence[str] | None:
        return self._names

    @cached_property
    def _matrix(self) -> NDArray[np.floating]:
        mapped = mapped_array(self.path)
        return mapped.view(HalfPrecision) if mapped.dtype == np.float16 else mapped

    def open(self) -> NDArray[np.floating]:
        return self._matrix


def mapped_array(path: Path) -> np.memmap:
    """Return the array of a NumPy file, mapped into memory; refuse any other file in one line."""
    existing(path, "NumPy file", "numpy.save writes one")
    try:
        # Objects are refused, whose reading would run whatever their file says.
        return np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror or error}") from error
    except HEADER_ERRORS as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(
            f"{path} is truncated, damaged or no NumPy array ({reason}): save it again with "
            "numpy.save"
        ) from error
