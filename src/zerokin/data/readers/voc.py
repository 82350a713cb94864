"""Pascal VOC: the objects of every image, from its XML file.

XML can be hostile: a few lines may declare entities that expand to gigabytes. The annotations need
no declarations at all, so that a file with any is refused by expat before anything is expanded.
"""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

import numpy as np

from zerokin.data.classes import ClassTable
from zerokin.data.images import FolderImages
from zerokin.data.label_rows import label_matrix_of
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.data.provenance import Provenance, SourceFile
from zerokin.data.readers.label_splits import drawn_label_folds, multi_label_split
from zerokin.data.readers.tables import read_lines
from zerokin.data.readers.unseen_list import UNSEEN, unseen_by_file
from zerokin.errors import InvalidInput, MissingFile
from zerokin.files import existing

TRAIN, TEST = ("trainval", "train"), ("test", "val")
MOST_BYTES = 2**24


class HostileXml(InvalidInput):
    """A file declares a document type or entities."""


def read_voc(source: str, folder: Path) -> MultiLabelDataset:
    """Read ``DIR/ImageSets/Main/``, ``DIR/Annotations/*.xml`` and ``DIR/JPEGImages/*.jpg``.

    Images of ``trainval.txt`` train and those of ``test.txt`` test where both are there; otherwise
    those of ``train.txt`` and ``val.txt``. ``DIR/unseen.txt`` lists the unseen classes, one in a
    line. Objects marked as difficult are no labels, as in VOC's own evaluation.
    """
    existing(folder, "folder", "it should hold ImageSets/, Annotations/ and JPEGImages/")
    lists = folder / "ImageSets" / "Main"
    pairs = [[lists / f"{name}.txt" for name in names] for names in zip(TRAIN, TEST, strict=True)]
    chosen = next((pair for pair in pairs if all(path.exists() for path in pair)), None)
    if chosen is None:
        raise MissingFile(
            f"{lists} has neither trainval.txt and test.txt nor train.txt and val.txt"
        )
    parts = [[line.split()[0] for line in read_lines(path)] for path in chosen]
    images = [name for part in parts for name in part]
    for name in images:
        if "/" in name or "\\" in name or name.startswith("."):
            raise InvalidInput(f"{lists} lists image {name!r}, which is no plain name")
    annotations = [folder / "Annotations" / f"{name}.xml" for name in images]
    objects = [read_objects(path) for path in annotations]
    names = sorted({name for found in objects for name in found})
    if not names:
        raise InvalidInput(f"{folder / 'Annotations'} names no object in any image")
    unseen = unseen_by_file(folder, names)
    some = [at for at, found in enumerate(objects) if found]
    labels = label_matrix_of([objects[at] for at in some], names)
    split = multi_label_split(
        labels,
        unseen,
        np.array(some) >= len(parts[0]),
        version=f"{chosen[0].stem}/{chosen[1].stem}, classes in {UNSEEN}",
        folds=drawn_label_folds(names, unseen),
    )
    read = (*chosen, folder / UNSEEN, *annotations)
    return MultiLabelDataset(
        name="Pascal VOC",
        classes=ClassTable(names=tuple(names)),
        inputs=FolderImages(folder, [f"JPEGImages/{images[at]}.jpg" for at in some]),
        labels=labels,
        splits={"pure": split},
        provenance=Provenance(
            source, "Pascal VOC", tuple(SourceFile.from_path(path) for path in read)
        ),
    )


def read_objects(path: Path) -> list[str]:
    """Return the different objects that an annotation names, sorted, difficult ones left out."""
    existing(path, "annotation", "every listed image has one")
    if path.stat().st_size > MOST_BYTES:
        raise InvalidInput(f"{path} has over {MOST_BYTES:,} bytes: that is no annotation of VOC")
    found = _Objects(path)
    try:
        found.parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        raise InvalidInput(f"{path} is no XML ({error}): get it again") from error
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from error
    return sorted(found.names)


class _Objects:
    """Gathers ``annotation/object/name`` as the parser comes across it."""

    def __init__(self, path: Path) -> None:
        self.path, self.names = path, set[str]()
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.EntityDeclHandler = self._refuse
        self._open: list[str] = []
        self._fields: dict[str, str] = {}

    def _refuse(self, *_: object) -> None:
        raise HostileXml(
            f"{self.path} declares a document type or entities, which no annotation of VOC needs: "
            "get it again"
        )

    def _start(self, tag: str, _: object) -> None:
        self._open.append(tag)
        if self._open == ["annotation", "object"]:
            self._fields = {"name": "", "difficult": ""}

    def _text(self, text: str) -> None:
        # Parts of an object, such as a person's head, have names of their own, one level below.
        inside = self._open[:2] == ["annotation", "object"] and len(self._open) == 3
        if inside and self._open[2] in self._fields:
            self._fields[self._open[2]] += text

    def _end(self, tag: str) -> None:
        if self._open == ["annotation", "object"]:
            name = self._fields["name"].strip()
            if not name:
                raise InvalidInput(f"{self.path}: an object has no name")
            if self._fields["difficult"].strip() in ("", "0"):
                self.names.add(name)
        del tag
        self._open.pop()
