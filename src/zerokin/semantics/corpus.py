"""A text corpus as a stream of words, gone through again and again, never whole in memory."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from zerokin.errors import InvalidInput, shown
from zerokin.files import existing
from zerokin.semantics.names import name_words

#: gensim silently drops what a sentence has beyond 10,000 words: longer ones are cut in pieces.
_LONGEST = 10_000
#: A corpus without line breaks is read in pieces of this many characters.
_PIECE = 1 << 18
_WORD = re.compile(r"\w+")

Documents = str | os.PathLike[str] | Iterable[str | Sequence[str]]


class Corpus:
    """Sentences of lower-case words, read anew each time it is gone through.

    Parameters
    ----------
    documents
        A text file with a document or sentence per line (gzip may have packed it), or an iterable
        of texts or of lists of words that can be gone through more than once.
    phrases
        Names to join where they occur: ``"house finch"`` makes ``house_finch`` one word.

    Examples
    --------
    >>> list(Corpus(["A house finch sings.", "My House!"], phrases=["House_Finch"]))
    [['a', 'house_finch', 'sings'], ['my', 'house']]
    """

    def __init__(self, documents: Documents, *, phrases: Iterable[str] = ()) -> None:
        self._path: Path | None = None
        self._items: Iterable[str | Sequence[str]] = ()
        if isinstance(documents, (str, os.PathLike)):
            remedy = "give a text file with a document or sentence per line"
            self._path = existing(documents, "corpus", remedy)
            if self._path.is_dir():
                raise InvalidInput(f"{self._path} is a folder: {remedy}")
        elif not isinstance(documents, Iterable) or getattr(documents, "shape", None) == ():
            raise InvalidInput(
                f"corpus must be a text file, or a list of texts: got {shown(documents)}"
            )
        elif iter(documents) is documents:
            raise InvalidInput(
                "the corpus can be gone through only once, and training does so several times: "
                "give a list, a text file, or an object whose iteration starts anew"
            )
        else:
            self._items = documents
        # Longest first: of "house" and "house finch", the text "house finch" means the second.
        self._starting: dict[str, list[list[str]]] = {}
        for words in sorted({tuple(name_words(name.lower())) for name in phrases}, key=len):
            if len(words) > 1:
                self._starting.setdefault(words[0], []).insert(0, list(words))

    def __iter__(self) -> Iterator[list[str]]:
        documents = self._items if self._path is None else _read(self._path)
        for document in documents:
            if isinstance(document, str):
                words = _WORD.findall(document.lower())
            elif isinstance(document, Iterable):
                words = [str(word).lower() for word in document]
            else:
                raise InvalidInput(
                    f"corpus: a document must be a text or a list of words: got {shown(document)}"
                )
            words = self._joined(words)
            for start in range(0, len(words), _LONGEST):
                yield words[start : start + _LONGEST]

    def _joined(self, words: list[str]) -> list[str]:
        if not self._starting:
            return words
        joined: list[str] = []
        at = 0
        while at < len(words):
            phrases = self._starting.get(words[at], ())
            phrase = next((p for p in phrases if words[at : at + len(p)] == p), [words[at]])
            joined.append("_".join(phrase))
            at += len(phrase)
        return joined


def _read(path: Path) -> Iterator[str]:
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    try:
        # Unreadable bytes cost a word, not the corpus.
        with (
            gzip.open(path, "rt", encoding="utf-8", errors="replace")
            if packed
            else path.open(encoding="utf-8", errors="replace") as file
        ):
            yield from _pieces(file)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInput(f"{path} is a damaged gzip file: {error}") from error


def _pieces(file: TextIO) -> Iterator[str]:
    """Yield lines, those of enormous length in pieces that end between words."""
    left = ""
    while read := file.readline(_PIECE):
        text = left + read
        left = ""
        if not read.endswith("\n") and len(read) == _PIECE:
            cut = max(text.rfind(" "), text.rfind("\t")) + 1 or len(text)
            text, left = text[:cut], text[cut:]
        yield text
    if left:
        yield left
