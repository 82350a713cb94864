"""Classes by example: shots join a fitted zero-shot classifier, and nothing is fitted again.

The prototype of such a class is what `FewShotClassifier` makes of the same shots: the mean of its
shots and its zero-shot prototype, which counts as κ shots. Without semantics shots alone count, and
the class takes its place among superclasses by the semantics that the projection reads off them.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zerokin.classifiers.few_shot.shots import KAPPA, SHOTS_WORTH, shot_prototypes
from zerokin.classifiers.few_shot.support import checked_shots
from zerokin.classifiers.finite_scores import refuse_without_direction
from zerokin.classifiers.stages import scale_samples
from zerokin.errors import InvalidInput
from zerokin.features.class_means import class_means
from zerokin.features.scaler import unit_length
from zerokin.matrices import real_array
from zerokin.parameters import check_arguments

if TYPE_CHECKING:
    from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassShots:
    """What is kept of a class's shots, so that more can join them.

    Parameters
    ----------
    count
        n, how many there are.
    mean
        (d_f,) their mean in the space of scaled features.
    projected
        (d_f,) the zero-shot prototype of the class; None without semantics.
    kappa
        How many shots the zero-shot prototype counts as.
    """

    count: int
    mean: Vector
    projected: Vector | None
    kappa: float

    def joined(self, samples: NDArray[Any], kappa: float | None) -> ClassShots:
        """Return the shots with more (n, d_f), scaled ones, and maybe with another κ."""
        count = self.count + len(samples)
        own = class_means(samples, np.zeros(len(samples), dtype=np.int64), 1)[0]
        mean = (self.count * self.mean + len(samples) * own) / count
        return ClassShots(count, mean, self.projected, self.kappa if kappa is None else kappa)

    def prototype(self) -> Vector:
        """Return the class's prototype (d_f,), of unit length."""
        usable = self.projected is not None
        projected = np.zeros_like(self.mean) if self.projected is None else self.projected
        mixed = shot_prototypes(projected, self.mean, self.count, usable=usable, kappa=self.kappa)
        unit: Vector = unit_length(mixed[None])[0]
        return unit


def with_shots(
    model: ZeroShotClassifier,
    name: Any,
    shots: Any,
    *,
    vector: ArrayLike | None = None,
    kappa: float | None = None,
) -> ZeroShotClassifier:
    """Return a classifier that knows a class by shots, too; it may be a new class.

    Parameters
    ----------
    model
        Fitted; it stays as it is.
    name
        The class: a new one, or one that is known but not by training samples.
    shots
        (n, d_f) features of the class.
    vector
        (d_z,) the semantics of a new class; None to know it by its shots alone.
    kappa
        κ: how many shots the semantics count as; None for that of earlier shots of the class, and
        at first for that of `FewShotClassifier`.

    Examples
    --------
    >>> from zerokin import ZeroShotClassifier
    >>> model = ZeroShotClassifier(feature_scaling="unit").fit(np.eye(4), [0, 0, 1, 1])
    >>> with_shots(model, 2, [[1.0, 0, 0, 1.0]]).predict([[2.0, 0, 0, 2.0]], candidates="all")
    array([2])
    """
    if model.distance != "cosine":
        raise InvalidInput(
            f"distance={model.distance!r}: shots are compared by cosine: fit the classifier with "
            "distance='cosine'"
        )
    if kappa is not None:
        check_arguments({"kappa": SHOTS_WORTH}, kappa=kappa)
    matrix = real_array(shots, "shots", "a matrix of numbers (n, d_f)")
    matrix = checked_shots(matrix, np.zeros(matrix.shape[:1]), model.n_features_in_)
    samples = refuse_without_direction(scale_samples(model._normalizer, matrix), "shots")
    earlier = model._shots.get(name)
    empty = np.zeros(model.n_features_in_)
    changed = copy(model)
    if name not in model.classes_:
        found = ClassShots(0, empty, None, KAPPA).joined(samples, kappa)
        changed.add_class(name, found.mean @ model._rule.projection if vector is None else vector)
        if vector is not None:
            zero_shot = changed.prototypes_[-1]
            found = ClassShots(found.count, found.mean, zero_shot, found.kappa)
    elif vector is not None:
        raise InvalidInput(f"there is a class {name!r} already: give shots of it alone")
    else:
        position = int(np.flatnonzero(model.classes_ == name)[0])
        refuse_seen(model, position)
        first = ClassShots(0, empty, model.prototypes_[position], KAPPA)
        found = (earlier or first).joined(samples, kappa)
        changed.prototypes_, changed._offsets = model.prototypes_.copy(), model._offsets.copy()
    position = int(np.flatnonzero(changed.classes_ == name)[0])
    prototype = found.prototype()
    if not prototype.any():
        raise InvalidInput(f"class {name!r}: its shots cancel each other: leave some out")
    changed.prototypes_[position] = prototype
    changed._offsets[position] = changed._hub_offsets(prototype[None])[0]
    changed._shots = {**model._shots, name: found}
    return changed


def refuse_seen(model: ZeroShotClassifier, position: int) -> None:
    """Refuse to add shots to a class that has training samples."""
    if position in model.seen_:
        raise InvalidInput(
            f"{str(model.classes_[position])!r} was seen in training, so that no shots join it: "
            "fit again with them"
        )
