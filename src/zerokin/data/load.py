"""`load_dataset`: the one door through which data comes in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from zerokin.data.attached_features import FILES, with_features
from zerokin.data.class_semantics import with_semantics
from zerokin.data.dataset import Dataset
from zerokin.data.spec_options import split_options
from zerokin.errors import InvalidInput, did_you_mean
from zerokin.parameters import InstanceOf, Optional, Ranges, check_arguments


@dataclass(frozen=True)
class Reader:
    """How a kind of data is opened.

    ``function`` is imported when it is first needed and called as ``(source, folder, **options)``.
    """

    function: str
    summary: str
    needs_folder: bool = True
    options: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    """whole numbers that may stand behind the folder, as in ``imnet=DIR,train=200``"""

    def load(self) -> Callable[..., Dataset]:
        """Import the reader."""
        module, name = self.function.rsplit(".", 1)
        reader: Callable[..., Dataset] = getattr(
            import_module(f"zerokin.data.readers.{module}"), name
        )
        return reader


READERS = {
    "critters": Reader("critters.read_critters", "60 invented animals", needs_folder=False),
    "critters-scenes": Reader(
        "critters_scenes.read_critters_scenes", "several of them in an image", needs_folder=False
    ),
    "folder": Reader("folder.read_folder", "your own images and classes.csv"),
    "xlsa17": Reader("xlsa17.read_xlsa17", "features and splits (.mat)", options=("features",)),
    "cub": Reader("cub.read_cub", "CUB-200-2011 images"),
    "awa1": Reader("awa.read_awa1", "Animals with Attributes images"),
    "awa2": Reader("awa.read_awa2", "Animals with Attributes 2 images"),
    "sun": Reader("sun.read_sun", "SUN Attribute images"),
    "imnet": Reader(
        "imnet.read_imnet",
        "ILSVRC2012 seen, ILSVRC2010 unseen",
        numbers=("train", "test", "seed"),
    ),
    "coco": Reader("coco.read_coco", "COCO 2017, several labels an image"),
    "nus-wide": Reader("nus_wide.read_nus_wide", "NUS-WIDE, 925 seen and 81 unseen labels"),
    "voc": Reader("voc.read_voc", "Pascal VOC, several labels an image"),
    "mini-imagenet": Reader("mini_imagenet.read_mini_imagenet", "mini-ImageNet, Ravi's split"),
}


_RANGES: Ranges = {
    "spec": InstanceOf(str, "a text such as 'critters'"),
    "split": Optional(InstanceOf(str, "the name of a split")),
    "features": Optional(InstanceOf(str, "a file or the name of one")),
    "semantics": Optional(InstanceOf(str, "a text such as 'word-vectors=FILE'")),
}


def load_dataset(
    spec: str,
    *,
    split: str | None = None,
    features: str | None = None,
    semantics: str | None = None,
) -> Dataset:
    """Open a data set.

    Parameters
    ----------
    spec
        ``"critters"``, or a kind and its folder: ``"cub=DIR"``, ``"xlsa17=DIR"``, ``"awa1=DIR"``,
        ``"awa2=DIR"``, ``"sun=DIR"``, ``"imnet=DIR"``, ``"mini-imagenet=DIR"``, ``"folder=DIR"``.
        With several labels an image: ``"critters-scenes"``, ``"coco=DIR"``, ``"nus-wide=DIR"``,
        ``"voc=DIR"``, and a folder with ``labels.csv``.
        A folder alone, ``"DIR"``, is one of your own images.
        ``"imnet=DIR,train=200,test=50"`` draws so many images of every seen and unseen class.
    split
        ``"pure"`` (the proposed split) or ``"standard"`` where the data has both; by default its
        first.
    features
        A feature file in place of the images: one that ``zerokin extract`` wrote
        (``"FILE.safetensors"``), or an array with a row for each (``"FILE.npy"``); or which feature
        file of an xlsa17 folder with several.
    semantics
        Other class semantics than the data's own: ``"word-vectors=FILE"`` (word2vec, GloVe or
        fastText), ``"text=MODEL"`` (a sentence encoder's folder or name), ``"definitions"``
        (WordNet's, encoded), ``"taxonomy"`` (a column per superclass), ``"table=FILE"`` (a CSV
        table of names and numbers) or ``"own"``; several joined by ``+`` stand side by side, each
        of unit length.

    Returns
    -------
    Dataset
        A `MultiLabelDataset` where images have several labels.

    Examples
    --------
    >>> load_dataset("critters")
    <Dataset 'Critters': 3,600 images, 45 seen and 15 unseen classes, pure split>
    >>> load_dataset("criters")
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: unknown data 'criters'; did you mean 'critters'? ...
    """
    check_arguments(_RANGES, spec=spec, split=split, features=features, semantics=semantics)
    kind, equals, folder = spec.partition("=")
    if kind not in READERS and Path(spec).expanduser().is_dir():
        kind, equals, folder = "folder", "=", spec
    reader = READERS.get(kind)
    if reader is None:
        known = ", ".join(f"{k}=DIR" if r.needs_folder else k for k, r in READERS.items())
        raise InvalidInput(
            f"unknown data {spec!r}{did_you_mean(kind, READERS)} (known: {known}, or a folder)"
        )
    if reader.needs_folder and not folder:
        raise InvalidInput(f"{spec!r} lacks its folder: write {kind}=DIR")
    if equals and not reader.needs_folder:
        raise InvalidInput(f"{kind!r} takes no folder: write {kind}")
    folder, numbers = split_options(folder, reader.numbers, spec)
    own = "features" in reader.options
    options: dict[str, Any] = {"features": features} if own else dict(numbers)
    dataset = reader.load()(spec, Path(folder).expanduser(), **options)
    if features is not None and (features.endswith(FILES) or not own):
        dataset = with_features(dataset, features)
    if semantics is not None:
        dataset = with_semantics(dataset, semantics)
    return dataset if split is None else dataset.with_split(split)
