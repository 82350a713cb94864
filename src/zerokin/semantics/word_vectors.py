"""Vectors of class names from a file of word vectors, in one pass that keeps only their words."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput, did_you_mean
from zerokin.parameters import PATH, InstanceOf, Optional, check_arguments
from zerokin.semantics.names import checked_names, name_words, phrase_forms
from zerokin.semantics.spelling import NearSpellings
from zerokin.semantics.tables import vector_table
from zerokin.semantics.vector_files import Entry, VectorFile

__all__ = ["vector_table", "word_vectors"]

_MISSING = ("error", "skip-word")


def word_vectors(
    names: Iterable[str],
    path: str | os.PathLike[str],
    *,
    missing: Literal["error", "skip-word"] = "error",
    instead: Mapping[str, str] | None = None,
) -> NDArray[np.float64]:
    r"""Look class names up in a word2vec (text or binary), GloVe or fastText .vec file.

    A name is looked up whole first, its words joined by ``_``, a blank or ``-``; otherwise its
    vector is the mean of its words' vectors. Spellings may differ in case: as written comes first,
    then lower case, then whichever the file has first. Of a word that the file has twice, the first
    vector counts. The file is read once, as a stream; only the vectors asked for are kept.

    Parameters
    ----------
    names : C names
        Class names such as ``"black+bear"``, ``"001.Black_footed_Albatross"`` or ``"house finch"``.
    path
        The file; its format shows in its content, and gzip may have packed it.
    missing
        What to do when the file lacks a word of a name: ``"error"``, or ``"skip-word"`` to average
        the words that are there (still an error where none is).
    instead
        What to look up instead of a class name, such as ``{"komondor": "sheepdog"}``.

    Returns
    -------
    (C, d_z) float64
        One row per name, raw as read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "tiny.vec"
    >>> _ = path.write_text("3 2\nblack 1 0\nbear 0 3\npolar_bear 5 5\n", encoding="utf-8")
    >>> word_vectors(["black+bear", "Polar_Bear"], path)
    array([[0.5, 1.5],
           [5. , 5. ]])
    >>> word_vectors(["blak bear"], path)
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: ... lacks words of 1 class: 'blak bear' (blak, near 'black'); ...
    """
    names = checked_names(names)
    check_arguments(
        {"path": PATH, "instead": Optional(InstanceOf(Mapping, "words by class name"))},
        path=path,
        instead=instead,
    )
    if missing not in _MISSING:
        raise InvalidInput(
            f"missing={missing!r}: choose one of {', '.join(_MISSING)}"
            + did_you_mean(str(missing), _MISSING)
        )
    texts = _looked_up(names, instead or {})
    words = {text: name_words(text) for text in texts}
    forms = {text: phrase_forms(text) for text in texts}
    near = NearSpellings({word.lower() for text in texts for word in words[text]})
    file = VectorFile.recognize(path)
    kept = _kept(file, {form.lower() for text in texts for form in forms[text] + words[text]}, near)

    faults: list[str] = []
    rows: dict[str, NDArray[np.float64]] = {}
    for name, text in zip(names, texts, strict=True):
        whole = next((found for form in forms[text] if (found := _best(kept, form))), None)
        parts = [whole] if whole else [_best(kept, word) for word in words[text]]
        there = [part for part in parts if part]
        if not there or (len(there) < len(parts) and missing == "error"):
            lacking = [word for word, part in zip(words[text], parts, strict=True) if not part]
            faults.append(f"{name!r} ({'; '.join(_with_near(word, near) for word in lacking)})")
        else:
            rows[text] = np.mean([file.vector(part) for part in there], axis=0)
    if faults:
        classes = "1 class" if len(faults) == 1 else f"{len(faults):,} classes"
        remedy = (
            "" if missing == "skip-word" else ", or average what is there with missing='skip-word'"
        )
        raise InvalidInput(
            f"{file.path} lacks words of {classes}: {', '.join(faults)}; "
            f"look others up with instead={{name: words}}{remedy}"
        )
    return np.array([rows[text] for text in texts]).reshape(len(texts), file.dimension)


def _looked_up(names: Sequence[str], instead: Mapping[str, str]) -> list[str]:
    unknown = [name for name in instead if name not in set(names)]
    if unknown:
        raise InvalidInput(
            f"instead names a class that is not there: {unknown[0]!r}"
            + did_you_mean(unknown[0], names)
        )
    checked_names(instead.values())
    return [instead.get(name, name) for name in names]


def _kept(
    file: VectorFile, folded_asked: set[str], near: NearSpellings
) -> dict[str, dict[str, Entry]]:
    """Keep the entries asked for, by lower case and then by spelling, in the file's order."""
    kept: defaultdict[str, dict[str, Entry]] = defaultdict(dict)
    for entry in file.entries():
        spelling = entry.word.decode(errors="replace")
        folded = spelling.lower()
        if folded in folded_asked:
            kept[folded].setdefault(spelling, entry)
            near.discard(folded)
        near.offer(folded, spelling)
    return dict(kept)


def _best(kept: Mapping[str, Mapping[str, Entry]], word: str) -> Entry | None:
    spellings = kept.get(word.lower(), {})
    best = spellings.get(word) or spellings.get(word.lower())
    return best or next(iter(spellings.values()), None)


def _with_near(word: str, near: NearSpellings) -> str:
    spellings = near.find(word.lower())
    return f"{word}, near {', '.join(map(repr, spellings))}" if spellings else word
