"""`MultiLabelZeroShotClassifier`: every class that an image shows, seen or not, by its regions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from zerokin.aliases import ReadingSaved
from zerokin.classifiers.auto_penalty import estimate_seen_penalty
from zerokin.classifiers.class_labels import KnownClasses, candidate_positions
from zerokin.classifiers.multi_label.calibration import (
    Calibration,
    calibrate,
    fitted_calibration,
    label_folds,
)
from zerokin.classifiers.multi_label.label_input import given_labels
from zerokin.classifiers.multi_label.learning import (
    LabeledRegions,
    learn_prototypes,
    region_scores,
)
from zerokin.classifiers.multi_label.regions import (
    Pooling,
    as_regions,
    best_regions,
    image_scores,
)
from zerokin.classifiers.multi_label.serialization import read_multi_label, write_multi_label
from zerokin.classifiers.ranking import ranked
from zerokin.classifiers.zero_shot_classifier import AUTO, Candidates, ZeroShotClassifier
from zerokin.errors import InvalidInput, ZerokinWarning, did_you_mean, shown
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.alignment import aligned_hierarchy
from zerokin.matrices import plain_array
from zerokin.parameters import (
    Either,
    InstanceOf,
    Integer,
    OneOf,
    Optional,
    Ranges,
    Real,
    check_arguments,
    check_parameters,
)
from zerokin.semantics.normalize import unit_rows

PROBABILITY = Real(0, 1)
THRESHOLD = Either(Either(PROBABILITY, OneOf((AUTO,))), InstanceOf(Mapping, "thresholds by class"))
UNCALIBRATED = "no seen classes could be held out: probabilities and threshold are those of the "
UNCALIBRATED += "training images, and too sure of themselves"


class MultiLabelZeroShotClassifier(BaseEstimator):  # type: ignore[misc]
    """Name everything that an image shows, classes that were never shown among it.

    A `ZeroShotClassifier` is fitted to pairs of an image and one of its labels. Each label is known
    by a whole image at first, then by the regions that match it better than the image's other
    labels do under the prototypes so far, and these are learned again (multiple-instance learning,
    as Andrews et al., NIPS 2002, with soft assignments). An image scores for a class what its
    best-matching regions do. With one region an image and one label each, this is the
    `ZeroShotClassifier` itself.

    Parameters
    ----------
    zero_shot
        `ZeroShotClassifier` with the hyper-parameters of scaling, projection, hierarchy and
        prototypes; by default one with its own. ``inference="paper"`` is refused: its pruning is
        meant for one label.
    n_assignments
        How often labels are assigned to regions and prototypes learned again; 0 learns from whole
        images, the means of their regions.
    ranking_epochs
        How often every image is seen while the projection is refined by ranking an image's labels
        above its other classes (``refined_step``); 0 leaves it as least squares has it.
    global_weight
        Share of the whole image's score beside that of its regions, 0 to 1.
    pooling
        Temperature of the log-mean-exp over an image's regions; 0 takes the best-matching one.
    competition
        Temperature of the softmax by which classes compete for each region; 0 lets every class
        score for itself.
    threshold
        Probability from which on a label is given, 0 to 1. ``"auto"``: where F1 over all labels is
        best on classes held out of the training data. A mapping of classes to thresholds sets
        theirs, and the others have the automatic one.

    Attributes
    ----------
    zero_shot_ : the fitted `ZeroShotClassifier`
    classes_ : (C,) names of all classes, seen and unseen; row numbers if semantics were a matrix
    seen_ : positions of the seen classes
    hierarchy_ : ClassHierarchy or None
    thresholds_ : (C,) probability from which on each class is given
    calibration_ : how scores become probabilities
    n_features_in_ : d_f

    Notes
    -----
    A superclass is as likely as the likeliest class below it, and an image has its label if it has
    that of any class below. So an ancestor is never less likely than its child.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(9, 6))                      # classes 7 and 8 are never shown
    >>> world = rng.normal(size=(6, 20))
    >>> def images(pairs):
    ...     shown = np.stack([Z[list(pair)] @ world for pair in pairs])
    ...     return shown + 0.3 * rng.normal(size=shown.shape)
    >>> pairs = [rng.choice(7, 2, replace=False).tolist() for _ in range(120)]
    >>> model = MultiLabelZeroShotClassifier(ZeroShotClassifier(feature_scaling="unit"))
    >>> model = model.fit(images(pairs), pairs, semantics=Z)
    >>> new = images([[7, 2], [8, 7]])
    >>> model.predict_top_k(new, 2, candidates="all")[0].tolist()
    [[2, 7], [7, 8]]
    """

    _parameter_ranges: ClassVar[Ranges] = {
        "zero_shot": Optional(InstanceOf(ZeroShotClassifier, "a ZeroShotClassifier")),
        "n_assignments": Integer(0, 100),
        "ranking_epochs": Integer(0, 10_000),
        "global_weight": Real(0, 1),
        "pooling": Real(0),
        "competition": Real(0),
        "threshold": THRESHOLD,
    }

    def __init__(
        self,
        zero_shot: ZeroShotClassifier | None = None,
        *,
        n_assignments: int = 1,
        ranking_epochs: int = 0,
        global_weight: float = 0.0,
        pooling: float = 0.0,
        competition: float = 0.0,
        threshold: float | Literal["auto"] | Mapping[Any, float] = AUTO,
    ) -> None:
        self.zero_shot = zero_shot
        self.n_assignments = n_assignments
        self.ranking_epochs = ranking_epochs
        self.global_weight = global_weight
        self.pooling = pooling
        self.competition = competition
        self.threshold = threshold

    def fit(
        self,
        X: Any,
        Y: Any,
        *,
        semantics: Any,
        hierarchy: ClassHierarchy | None = None,
    ) -> MultiLabelZeroShotClassifier:
        """Learn from images and their labels, all of seen classes.

        Parameters
        ----------
        X
            (N, R, d_f) features of R regions of every image, or (N, d_f) of whole images.
        Y
            Labels: an array (N, C) of 0 and 1, or a list with a list of classes for each image. The
            classes that occur are the seen ones.
        semantics
            Vectors of all classes, seen and unseen, as for `ZeroShotClassifier.fit`.
        hierarchy
            Superclasses, as for `ZeroShotClassifier.fit`.
        """
        check_parameters(self)
        regions = as_regions(X)
        if semantics is None:
            raise InvalidInput("semantics are needed: the columns of Y are their rows")
        known = KnownClasses.from_labels(semantics, np.empty(0))
        labels = given_labels(Y, known, len(regions))
        Z = unit_rows(known.vectors, [str(name) for name in known.names])
        if (regions == regions[0, 0]).all():
            raise InvalidInput("X: all regions are equal: nothing tells them apart")
        data = LabeledRegions(regions, labels, Z, known.names)
        self._fit(data, hierarchy)
        given = self._given_thresholds(known)
        if self.zero_shot_.seen_penalty == AUTO:
            self.zero_shot_._auto_penalty = estimate_seen_penalty(
                self._pairs,
                hierarchy,
                self.zero_shot_._learn_part,
                random_state=self.zero_shot_.random_state or 0,
            )
        del self._pairs
        self.calibration_ = self._calibrated(data, hierarchy)
        common = self.threshold if isinstance(self.threshold, int | float) else None
        thresholds = np.full(len(known), self.calibration_.threshold if common is None else common)
        for at, threshold in given.items():
            thresholds[at] = threshold
        self.thresholds_ = thresholds
        return self

    def _fit(
        self, data: LabeledRegions, hierarchy: ClassHierarchy | None
    ) -> MultiLabelZeroShotClassifier:
        """Learn prototypes from data that was checked."""
        model = ZeroShotClassifier() if self.zero_shot is None else clone(self.zero_shot)
        check_parameters(model)
        if model.inference == "paper":
            raise InvalidInput(
                "inference='paper' keeps the superclasses of one label alone: choose 'residual' or "
                "'flat' for several labels"
            )
        if self.ranking_epochs and model.distance != "cosine":
            raise InvalidInput(
                f"distance={model.distance!r} has no ranking: choose distance='cosine', or "
                "ranking_epochs=0"
            )
        learned = learn_prototypes(
            data,
            model,
            hierarchy,
            n_assignments=self.n_assignments,
            ranking_epochs=self.ranking_epochs,
        )
        self._pairs = learned.pairs
        self.zero_shot_, self.n_features_in_ = learned.model, learned.model.n_features_in_
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """(C,) names of all classes."""
        check_is_fitted(self, "zero_shot_")
        names: NDArray[Any] = self.zero_shot_.classes_
        return names

    @property
    def seen_(self) -> NDArray[np.int64]:
        """Positions of the seen classes."""
        check_is_fitted(self, "zero_shot_")
        return self.zero_shot_.seen_

    @property
    def hierarchy_(self) -> ClassHierarchy | None:
        """The superclasses, if there are any."""
        check_is_fitted(self, "zero_shot_")
        return self.zero_shot_.hierarchy_

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every class (n, C), seen ones calibrated; higher is better.

        Parameters
        ----------
        X
            (n, R, d_f) features of regions, of any number R; or (n, d_f) of whole images.
        """
        return self._decide(self._regions(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class (n, C): each for itself, as an image has several.

        Parameters
        ----------
        X
            As for `decision_function`.
        """
        return self.calibration_.probabilities(self.decision_function(X))

    def predict(self, X: Any, candidates: Candidates = "all") -> NDArray[np.bool_]:
        """Return which labels every image is given, (n, C): none, one or several.

        Parameters
        ----------
        X
            As for `decision_function`.
        candidates
            ``"all"``, ``"unseen"``, ``"seen"``, or a list of classes; others are never given.
        """
        given = np.zeros((len(X), len(self.classes_)), dtype=bool)
        chosen = self._candidates(candidates)
        given[:, chosen] = (self.predict_proba(X) >= self.thresholds_)[:, chosen]
        return given

    def predict_top_k(
        self, X: Any, k: int = 5, candidates: Candidates = "all"
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the best k classes (n, k) of every image, best first, and their scores (n, k).

        Parameters
        ----------
        X, candidates
            As for `predict`.
        k
            How many.
        """
        chosen = self._candidates(candidates)
        positions, values = ranked(self.decision_function(X)[:, chosen], k)
        return self.classes_[chosen[positions]], values

    def superclass_proba(self, X: Any, layer: int) -> NDArray[np.float64]:
        """Return the probability of every superclass of a layer (n, r_l): that of its best class.

        Parameters
        ----------
        X
            As for `decision_function`.
        layer
            From 1, the lowest.
        """
        return best_below(self.predict_proba(X), self._nodes(layer))

    def predict_superclasses(self, X: Any, layer: int) -> NDArray[np.bool_]:
        """Return which superclasses of a layer an image is given (n, r_l): those of its labels.

        Parameters
        ----------
        X, layer
            As for `superclass_proba`.
        """
        return best_below(self.predict(X), self._nodes(layer))

    def locate(self, X: Any) -> NDArray[np.int64]:
        """Return which region of every image matches each class best, (n, C).

        Parameters
        ----------
        X
            As for `decision_function`.
        """
        return best_regions(self._regions(X), self._score_regions, self._pooling())

    def add_class(self, name: Any, vector: ArrayLike) -> MultiLabelZeroShotClassifier:
        """Make one more unseen class known by its semantic vector; nothing is fitted again.

        Parameters
        ----------
        name, vector
            As for `ZeroShotClassifier.add_class`. Its threshold is the common one.
        """
        check_is_fitted(self, "thresholds_")
        self.zero_shot_.add_class(name, vector)
        common = self.threshold if isinstance(self.threshold, int | float) else None
        added = self.calibration_.threshold if common is None else common
        self.thresholds_ = np.append(self.thresholds_, added)
        return self

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the classifier to a folder, whole or not at all."""
        check_is_fitted(self, "thresholds_")
        write_multi_label(self, folder)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> MultiLabelZeroShotClassifier:
        """Read a classifier that `save` wrote; nothing in the folder is executed."""
        with ReadingSaved(cls.__name__, folder):
            return read_multi_label(cls, folder)

    def _score_regions(self, features: NDArray[Any]) -> NDArray[np.float64]:
        return region_scores(self.zero_shot_, features)

    def _pooling(self) -> Pooling:
        return Pooling(self.global_weight, self.pooling, self.competition)

    def _decide(self, regions: NDArray[Any]) -> NDArray[np.float64]:
        scores = image_scores(regions, self._score_regions, self._pooling())
        if self.zero_shot_.seen_penalty_:
            scores[:, self.seen_] -= self.zero_shot_.seen_penalty_
        return scores

    def _regions(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self, "zero_shot_")
        check_parameters(self)
        regions = as_regions(X)
        if regions.shape[2] != self.n_features_in_:
            raise InvalidInput(
                f"X has {regions.shape[2]} features, but the classifier was fitted on "
                f"{self.n_features_in_}: give features that were read as those it was fitted on"
            )
        return regions

    def _candidates(self, candidates: Candidates) -> NDArray[np.int64]:
        known = KnownClasses(self.classes_, self.zero_shot_.semantics_)
        return candidate_positions(candidates, known, self.seen_)

    def _nodes(self, layer: int) -> NDArray[np.int64]:
        tree = self.hierarchy_
        if tree is None:
            raise InvalidInput("this classifier has no superclasses: it knows too few classes")
        check_arguments({"layer": Integer(1, tree.n_layers)}, layer=layer)
        return tree.labels(layer)

    def _calibrated(self, data: LabeledRegions, hierarchy: ClassHierarchy | None) -> Calibration:
        """Return the calibration by held-out classes, or by the training images without any."""
        seed = self.zero_shot_.random_state or 0
        fixed = clone(self.zero_shot_).set_params(seen_penalty=self.zero_shot_.seen_penalty_)

        def score(
            fit: NDArray[np.int64], scored: NDArray[np.int64], classes: NDArray[np.int64]
        ) -> NDArray[np.float64]:
            part = data._replace(
                regions=data.regions[fit],
                labels=data.labels[np.ix_(fit, classes)],
                semantics=data.semantics[classes],
                names=data.names[classes],
            )
            tree = (
                None
                if hierarchy is None
                else aligned_hierarchy(hierarchy, data.names).select(classes)
            )
            model: MultiLabelZeroShotClassifier = clone(self).set_params(zero_shot=fixed)
            return model._fit(part, tree)._decide(data.regions[scored])

        folds = label_folds(data.labels, data.semantics, seed)
        found = calibrate(data.labels, folds, score)
        if found is not None:
            return found
        warnings.warn(UNCALIBRATED, ZerokinWarning, stacklevel=3)
        seen = self.seen_
        scores = self._decide(data.regions)[:, seen]
        fallback = fitted_calibration(scores.ravel(), data.labels[:, seen].ravel())
        return Calibration(1.0, 0.0, 0.5) if fallback is None else fallback

    def _given_thresholds(self, known: KnownClasses) -> dict[int, float]:
        """Return the thresholds that a mapping sets, by position of the class."""
        if not isinstance(self.threshold, Mapping):
            return {}
        return positions_of_thresholds(self.threshold, known.names.tolist())


def positions_of_thresholds(given: Mapping[Any, float], names: Sequence[Any]) -> dict[int, float]:
    """Return thresholds by position of the class; unknown classes and no probabilities refused."""
    found = {}
    for name, threshold in given.items():
        if name not in names:
            hint = did_you_mean(name, [str(one) for one in names])
            raise InvalidInput(f"threshold: {shown(name)} is no class{hint}")
        check_arguments(
            {f"threshold of {name}": PROBABILITY}, **{f"threshold of {name}": threshold}
        )
        found[names.index(name)] = float(threshold)
    return found


def best_below(values: NDArray[Any], nodes: NDArray[np.int64]) -> NDArray[Any]:
    """Return the largest value below every superclass (n, r_l), of those of classes (n, C).

    Examples
    --------
    >>> best_below(np.array([[0.1, 0.7, 0.4]]), np.array([1, 0, 1]))
    array([[0.7, 0.4]])
    """
    order = np.argsort(nodes, kind="stable")
    _, starts = np.unique(nodes[order], return_index=True)
    found: NDArray[Any] = np.maximum.reduceat(
        plain_array(values, "values")[:, order], starts, axis=1
    )
    return found
