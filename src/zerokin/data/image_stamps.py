"""Size and time of images, by which features tell that images have changed since."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from zerokin.data.images import Images

Stamps = NDArray[np.int64]
"""(N, 2): bytes and nanoseconds of the last modification of each image's file; -1 if unknown."""


class HasFiles(Protocol):
    """Samples that may each lie in a file."""

    def __len__(self) -> int:
        """N."""

    def file(self, index: int) -> Path | None:
        """Return the file or archive that holds a sample; None if there is none."""


MOST_READ = 5_000
"""Images that are read, at most, to tell a copy from another image."""


def image_stamps(images: HasFiles) -> Stamps:
    """Return the stamps of images: of its file for each, of its archive if it lies in one."""
    known: dict[Path, tuple[int, int]] = {}
    found = np.full((len(images), 2), -1, dtype=np.int64)
    for index in range(len(images)):
        path = images.file(index)
        if path is None:
            continue
        if path not in known:
            known[path] = _stamp(path)
        found[index] = known[path]
    return found


def _stamp(path: Path) -> tuple[int, int]:
    try:
        about = os.stat(path)  # noqa: PTH116  # a Path's would be as long again, and there are many
    except OSError:
        return -1, -1
    return about.st_size, about.st_mtime_ns


def changed_images(images: Images, stamps: Stamps, digests: NDArray[np.uint8]) -> Sequence[str]:
    """Return the names of images that are others than when their features were extracted.

    An image with the size and time of then is the same. Others are read, for a copy has another
    time: at most `MOST_READ` of them, spread evenly.

    Parameters
    ----------
    images
        As they are now.
    stamps, digests
        (N, 2) and (N, 32): stamps and SHA-256 of then.
    """
    now = image_stamps(images)
    known = (now >= 0).all(axis=1) & (stamps >= 0).all(axis=1)
    suspects = np.flatnonzero(known & (now != stamps).any(axis=1))
    if len(suspects) > MOST_READ:
        suspects = suspects[np.linspace(0, len(suspects) - 1, MOST_READ).astype(np.int64)]
    read = suspects.tolist()
    return [images.names[i] for i in read if images.digest(i) != digests[i].tobytes()]
