"""Files of word vectors, read as a stream: word2vec text and binary, GloVe and fastText .vec.

All of them hold a word and then its numbers. word2vec (binary or text) and fastText files open with
a line of two integers, the number of words and the dimension; GloVe files do not. Which one a file
is shows in its first bytes, never in its name; each may be packed by gzip.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.files import existing

_MIB = 1 << 20
#: A longer line or word means that the file is no table of words.
_LONGEST = 16 * _MIB
#: Vectors have hundreds of numbers, thousands at most.
_WIDEST = 1_000_000
#: Smaller files are read before a progress bar could be looked at.
_WORTH_A_BAR = 64 * _MIB
_KINDS = "word2vec, GloVe or fastText .vec vectors"
_GZIP = b"\x1f\x8b"
#: First bytes of files that people mistake for word vectors, and what to do with each.
_OTHERS = {
    b"\xba\x16\x4f\x2f": "a fastText model with subwords: use the .vec file that comes with it",
    b"PK\x03\x04": "a zip archive: unpack it and give the file inside",
    b"\x80": "a Python pickle, which is never read: save the vectors with save_word2vec_format",
    b"\x93NUMPY": "a NumPy array without words: give a file with a word before every vector",
}
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r"))


class Entry(NamedTuple):
    """A word, its numbers still as stored, and where: which line of text or which word."""

    word: bytes
    stored: bytes
    place: int


@dataclass(frozen=True)
class VectorFile:
    r"""A file of word vectors that has been recognized but not read.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "tiny.txt"
    >>> _ = path.write_text("zebra 1 2\nwhale 3 4\n", encoding="utf-8")
    >>> file = VectorFile.recognize(path)
    >>> [(entry.word, file.vector(entry).tolist()) for entry in file.entries()]
    [(b'zebra', [1.0, 2.0]), (b'whale', [3.0, 4.0])]
    """

    path: Path
    binary: bool
    dimension: int
    promised: int | None
    """How many words the header announces; `None` without a header."""

    @classmethod
    def recognize(cls, path: str | os.PathLike[str]) -> VectorFile:
        """Look at the first bytes of a file and tell which kind it is."""
        path = existing(
            path, "file of word vectors", "give word2vec, GloVe or fastText .vec vectors"
        )
        if path.is_dir():
            raise InvalidInput(f"{path} is a folder: give the file of word vectors inside")
        with closing(_blocks(path, quiet=True)) as blocks:
            head = next(blocks, b"")
        if not head.strip():
            raise InvalidInput(f"{path} is empty: no word vectors in it")
        for magic, remedy in _OTHERS.items():
            if head.startswith(magic):
                raise InvalidInput(f"{path} is {remedy}")
        first, _, rest = head.partition(b"\n")
        fields = first.split()
        if len(fields) == 2 and all(field.isdigit() for field in fields):
            # Of what has more digits, the first twenty are already too many words.
            promised, dimension = (int(field[:20]) for field in fields)
            if dimension == 0 or promised == 0 or dimension > _WIDEST:
                raise InvalidInput(
                    f"{path}, line 1: announces {promised} words of dimension {dimension}; "
                    f"give {_KINDS}"
                )
            return cls(path, _is_binary(rest, dimension), dimension, promised)
        if len(fields) < 2 or not all(map(_is_number, fields[1:])):
            start = first[:40].decode(errors="replace")
            raise InvalidInput(
                f"{path}, line 1: {start!r} is no header and no word with its numbers; "
                f"give {_KINDS}"
            )
        return cls(path, False, len(fields) - 1, None)

    def entries(self) -> Iterator[Entry]:
        """Go through all words once, a block of the file in memory at a time."""
        with closing(_blocks(self.path)) as blocks:
            yield from self._records(blocks) if self.binary else self._rows(blocks)

    def vector(self, entry: Entry) -> NDArray[np.float64]:
        """Read the numbers of an entry, ``(d_z,)``."""
        if self.binary:
            vector = np.frombuffer(entry.stored, dtype="<f4").astype(np.float64)
        else:
            fields = entry.stored.split()
            wrong = next((field for field in fields if not _is_number(field)), None)
            if wrong is not None:
                raise self._wrong(entry, f"{wrong.decode(errors='replace')!r} is not a number")
            vector = np.array([float(field) for field in fields])
        if not np.isfinite(vector).all():
            raise self._wrong(entry, "holds NaN or infinity")
        return vector

    def _wrong(self, entry: Entry, fault: str) -> InvalidInput:
        unit = "word" if self.binary else "line"
        word = entry.word.decode(errors="replace")
        return InvalidInput(f"{self.path}, {unit} {entry.place:,} ({word!r}): {fault}")

    def _rows(self, blocks: Iterator[bytes]) -> Iterator[Entry]:
        lines = enumerate(_lines(blocks, self.path), start=1)
        words = 0
        if self.promised is not None:
            next(lines)
        for place, line in lines:
            # Only ASCII blanks separate: a no-break space, say, is part of a word.
            row = line.rstrip().replace(b"\t", b" ")
            if not row:
                continue
            words += 1
            if row.count(b" ") == self.dimension:
                word, _, stored = row.partition(b" ")
            else:
                word, stored = self._uncommon(row, place)
            yield Entry(word, stored, place)
        if self.promised is not None and words < self.promised:
            raise InvalidInput(
                f"{self.path} ends after {words:,} of {self.promised:,} words: it is cut short"
            )

    def _uncommon(self, row: bytes, place: int) -> tuple[bytes, bytes]:
        """Split a row with doubled blanks, or with blanks in its word (GloVe has such words)."""
        fields = row.split()
        words = len(fields) - self.dimension
        if words < 1 or any(map(_is_number, fields[1:words])):
            raise InvalidInput(
                f"{self.path}, line {place:,}: {len(fields) - 1:,} numbers where the file "
                f"has {self.dimension:,} to a word"
            )
        return b" ".join(fields[:words]), b" ".join(fields[words:])

    def _records(self, blocks: Iterator[bytes]) -> Iterator[Entry]:
        assert self.promised is not None
        size = 4 * self.dimension
        data = next(blocks, b"").partition(b"\n")[2]
        start = 0
        for place in range(1, self.promised + 1):
            while (blank := data.find(b" ", start)) < 0 or len(data) < blank + 1 + size:
                more = next(blocks, b"")
                if not more or (blank < 0 and len(data) - start > _LONGEST):
                    raise InvalidInput(
                        f"{self.path} breaks off in word {place:,} of {self.promised:,}: cut short"
                    )
                data, start = data[start:] + more, 0
            # The word2vec program ends every vector with a line feed, others do not.
            yield Entry(data[start:blank].lstrip(b"\n"), data[blank + 1 : blank + 1 + size], place)
            start = blank + 1 + size
        if (data[start:] + next(blocks, b"")).strip():
            raise InvalidInput(
                f"{self.path} goes on after the {self.promised:,} words of dimension "
                f"{self.dimension:,} that its first line announces: it is damaged"
            )


def _is_binary(rest: bytes, dimension: int) -> bool:
    """Tell whether binary numbers follow a header, from the first bytes after it."""
    fields = rest.partition(b"\n")[0].split()
    if len(fields) == dimension + 1 and all(map(_is_number, fields[1:])):
        return False
    # A damaged line of text has no control characters; of the bytes of floats one in nine is one.
    sample = rest[: 1 << 16]
    return len(sample.translate(None, _CONTROL)) < len(sample)


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def _blocks(path: Path, *, quiet: bool = False) -> Generator[bytes, None, None]:
    """Read a file, unpacked where gzip packed it, in blocks of a MiB."""
    from zerokin.progress import track

    size = path.stat().st_size
    with path.open("rb") as raw:
        packed = raw.read(2) == _GZIP
        raw.seek(0)
        file = gzip.GzipFile(fileobj=raw) if packed else raw
        marks = range(_MIB, size + _MIB, _MIB)
        stage = f"reading {path.name}, MiB"
        passed = track(marks, stage, total=len(marks), quiet=quiet or size < _WORTH_A_BAR)
        mark = next(passed, 0)
        while True:
            try:
                block = file.read(_MIB)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise InvalidInput(f"{path} is a damaged gzip file: {error}") from error
            if not block:
                break
            while mark and raw.tell() >= mark:
                mark = next(passed, 0)
            yield block


def _lines(blocks: Iterator[bytes], path: Path) -> Iterator[bytes]:
    left = b""
    for block in blocks:
        *whole, left = (left + block).split(b"\n")
        yield from whole
        if len(left) > _LONGEST:
            raise InvalidInput(f"{path} has a line of over {_LONGEST // _MIB} MiB: no word vectors")
    if left:
        yield left
