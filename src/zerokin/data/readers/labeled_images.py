"""Images whose class is the folder they lie in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerokin.data.images import FolderImages, Images, list_folder, open_tars
from zerokin.errors import InvalidInput, MissingFile, did_you_mean


def find_images(folder: Path, subfolders: Sequence[str]) -> tuple[Images, list[Path]]:
    """Open the folder's tar files, or else the first of its subfolders that is there.

    Returns the images, sorted by ``class/file``, and the tar files that were read.
    """
    archives = sorted(folder.glob("*.tar"))
    if archives:
        return open_tars(archives), archives
    for name in subfolders:
        root = folder / name
        if root.is_dir():
            return FolderImages(root, list_folder(root)), []
    raise MissingFile(
        f"no images in {folder}: it should hold {' or '.join(subfolders)}, or tar files"
    )


def labels_by_folder(
    images: Images, names: Sequence[str], source: Path, *, part: int = 0
) -> NDArray[np.int64]:
    """Return each image's class: the folder at position ``part`` of its name."""
    positions = {name: position for position, name in enumerate(names)}
    folders = [_folder(name, part, source) for name in images.names]
    for folder, count in Counter(folders).items():
        if folder not in positions:
            raise InvalidInput(
                f"{source}: {count:,} images lie in {folder!r}, which is not a class"
                f"{did_you_mean(folder, names)}"
            )
    return np.array([positions[folder] for folder in folders], dtype=np.int64)


def _folder(name: str, part: int, source: Path) -> str:
    parts = name.split("/")
    if len(parts) < part + 2:
        raise InvalidInput(f"{source}: image {name!r} lies in no class folder")
    return parts[part]
