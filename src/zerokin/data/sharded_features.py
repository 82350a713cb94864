"""Features in several files that are read as one matrix, and the writing of such shards."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from copy import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.data.array_features import SUFFIX as ARRAY
from zerokin.data.array_features import ArrayFeatures
from zerokin.data.feature_files import FeatureFile
from zerokin.data.native_features import SUFFIX, NativeFeatures
from zerokin.errors import InvalidInput, listing
from zerokin.files import existing, replacing_folder
from zerokin.matrices import finite_matrix

NUMBERED = re.compile(r"(?P<stem>.*)-(?P<number>\d{5,})-of-(?P<count>\d{5,})")
ROWS = 50_000


class ShardedFeatures:
    """Feature files that together are one (N, d_f) matrix, mapped into memory.

    Rows are taken by slices and by indices and come as an array; `numpy.asarray` reads all of
    them. `ProjectionLearner` with a ``memory_budget`` reads blocks of rows alone.

    Parameters
    ----------
    files
        A folder of ``.safetensors`` files that ``zerokin extract`` wrote, or of ``.npy`` files, in
        the order of their names; or such files in the order given. Names such as
        ``features-00000-of-00004.npy`` say how many there must be.

    Attributes
    ----------
    shape : (N, d_f)
    dtype : the number type of rows that are taken
    shards : the mapped matrix of every file
    paths : the files

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_shards(Path(folder, "features"), [np.zeros((5, 4)), np.ones((2, 4))], rows=3)
    ...     features = ShardedFeatures(Path(folder, "features"))
    ...     features, features[4:6]
    (<ShardedFeatures features: 3 files, 7 × 4 float32>, array([[0., 0., 0., 0.],
           [1., 1., 1., 1.]], dtype=float32))
    """

    def __init__(self, files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> None:
        self.paths = _files(files)
        opened = [_opened(path) for path in self.paths]
        width = opened[0].shape[1]
        for path, shard in zip(self.paths, opened, strict=True):
            if shard.shape[1] != width:
                raise InvalidInput(
                    f"{path} has {shard.shape[1]:,} columns, but {self.paths[0]} has {width:,}: "
                    "shards of one matrix have the same features"
                )
        self.shards: list[NDArray[Any]] = [shard.open() for shard in opened]
        self._ends = np.cumsum([len(shard) for shard in opened])
        self._named = opened
        self.shape = (int(self._ends[-1]), int(width))
        self.dtype = np.result_type(*(np.dtype(shard[:0].dtype) for shard in self.shards))
        self._named_rows = slice(None)
        self._name = Path(files).name if isinstance(files, str | os.PathLike) else "list"

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        n, d_f = self.shape
        number = f"{len(self.shards)} file{'s' if len(self.shards) > 1 else ''}"
        return f"<ShardedFeatures {self._name}: {number}, {n:,} × {d_f:,} {self.dtype}>"

    def __getitem__(self, rows: slice | NDArray[Any] | int) -> NDArray[Any]:
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                return self._range(start, max(start, stop))
            rows = np.arange(start, stop, step)
        if np.ndim(rows) == 0:
            place = range(len(self))[int(rows)]
            single: NDArray[Any] = self._range(place, place + 1)[0]
            return single
        index = np.asarray(rows)
        if index.dtype == np.bool_:
            index = np.flatnonzero(index)
        index = np.where(index < 0, index + len(self), index)
        if index.size and not 0 <= index.min() <= index.max() < len(self):
            raise IndexError(f"rows are 0 to {len(self) - 1}")
        taken = np.empty((len(index), self.shape[1]), self.dtype)
        shard_of = np.searchsorted(self._ends, index, side="right")
        for number in np.unique(shard_of):
            here = shard_of == number
            taken[here] = self.shards[number][index[here] - self._start(number)]
        return taken

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        del copy  # there is no array that could be shared
        return self[:].astype(dtype or self.dtype, copy=False)

    @property
    def names(self) -> list[str] | None:
        """What each sample is called, where every file knows it."""
        found: list[str] = []
        for shard in self._named:
            if shard.names is None:
                return None
            found += shard.names
        return found[self._named_rows]

    def rows(self, rows: slice) -> ShardedFeatures:
        """Return some consecutive rows as features of their own; nothing is read.

        Of several processes each takes a part of one matrix: ``features.rows(processes.share(n))``.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = write_shards(Path(folder, "features"), [np.zeros((5, 4))], rows=3)
        ...     ShardedFeatures(Path(folder, "features")).rows(slice(2, 5))
        <ShardedFeatures features: 2 files, 3 × 4 float32>
        """
        start, stop, step = rows.indices(len(self))
        if step != 1 or stop <= start:
            raise InvalidInput(f"rows must be consecutive ones, and at least one: got {rows}")
        part = copy(self)
        part.shards, ends = [], []
        for number, shard in enumerate(self.shards):
            first = self._start(number)
            low, high = max(start, first), min(stop, first + len(shard))
            if low < high:
                # Half precision would be widened, and read, by an index of its own.
                view = np.ndarray.__getitem__(shard, slice(low - first, high - first))
                part.shards.append(view)
                ends.append(high - start)
        part._ends, part.shape = np.array(ends), (stop - start, self.shape[1])
        known = range(*self._named_rows.indices(1 << 62))[start:stop]
        part._named_rows = slice(known.start, known.stop)
        return part

    def _start(self, number: int) -> int:
        return int(self._ends[number - 1]) if number else 0

    def _range(self, start: int, stop: int) -> NDArray[Any]:
        taken = np.empty((stop - start, self.shape[1]), self.dtype)
        for number, shard in enumerate(self.shards):
            first = self._start(number)
            low, high = max(start, first), min(stop, first + len(shard))
            if low < high:
                taken[low - start : high - start] = shard[low - first : high - first]
        return taken


def write_shards(
    folder: str | os.PathLike[str],
    blocks: Iterable[NDArray[Any]],
    *,
    rows: int = ROWS,
    dtype: str = "float32",
) -> int:
    """Write blocks of rows as shards of equal length into a folder, whole or not at all.

    Parameters
    ----------
    folder
        Where to: ``features-00000-of-00004.npy`` and so on. What was there is replaced if all of
        it is shards.
    blocks
        Matrices (n, d_f), of whatever numbers of rows; the shards do not follow them.
    rows
        Of each shard but the last.
    dtype
        Of the numbers: ``"float16"``, ``"float32"`` or ``"float64"``.

    Returns
    -------
    int
        How many rows were written.
    """
    folder = Path(folder)
    if folder.exists() and not (folder.is_dir() and all(map(_is_shard, folder.iterdir()))):
        raise InvalidInput(f"{folder} holds something else than shards: choose another folder")
    if rows < 1:
        raise InvalidInput(f"rows must be a whole number from 1: got {rows}")
    with replacing_folder(folder) as temporary:
        parts: list[Path] = []
        total, width = 0, None
        held: list[NDArray[Any]] = []
        for block in blocks:
            part = finite_matrix(block, "features").astype(dtype)
            width = width or part.shape[1]
            if part.shape[1] != width:
                raise InvalidInput(
                    f"row {total:,} has {part.shape[1]} features, but those before {width}"
                )
            total += len(part)
            held.append(part)
            while sum(map(len, held)) >= rows:
                together = np.concatenate(held)
                held = [together[rows:]] if len(together) > rows else []
                parts.append(_write(temporary, len(parts), together[:rows]))
        if held:
            parts.append(_write(temporary, len(parts), np.concatenate(held)))
        if not parts:
            raise InvalidInput("there are no features to write: give at least one row")
        for number, part_path in enumerate(parts):
            part_path.rename(temporary / f"features-{number:05}-of-{len(parts):05}{ARRAY}")
    return total


def _write(folder: Path, number: int, rows: NDArray[Any]) -> Path:
    path = folder / f"{number:05}{ARRAY}"
    rows = np.ascontiguousarray(rows)
    with path.open("wb") as file:
        # numpy.save writes behind Python's back, and misses that the last bytes found no space.
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(rows))
        file.write(rows.data)
        file.flush()
        os.fsync(file.fileno())
    return path


def _is_shard(path: Path) -> bool:
    return path.suffix in (ARRAY, SUFFIX) and NUMBERED.fullmatch(path.stem) is not None


def _files(given: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Return the files of a folder in the order of their names, or those given, all there."""
    if isinstance(given, str | os.PathLike):
        folder = existing(given, "folder of feature files", "zerokin extract writes such files")
        if not folder.is_dir():
            return _complete([folder])
        found = sorted(path for path in folder.iterdir() if path.suffix in (SUFFIX, ARRAY))
        if not found:
            raise InvalidInput(f"{folder} holds no feature files ({SUFFIX} or {ARRAY})")
        return _complete(found)
    paths = [Path(path) for path in given]
    if not paths:
        raise InvalidInput("a list of feature files needs at least one file")
    for path in paths:
        existing(path, "feature file", "give files that are there")
    return paths


def _complete(paths: list[Path]) -> list[Path]:
    """Return shards in the order of their numbers, refusing sets with one missing."""
    found = [NUMBERED.fullmatch(path.stem) for path in paths]
    numbered = [match for match in found if match]
    if not numbered:
        return paths
    sets = {(m["stem"], int(m["count"])) for m in numbered}
    if len(sets) > 1 or len(numbered) < len(paths):
        raise InvalidInput(
            f"{paths[0].parent} holds files of several sets of shards: give those of one as a list"
        )
    count = int(numbered[0]["count"])
    numbers = [int(match["number"]) for match in numbered]
    absent = sorted(set(range(min(count, 10**6))) - set(numbers))
    if absent or any(one == other for one, other in pairwise(sorted(numbers))):
        example = re.sub(r"\d+-of-", f"{(absent or [0])[0]:05}-of-", paths[0].name)
        raise InvalidInput(
            f"{paths[0].parent} lacks {listing(absent)} of {count} shards (such as {example}): "
            "copy or write it again"
        )
    return [path for _, path in sorted(zip(numbers, paths, strict=True))]


def _opened(path: Path) -> FeatureFile:
    return ArrayFeatures(path) if path.suffix == ARRAY else NativeFeatures(path)
