"""WordNet 3.0's own file of nouns, looked into where it lies."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from zerokin.errors import InvalidInput
from zerokin.files import existing

WNID = re.compile(r"n\d{8}")
DEBIAN = Path("/usr/share/wordnet")


@dataclass(frozen=True)
class Synset:
    """A concept of WordNet.

    Parameters
    ----------
    words
        What it is called, the usual word first.
    definition
        What it is, without the examples of its use; empty where there is none.
    hypernym
        The wnid of the first concept above it, None at the root.
    """

    words: tuple[str, ...]
    definition: str
    hypernym: str | None


class WordNetNouns:
    """Synsets by wnid: ``n`` and the place of its line in ``data.noun``."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file, self.path = file, path

    def synset(self, wnid: str) -> Synset:
        """Return a synset; of several hypernyms, of classes or instances, the first one listed.

        A line reads: offset, file number, type, number of words (hexadecimal), word and sense for
        each, number of pointers, and symbol, offset, part of speech and source/target for each;
        then, after a bar, the definition and examples in quotation marks.
        """
        if not isinstance(wnid, str) or not WNID.fullmatch(wnid):
            raise InvalidInput(f"{wnid!r} is not a WordNet noun: 'n' and eight digits are needed")
        self.file.seek(int(wnid[1:]))
        line = self.file.readline()
        if not line.startswith(wnid[1:].encode() + b" "):
            raise InvalidInput(f"{self.path} has no synset {wnid}: is it a noun of WordNet 3.0?")
        try:
            head, _, gloss = line.decode("utf-8").partition(" | ")
            fields = head.split()
            pointers = 4 + 2 * int(fields[3], 16)
            n_pointers = int(fields[pointers])
            first = pointers + 1
            steps = [fields[i : i + 4] for i in range(first, first + 4 * n_pointers, 4)]
            parents = [
                f"n{offset}"
                for symbol, offset, pos, _ in steps
                if symbol in ("@", "@i") and pos == "n"
            ]
            words = tuple(word.replace("_", " ") for word in fields[4:pointers:2])
            words[0]  # every synset has one
        except (ValueError, IndexError):
            raise InvalidInput(f"{self.path}: the line of synset {wnid} is damaged") from None
        if parents and not WNID.fullmatch(parents[0]):
            raise InvalidInput(f"{self.path}: the line of synset {wnid} is damaged")
        definition = gloss.partition('; "')[0].strip()
        return Synset(words, definition, parents[0] if parents else None)


def usual_folder() -> Path:
    """Return where WordNet's own programs look for it, else where Debian's package puts it."""
    if "WNSEARCHDIR" in os.environ:
        return Path(os.environ["WNSEARCHDIR"])
    if "WNHOME" in os.environ:
        return Path(os.environ["WNHOME"]) / "dict"
    return DEBIAN


@contextmanager
def open_wordnet(folder: str | os.PathLike[str] | None = None) -> Iterator[WordNetNouns]:
    """Open the nouns of WordNet in a folder that holds ``data.noun``; by default the usual one."""
    path = existing(
        (usual_folder() if folder is None else Path(folder)) / "data.noun",
        "WordNet noun file",
        "install WordNet 3.0 (Debian: wordnet-base), or name the folder that holds data.noun "
        "(WNSEARCHDIR, or definitions=FOLDER)",
    )
    with path.open("rb") as file:
        yield WordNetNouns(file, path)
