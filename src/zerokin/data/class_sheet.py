"""Starting ``classes.csv`` for a folder of images."""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from zerokin.class_names import checked_name, name_problem
from zerokin.data.images import list_folder
from zerokin.data.readers.folder import NEAR, TEST_FOLDER
from zerokin.data.readers.own_classes import OWN_COLUMNS
from zerokin.errors import InvalidInput, ZerokinWarning, did_you_mean, listing
from zerokin.files import existing, replacing
from zerokin.locales import as_typed


@dataclass(frozen=True)
class ClassSheet:
    """A sheet that was written, how many classes it lists, and what may be wrong with them."""

    path: Path
    n_seen: int
    n_unseen: int
    notes: tuple[str, ...] = ()


def write_class_sheet(
    folder: str | os.PathLike[str],
    *,
    unseen: Sequence[str] = (),
    attributes: Sequence[str] | None = None,
    force: bool = False,
) -> ClassSheet:
    """Write ``classes.csv`` with a row per class, its values left to fill in.

    Parameters
    ----------
    folder
        A sub-folder of images per seen class; ``test/CLASS`` holds images to test on.
    unseen
        Classes without images to train on.
    attributes
        Columns for numbers; without any there is a column for descriptions.
    force
        Replace a sheet that is there already.

    Warns
    -----
    ZerokinWarning
        For an unseen class whose name is nearly that of a folder; it is among ``notes``, too.
    """
    folder = existing(Path(folder), "folder", "it should hold a sub-folder of images per class")
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is a file: give the folder that holds a folder per class")
    path = folder / "classes.csv"
    if path.exists() and not force:
        raise InvalidInput(f"{path} is there already: use --force to replace it")
    absent = [name.strip() for name in unseen]
    inside = [one for one in folder.iterdir() if one.is_dir() and one.name[0] != "."]
    filled = [one for one in inside if one.name != TEST_FOLDER and list_folder(one)]
    seen = sorted(as_typed(one.name) for one in filled)
    seen = [name for name in seen if name not in absent]
    columns = _columns(attributes)
    if not seen:
        raise InvalidInput(f"{folder} has no sub-folder with images: make one for every class")
    _refuse_bad_names(absent)
    _refuse_bad_folders(folder, seen)
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["name", "role", *columns])
        blank = [""] * len(columns)
        table.writerows([name, "seen", *blank] for name in seen)
        table.writerows([name, "unseen", *blank] for name in absent)
    notes = tuple(_near_names(absent, seen))
    for note in notes:
        warnings.warn(note, ZerokinWarning, stacklevel=2)
    return ClassSheet(path, len(seen), len(absent), notes)


def _near_names(unseen: Sequence[str], seen: Sequence[str]) -> Iterator[str]:
    for name in unseen:
        hint = did_you_mean(name, seen, nearness=NEAR)
        if hint:
            yield f"the unseen class {name!r} has nearly the name of a folder{hint}"


def _columns(attributes: Sequence[str] | None) -> list[str]:
    if attributes is None:
        return ["description"]
    columns = [name.strip() for name in attributes]
    wrong = [name for name in columns if not name or name in OWN_COLUMNS]
    if wrong or len(set(columns)) < len(columns) or not columns:
        raise InvalidInput(
            "attributes must be different names, none of them empty or one of "
            f"{listing(OWN_COLUMNS, most=9)}: got {listing(map(repr, columns), most=9)}"
        )
    return columns


def _refuse_bad_names(names: Sequence[str]) -> None:
    if not all(names) or len(set(names)) < len(names):
        raise InvalidInput(
            f"unseen classes must be different names: got {listing(map(repr, names))}"
        )
    for name in names:
        checked_name(name)


def _refuse_bad_folders(folder: Path, names: Sequence[str]) -> None:
    for name in names:
        wrong = name_problem(name)
        if wrong is not None:
            raise InvalidInput(f"{folder}: rename a sub-folder of images: {wrong}")
