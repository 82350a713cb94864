"""Classifier folders, which earlier versions fitted to features, read as recognizers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from zerokin.classifiers.serialization import CONFIG
from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.data.classes import ClassTable
from zerokin.recognizer.atomic_bundle import is_bundle, read_pointer

if TYPE_CHECKING:
    from zerokin.recognizer.recognizer import Recognizer


def is_former_classifier(folder: str | os.PathLike[str]) -> bool:
    """Tell whether a folder holds a classifier alone, as `ZeroShotClassifier.save` writes it."""
    return not is_bundle(folder) and (Path(folder) / CONFIG).is_file()


def current_generation(folder: Path) -> str | None:
    """Return the name of a bundle's generation; None for a classifier of an earlier version."""
    return None if is_former_classifier(folder) else read_pointer(folder).generation


def read_former_classifier(kind: type[Recognizer], folder: Path) -> Recognizer:
    """Read a classifier as a recognizer of features, without confidence; it cannot be changed."""
    classifier = ZeroShotClassifier.load(folder)
    classifier.classes_ = classifier.classes_.astype(str)  # Python programs may have used numbers
    classes = ClassTable(
        tuple(classifier.classes_.tolist()), classifier.semantics_, semantics_source="vectors"
    )
    return kind(None, classifier, classes, about={"name": folder.resolve().name})
