"""Giving a data set's classes other semantic vectors than its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from zerokin.data.classes import ClassTable
from zerokin.data.dataset import Dataset
from zerokin.errors import InvalidInput, did_you_mean


def with_semantics(dataset: Dataset, semantics: str) -> Dataset:
    """Return the data set with class vectors from ``"word-vectors=FILE"`` or ``"text=MODEL"``."""
    kind, _, argument = semantics.partition("=")
    if kind not in SOURCES:
        raise InvalidInput(
            f"unknown semantics {semantics!r}{did_you_mean(kind, SOURCES)} "
            "(known: word-vectors=FILE, text=MODEL)"
        )
    if not argument:
        raise InvalidInput(f"semantics {semantics!r} lacks its file or model: {kind}=…")
    return dataset.with_classes(SOURCES[kind](dataset.classes, argument))


def from_word_vectors(classes: ClassTable, file: str) -> ClassTable:
    """Return the table with the word vectors of the class names."""
    from zerokin.semantics import word_vectors

    vectors = word_vectors(classes.names, file)
    return replace(
        classes, vectors=vectors, semantics_source=f"word vectors ({file})", attribute_names=None
    )


def from_text(classes: ClassTable, model: str) -> ClassTable:
    """Return the table with sentence vectors of the descriptions, or of the names without them."""
    from zerokin.semantics import class_texts, sentence_vectors

    described = dict(zip(classes.names, classes.descriptions or (), strict=False))
    vectors = sentence_vectors(class_texts(classes.names, described), model)
    return replace(
        classes, vectors=vectors, semantics_source=f"sentences ({model})", attribute_names=None
    )


SOURCES: dict[str, Callable[[ClassTable, str], ClassTable]] = {
    "word-vectors": from_word_vectors,
    "text": from_text,
}
