"""Giving a data set's classes other semantic vectors than its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from zerokin.data.classes import BESIDE, ClassTable
from zerokin.data.dataset import Dataset
from zerokin.errors import InvalidInput, did_you_mean, shown

TEXT_ENCODER = "minilm"
CLIP_TEXT = "clip-text"


def with_semantics(dataset: Dataset, semantics: str) -> Dataset:
    """Return the data set with class vectors from other sources.

    Parameters
    ----------
    dataset
        Whose classes get them.
    semantics
        ``"word-vectors=FILE"``, ``"text=MODEL"``, ``"definitions"`` (WordNet's, encoded by MiniLM;
        ``"definitions=FOLDER"`` for a WordNet in an unusual place), ``"clip-text"`` (names and
        descriptions by CLIP's text tower; ``"clip-text=MODEL"`` or ``"clip-text=MODEL,FILE"`` for
        another CLIP, or its weights), ``"taxonomy"`` (a column per superclass),
        ``"table=FILE"`` (a CSV table of names and numbers) or ``"own"``; several joined by ``+``
        stand side by side, each of unit length.
    """
    parts = [_from_source(dataset.classes, source) for source in _sources(semantics)]
    return dataset.with_classes(parts[0] if len(parts) == 1 else _side_by_side(parts))


def known_by(
    classes: ClassTable,
    vectors: NDArray[np.float64],
    source: str,
    *,
    text_encoder: str | None = None,
) -> ClassTable:
    """Return the table with other vectors (C, d_z), and where they come from."""
    return replace(
        classes,
        vectors=vectors,
        semantics_source=source,
        attribute_names=None,
        text_encoder=text_encoder,
    )


def from_word_vectors(classes: ClassTable, file: str) -> ClassTable:
    """Return the table with the word vectors of the class names."""
    from zerokin.semantics import word_vectors

    vectors = word_vectors(classes.names, file)
    return known_by(classes, vectors, f"word vectors ({file})")


def from_text(classes: ClassTable, model: str) -> ClassTable:
    """Return the table with sentence vectors of the descriptions, or of the names without them."""
    from zerokin.semantics import class_texts, sentence_vectors

    described = dict(zip(classes.names, classes.descriptions or (), strict=False))
    vectors = sentence_vectors(class_texts(classes.names, described), model)
    return known_by(classes, vectors, f"sentences ({model})", text_encoder=model)


def from_table(classes: ClassTable, file: str) -> ClassTable:
    """Return the table with vectors from a file with a line per class, such as `vectors` writes."""
    from zerokin.semantics.tables import vectors_of_classes

    vectors = vectors_of_classes(file, classes.names, key="name")
    return known_by(classes, vectors, f"a table ({file})")


def from_definitions(classes: ClassTable, folder: str | None = None) -> ClassTable:
    """Return the table with sentence vectors of what WordNet says of the classes."""
    from zerokin.semantics import sentence_vectors, wordnet_definitions

    if classes.wnids is None:
        raise InvalidInput(
            "these classes are no concepts of WordNet (they have no wnids): describe them, and "
            "give --semantics text=minilm"
        )
    texts = wordnet_definitions(classes.wnids, folder)
    # A few short texts, and a GPU may be at something else.
    vectors = sentence_vectors(texts, TEXT_ENCODER, device="cpu")
    source = f"WordNet's definitions ({TEXT_ENCODER})"
    told = replace(classes, descriptions=tuple(texts))
    return known_by(told, vectors, source, text_encoder=TEXT_ENCODER)


def from_clip_text(classes: ClassTable, model: str = "") -> ClassTable:
    """Return the table with vectors of names and descriptions from a CLIP's text tower."""
    from zerokin.semantics.clip_text import DEFAULT_CLIP, class_prompts, clip_text_vectors

    name, _, weights = model.partition(",")
    name = name or DEFAULT_CLIP
    told = dict(zip(classes.names, classes.descriptions or (), strict=False))
    vectors = clip_text_vectors(class_prompts(classes.names, told), name, weights=weights or None)
    encoder = f"{CLIP_TEXT}={name}{f',{weights}' if weights else ''}"
    source = clip_text_source(name, weights or None)
    return known_by(classes, vectors, source, text_encoder=encoder)


def clip_text_source(model: str, weights: str | None = None) -> str:
    """Return where vectors of a CLIP's text tower come from, in words.

    Examples
    --------
    >>> clip_text_source("clip-base", "own/clip.safetensors")
    'CLIP texts (open_clip/ViT-B-16.laion2b_s34b_b88k, file clip.safetensors)'
    """
    from zerokin.semantics.clip_models import clip_file, full_name

    return f"CLIP texts ({full_name(model)}, {clip_file(model, weights)[1]})"


def from_taxonomy(classes: ClassTable) -> ClassTable:
    """Return the table with a column for every superclass of the data's taxonomy."""
    from zerokin.semantics import taxonomy_vectors

    if classes.taxonomy is None:
        raise InvalidInput("these classes have no taxonomy: give other semantics")
    return known_by(classes, taxonomy_vectors(classes.taxonomy), "taxonomy")


def from_own(classes: ClassTable) -> ClassTable:
    """Return the table as it is, if it has vectors."""
    if classes.vectors is None:
        raise InvalidInput("these classes have no vectors of their own: leave out 'own'")
    return classes


WITH_ARGUMENT: dict[str, Callable[[ClassTable, str], ClassTable]] = {
    "word-vectors": from_word_vectors,
    "text": from_text,
    "definitions": from_definitions,
    "table": from_table,
    CLIP_TEXT: from_clip_text,
}
ALONE: dict[str, Callable[[ClassTable], ClassTable]] = {
    "definitions": from_definitions,
    CLIP_TEXT: from_clip_text,
    "taxonomy": from_taxonomy,
    "own": from_own,
}
KNOWN = (
    "word-vectors=FILE, text=MODEL, table=FILE, definitions, definitions=FOLDER, clip-text, "
    "clip-text=MODEL, taxonomy, own"
)


def _sources(semantics: str) -> list[str]:
    """Split at every + before a source's name: a file may be called a+b."""
    begins = "|".join([*(f"{kind}=" for kind in WITH_ARGUMENT), *(f"{k}(?:[+]|$)" for k in ALONE)])
    sources = re.split(rf"\+(?={begins})", semantics)
    for source in sources:
        if sources.count(source) > 1:
            raise InvalidInput(f"semantics {semantics!r} has {source} twice: name it once")
    return sources


def _from_source(classes: ClassTable, source: str) -> ClassTable:
    kind, equals, argument = source.partition("=")
    if kind in ALONE and not equals:
        return ALONE[kind](classes)
    if kind not in WITH_ARGUMENT:
        hint = did_you_mean(kind, {**WITH_ARGUMENT, **ALONE})
        raise InvalidInput(f"unknown semantics {shown(source)}{hint} (known: {KNOWN})")
    if not argument:
        raise InvalidInput(f"semantics {source!r} lacks its file, model or folder: {kind}=…")
    return WITH_ARGUMENT[kind](classes, argument)


def _side_by_side(parts: list[ClassTable]) -> ClassTable:
    """Return the table with the vectors of several, each of unit length."""
    told = [part.descriptions for part in parts if part.descriptions is not None]
    source = BESIDE.join(part.semantics_source for part in parts)
    table = replace(parts[0], descriptions=told[0] if told else None)
    return known_by(table, np.hstack([part.semantics for part in parts]), source)
