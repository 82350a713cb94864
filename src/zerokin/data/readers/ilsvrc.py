"""The images of an ImageNet challenge: a folder per wnid, or one flat folder and its devkit."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Container
from pathlib import Path

import numpy as np

from zerokin.data.images import is_image
from zerokin.data.matlab import cell_strings, read_mat
from zerokin.data.readers.tables import read_lines
from zerokin.errors import InvalidInput, MissingFile
from zerokin.semantics.wordnet_nouns import WNID

WnidImages = dict[str, list[str]]
"""The images of every class by its wnid, sorted, as paths below the data set's folder."""

GROUND_TRUTH = "ILSVRC2010_validation_ground_truth.txt"
NUMBERED = re.compile(r"_(\d{1,9})\.[^.]+")


def wnid_folders(folder: Path, root: str, *, without: Container[str] = ()) -> WnidImages:
    """List ``folder/root/WNID/FILE``, leaving out some classes.

    A million images are listed by their names alone: none is opened or asked for its status.
    """
    wnids = []
    for entry in _entries(folder / root):
        if entry.is_dir():
            if not WNID.fullmatch(entry.name):
                raise InvalidInput(
                    f"{entry.path} is not a class: folders there are named by wnid, as n01440764 is"
                )
            wnids.append(entry.name)
        elif is_image(entry.name):
            raise InvalidInput(f"image {entry.path} lies in no class folder such as n01440764")
    if not wnids:
        raise MissingFile(
            f"no class folders such as n01440764 in {folder / root}: unpack the tar file of every "
            "class into a folder of its own"
        )
    found = {}
    for wnid in sorted(wnids):
        if wnid in without:
            continue
        names = [entry.name for entry in _entries(folder / root / wnid) if is_image(entry.name)]
        if not names:
            raise InvalidInput(f"{folder / root / wnid} holds no images")
        found[wnid] = [f"{root}/{wnid}/{name}" for name in sorted(names)]
    return found


def is_flat(root: Path) -> bool:
    """Tell whether a folder holds images and no folders."""
    entries = _entries(root)
    return any(is_image(entry.name) for entry in entries) and not any(
        entry.is_dir() for entry in entries
    )


def flat_images(
    folder: Path, root: str, devkit: Path, *, without: Container[str] = ()
) -> tuple[WnidImages, list[Path]]:
    """List ``folder/root/ILSVRC2010_val_00000001.JPEG``, …, whose classes the devkit knows.

    Line i of its ground truth is the class number of image i; ``meta.mat`` gives the wnids.

    Returns
    -------
    images
        By wnid, sorted, some classes left out.
    files
        The files of the devkit that were read.
    """
    truth, meta = devkit / GROUND_TRUTH, devkit / "meta.mat"
    numbers = read_lines(truth)
    wnids = _wnids_by_number(meta)
    names = sorted(entry.name for entry in _entries(folder / root) if is_image(entry.name))
    if len(names) != len(numbers):
        raise InvalidInput(
            f"{folder / root} has {len(names):,} images, but {truth} has {len(numbers):,} lines"
        )
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        number = NUMBERED.search(name)
        if number is None or not 1 <= int(number[1]) <= len(numbers):
            raise InvalidInput(
                f"image {folder / root / name} has no number from 1 to {len(numbers):,} in its "
                "name, as ILSVRC2010_val_00000001.JPEG has"
            )
        line = int(number[1])
        wnid = wnids.get(numbers[line - 1])
        if wnid is None:
            raise InvalidInput(f"{truth}, line {line}: {meta} has no class {numbers[line - 1]!r}")
        if wnid not in without:
            found[wnid].append(f"{root}/{name}")
    return {wnid: found[wnid] for wnid in sorted(found)}, [truth, meta]


def _wnids_by_number(path: Path) -> dict[str, str]:
    synsets = read_mat(path, ["synsets"])["synsets"]
    fields = np.asarray(synsets).dtype.names or ()
    for field in ("ILSVRC2010_ID", "WNID"):
        if field not in fields:
            raise InvalidInput(f"{path}: synsets lacks the field {field}")
    # MATLAB may have stored the whole numbers as floats.
    numbers = [cell.removesuffix(".0") for cell in cell_strings(synsets["ILSVRC2010_ID"])]
    return dict(zip(numbers, cell_strings(synsets["WNID"]), strict=True))


def _entries(path: Path) -> list[os.DirEntry[str]]:
    """Return what lies in a folder, hidden entries aside."""
    try:
        with os.scandir(path) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except OSError as error:
        raise MissingFile(f"cannot list {path}: {error.strerror}") from error
