"""Which classes a question leaves: some roles or names, some classes, those below superclasses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.class_labels import KnownClasses, candidate_positions
from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.errors import InvalidInput, did_you_mean, listing, shown
from zerokin.hierarchy import ClassHierarchy

if TYPE_CHECKING:
    from zerokin.recognizer.answering import Question

Positions = NDArray[np.int64]


def restrict_candidates(question: Question, classifier: ZeroShotClassifier) -> Positions:
    """Return the positions of the classes that a question leaves; none left is an error.

    Parameters
    ----------
    question
        Its ``candidates``, ``classes`` and ``under`` all have to hold.
    classifier
        Who knows the classes and their superclasses.
    """
    known = KnownClasses(classifier.classes_, classifier.semantics_)
    chosen = candidate_positions(question.candidates, known, classifier.seen_)
    asked = [] if question.candidates == "all" else [f"candidates={shown(question.candidates)}"]
    if question.classes is not None:
        names = _listed(question.classes, "classes")
        chosen = np.intersect1d(chosen, known.positions(names, "classes"))
        asked.append(f"classes={shown(names)}")
    if question.under is not None:
        names = _listed(question.under, "under")
        chosen = np.intersect1d(chosen, classes_under(classifier.hierarchy_, names))
        asked.append(f"under={shown(names)}")
    if not len(chosen):
        raise InvalidInput(f"{' with '.join(asked)} leaves no class to choose from")
    return chosen


def classes_under(hierarchy: ClassHierarchy | None, names: Sequence[str]) -> Positions:
    """Return the positions of all classes below superclasses, of whatever layer.

    Examples
    --------
    >>> tree = ClassHierarchy.from_taxonomy({"lynx": ["cat"], "puma": ["cat"], "wolf": ["dog"]})
    >>> classes_under(tree, ["cat"])
    array([0, 1])
    >>> classes_under(tree, ["cst"])
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: unknown superclass 'cst'; did you mean 'cat'?
    """
    if hierarchy is None:
        raise InvalidInput("there are no superclasses here: leave out under")
    layers = [
        (hierarchy.node_names(layer), hierarchy.labels(layer))
        for layer in range(1, hierarchy.n_layers + 1)
    ]
    below = np.zeros(hierarchy.n_classes, dtype=bool)
    for name in names:
        found = [labels == nodes.index(name) for nodes, labels in layers if name in nodes]
        if not found:
            superclasses = list(dict.fromkeys(node for nodes, _ in layers for node in nodes))
            hint = did_you_mean(name, superclasses) or f" (there are {listing(superclasses)})"
            raise InvalidInput(f"unknown superclass {shown(name)}{hint}")
        below |= np.any(found, axis=0)
    return np.flatnonzero(below)


def _listed(names: str | Sequence[str], what: str) -> list[str]:
    """Return names as a list, one name or several."""
    given = [names] if isinstance(names, str) else list(names)
    strange = next((name for name in given if not isinstance(name, str)), None)
    if strange is not None:
        raise InvalidInput(f"{what} must be names: got {shown(strange)}")
    if not given:
        raise InvalidInput(f"{what} is empty: give one name or several, or leave it out")
    return given
