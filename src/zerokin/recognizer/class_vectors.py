"""The semantic vector of a class that is added, from whatever a user knows of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zerokin.data.class_semantics import CLIP_TEXT
from zerokin.data.classes import ClassTable
from zerokin.errors import InvalidInput, did_you_mean


def class_vector(
    name: str,
    classes: ClassTable,
    width: int,
    *,
    vector: ArrayLike | None = None,
    attributes: Mapping[str, float] | None = None,
    text: str | None = None,
) -> NDArray[np.float64]:
    """Return the vector (d_z,) of a new class, as its peers' vectors are.

    Parameters
    ----------
    name
        For messages.
    classes
        The classes that are known already, which tell what a vector means.
    width
        d_z.
    vector, attributes, text
        Exactly one of them: the vector itself; values of attributes by name, 0 for those left
        out; or a description, encoded as those of the other classes were.
    """
    given = [what for what in (vector, attributes, text) if what is not None]
    if len(given) != 1:
        raise InvalidInput(f"class {name!r}: give one of vector, attributes and text")
    if attributes is not None:
        values = _from_attributes(name, classes, attributes)
    elif text is not None:
        values = _from_text(name, classes, text)
    else:
        try:
            values = np.asarray(vector, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"class {name!r}: its vector must be numbers") from error
    if values.shape != (width,):
        raise InvalidInput(
            f"class {name!r}: its vector has {values.size} values, but those of the others {width}"
        )
    if not np.isfinite(values).all() or not values.any():
        raise InvalidInput(f"class {name!r}: its vector must be finite and not all 0")
    return values


def _from_attributes(
    name: str, classes: ClassTable, attributes: Mapping[str, float]
) -> NDArray[np.float64]:
    known = classes.attribute_names
    if known is None:
        raise InvalidInput(
            f"class {name!r}: classes are known by {classes.semantics_source} here, not by "
            f"attributes: give {'text' if classes.text_encoder else 'vector'}"
        )
    columns = {attribute: column for column, attribute in enumerate(known)}
    values = np.zeros(len(known))
    for attribute, value in attributes.items():
        if attribute not in columns:
            raise InvalidInput(
                f"class {name!r}: unknown attribute {attribute!r}{did_you_mean(attribute, known)}"
            )
        try:
            values[columns[attribute]] = float(value)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"class {name!r}: attribute {attribute!r} is {value!r}, not a number"
            ) from None
    return values


def _from_text(name: str, classes: ClassTable, text: str) -> NDArray[np.float64]:
    encoder = classes.text_encoder
    if encoder is None:
        raise InvalidInput(
            f"class {name!r}: classes are known by {classes.semantics_source} here, not by text: "
            f"give {'attributes' if classes.attribute_names else 'vector'}"
        )
    if not text.strip():
        raise InvalidInput(f"class {name!r}: its text is empty")
    if encoder.startswith(f"{CLIP_TEXT}="):
        from zerokin.data.class_semantics import from_clip_text

        alone = ClassTable(names=(name,), descriptions=(text,))
        by_clip: NDArray[np.float64] = from_clip_text(alone, encoder.partition("=")[2]).semantics[0]
        return by_clip
    from zerokin.semantics import sentence_vectors

    found: NDArray[np.float64] = sentence_vectors([text], encoder)[0]
    return found
