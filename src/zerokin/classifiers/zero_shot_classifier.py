"""`ZeroShotClassifier`: the paper's Algorithm 2 from features on, as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from zerokin.class_names import checked_names_of
from zerokin.classifiers.class_labels import KnownClasses, candidate_positions
from zerokin.classifiers.explanation import Explanation, explain_sample
from zerokin.classifiers.finite_scores import finite_scores, refuse_no_candidate
from zerokin.classifiers.growth import grown_hierarchy
from zerokin.classifiers.hubness import hubness
from zerokin.classifiers.kin import kinship, semantic_kinship
from zerokin.classifiers.prototypes import PrototypeRule
from zerokin.classifiers.pruning import surviving_classes
from zerokin.classifiers.ranking import ranked
from zerokin.classifiers.samples import new_samples, training_samples
from zerokin.classifiers.serialization import read_classifier, write_classifier
from zerokin.errors import InvalidInput, shown
from zerokin.features.class_means import class_means
from zerokin.features.normaliser import FeatureNormaliser, unit_length
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.alignment import aligned_hierarchy
from zerokin.hierarchy.clustering import METHODS
from zerokin.matrices import real_array
from zerokin.parameters import (
    DEVICE,
    SEED,
    Integer,
    OneOf,
    Optional,
    Ranges,
    Real,
    Text,
    check_arguments,
    check_parameters,
)
from zerokin.projection import FeatureSpectrum, ProjectionLearner
from zerokin.semantics.normalise import unit_rows

Inference = Literal["kin", "flat", "paper"]
Candidates = str | Sequence[Any] | NDArray[Any] | None


class ZeroShotClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Name samples of classes that were never shown, through superclasses shared with seen ones.

    Features are normalised; projections between features and semantics are learned for the classes
    and for every superclass layer; a sample gets the class whose prototype in feature space is
    nearest by angle.

    Parameters
    ----------
    alpha, beta, epsilon, gamma, n_neighbors, max_iter, tol
        Of `ProjectionLearner`, for all layers. ``beta=0`` keeps the semantics of samples fixed at
        those of their class.
    normalisation
        Steps of `FeatureNormaliser`.
    branching, grouping
        The hierarchy's t, and ``"kmeans"`` or ``"agglomerative"``, where `fit` is given none. With
        fewer than t² classes there are no superclasses.
    inference
        ``"kin"``: prototypes are moved as those of their kin miss (see `zerokin.classifiers.kin`).
        ``"flat"``: projected semantics alone. ``"paper"``: projected semantics of the classes under
        the ``top_k`` best superclasses of every layer, from the top down.
    kin_decay
        Weight of a superclass layer relative to the one below it.
    kin_semantics, kin_width
        Weight of similar semantics beside shared superclasses, and how far they reach.
    kin_shrinkage
        Weight of no offsets at all.
    hub_weight, hub_neighbors
        How much of a prototype's closeness to the means of its nearest seen classes is taken off
        the class's score, 0 to 2 (see `zerokin.classifiers.hubness`).
    top_k
        Superclasses that survive on a layer, for ``inference="paper"``.
    calibration
        Taken off the scores of seen classes when they compete with unseen ones.
    random_state
        Seed of k-means.
    device
        Where projections are learned: ``"cpu"`` or a torch device.

    Attributes
    ----------
    classes_ : (C,) names of all classes, seen and unseen; row numbers if semantics were a matrix
    seen_ : positions of the seen classes
    semantics_ : (C, d_z) unit semantics Z
    hierarchy_ : ClassHierarchy or None
    prototypes_ : (C, d_f) unit prototypes in the space of normalised features
    n_features_in_ : d_f
    n_iter_ : most iterations that a layer's projection took

    Notes
    -----
    A sample that is all zero once it is normalised has no direction: its cosine with every class
    is 0, so that hubness and calibration alone tell classes apart. Training samples must not all
    be so.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1.0], [0, 0, 1]])
    >>> y = np.repeat([0, 1, 2, 3], 20)          # nothing is shown of class 4
    >>> world = rng.normal(size=(3, 12))
    >>> X = Z[y] @ world + 0.2 * rng.normal(size=(80, 12))
    >>> model = ZeroShotClassifier(normalisation="unit", gamma=0.1).fit(X, y, semantics=Z)
    >>> new = Z[[4, 4]] @ world + 0.2 * rng.normal(size=(2, 12))
    >>> model.predict(new), model.predict(new, candidates="all")
    (array([4, 4]), array([4, 4]))
    """

    _parameter_ranges: ClassVar[Ranges] = {
        "alpha": Real(0, 1, closed="left"),
        "beta": Real(0, 1),
        # Beyond these the projection is nothing but the ridge, or the graph.
        "epsilon": Real(0, 1e6),
        "gamma": Real(0, 1e12),
        "n_neighbors": Integer(1),
        "max_iter": Integer(1),
        "tol": Real(0),
        "normalisation": Text("power-whiten3-unit"),
        "branching": Integer(2),
        "grouping": OneOf(METHODS),
        "inference": OneOf(get_args(Inference)),
        # Ten layers of a larger decay would leave the lowest ones to rounding.
        "kin_decay": Real(0, 4),
        "kin_semantics": Real(0, 1e4),
        "kin_width": Real(0, closed="neither"),
        # Kinship alone need not be invertible: classes of one superclass have equal rows.
        "kin_shrinkage": Real(1e-6, 1e12),
        # At 1 all of the closeness is taken off; at 3 one class in ten is still named on CUB.
        "hub_weight": Real(0, 2),
        "hub_neighbors": Integer(1),
        "top_k": Integer(1),
        # Scores lie within ±3; far beyond, differences between seen classes drown in rounding.
        "calibration": Real(-100, 100),
        "random_state": Optional(SEED),
        "device": DEVICE,
    }

    def __init__(
        self,
        alpha: float = 0.95,
        beta: float = 0.0,
        epsilon: float = 0.0,
        gamma: float = 3.0,
        *,
        n_neighbors: int = 10,
        max_iter: int = 20,
        tol: float = 1e-3,
        normalisation: str = "power-whiten3-unit",
        branching: int = 2,
        grouping: str = "agglomerative",
        inference: Inference = "kin",
        kin_decay: float = 0.5,
        kin_semantics: float = 9.0,
        kin_width: float = 0.5,
        kin_shrinkage: float = 1.0,
        hub_weight: float = 0.25,
        hub_neighbors: int = 3,
        top_k: int = 3,
        calibration: float = 0.0,
        random_state: int = 0,
        device: str = "cpu",
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.epsilon = epsilon
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.tol = tol
        self.normalisation = normalisation
        self.branching = branching
        self.grouping = grouping
        self.inference = inference
        self.kin_decay = kin_decay
        self.kin_semantics = kin_semantics
        self.kin_width = kin_width
        self.kin_shrinkage = kin_shrinkage
        self.hub_weight = hub_weight
        self.hub_neighbors = hub_neighbors
        self.top_k = top_k
        self.calibration = calibration
        self.random_state = random_state
        self.device = device

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        semantics: Any = None,
        hierarchy: ClassHierarchy | None = None,
    ) -> ZeroShotClassifier:
        """Learn from features of seen classes.

        Parameters
        ----------
        X
            (N, d_f) features.
        y
            (N,) their classes: names, or positions in the semantics.
        semantics
            Vectors of all classes, seen and unseen: a `ClassTable`, a mapping of names to vectors,
            or a matrix (C, d_z). Without any, every class in ``y`` is seen and like no other.
        hierarchy
            Superclasses over the same classes, matched by name (by order where either side has no
            names of its own); by default they are clustered from the semantics.
        """
        check_parameters(self)
        normaliser = FeatureNormaliser(self.normalisation)
        X, y = training_samples(self, X, y)
        known = KnownClasses.of(semantics, y)
        labels = known.positions(y, "y")
        self.n_iter_ = 1
        self._normaliser = normaliser
        F = normaliser.fit_transform(X, labels)
        if not F.any():
            raise InvalidInput(
                f"X is all zero once it is normalised by {self.normalisation!r}: nothing can be "
                "learned from it"
            )
        self.classes_ = known.names
        self.seen_ = np.unique(labels)
        self.semantics_ = unit_rows(known.vectors, [str(name) for name in known.names])
        self.hierarchy_ = self._superclasses(hierarchy)
        spectrum = FeatureSpectrum(F, device=self.device)
        W = self._project(spectrum, self.semantics_, labels)
        means = class_means(F, labels, len(known))[self.seen_]
        kin = self._kinship()
        self._rule = PrototypeRule.learn(
            W,
            self.semantics_[self.seen_],
            means,
            None if kin is None else kin[self.seen_],
            shrinkage=self.kin_shrinkage,
        )
        self.prototypes_ = self._checked_prototypes(self._rule.prototypes(self.semantics_, kin))
        self._means = unit_length(means)
        self._offsets = self._hub_offsets(self.prototypes_)
        self._layer_prototypes = self._project_layers(spectrum, labels)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every class (n, C), seen ones calibrated; higher is better.

        With two classes in all, the second's score less the first's (n,), as scikit-learn has it.
        """
        scores = self._scores(self._normalised(X))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any, candidates: Candidates = None) -> NDArray[Any]:
        """Return the best class of every sample among the candidates.

        Parameters
        ----------
        X
            (n, d_f) features.
        candidates
            ``"unseen"`` (the default if any class is), ``"seen"``, ``"all"``, or a list of classes.
        """
        names: NDArray[Any] = self.predict_top_k(X, 1, candidates)[0][:, 0]
        return names

    def predict_top_k(
        self, X: Any, k: int = 5, candidates: Candidates = None
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the best k classes (n, k) of every sample, best first, and their scores (n, k)."""
        chosen, scores = self._candidate_scores(X, candidates)
        positions, values = ranked(scores, k)
        return self.classes_[chosen[positions]], values

    def explain(self, X: Any, candidates: Candidates = None) -> list[Explanation]:
        """Return for every sample the answer, its superclasses, survivors and seen kin."""
        chosen, scores = self._candidate_scores(X, candidates)
        return [explain_sample(self, chosen, row) for row in scores]

    def add_class(self, name: Any, vector: ArrayLike) -> ZeroShotClassifier:
        """Make one more unseen class known by its semantic vector; nothing is fitted again."""
        check_is_fitted(self)
        if not isinstance(name, str | int | np.integer) or isinstance(name, bool):
            raise InvalidInput(f"a class is called by a text or a whole number: got {shown(name)}")
        vector = real_array(vector, f"class {shown(name)}: its vector", "numbers").astype(
            np.float64
        )
        if vector.shape != (self.semantics_.shape[1],):
            raise InvalidInput(
                f"class {name!r}: its vector has shape {vector.shape}, but semantics have "
                f"{self.semantics_.shape[1]} values"
            )
        if self.classes_.dtype.kind in "iu" and not isinstance(name, int | np.integer):
            raise InvalidInput(f"classes are called by number here: {name!r} is none")
        if self.classes_.dtype.kind in "US" and not (isinstance(name, str) and name.strip()):
            raise InvalidInput(f"classes are called by name here: {name!r} is none")
        checked_names_of([name])
        if name in self.classes_:
            raise InvalidInput(f"there is a class {name!r} already: remove it or choose a name")
        unit = unit_rows(vector[None], [str(name)])
        if self.hierarchy_ is not None:
            self.hierarchy_ = grown_hierarchy(self.hierarchy_, str(name), unit[0])
        self.classes_ = np.append(self.classes_, name)
        self.semantics_ = np.concatenate([self.semantics_, unit])
        kin = self._kinship()
        prototype = self._rule.prototypes(unit, None if kin is None else kin[-1:])
        self.prototypes_ = np.concatenate([self.prototypes_, prototype])
        self._offsets = np.append(self._offsets, self._hub_offsets(prototype))
        return self

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the classifier to a folder, whole or not at all."""
        check_is_fitted(self)
        write_classifier(self, folder)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> ZeroShotClassifier:
        """Read a classifier that `save` wrote; nothing in the folder is executed."""
        return read_classifier(cls, folder)

    def _superclasses(self, hierarchy: ClassHierarchy | None) -> ClassHierarchy | None:
        n_classes = len(self.classes_)
        if hierarchy is not None:
            return aligned_hierarchy(hierarchy, self.classes_)
        if n_classes < self.branching**2:
            return None
        return ClassHierarchy.from_semantics(
            self.semantics_,
            self.branching,
            self.random_state,
            names=[str(name) for name in self.classes_],
            method=self.grouping,  # type: ignore[arg-type]
        )

    def _project(
        self, spectrum: FeatureSpectrum, prototypes: NDArray[Any], labels: NDArray[np.int64]
    ) -> NDArray[Any]:
        learner = ProjectionLearner(
            self.alpha,
            self.beta or 0.5,
            self.epsilon,
            self.gamma,
            self.n_neighbors,
            self.max_iter,
            self.tol,
            learn_semantics=self.beta > 0,
            device=self.device,
        )
        learner.fit(spectrum.features, prototypes, labels=labels, spectrum=spectrum)
        self.n_iter_ = max(getattr(self, "n_iter_", 1), learner.n_iter_)
        W: NDArray[Any] = learner.W_
        return W

    def _project_layers(
        self, spectrum: FeatureSpectrum, labels: NDArray[np.int64]
    ) -> list[NDArray[Any]]:
        """Return the unit projections of every layer's nodes, for the paper's inference alone."""
        if self.hierarchy_ is None or self.inference != "paper":
            return []
        layers = []
        for layer in range(1, self.hierarchy_.n_layers + 1):
            nodes = self._node_vectors(layer)
            W = self._project(spectrum, nodes, self.hierarchy_.labels(layer)[labels])
            layers.append(unit_length(nodes @ W.T))
        return layers

    def _node_vectors(self, layer: int) -> NDArray[np.float64]:
        """Return the mean semantics of a layer's nodes; a taxonomy may come without any."""
        assert self.hierarchy_ is not None
        nodes = self.hierarchy_.labels(layer)
        return class_means(self.semantics_, nodes, self.hierarchy_.sizes[layer - 1])

    def _kinship(self) -> NDArray[np.float64] | None:
        """Return the kinship of all classes with the seen ones (C, p)."""
        if self.inference != "kin":
            return None
        seen = self.semantics_[self.seen_]
        kin = self.kin_semantics * semantic_kinship(self.semantics_, seen, width=self.kin_width)
        if self.hierarchy_ is not None:
            kin = kin + kinship(self.hierarchy_, decay=self.kin_decay)[:, self.seen_]
        return kin

    def _checked_prototypes(self, prototypes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return prototypes (n, d_f) if they are finite and any has a direction."""
        if np.isfinite(prototypes).all() and prototypes.any():
            return prototypes
        raise InvalidInput(
            "no class has a prototype in the space of features: look at the scale of X, at gamma "
            f"({self.gamma!r}) and at the kin_ parameters"
        )

    def _hub_offsets(self, prototypes: NDArray[np.float64]) -> NDArray[np.float64]:
        if not self.hub_weight:
            return np.zeros(len(prototypes))
        return self.hub_weight * hubness(prototypes, self._means, n_neighbors=self.hub_neighbors)

    def _normalised(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        unit: NDArray[Any] = unit_length(self._normaliser.transform(new_samples(self, X)))
        return unit

    def _scores(self, F: NDArray[Any]) -> NDArray[np.float64]:
        # It may have been changed since `fit`, as a search for the best one does.
        check_arguments(self._parameter_ranges, calibration=self.calibration)
        scores: NDArray[np.float64] = F @ self.prototypes_.T - self._offsets
        scores[:, self.seen_] -= self.calibration
        return finite_scores(scores)

    def _candidate_scores(
        self, X: Any, candidates: Candidates
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return candidates and their scores (n, k), minus infinity where they did not survive."""
        F = self._normalised(X)
        known = KnownClasses(self.classes_, self.semantics_)
        chosen = candidate_positions(candidates, known, self.seen_)
        scores = self._scores(F)[:, chosen]
        if self._layer_prototypes and self.hierarchy_ is not None:
            layers = [F @ nodes.T for nodes in self._layer_prototypes]
            check_arguments(self._parameter_ranges, top_k=self.top_k)
            alive = surviving_classes(layers, self.hierarchy_, chosen, keep=self.top_k)
            scores = refuse_no_candidate(np.where(alive, scores, -np.inf))
        return chosen, scores
