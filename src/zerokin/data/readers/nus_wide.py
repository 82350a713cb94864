"""NUS-WIDE: 925 labels that users gave are seen, 81 that annotators gave are unseen.

Of the 1,000 user tags, those among the 81 concepts are left out. Training images keep their seen
tags; which of the 81 concepts they show stays hidden (Zhang et al., Fast Zero-Shot Image Tagging,
CVPR 2016).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.data.classes import ClassTable
from zerokin.data.images import FolderImages
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.data.provenance import Provenance, SourceFile
from zerokin.data.readers.label_splits import drawn_label_folds, multi_label_split
from zerokin.data.readers.tables import read_lines
from zerokin.errors import InvalidInput
from zerokin.files import existing

IMAGES = "Flickr"
PARTS = ("Train", "Test")
CHUNK = 2**26


def read_nus_wide(source: str, folder: Path) -> MultiLabelDataset:
    """Read the official lists of NUS-WIDE.

    ``ImageList/{Train,Test}Imagelist.txt``, ``ConceptsList/Concepts81.txt``,
    ``Groundtruth/TrainTestLabels/Labels_CONCEPT_Test.txt``, ``NUS_WID_Tags/TagList1k.txt`` and
    ``NUS_WID_Tags/{Train,Test}_Tags1k.dat``. Images, where they are needed, lie below ``Flickr/``.
    """
    from scipy.sparse import csr_array, hstack, vstack

    existing(folder, "folder", "it should hold ImageList/, Groundtruth/ and NUS_WID_Tags/")
    lists = [folder / "ImageList" / f"{part}Imagelist.txt" for part in PARTS]
    images = [[line.replace("\\", "/") for line in read_lines(path)] for path in lists]
    concept_file = folder / "ConceptsList" / "Concepts81.txt"
    tag_file = folder / "NUS_WID_Tags" / "TagList1k.txt"
    concepts, tags = read_lines(concept_file), read_lines(tag_file)
    for path, listed in ((concept_file, concepts), (tag_file, tags)):
        if len(set(listed)) < len(listed):
            raise InvalidInput(f"{path} lists a name twice: get it again")
    seen = [at for at, tag in enumerate(tags) if tag not in set(concepts)]
    tag_files = [folder / "NUS_WID_Tags" / f"{part}_Tags1k.dat" for part in PARTS]
    tagged = [
        read_marks(path, len(names), len(tags))[:, seen]
        for path, names in zip(tag_files, images, strict=True)
    ]
    truth_files = [
        folder / "Groundtruth" / "TrainTestLabels" / f"Labels_{name}_Test.txt" for name in concepts
    ]
    truth = hstack([read_marks(path, len(images[1]), 1) for path in truth_files], format="csr")
    hidden = csr_array((len(images[0]), len(concepts)), dtype=np.bool_)
    labels = csr_array(vstack([hstack([tagged[0], hidden]), hstack([tagged[1], truth])]))
    names = [*(tags[at] for at in seen), *concepts]
    files = [f"{IMAGES}/{name}" for part in images for name in part]
    unseen = np.arange(len(names)) >= len(seen)
    split = multi_label_split(
        labels,
        unseen,
        np.arange(len(files)) >= len(images[0]),
        version=f"{len(seen)}/{len(concepts)}, unseen labels of training images hidden",
        folds=drawn_label_folds(names, unseen),
    )
    read = (*lists, concept_file, tag_file, *tag_files, *truth_files)
    return MultiLabelDataset(
        name="NUS-WIDE",
        classes=ClassTable(names=tuple(names)),
        inputs=FolderImages(folder, files),
        labels=labels,
        splits={"pure": split},
        provenance=Provenance(
            source, "NUS-WIDE lists", tuple(SourceFile.from_path(path) for path in read)
        ),
    )


def read_marks(path: Path, n_rows: int, n_columns: int) -> Any:
    """Read a text file of zeros and ones as a sparse matrix; nothing is parsed row by row."""
    from scipy.sparse import csr_array

    existing(path, "file", "NUS-WIDE brings it")
    found: list[NDArray[np.int64]] = []
    count = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            signs = np.frombuffer(chunk, np.uint8)
            space = (signs == 32) | ((signs >= 9) & (signs <= 13))
            digits = signs[~space]
            if not np.isin(digits, (48, 49)).all():
                raise InvalidInput(f"{path} holds something other than 0 and 1: get it again")
            found.append(np.flatnonzero(digits == 49) + count)
            count += len(digits)
    if count != n_rows * n_columns:
        raise InvalidInput(
            f"{path} holds {count:,} marks, not {n_rows:,} × {n_columns:,}, one for each image and "
            "label: are all lists of the same version?"
        )
    marked = np.concatenate([*found, np.empty(0, dtype=np.int64)])
    ones = np.ones(len(marked), dtype=np.bool_)
    return csr_array((ones, np.divmod(marked, n_columns)), shape=(n_rows, n_columns))
