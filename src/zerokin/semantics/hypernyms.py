"""Paths of hypernyms: what WordNet puts a concept under, up to its root."""

from __future__ import annotations

import os
from collections.abc import Iterable

from zerokin.errors import InvalidInput
from zerokin.semantics.wordnet_nouns import WordNetNouns, open_wordnet


def hypernym_paths(
    wnids: Iterable[str], database_dir: str | os.PathLike[str]
) -> dict[str, tuple[str, ...]]:
    """Return for each wnid ``"name#wnid"`` of every hypernym, from the root down to its parent.

    Of several hypernyms of a synset the first one listed counts.

    Parameters
    ----------
    wnids
        Identifiers such as ``"n02084071"``.
    database_dir
        Folder that holds WordNet 3.0's ``data.noun``.
    """
    with open_wordnet(database_dir) as nouns:
        return {wnid: _hypernyms(nouns, wnid) for wnid in wnids}


def _hypernyms(nouns: WordNetNouns, wnid: str) -> tuple[str, ...]:
    parent = nouns.synset(wnid).hypernym
    above: dict[str, str] = {}
    while parent is not None:
        if parent in above or parent == wnid:
            raise InvalidInput(f"{nouns.path}: the hypernyms of {wnid} run in a circle at {parent}")
        here, synset = parent, nouns.synset(parent)
        above[here], parent = f"{synset.words[0]}#{here}", synset.hypernym
    return tuple(reversed(above.values()))
