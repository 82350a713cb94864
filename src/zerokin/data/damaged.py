"""Images that cannot be decoded: found by all cores, refused in one line or left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from zerokin.compute.machine import own_cores
from zerokin.data.dataset import Dataset
from zerokin.data.images import FolderImages, Images
from zerokin.data.splits import Indices
from zerokin.errors import InvalidInput, ZerokinError, listing
from zerokin.progress import track

BLOCK = 64
NAMED = 3


def find_damaged(
    images: Images, samples: Sequence[int] | None = None, *, quiet: bool = False
) -> dict[int, str]:
    """Return the images that cannot be decoded, by position, each with a line that says why.

    Parameters
    ----------
    images
        The images.
    samples
        Positions of those that are tried; by default all are.
    quiet
        Show no progress.
    """
    from joblib import Parallel, delayed

    tried = range(len(images)) if samples is None else samples
    blocks = [tried[start : start + BLOCK] for start in range(0, len(tried), BLOCK)]
    # Pillow decodes without Python's lock, so threads do.
    pool = Parallel(n_jobs=own_cores(), backend="threading", return_as="generator")
    found: dict[int, str] = {}
    done = pool(delayed(_damaged_among)(images, block) for block in blocks)
    each = (one for block in done for one in block)
    for index, line in track(each, "decoding images", total=len(tried), quiet=quiet):
        if line is not None:
            found[index] = line
    return found


def _damaged_among(images: Images, block: Sequence[int]) -> list[tuple[int, str | None]]:
    return [(index, _problem(images, index)) for index in block]


def _problem(images: Images, index: int) -> str | None:
    try:
        images.load(index)
    except ZerokinError as error:
        return str(error)
    return None


def describe_damaged(images: Images, damaged: Mapping[int, str]) -> str:
    """Return how many images are damaged, and the names of the first ones."""
    names = listing([images.names[index] for index in sorted(damaged)], most=NAMED)
    plural = "image is" if len(damaged) == 1 else "images are"
    return f"{len(damaged):,} of {len(images):,} {plural} damaged ({names})"


def refuse_damaged(images: Images, damaged: Mapping[int, str]) -> None:
    """Refuse images of which some cannot be decoded, in one line."""
    if damaged:
        raise InvalidInput(
            f"{describe_damaged(images, damaged)}: replace or remove them, or leave them out with "
            "--skip-damaged; zerokin check says what is wrong with each"
        )


def without_samples(dataset: Dataset, gone: Indices) -> Dataset:
    """Return a data set of images without some samples.

    Parameters
    ----------
    dataset
        Images; a seen class must keep a training sample.
    gone
        Positions of the samples.
    """
    kept = np.setdiff1d(np.arange(len(dataset)), gone)
    place = np.full(len(dataset), -1)
    place[kept] = np.arange(len(kept))

    def moved(part: Indices) -> Indices:
        found = place[part]
        return found[found >= 0]

    splits = {
        name: replace(
            split,
            train=moved(split.train),
            test_seen=moved(split.test_seen),
            test_unseen=moved(split.test_unseen),
        )
        for name, split in dataset.splits.items()
    }
    images = dataset.images
    if isinstance(images, FolderImages):
        chosen: Images = FolderImages(images.root, [images.names[i] for i in kept.tolist()])
    else:
        chosen = ChosenImages(images, kept)
    return dataset._copy(inputs=chosen, labels=dataset._labels[kept], splits=splits)


class ChosenImages(Images):
    """Some of other images.

    Parameters
    ----------
    images
        The others.
    chosen
        Positions among them.
    """

    def __init__(self, images: Images, chosen: Indices) -> None:
        self.images, self.chosen = images, chosen.tolist()
        self.names = [images.names[i] for i in self.chosen]

    def load(self, index: int) -> Image.Image:
        return self.images.load(self.chosen[index])

    def digest(self, index: int) -> bytes:
        return self.images.digest(self.chosen[index])

    def file(self, index: int) -> Path | None:
        return self.images.file(self.chosen[index])
