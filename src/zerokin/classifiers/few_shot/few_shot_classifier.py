"""`FewShotClassifier`: classes known by a handful of shots, their semantics, or both."""

from __future__ import annotations

from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from zerokin.aliases import accept_old_names
from zerokin.classifiers.class_labels import Positions
from zerokin.classifiers.few_shot.candidates import Candidates, few_shot_candidates
from zerokin.classifiers.few_shot.semantic_prototypes import (
    SemanticPrototypes,
    semantic_prototypes,
)
from zerokin.classifiers.few_shot.semantic_trust import semantic_trust
from zerokin.classifiers.few_shot.shots import (
    KAPPA,
    LENDERS,
    SHOTS_WORTH,
    shot_prototypes,
    with_lent_means,
)
from zerokin.classifiers.few_shot.support import (
    ClassesWithSemantics,
    checked_shots,
)
from zerokin.classifiers.finite_scores import (
    refuse_no_candidate,
    refuse_without_direction,
)
from zerokin.classifiers.pruning import lower_pruned
from zerokin.classifiers.ranking import ranked
from zerokin.classifiers.samples import new_samples, training_samples
from zerokin.classifiers.stages import (
    penalize_hubs,
    refuse_all_zero,
    scale_features,
    scale_samples,
    score_samples,
)
from zerokin.classifiers.zero_shot_classifier import AUTO, SEEN_PENALTY, ZeroShotClassifier
from zerokin.errors import InvalidInput, listing
from zerokin.features.class_means import class_means
from zerokin.features.scaler import unit_length
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.alignment import aligned_hierarchy, renamed_hierarchy
from zerokin.parameters import (
    InstanceOf,
    OneOf,
    Optional,
    Ranges,
    Real,
    check_arguments,
    check_parameters,
)


