"""What WordNet says of classes, as texts for a sentence encoder."""

from __future__ import annotations

import os
from collections.abc import Iterable

from zerokin.semantics.wordnet_nouns import open_wordnet


def wordnet_definitions(
    wnids: Iterable[str], database_dir: str | os.PathLike[str] | None = None
) -> list[str]:
    """Return ``"words: definition"`` of classes from WordNet 3.0's ``data.noun``.

    Parameters
    ----------
    wnids
        Identifiers such as ``"n02084071"``: ``n`` and the synset's offset in the file.
    database_dir
        Folder that holds ``data.noun``, as for `zerokin.hierarchy.wordnet_paths`; by default what
        ``WNSEARCHDIR`` or ``WNHOME`` name, else where Debian's package ``wordnet-base`` puts it.
    """
    with open_wordnet(database_dir) as nouns:
        synsets = [nouns.synset(wnid) for wnid in wnids]
    return [f"{', '.join(one.words)}: {one.definition}" for one in synsets]
