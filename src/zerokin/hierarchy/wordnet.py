"""WordNet as a taxonomy: paths written out in tables, or read from WordNet's own noun file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput, shown
from zerokin.semantics.hypernyms import hypernym_paths
from zerokin.semantics.wordnet_nouns import WNID

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
    if not isinstance(text, str):
        raise InvalidInput(f"a WordNet path is a text: got {shown(text)}")
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
    return hypernym_paths(wnids, database_dir)


def common_hypernyms(
    paths: Sequence[Sequence[str]], layers: Sequence[NDArray[np.int64]]
) -> list[list[str | None]]:
    """Return the lowest common WordNet ancestor of the classes of every node, by name.

    Parameters
    ----------
    paths
        For each class ``"name#wnid"`` of every node from the root down to the class itself.
    layers
        For layers 1, 2, … the node of each class (C,).

    Returns
    -------
    list of list
        For each node of each layer a name, None where only what stands above all classes does.

    Examples
    --------
    >>> cats, dog = ("animal#n00000001", "feline#n00000002"), ("animal#n00000001", "dog#n00000003")
    >>> common_hypernyms([(*cats, "lynx#n00000004"), cats, dog, dog], [np.array([0, 0, 0, 1])])
    [[None, 'dog']]
    >>> common_hypernyms([(*cats, "lynx#n00000004"), cats, dog, dog], [np.array([0, 0, 1, 2])])
    [['feline', 'dog', 'dog']]
    """
    above_all = _common_start(paths)
    found: list[list[str | None]] = []
    for labels in layers:
        members: list[list[Sequence[str]]] = [[] for _ in range(int(labels.max()) + 1)]
        for node, path in zip(labels.tolist(), paths, strict=True):
            members[node].append(path)
        starts = [_common_start(own) for own in members]
        found.append(
            [without_wnid(one[-1]) if len(one) > len(above_all) else None for one in starts]
        )
    return found


def _common_start(paths: Sequence[Sequence[str]]) -> Sequence[str]:
    """Return the steps that all paths begin with: those of the first and last in order."""
    first, last = min(map(tuple, paths)), max(map(tuple, paths))
    pairs = enumerate(zip(first, last, strict=False))
    return first[: next((i for i, (a, b) in pairs if a != b), min(len(first), len(last)))]


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
