"""Extraction by several processes: each reads its images into a file, and one joins the files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from zerokin.compute.processes import Processes, whole_batches
from zerokin.data.images import Images, joint_sha256
from zerokin.data.native_features import SUFFIX, NativeFeatures, joined_names
from zerokin.data.native_writer import FeatureWriter

if TYPE_CHECKING:
    from zerokin.features.extraction import ExtractionPlan

ROWS = 4096


class ImageRange(Images):
    """Some consecutive images of others."""

    def __init__(self, whole: Images, rows: slice) -> None:
        self.whole, self.start = whole, rows.start
        self.names = whole.names[rows]

    def load(self, index: int) -> Image.Image:
        return self.whole.load(self.start + index)

    def digest(self, index: int) -> bytes:
        return self.whole.digest(self.start + index)

    def file(self, index: int) -> Path | None:
        return self.whole.file(self.start + index)


def write_together(
    path: Path,
    plan: ExtractionPlan,
    write: Callable[[ExtractionPlan, FeatureWriter], None],
    processes: Processes,
) -> None:
    """Write a feature file of which each process reads a part.

    A part that is there already is not read again, and one that was begun is gone on with. The file
    is the one that a process writes alone, byte for byte.

    Parameters
    ----------
    path
        The file.
    plan
        Of all images.
    write
        Reads the images of a plan into a file.
    processes
        Those that share the images.
    """
    rows = whole_batches(processes, len(plan.images), plan.extractor.view.batch_size)
    if rows.stop > rows.start:
        mine = _part(plan, rows)
        part = part_file(path, processes.rank, processes.size)
        with FeatureWriter(part) as writer:
            if not (part.exists() and mine.is_done_by(NativeFeatures(part))):
                write(mine, writer)
    processes.wait()
    if processes.leads:
        _join(path, plan, processes.size)
    processes.wait()


def part_file(path: Path, rank: int, size: int) -> Path:
    """Return where a process writes what it reads for a file."""
    return path.with_name(f".{path.stem}.{rank}-of-{size}{SUFFIX}")


def _part(plan: ExtractionPlan, rows: slice) -> ExtractionPlan:
    assert isinstance(plan.images, Images)  # ready features were refused before
    images, digests = ImageRange(plan.images, rows), plan.digests[rows]
    # Of how many processes it is does not matter to a part, but of which images does.
    digest = joint_sha256(images.names, [row.tobytes() for row in digests])
    layout = replace(
        plan.layout,
        shape=(len(images), plan.layout.shape[1]),
        names_bytes=len(joined_names(images.names)),
        recipe={**plan.layout.recipe, "images_sha256": digest},
    )
    return replace(plan, images=images, digests=digests, stamps=plan.stamps[rows], layout=layout)


def _join(path: Path, plan: ExtractionPlan, size: int) -> None:
    found = [part for rank in range(size) if (part := part_file(path, rank, size)).exists()]
    with FeatureWriter(path) as writer:
        writer.partial.write_bytes(b"")  # parts are what is gone on with
        writer.begin(plan.layout, plan.digests, plan.images.names, block=1, stamps=plan.stamps)
        for part in found:
            file = NativeFeatures(part)
            stored = np.memmap(
                part,
                file.layout.dtype,
                "r",
                offset=len(file.layout.header) + file.layout.rows_start,
                shape=file.layout.shape,
            )
            for start in range(0, len(stored), ROWS):
                writer.append(stored[start : start + ROWS])
        writer.finish()
    for part in found:
        part.unlink()