@accept_old_names({"calibration": "seen_penalty"})
class FewShotClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Name samples of novel classes from a few shots of each and from what their semantics say.

    Base classes teach how features are normalized and how semantics project into feature space.
    The prototype of a class with n shots is the mean of its shots and of its projected semantics,
    which count as ``kappa`` shots; a sample gets the class whose prototype is nearest by angle.

    Parameters
    ----------
    zero_shot
        `ZeroShotClassifier` with the hyper-parameters of scaling, projection and hierarchy. Its
        ``inference`` makes the projected semantics: ``"residual"`` (corrected by the residuals of
        related base classes), ``"flat"``, or ``"paper"`` (superclasses prune the candidates too).
        Its ``hub_weight`` takes hubness off the scores of all classes. By default one with
        features centered and of unit length, and without hubness.
    kappa
        κ: how many shots the projected semantics of a class count as.
    semantic_prototypes
        What makes a prototype of a class's semantics: ``"projection"`` (that of ``zero_shot``),
        ``"network"`` (a prototype network: see `zerokin.classifiers.prototype_network`), or
        ``"average"`` of both.
    variance_exponent
        Adaptive weight of semantics, from 0 (κ is the same for all classes) to 1: the exponent to
        which κ of a novel class falls with the predictive variance of its prototype (see
        `zerokin.classifiers.few_shot.semantic_trust`).
    base_weight, base_neighbors
        λ: how many shots the base classes count as that are nearest to a novel class's shots and
        semantics, and how many lend their mean so.
    seen_penalty
        Taken off the scores of base classes when they compete with novel ones; None for that of
        ``zero_shot``, whose ``"auto"`` counts as 0.

    Attributes
    ----------
    classes_ : (C,) names of all classes; positions if semantics were a matrix
    base_ : positions of the base classes, which are those in ``y``
    novel_ : positions of the classes with shots
    n_shots_ : (C,) samples that each class's prototype rests on
    prototypes_ : (C, d_f) unit prototypes; those without shots and semantics are zero
    zero_shot_ : the fitted `ZeroShotClassifier`, or None without semantics
    n_features_in_ : d_f

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1.0], [0, 0, 1]])
    >>> y = np.repeat([0, 1, 2], 20)
    >>> world = rng.normal(size=(3, 12))
    >>> X = Z[y] @ world + 0.2 * rng.normal(size=(60, 12))
    >>> shots = Z[[3, 4]] @ world + 0.2 * rng.normal(size=(2, 12))
    >>> model = FewShotClassifier().fit(X, y, semantics=Z, shots=shots, shot_labels=[3, 4])
    >>> model.predict(Z[[4, 3]] @ world)
    array([4, 3])
    >>> model.predict(Z[[0, 4]] @ world, candidates="all")
    array([0, 4])
    """

    _parameter_ranges: ClassVar[Ranges] = {
        "zero_shot": Optional(InstanceOf(ZeroShotClassifier, "a ZeroShotClassifier")),
        "kappa": SHOTS_WORTH,
        "semantic_prototypes": OneOf(get_args(SemanticPrototypes)),
        "variance_exponent": Real(0, 1),
        "base_weight": SHOTS_WORTH,
        "base_neighbors": LENDERS,
        "seen_penalty": Optional(SEEN_PENALTY),
    }

    def __init__(
        self,
        zero_shot: ZeroShotClassifier | None = None,
        *,
        kappa: float = KAPPA,
        semantic_prototypes: SemanticPrototypes = "projection",
        variance_exponent: float = 0.0,
        base_weight: float = 0.0,
        base_neighbors: int = 4,
        seen_penalty: float | None = None,
    ) -> None:
        self.zero_shot = zero_shot
        self.kappa = kappa
        self.semantic_prototypes = semantic_prototypes
        self.variance_exponent = variance_exponent
        self.base_weight = base_weight
        self.base_neighbors = base_neighbors
        self.seen_penalty = seen_penalty

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        semantics: Any = None,
        shots: Any = None,
        shot_labels: Any = None,
        hierarchy: ClassHierarchy | None = None,
    ) -> FewShotClassifier:
        """Learn from features of base classes, then from shots of novel ones.

        Parameters
        ----------
        X
            (N, d_f) features of base classes.
        y
            (N,) their classes: names, or positions in the semantics.
        semantics
            Vectors of classes: a `ClassTable`, a mapping of names to vectors, or a matrix
            (C, d_z); or None, and shots alone count. Base classes need a vector; a novel class
            without one is known by its shots alone, which a `ZerokinWarning` says. Classes with a
            vector but no shots may be candidates too.
        shots
            (n, d_f) features of novel classes, any number of each.
        shot_labels
            (n,) their classes, named as in ``y``.
        hierarchy
            Superclasses over the classes of the semantics, matched by name (by order where either
            side has no names of its own); by default they are clustered from the semantics.
        """
        check_parameters(self)
        zero_shot = _default() if self.zero_shot is None else clone(self.zero_shot)
        check_parameters(zero_shot)
        if zero_shot.distance != "cosine":
            raise InvalidInput(
                f"distance={zero_shot.distance!r}: shots are compared by cosine: give zero_shot "
                "distance='cosine'"
            )
        self._settings = zero_shot
        X, y = training_samples(self, X, y)
        self._base = ClassesWithSemantics.from_labels(semantics, y)
        self.classes_ = self._base.classes.names
        labels = self._base.classes.positions(y, "y")
        self.base_ = np.unique(labels)
        self._projected = self._learn(zero_shot, X, labels, hierarchy)
        F = scale_samples(self._normalizer, X)
        self._base_means = class_means(F, labels, len(self.classes_))
        self._base_counts = np.bincount(labels, minlength=len(self.classes_))
        return self._supported(shots, shot_labels)

    def set_shots(self, shots: Any, shot_labels: Any) -> FewShotClassifier:
        """Replace the novel classes by those of other shots; what base classes taught stays.

        Parameters
        ----------
        shots, shot_labels
            As for `fit`.
        """
        check_is_fitted(self)
        return self._supported(shots, shot_labels)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every class (n, C), base ones calibrated; higher is better.

        All classes with shots or semantics are candidates; classes that superclasses rule out score
        `zerokin.classifiers.pruning.PRUNED` less. With two classes in all, the second's score less
        the first's (n,), as scikit-learn has it.
        """
        F = self._normalized(X)
        scores, alive = self._scores(F), self._survivors(F, np.arange(len(self.classes_)))
        if alive is not None:
            scores = lower_pruned(scores, alive)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any, candidates: Candidates = None) -> NDArray[Any]:
        """Return the best class of every sample among the candidates.

        Parameters
        ----------
        X
            (n, d_f) features.
        candidates
            ``"novel"`` (classes with shots; the default if there are any), ``"base"``, ``"all"``
            (both), or a list of classes, which may be any that have shots or semantics.
        """
        names: NDArray[Any] = self.predict_top_k(X, 1, candidates)[0][:, 0]
        return names

    def predict_top_k(
        self, X: Any, k: int = 5, candidates: Candidates = None
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the best k classes (n, k) of every sample, best first, and their scores (n, k)."""
        F = self._normalized(X)
        chosen = few_shot_candidates(
            candidates, self.classes_, base=self.base_, novel=self.novel_, known=self._known
        )
        scores, alive = self._scores(F)[:, chosen], self._survivors(F, chosen)
        if alive is not None:
            scores = refuse_no_candidate(np.where(alive, scores, -np.inf))
        positions, values = ranked(scores, k)
        return self.classes_[chosen[positions]], values

    def _learn(
        self,
        zero_shot: ZeroShotClassifier,
        X: NDArray[Any],
        labels: Positions,
        hierarchy: ClassHierarchy | None,
    ) -> NDArray[np.float64]:
        """Learn from base classes; return the unit projections of all classes (C, d_f)."""
        projected = np.zeros((len(self.classes_), X.shape[1]))
        self._rows = np.full(len(self.classes_), -1)
        if not self._base.classes.vectors.shape[1]:
            self.zero_shot_: ZeroShotClassifier | None = None
            if hierarchy is not None:
                raise InvalidInput("hierarchy needs semantics: without, shots alone count")
            scaled = scale_features(X, labels, zero_shot.feature_scaling)
            refuse_all_zero(scaled.features, zero_shot.feature_scaling)
            self._normalizer = scaled.normalizer
            return projected
        # Base classes without semantics stay in: the zero-shot classifier refuses them by name.
        rows = np.union1d(np.flatnonzero(self._base.usable), self.base_)
        self._rows[rows] = np.arange(len(rows))
        names = [str(name) for name in self.classes_[rows]]
        table = dict(zip(names, self._base.classes.vectors[rows], strict=True))
        if hierarchy is not None:
            hierarchy = self._superclasses(hierarchy, rows, names)
        self.zero_shot_ = zero_shot.fit(X, self._rows[labels], semantics=table, hierarchy=hierarchy)
        self._normalizer = zero_shot._normalizer
        projected[rows] = semantic_prototypes(zero_shot, self.semantic_prototypes)
        return projected

    def _superclasses(
        self, hierarchy: ClassHierarchy, rows: Positions, names: list[str]
    ) -> ClassHierarchy:
        """Return superclasses of the classes with usable semantics, called as those are."""
        known = self._base.classes
        if getattr(hierarchy, "n_classes", None) == len(rows) < len(known):
            return aligned_hierarchy(hierarchy, names)  # the others were left out already
        tree = aligned_hierarchy(hierarchy, known.names)
        if len(rows) < len(known):
            tree = tree.select(rows.tolist())
        return renamed_hierarchy(tree, names)

    def _supported(self, shots: Any, shot_labels: Any) -> FewShotClassifier:
        """Make prototypes from what base classes taught and from these shots."""
        check_parameters(self)
        if shots is None and shot_labels is not None:
            raise InvalidInput("there are shot_labels but no shots: give the shots' features")
        known, labels = self._base, np.empty(0, dtype=np.int64)
        samples = np.empty((0, self.n_features_in_))
        if shots is not None:
            S = checked_shots(shots, shot_labels, self.n_features_in_)
            known, labels = known.with_support(shot_labels)
            samples = refuse_without_direction(scale_samples(self._normalizer, S), "shots")
        novel = np.unique(labels)
        both = np.intersect1d(self.base_, novel)
        if len(both):
            names = listing(repr(str(name)) for name in known.classes.names[both])
            raise InvalidInput(
                f"shot_labels: {names} are base classes, being in y: give their samples in X alone"
            )
        C, grown = len(known.classes), len(known.classes) - len(self._base.classes)
        self.classes_ = known.classes.names
        self.novel_ = novel
        self.n_shots_ = np.bincount(labels, minlength=C) + np.pad(self._base_counts, (0, grown))
        means = class_means(samples, labels, C) + np.pad(self._base_means, ((0, grown), (0, 0)))
        projected = np.pad(self._projected, ((0, grown), (0, 0)))
        trust = self._trust(C)
        prototypes = shot_prototypes(
            projected, means, self.n_shots_, usable=known.usable, kappa=self.kappa, trust=trust
        )
        prototypes[novel] = with_lent_means(
            prototypes[novel],
            self.n_shots_[novel] + np.where(known.usable, self.kappa * trust, 0.0)[novel],
            self._base_means[self.base_],
            weight=self.base_weight,
            n_neighbors=self.base_neighbors,
        )
        self.prototypes_ = unit_length(prototypes)
        self._hub_penalties = penalize_hubs(
            self.prototypes_,
            unit_length(self._base_means[self.base_]),
            weight=self._settings.hub_weight,
            n_neighbors=self._settings.hub_neighbors,
        )
        self._known = known.usable | (self.n_shots_ > 0)
        return self

    def _trust(self, n_classes: int) -> NDArray[np.float64]:
        """Return the factors of κ of all classes (C,)."""
        trust = np.ones(n_classes)
        if self.zero_shot_ is not None:
            found = semantic_trust(self.zero_shot_, self.variance_exponent)
            inside = np.flatnonzero(self._rows >= 0)
            if found is not None:
                trust[inside] = found[self._rows[inside]]
        return trust

    def _normalized(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        return scale_samples(self._normalizer, new_samples(self, X))

    def _scores(self, F: NDArray[Any]) -> NDArray[np.float64]:
        check_arguments(self._parameter_ranges, seen_penalty=self.seen_penalty)
        penalty = self._settings.seen_penalty if self.seen_penalty is None else self.seen_penalty
        if penalty == AUTO:
            penalty = 0.0
        return score_samples(
            F, self.prototypes_, self._hub_penalties, self.base_, seen_penalty=penalty
        )

    def _survivors(self, F: NDArray[Any], candidates: Positions) -> NDArray[np.bool_] | None:
        """Return which candidates (n, k) superclasses leave, or None where nothing is pruned."""
        zero_shot = self.zero_shot_
        if zero_shot is None or not zero_shot._layer_prototypes:
            return None
        # Classes without semantics are in no superclass, and nothing prunes them.
        rows = np.pad(self._rows, (0, len(self.classes_) - len(self._rows)), constant_values=-1)
        inside = np.flatnonzero(rows[candidates] >= 0)
        alive = np.ones((len(F), len(candidates)), dtype=bool)
        if len(inside):
            survivors = zero_shot._survivors(F, rows[candidates[inside]])
            alive[:, inside] = True if survivors is None else survivors
        return alive


def _default() -> ZeroShotClassifier:
    return ZeroShotClassifier(feature_scaling="center-unit", hub_weight=0.0)
