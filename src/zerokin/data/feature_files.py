"""Feature matrices in files, mapped into memory where the file's format allows it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.data.matlab import cell_strings, map_matrix, read_mat
from zerokin.errors import InvalidInput


class FeatureFile(ABC):
    """An (N, d_f) feature matrix in a file, opened when first asked for."""

    def __init__(self, path: Path, shape: tuple[int, ...]) -> None:
        self.path = path
        self.shape = shape

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def names(self) -> Sequence[str] | None:
        """What each sample is called, such as its image's path, where the file knows it."""
        return None

    @abstractmethod
    def open(self) -> NDArray[np.floating]:
        """Return the (N, d_f) matrix, memory-mapped if that is possible."""


class HalfPrecision(np.memmap):
    """float16 in the file; rows that are taken of it are float32.

    Computing in float16 is slow on a CPU and rounds at every step: it is a form to store.
    """

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(super().__getitem__(key), dtype=np.float32)


class MatFeatures(FeatureFile):
    """The variable ``features`` (d_f × N) of a MATLAB file.

    An uncompressed one is mapped: stored column by column, it is the (N, d_f) matrix row by row.
    A compressed one is read whole when first asked for.
    """

    @cached_property
    def _matrix(self) -> NDArray[np.floating]:
        mapped = map_matrix(self.path, "features")
        stored = read_mat(self.path, ["features"])["features"] if mapped is None else mapped
        if stored.dtype.kind not in "fiu":
            raise InvalidInput(f"{self.path}: features are {stored.dtype}, not numbers")
        return stored.T

    @cached_property
    def _names(self) -> list[str] | None:
        stored = read_mat(self.path, [], optional=["image_files"]).get("image_files")
        return None if stored is None else cell_strings(stored)

    @property
    def names(self) -> Sequence[str] | None:
        return self._names

    def open(self) -> NDArray[np.floating]:
        return self._matrix
