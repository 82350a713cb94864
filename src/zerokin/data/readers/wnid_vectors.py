"""Word vectors of ImageNet classes, kept by WordNet identifier (wnid) in a file beside them."""

from __future__ import annotations

from pathlib import Path

VECTOR_FILES = ("word_vectors.csv", "word_vectors.txt")


def find_vectors(folder: Path) -> Path | None:
    """Return the folder's file of word vectors, if it has one."""
    return next((folder / name for name in VECTOR_FILES if (folder / name).exists()), None)
