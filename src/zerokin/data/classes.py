"""The class table: what is known of every class, seen or unseen, before any image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress, islice

import numpy as np
from numpy.typing import NDArray

from zerokin.class_names import name_problem, text_problem
from zerokin.errors import InvalidInput, did_you_mean, listing, shown
from zerokin.matrices import real_array
from zerokin.semantics.normalize import unit_rows

TaxonomyPath = tuple[str, ...]
BESIDE = " beside "
"""Between the sources of vectors that stand side by side."""


@dataclass(frozen=True, eq=False)
class ClassTable:
    """Names, semantic vectors, descriptions and taxonomy of C classes.

    Parameters
    ----------
    names
        One name per class.
    vectors
        (C, d_z) semantic vectors as they were read; `semantics` is what methods use.
    semantics_source
        Where the vectors come from, such as ``"attributes"``.
    text_encoder
        The sentence encoder that made the vectors, through which the text of a new class goes, too;
        None where something else made them, or something stands beside the texts.
    attribute_names
        Names of the d_z columns, where they have any.
    descriptions
        One text per class, where the data has them.
    taxonomy
        One path per class from the top down, the class itself excluded, where known.
    taxonomy_ranks
        What the levels of the paths are called, such as ``("order", "family")``, where they have
        names.
    wnids
        The concept of WordNet that each class is, such as ``"n02084071"``, where known.
    """

    names: tuple[str, ...]
    vectors: NDArray[np.float64] | None = None
    semantics_source: str = "none"
    attribute_names: tuple[str, ...] | None = None
    descriptions: tuple[str, ...] | None = None
    taxonomy: tuple[TaxonomyPath, ...] | None = None
    wnids: tuple[str, ...] | None = None
    text_encoder: str | None = None
    taxonomy_ranks: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        names: object = self.names
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InvalidInput(f"names must be a list of class names: got {shown(names)}")
        strange = [name for name in names if not isinstance(name, str)]
        if strange:
            raise InvalidInput(f"the name of a class must be a text: got {shown(strange[0])}")
        object.__setattr__(self, "names", tuple(names))
        if self.vectors is not None:
            object.__setattr__(self, "vectors", real_array(self.vectors, "vectors"))

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def semantics(self) -> NDArray[np.float64]:
        """(C, d_z) class semantics Z: the vectors scaled to unit L2 norm, nothing centered."""
        if self.vectors is None:
            known = "text=minilm" if self.descriptions else "word-vectors=FILE"
            if self.wnids:
                known = f"definitions, {known}"
            raise InvalidInput(
                f"these classes have no semantic vectors: give some with --semantics {known} or "
                "text=FOLDER (semantics= in Python)"
            )
        vectors = unit_rows(self.vectors, self.names)
        vectors.setflags(write=False)
        return vectors

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def index(self, names: str | Sequence[str]) -> NDArray[np.int64]:
        """Return the positions of the named classes, refusing unknown names.

        Examples
        --------
        >>> ClassTable(("okapi", "zebra")).index(["zebra"])
        array([1])
        >>> ClassTable(("okapi", "zebra")).index("zebar")
        Traceback (most recent call last):
        zerokin.errors.InvalidInput: unknown class 'zebar'; did you mean 'zebra'?
        """
        if not isinstance(names, Iterable):
            raise InvalidInput(f"names must be a list of class names: got {shown(names)}")
        wanted = [names] if isinstance(names, str) else list(names)
        for name in wanted:
            if not isinstance(name, str) or name not in self._positions:
                raise InvalidInput(f"unknown class {shown(name)}{did_you_mean(name, self.names)}")
        return np.array([self._positions[name] for name in wanted], dtype=np.int64)

    def select(self, positions: NDArray[np.int64]) -> ClassTable:
        """Return the table of some of the classes, in the order given."""

        def pick(values: tuple[str, ...] | None) -> tuple[str, ...] | None:
            return None if values is None else tuple(values[i] for i in positions)

        return replace(
            self,
            names=tuple(self.names[i] for i in positions),
            vectors=None if self.vectors is None else self.vectors[positions],
            descriptions=pick(self.descriptions),
            taxonomy=None if self.taxonomy is None else tuple(self.taxonomy[i] for i in positions),
            wnids=pick(self.wnids),
        )

    def with_class(self, name: str, vector: NDArray[np.float64], text: str | None) -> ClassTable:
        """Return the table with one more class at the end.

        Parameters
        ----------
        name, text
            What it is called, and its description, if it has one.
        vector
            (d_z,), as the other vectors were read.
        """
        vectors, described, taxonomy = self.vectors, self.descriptions, self.taxonomy
        if text is not None and described is None:
            described = ("",) * len(self)
        return replace(
            self,
            names=(*self.names, name),
            vectors=None if vectors is None else np.concatenate([vectors, vector[None]]),
            descriptions=None if described is None else (*described, text or ""),
            taxonomy=None if taxonomy is None else (*taxonomy, ()),
            wnids=None,  # nobody says which concept the new one is
        )

    def problems(self) -> list[str]:
        """Return everything that is wrong with the table, one line each."""
        found = []
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            found.append(f"class names must be unique, but {listing(twice)} occurs more than once")
        if any(not name.strip() for name in self.names):
            found.append("a class has an empty name: name every class")
        named = (name_problem(name) for name in self.names if name.strip())
        told = (text_problem(text) for text in self.descriptions or ())
        columns = (name_problem(name) for name in self.attribute_names or () if name.strip())
        for problems in (named, told, columns):
            # Of many the first: they will all have come from the same slip.
            found += islice(filter(None, problems), 1)
        if self.vectors is not None:
            found += self._vector_problems(self.vectors)
        for what, values in (
            ("description", self.descriptions),
            ("taxonomy path", self.taxonomy),
            ("wnid", self.wnids),
        ):
            if values is not None and len(values) != len(self):
                found.append(f"{len(self)} classes but {len(values)} {what}s: give one per class")
        return found

    def _vector_problems(self, vectors: NDArray[np.float64]) -> list[str]:
        if vectors.ndim != 2 or len(vectors) != len(self) or not vectors.shape[1]:
            return [
                f"semantic vectors have shape {vectors.shape}, but there are {len(self)} classes: "
                "give one row per class"
            ]
        found = []
        columns = self.attribute_names
        if columns is not None and len(columns) != vectors.shape[1]:
            found.append(
                f"{vectors.shape[1]} attribute columns but {len(columns)} attribute names: "
                "they must match"
            )
        unusable = np.any(~np.isfinite(vectors), axis=1)
        if unusable.any():
            names = listing(compress(self.names, unusable))
            found.append(f"NaN or infinite semantic values for {names}: fill them in")
        absent = (vectors == 0).all(axis=1)
        if absent.any():
            names = listing(compress(self.names, absent))
            found.append(f"no semantic vector (all zeros) for {names}: fill it in")
        return found
