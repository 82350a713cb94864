"""WordNet as a taxonomy: paths written out in tables, or read from WordNet's own noun file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from zerokin.errors import InvalidInput
from zerokin.files import existing

WNID = re.compile(r"n\d{8}")
# 'finch#n01529672': a readable name that stays unique, as WordNet reuses words even among
# siblings. Hierarchies show it as 'finch' wherever that is not ambiguous.
_MARKED = re.compile(r"(.+)#n\d{8}")


def without_wnid(name: str) -> str:
    """Return a node's name without the WordNet identifier that keeps it unique.

    Examples
    --------
    >>> without_wnid("finch#n01529672")
    'finch'
    """
    marked = _MARKED.fullmatch(name)
    return marked[1] if marked else name


def parse_wordnet_path(text: str) -> tuple[str, ...]:
    """Read a path from a class up to WordNet's root, and return its superclasses, root first.

    Parameters
    ----------
    text
        ``"wnid:name > wnid:name > …"``, the class itself first and the root last.

    Returns
    -------
    tuple of str
        ``"name#wnid"`` of every node from the root down to the class's parent.

    Examples
    --------
    >>> parse_wordnet_path("n02121620:cat > n02120997:feline > n00015388:animal")
    ('animal#n00015388', 'feline#n02120997')
    """
    nodes = []
    for step in text.split(" > "):
        wnid, colon, name = step.strip().partition(":")
        if not colon or not WNID.fullmatch(wnid) or not name.strip():
            raise InvalidInput(
                f"{step!r} in the WordNet path {_cut(text)!r} is not 'wnid:name' "
                "such as 'n02084071:dog'"
            )
        nodes.append(f"{name.strip()}#{wnid}")
    if len(nodes) < 2:
        raise InvalidInput(f"the WordNet path {_cut(text)!r} has no superclass: 'wnid:name > …'")
    return tuple(reversed(nodes[1:]))


def wordnet_paths(
    wnids: Iterable[str], database_dir: str | os.PathLike[str]
) -> dict[str, tuple[str, ...]]:
    """Look up the superclasses of classes in WordNet 3.0's ``data.noun``.

    A synset can have several hypernyms. The path follows the first one listed, whether of a
    class (``@``) or of an instance (``@i``).

    Parameters
    ----------
    wnids
        Identifiers such as ``"n02084071"``: ``n`` and the synset's offset in the file.
    database_dir
        Folder that holds ``data.noun`` (Debian's package ``wordnet-base`` puts it in
        ``/usr/share/wordnet``).

    Returns
    -------
    dict
        For each wnid ``"name#wnid"`` of every node from the root down to its parent.
    """
    path = existing(
        Path(database_dir) / "data.noun",
        "WordNet noun file",
        "install WordNet 3.0 (Debian: wordnet-base) and name the folder that holds data.noun",
    )
    with path.open("rb") as file:
        return {wnid: _superclasses(file, path, wnid) for wnid in wnids}


def _superclasses(file: BinaryIO, path: Path, wnid: str) -> tuple[str, ...]:
    if not isinstance(wnid, str) or not WNID.fullmatch(wnid):
        raise InvalidInput(f"{wnid!r} is not a WordNet noun: 'n' and eight digits are needed")
    _, parent = _synset(file, path, wnid)
    above: dict[str, str] = {}
    while parent is not None:
        if parent in above or parent == wnid:
            raise InvalidInput(f"{path}: the hypernyms of {wnid} run in a circle at {parent}")
        here = parent
        name, parent = _synset(file, path, here)
        above[here] = f"{name}#{here}"
    return tuple(reversed(above.values()))


def _synset(file: BinaryIO, path: Path, wnid: str) -> tuple[str, str | None]:
    """Return a synset's first word and its first hypernym.

    A line reads: offset, file number, type, number of words (hexadecimal), word and sense for
    each, number of pointers, and symbol, offset, part of speech and source/target for each.
    """
    file.seek(int(wnid[1:]))
    line = file.readline()
    if not line.startswith(wnid[1:].encode() + b" "):
        raise InvalidInput(f"{path} has no synset {wnid}: is it a noun of WordNet 3.0?")
    try:
        fields = line.decode("utf-8").split(" | ")[0].split()
        pointers = 4 + 2 * int(fields[3], 16)
        n_pointers = int(fields[pointers])
        first = pointers + 1
        steps = [fields[i : i + 4] for i in range(first, first + 4 * n_pointers, 4)]
        parents = [
            f"n{offset}" for symbol, offset, pos, _ in steps if symbol in ("@", "@i") and pos == "n"
        ]
        name = fields[4].replace("_", " ")
    except (ValueError, IndexError):
        raise InvalidInput(f"{path}: the line of synset {wnid} is damaged") from None
    if parents and not WNID.fullmatch(parents[0]):
        raise InvalidInput(f"{path}: the line of synset {wnid} is damaged")
    return name, parents[0] if parents else None


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
