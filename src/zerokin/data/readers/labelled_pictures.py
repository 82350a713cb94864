"""Pictures whose class is the folder they lie in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerokin.data.pictures import FolderPictures, Pictures, list_folder, open_tars
from zerokin.errors import InvalidInput, MissingFile, did_you_mean


def find_pictures(folder: Path, subfolders: Sequence[str]) -> tuple[Pictures, list[Path]]:
    """Open the folder's tar files, or else the first of its subfolders that is there.

    Returns the pictures, sorted by ``class/file``, and the tar files that were read.
    """
    archives = sorted(folder.glob("*.tar"))
    if archives:
        return open_tars(archives), archives
    for name in subfolders:
        root = folder / name
        if root.is_dir():
            return FolderPictures(root, list_folder(root)), []
    raise MissingFile(
        f"no pictures in {folder}: it should hold {' or '.join(subfolders)}, or tar files"
    )


def labels_by_folder(
    pictures: Pictures, names: Sequence[str], source: Path, *, part: int = 0
) -> NDArray[np.int64]:
    """Return each picture's class: the folder at position ``part`` of its name."""
    positions = {name: position for position, name in enumerate(names)}
    folders = [_folder(name, part, source) for name in pictures.names]
    for folder, count in Counter(folders).items():
        if folder not in positions:
            raise InvalidInput(
                f"{source}: {count:,} pictures lie in {folder!r}, which is not a class"
                f"{did_you_mean(folder, names)}"
            )
    return np.array([positions[folder] for folder in folders], dtype=np.int64)


def _folder(name: str, part: int, source: Path) -> str:
    parts = name.split("/")
    if len(parts) < part + 2:
        raise InvalidInput(f"{source}: picture {name!r} lies in no class folder")
    return parts[part]
