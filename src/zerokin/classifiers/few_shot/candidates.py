"""Which classes a few-shot classifier chooses from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.class_labels import KnownClasses, Positions
from zerokin.errors import InvalidInput, did_you_mean, listing

Candidates = str | Sequence[Any] | NDArray[Any] | None


def few_shot_candidates(
    candidates: Candidates,
    names: NDArray[Any],
    *,
    base: Positions,
    novel: Positions,
    known: NDArray[np.bool_],
) -> Positions:
    """Return the positions of candidates: ``"novel"``, ``"base"``, ``"all"`` or a list of classes.

    None means the novel classes if there are any, and all otherwise. ``known`` (C,) says which
    classes have shots or semantics.
    """
    kinds = {"novel": novel, "base": base, "all": np.union1d(base, novel)}
    if candidates is None:
        candidates = "novel" if len(novel) else "all"
    if isinstance(candidates, str):
        if candidates not in kinds:
            raise InvalidInput(
                f"candidates={candidates!r} is none of {listing(kinds)}"
                f"{did_you_mean(candidates, kinds)}; give one class as a list"
            )
        chosen = kinds[candidates]
    else:
        # Ordered by position: the answer must not depend on the order of the list.
        classes = KnownClasses(names, np.empty((len(names), 0)))
        chosen = np.unique(classes.positions(candidates, "candidates"))
    unknown = chosen[~known[chosen]]
    if len(unknown):
        raise InvalidInput(
            f"candidates: class {str(names[unknown[0]])!r} has neither shots nor semantics"
        )
    if not len(chosen):
        raise InvalidInput(f"candidates={candidates!r} leaves no class to choose from")
    return chosen
