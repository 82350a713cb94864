"""ImNet: the 1,000 classes of ILSVRC2012 are seen, those that only ILSVRC2010 has are unseen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from zerokin.data.classes import ClassTable
from zerokin.data.dataset import Dataset
from zerokin.data.images import FolderImages
from zerokin.data.provenance import Provenance, SourceFile
from zerokin.data.readers.ilsvrc import WnidImages, flat_images, is_flat, wnid_folders
from zerokin.data.readers.split_files import drawn_folds
from zerokin.data.readers.tables import read_lines
from zerokin.data.readers.wnid_vectors import find_vectors
from zerokin.data.splits import split_by_class
from zerokin.errors import InvalidInput, MissingFile
from zerokin.files import existing
from zerokin.semantics.hypernyms import hypernym_paths
from zerokin.semantics.tables import vectors_of_classes

SEEN_FOLDERS = (
    "ILSVRC2012/train",
    "ILSVRC2012_img_train",
    "ILSVRC/Data/CLS-LOC/train",
    "train_2012",
)
UNSEEN_FOLDERS = (
    "ILSVRC2010/val",
    "ILSVRC2010_images_val/val",
    "ILSVRC2010_images_val",
    "val_2010",
    "ILSVRC2010/train",
    "ILSVRC2010_images_train",
    "train_2010",
)
WORDNET = "wordnet/data.noun"
DEVKITS = ("ILSVRC2010/devkit-1.0/data", "devkit-1.0/data")


def read_imnet(
    source: str, folder: Path, *, train: int | None = None, test: int | None = None, seed: int = 0
) -> Dataset:
    """Read ImNet from the folders of two ImageNet challenges.

    Every image of ILSVRC2012's training set is there to train on. Of ILSVRC2010 only the
    images of classes that ILSVRC2012 lacks are listed, all of them to test on. Classes are the
    seen ones, then the unseen ones, each sorted by wnid. Their vectors are the word vectors in
    ``word_vectors.csv`` or ``word_vectors.txt``, by wnid; a folder without such a file gives
    classes without semantics. Their taxonomy is WordNet's, where ``wordnet/data.noun`` is there.

    Parameters
    ----------
    source, folder
        The data spec, for messages and provenance, and the folder.
    train, test
        Images of every seen and of every unseen class, drawn at random (the paper has 200 and 50);
        all of them by default, or where a class has fewer.
    seed
        Draws them. What is drawn of a class does not depend on other classes.
    """
    existing(folder, "ImNet folder", f"it should hold {SEEN_FOLDERS[0]} and {UNSEEN_FOLDERS[0]}")
    seen = wnid_folders(folder, _first(folder, SEEN_FOLDERS, "seen classes (ILSVRC2012)"))
    unseen, files = _unseen(folder, seen)
    seen, unseen = draw_images(seen, train, seed), draw_images(unseen, test, seed)
    wnids = [*seen, *unseen]
    images = [name for names in (*seen.values(), *unseen.values()) for name in names]
    counts = [len(names) for names in (*seen.values(), *unseen.values())]
    labels = np.repeat(np.arange(len(wnids)), counts)
    is_unseen = np.arange(len(wnids)) >= len(seen)
    words, table = folder / "words.txt", find_vectors(folder)
    names = with_words(wnids, words) if words.exists() else tuple(wnids)
    folds = drawn_folds(names, is_unseen)
    nouns = folder / WORDNET
    paths = hypernym_paths(wnids, nouns.parent) if nouns.exists() else None
    files += [path for path in (words, table, nouns) if path is not None and path.exists()]
    return Dataset(
        name="ImNet",
        classes=ClassTable(
            names=names,
            vectors=None if table is None else vectors_of_classes(table, wnids, key="wnid"),
            semantics_source="none" if table is None else f"word vectors ({table.name})",
            taxonomy=None if paths is None else tuple(paths[wnid] for wnid in wnids),
            wnids=tuple(wnids),
        ),
        inputs=FolderImages(folder, images),
        labels=labels,
        splits={
            "pure": split_by_class(
                labels,
                is_unseen,
                version=_version(train, test, seed),
                folds=folds.masks,
                folds_version=folds.version,
            )
        },
        provenance=Provenance(
            source, "ImNet images", tuple(SourceFile.from_path(file) for file in files)
        ),
    )


def draw_images(images: WnidImages, most: int | None, seed: int) -> WnidImages:
    """Draw so many images of every class at random, in the order they had; all by default.

    Examples
    --------
    >>> draw_images({"n01440764": ["a", "b", "c", "d"], "n00441824": ["e"]}, 2, seed=0)
    {'n01440764': ['b', 'd'], 'n00441824': ['e']}
    """
    if most is None:
        return images
    drawn = {}
    for wnid, names in images.items():
        rng = np.random.default_rng([seed, int(wnid[1:])])
        chosen = np.sort(rng.permutation(len(names))[:most])
        drawn[wnid] = [names[number] for number in chosen.tolist()]
    return drawn


def _version(train: int | None, test: int | None, seed: int) -> str:
    """Return the split's version, with how images were drawn where they were."""
    sizes = [f"{most} {what}" for most, what in ((train, "seen"), (test, "unseen")) if most]
    drawn = f", {' and '.join(sizes)} images a class, seed {seed}" if sizes else ""
    return f"ILSVRC2012/ILSVRC2010{drawn}"


def with_words(wnids: Sequence[str], path: Path) -> tuple[str, ...]:
    """Return ``"wnid word"`` with the first of a class's words, or the wnid alone without any.

    The lines of the file are ``wnid``, a tab, and words between commas.
    """
    wanted, words = set(wnids), {}
    for number, line in enumerate(read_lines(path), start=1):
        wnid, tab, listed = line.partition("\t")
        if not tab:
            raise InvalidInput(f"{path}, line {number}: {line[:40]!r} has no tab after the wnid")
        if wnid in wanted:
            words[wnid] = listed.split(",")[0].strip()
    return tuple(f"{wnid} {words.get(wnid, '')}".strip() for wnid in wnids)


def _unseen(folder: Path, seen: WnidImages) -> tuple[WnidImages, list[Path]]:
    """Return the images of the unseen classes, and the files that told their classes."""
    root = _first(folder, UNSEEN_FOLDERS, "unseen classes (ILSVRC2010)")
    files: list[Path] = []
    if is_flat(folder / root):
        devkit = folder / _first(folder, DEVKITS, f"development kit for {root}")
        found, files = flat_images(folder, root, devkit, without=seen)
    else:
        found = wnid_folders(folder, root, without=seen)
    if not found:
        raise InvalidInput(
            f"{folder / root} has no classes beyond those of ILSVRC2012: there are no unseen ones"
        )
    return found, files


def _first(folder: Path, candidates: Sequence[str], what: str) -> str:
    """Return the first of the subfolders that is there."""
    for name in candidates:
        if (folder / name).is_dir():
            return name
    raise MissingFile(f"no folder of {what} in {folder}: it should be {' or '.join(candidates)}")
