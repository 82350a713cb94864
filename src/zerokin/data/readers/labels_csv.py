"""A user's own images with several labels each: ``labels.csv`` beside ``classes.csv``."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from zerokin.data.dataset import InvalidDataset
from zerokin.data.images import FolderImages, is_image
from zerokin.data.label_rows import label_matrix_of, label_problem
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.data.provenance import Provenance, SourceFile
from zerokin.data.readers.label_splits import drawn_label_folds, multi_label_split
from zerokin.data.readers.own_classes import OwnClasses
from zerokin.data.readers.tables import SEPARATORS, read_text
from zerokin.errors import InvalidInput
from zerokin.locales import as_text, on_disk

LABELS = "labels.csv"
TEST_FOLDER = "test/"


def read_labels_csv(source: str, folder: Path) -> MultiLabelDataset:
    """Read ``DIR/labels.csv`` and ``DIR/classes.csv``.

    ``labels.csv`` has a row per image: its file below DIR, then its labels, as many as it has;
    commas, semicolons or tabs separate them, and a first row ``file,label,…`` is a heading.
    ``classes.csv`` is that of a folder with one label an image. Images with an unseen label, and
    all below ``DIR/test/``, are for testing alone.
    """
    path = folder / LABELS
    table = OwnClasses(folder / "classes.csv")
    problems = table.problems
    rows = label_rows(path)
    met: dict[str, int] = {}
    for number, (file, labels) in rows.items():
        wrong = label_problem(labels, table.positions)
        if wrong is not None:
            problems.append(f"{path}, row {number}: {file} {wrong}")
        if file in met:
            problems.append(f"{path}, row {number}: {file} stands in row {met[file]}, too")
        elif Path(file).is_absolute() or ".." in Path(file).parts:
            problems.append(f"{path}, row {number}: {file} lies outside the folder")
        elif not is_image(file):
            problems.append(f"{path}, row {number}: {file} is no image file by its name")
        elif not on_disk(folder / file).is_file():
            problems.append(f"{path}, row {number}: there is no image {folder / file}")
        met.setdefault(file, number)
    if problems:
        raise InvalidDataset(source, problems)
    files = [file for file, _ in rows.values()]
    labels = label_matrix_of([labels for _, labels in rows.values()], table.names, files)
    split = multi_label_split(
        labels,
        table.unseen,
        np.array([file.startswith(TEST_FOLDER) for file in files], dtype=bool),
        version=f"roles in {table.path.name}",
        folds=drawn_label_folds(table.names, table.unseen),
    )
    return MultiLabelDataset(
        name=as_text(folder.resolve().name),
        classes=table.classes(),
        inputs=FolderImages(folder, files),
        labels=labels,
        splits={"pure": split},
        provenance=Provenance(
            source,
            "folder of images with several labels",
            (SourceFile.from_path(table.path), SourceFile.from_path(path)),
        ),
    )


def label_rows(path: Path) -> dict[int, tuple[str, list[str]]]:
    """Return file and labels of every row by its number, from 1; empty rows are skipped."""
    text = read_text(path)
    first = next((line for line in text.splitlines() if line.strip()), "")
    separator = max(SEPARATORS, key=first.count)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise InvalidInput(f"{path} is not a {SEPARATORS[separator]} table: {error}") from error
    rows: dict[int, tuple[str, list[str]]] = {}
    for number, line in enumerate(lines, start=1):
        file, *labels = [cell.strip() for cell in line] or [""]
        filled = [label for label in labels if label]
        if not rows and file.lower() == "file" and not is_image(file):
            continue
        if file or filled:
            rows[number] = (file.replace("\\", "/").removeprefix("./"), filled)
    if not rows:
        raise InvalidInput(f"{path} lists no image: write a row for each: file, label, label, …")
    return rows
