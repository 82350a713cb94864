"""Thousands of generated inputs to the public API: refused in one line, or answered right."""

from __future__ import annotations

import traceback
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from api_inputs import ANY, REFUSED, SAME, Given
from api_settings import targets as settings
from api_targets import Target
from api_targets import targets as estimators
from zerokin.errors import ZerokinError

SEED = 20
LEAST = 2000  # inputs in all
PAIRS = 6  # inputs of a target with two arguments changed at once
TARGETS = [*estimators(), *settings()]


def from_scikit_learn(error: Exception) -> bool:
    """Tell whether scikit-learn's own validation raised an error."""
    frames = traceback.extract_tb(error.__traceback__)
    return isinstance(error, NotFittedError) or "/sklearn/" in frames[-1].filename


def flat(result: Any) -> list[np.ndarray]:
    """Return the numbers and names of a result as arrays."""
    if isinstance(result, tuple | list):
        return [array for part in result for array in flat(part)]
    if hasattr(result, "prototypes_"):
        return []
    return [np.asarray(result.toarray() if hasattr(result, "toarray") else result)]


def differs(one: Any, other: Any, tolerance: float) -> bool:
    pairs = list(zip(flat(one), flat(other), strict=True))
    for left, right in pairs:
        if left.shape != right.shape:
            return True
        if left.dtype.kind in "fc":
            scale = max(1.0, float(np.abs(right[np.isfinite(right)]).max(initial=0)))
            if not np.allclose(left, right, atol=tolerance * scale, rtol=tolerance):
                return True
        elif not np.array_equal(left.astype(str), right.astype(str)):
            return True
    return False


def fault(target: Target, changed: dict[str, Given], canonical: Any) -> str | None:
    """Return what is wrong with how an input was met, or None."""
    given = {**target.canonical(), **{name: one.value for name, one in changed.items()}}
    expected = {one.expected for one in changed.values()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = target.call(**given)
    except ZerokinError as error:
        if "\n" in str(error) or not str(error):
            return f"more than a line: {error}"
        return f"refused: {error}" if expected == {SAME} else None
    except (ValueError, TypeError) as error:
        if from_scikit_learn(error):
            return f"refused: {error}" if expected == {SAME} else None
        return f"bare {type(error).__name__}: {error}"
    except Exception as error:  # whatever it is, it is not for a user's eyes
        return f"bare {type(error).__name__}: {error}"
    if REFUSED in expected:
        return "was accepted"
    if not target.right(result):
        return "gave an answer that is not finite or not right"
    if expected == {SAME} and differs(result, canonical, target.tolerance):
        return "gave another answer than its canonical form"
    return None


def inputs(target: Target) -> list[dict[str, Given]]:
    """Return the inputs to a target: every argument changed alone, then pairs of them."""
    rng = np.random.default_rng([SEED, len(target.name), *target.name.encode()])
    alone = [
        {name: given}
        for name, (kind, value) in target.arguments.items()
        for given in kind(value, rng)
    ]
    pairs = []
    for _ in range(PAIRS):
        one, other = rng.choice(len(alone), size=2)
        both = {**alone[one], **alone[other]}
        if len(both) == 2:
            # What refuses one of them may be less when the other changes shapes, too.
            pairs.append({name: given._replace(expected=ANY) for name, given in both.items()})
    return alone + pairs


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_every_input_is_refused_in_one_line_or_answered_right(target):
    canonical = target.call(**target.canonical())
    assert target.right(canonical)
    faults = []
    for changed in inputs(target):
        wrong = fault(target, changed, canonical)
        if wrong is not None:
            called = ", ".join(f"{name}: {given.label}" for name, given in changed.items())
            faults.append(f"{called} → {wrong[:150]}")
    assert not faults, "\n".join([f"{len(faults)} inputs", *faults])


def test_there_are_thousands_of_inputs():
    counted = Counter({target.name: len(inputs(target)) for target in TARGETS})
    assert counted.total() >= LEAST, counted
