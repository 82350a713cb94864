"""`ZeroShotClassifier`: the paper's Algorithm 2 from features on, as a scikit-learn estimator."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from zerokin.aliases import CLASSIFIER, ReadingSaved, accept_old_names
from zerokin.class_names import checked_names_of
from zerokin.classifiers.auto_penalty import Scorer, estimate_seen_penalty
from zerokin.classifiers.class_kernel import ClassKernel
from zerokin.classifiers.class_labels import KnownClasses, candidate_positions
from zerokin.classifiers.explanation import Explanation, explain_sample
from zerokin.classifiers.finite_scores import refuse_no_candidate
from zerokin.classifiers.growth import grown_hierarchy
from zerokin.classifiers.memo import RunStage, run_stage
from zerokin.classifiers.memory import budget_of_fit
from zerokin.classifiers.nearness import Distance, nearness
from zerokin.classifiers.pruning import lower_pruned, surviving_classes
from zerokin.classifiers.ranking import ranked
from zerokin.classifiers.samples import new_samples, training_samples
from zerokin.classifiers.serialization import read_classifier, write_classifier
from zerokin.classifiers.stages import (
    TrainingSet,
    as_compared,
    build_superclasses,
    correct_prototypes,
    factor_features,
    learn_projection,
    penalize_hubs,
    project_superclasses,
    relate_classes,
    scale_features,
    scale_samples,
    score_samples,
)
from zerokin.compute.processes import current
from zerokin.errors import InvalidInput, ZerokinWarning, shown
from zerokin.features.scaler import FeatureScaler
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.clustering import METHODS
from zerokin.matrices import real_array
from zerokin.parameters import (
    DEVICE,
    SEED,
    Either,
    Integer,
    OneOf,
    Optional,
    Ranges,
    Real,
    Text,
    check_arguments,
    check_parameters,
)
from zerokin.projection.memory import MEMORY_BUDGET
from zerokin.semantics.normalize import unit_rows

if TYPE_CHECKING:
    from zerokin.classifiers.few_shot.class_by_example import ClassShots

AUTO: Literal["auto"] = "auto"
# Cosine scores lie within ±3 and squared distances of features within some thousands; far beyond,
# differences between seen classes drown in rounding.
SEEN_PENALTY = Real(-1e6, 1e6)
Inference = Literal["residual", "flat", "paper"]
Candidates = str | Sequence[Any] | NDArray[Any] | None


@accept_old_names(CLASSIFIER)
class ZeroShotClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Name samples of classes that were never shown, through superclasses shared with seen ones.

    Features are scaled; a projection between features and semantics is learned; projected semantics
    are corrected by the residuals of related seen classes; a sample gets the class whose prototype
    in feature space is nearest. Only ``inference="paper"`` learns a projection for every
    superclass layer, too. The stages stand in `zerokin.classifiers.stages`.

    Parameters
    ----------
    alpha, beta, epsilon, gamma, n_neighbors, max_iter, tol
        Of `ProjectionLearner`, for every projection. ``beta=0`` keeps the semantics of samples
        fixed at those of their class.
    feature_scaling
        Steps of `FeatureScaler`.
    branching, grouping
        The hierarchy's t, and ``"kmeans"`` or ``"agglomerative"``, where `fit` is given none. With
        fewer than t² classes there are no superclasses.
    inference
        ``"residual"``: projected semantics, corrected by the residuals of related seen classes
        (Gaussian-process regression: see `zerokin.classifiers.residual_correction`).
        ``"flat"``: projected semantics alone. ``"paper"``: projected semantics of the classes under
        the ``top_k`` best superclasses of every layer, from the top down.
    distance
        Of samples and prototypes in feature space. ``"cosine"``: by angle, so that scores are
        cosines. ``"euclidean"``: scores are minus the squared distance between scaled features and
        prototypes, both at the length they have; projected semantics are as long as the projection
        makes them. The paper does not say which it takes.
    layer_decay
        Variance that sharing a superclass of one layer explains, relative to the layer below.
    semantic_variance, length_scale
        Variance and length scale of the squared-exponential kernel over class semantics, beside
        the kernel of shared superclasses.
    noise
        Noise variance of the Gaussian process: the larger, the less residuals count.
    hub_weight, hub_neighbors
        How much of a prototype's nearness to the means of its nearest seen classes is taken off
        the class's score, 0 to 2 (see `zerokin.classifiers.hubness`).
    top_k
        Superclasses that survive on a layer, for ``inference="paper"``.
    seen_penalty
        Calibrated stacking (Chao et al., ECCV 2016): taken off the scores of seen classes when they
        compete with unseen ones. ``"auto"``: the best on seen classes that are held out of the
        training data, which fits the method some times more (see
        `zerokin.classifiers.auto_penalty`); 0 where nothing can be held out.
    random_state
        Seed of k-means.
    device
        Where projections are learned: ``"cpu"`` or a torch device.
    memory_budget
        Most memory of the process in `fit`, in bytes or as ``"8GiB"``; None for no bound. Features
        are then read by blocks of rows (memory-mapped, or `zerokin.data.ShardedFeatures`); scaled
        ones go to an unnamed file. It is for ``device="cpu"``: see `ProjectionLearner`.

    Attributes
    ----------
    classes_ : (C,) names of all classes, seen and unseen; row numbers if semantics were a matrix
    seen_ : positions of the seen classes
    semantics_ : (C, d_z) unit semantics Z
    hierarchy_ : ClassHierarchy or None
    prototypes_ : (C, d_f) prototypes in the space of scaled features, of unit length for cosines
    n_features_in_ : d_f
    n_iter_ : most iterations that a projection took
    seen_penalty_ : the seen penalty in use

    Notes
    -----
    A sample that is all zero once it is normalized has no direction: its cosine with every class
    is 0, so that hubness and ``seen_penalty`` alone tell classes apart. Training samples must not
    all be so.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1.0], [0, 0, 1]])
    >>> y = np.repeat([0, 1, 2, 3], 20)          # nothing is shown of class 4
    >>> world = rng.normal(size=(3, 12))
    >>> X = Z[y] @ world + 0.2 * rng.normal(size=(80, 12))
    >>> model = ZeroShotClassifier(feature_scaling="unit", gamma=0.1).fit(X, y, semantics=Z)
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
        "feature_scaling": Text("power-whiten3-unit"),
        "branching": Integer(2),
        "grouping": OneOf(METHODS),
        "inference": OneOf(get_args(Inference)),
        "distance": OneOf(get_args(Distance)),
        # Ten layers of a larger decay would leave the lowest ones to rounding.
        "layer_decay": Real(0, 4),
        "semantic_variance": Real(0, 1e4),
        "length_scale": Real(0, closed="neither"),
        # Kinship alone need not be invertible: classes of one superclass have equal rows.
        "noise": Real(1e-6, 1e12),
        # At 1 all of the closeness is taken off; at 3 one class in ten is still named on CUB.
        "hub_weight": Real(0, 2),
        "hub_neighbors": Integer(1),
        "top_k": Integer(1),
        "seen_penalty": Either(SEEN_PENALTY, OneOf((AUTO,))),
        "random_state": Optional(SEED),
        "device": DEVICE,
        "memory_budget": MEMORY_BUDGET,
    }

    # Of classes by example (`zerokin.classifiers.few_shot.class_by_example`), by name.
    _shots: Mapping[Any, ClassShots] = MappingProxyType({})
    # Of the squared distances of seen classes, once it was needed: more classes do not change it.
    _median: float | None = None

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
        feature_scaling: str = "power-whiten3-unit",
        branching: int = 2,
        grouping: str = "agglomerative",
        inference: Inference = "residual",
        distance: Distance = "cosine",
        layer_decay: float = 0.5,
        semantic_variance: float = 9.0,
        length_scale: float = 0.5,
        noise: float = 1.0,
        hub_weight: float = 0.25,
        hub_neighbors: int = 3,
        top_k: int = 3,
        seen_penalty: float | Literal["auto"] = AUTO,
        random_state: int = 0,
        device: str = "cpu",
        memory_budget: int | str | None = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.epsilon = epsilon
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.tol = tol
        self.feature_scaling = feature_scaling
        self.branching = branching
        self.grouping = grouping
        self.inference = inference
        self.distance = distance
        self.layer_decay = layer_decay
        self.semantic_variance = semantic_variance
        self.length_scale = length_scale
        self.noise = noise
        self.hub_weight = hub_weight
        self.hub_neighbors = hub_neighbors
        self.top_k = top_k
        self.seen_penalty = seen_penalty
        self.random_state = random_state
        self.device = device
        self.memory_budget = memory_budget

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
            (N, d_f) features. Of several processes (`zerokin.compute.joined`) each gives
            its own rows, and the classes of these.
        y
            (N,) their classes: names, or positions in the semantics.
        semantics
            Vectors of all classes, seen and unseen: a `ClassTable`, a mapping of names to vectors,
            a data frame with a row for each class, or a matrix (C, d_z). Without any, every class
            in ``y`` is seen and like no other.
        hierarchy
            Superclasses over the same classes, matched by name (by order where either side has no
            names of its own); by default they are clustered from the semantics.
        """
        check_parameters(self)
        FeatureScaler(self.feature_scaling)  # refuses steps before anything is read
        X, y = training_samples(self, X, y, by_blocks=self.memory_budget is not None)
        known = KnownClasses.from_labels(semantics, y)
        labels = known.positions(y, "y")
        Z = unit_rows(known.vectors, [str(name) for name in known.names])
        data = TrainingSet(X, labels, Z, known.names)
        current().refuse_different("semantics", Z.tobytes())
        self._fit(data, hierarchy)
        if self.seen_penalty == AUTO and semantics is not None:
            self._auto_penalty = estimate_seen_penalty(
                data, hierarchy, self._learn_part, random_state=self.random_state or 0
            )
        return self

    def _fit(
        self, data: TrainingSet, hierarchy: ClassHierarchy | None, run: RunStage = run_stage
    ) -> ZeroShotClassifier:
        """Run the stages on data that was checked; a search gives a `Memo` to run them with."""
        Z, seen = data.semantics, data.seen
        budget = budget_of_fit(data, self.get_params())
        scaled = run(scale_features, data.features, data.labels, self.feature_scaling)
        spectrum = run(factor_features, scaled, self.device, budget)
        tree = run(
            build_superclasses,
            Z,
            data.names,
            hierarchy,
            branching=self.branching,
            grouping=self.grouping,
            random_state=self.random_state,
        )
        settings = {**self._of_projection(), "memory_budget": budget}
        projection = run(learn_projection, spectrum, Z, data.labels, **settings)
        kernel = self._kernel(Z, seen, tree, run)
        rule, prototypes = run(
            correct_prototypes,
            projection,
            scaled.means,
            Z,
            seen,
            kernel,
            noise=self.noise,
            distance=self.distance,
        )
        self._auto_penalty = 0.0
        self.n_features_in_ = data.features.shape[1]
        self.n_iter_ = projection.n_iter
        self.classes_, self.seen_, self.semantics_, self.hierarchy_ = data.names, seen, Z, tree
        self.prototypes_ = self._checked_prototypes(prototypes)
        self._normalizer, self._rule = scaled.normalizer, rule
        self._means = as_compared(scaled.means, self.distance)
        self._offsets = self._hub_offsets(prototypes)
        self._shots = {}
        self._median = kernel.median if isinstance(kernel, ClassKernel) else None
        self._layer_prototypes: list[NDArray[np.float64]] = []
        if self.inference == "paper" and tree is not None:
            self._layer_prototypes, n_iter = project_superclasses(
                spectrum, Z, data.labels, tree, settings, run, self.distance
            )
            self.n_iter_ = max(self.n_iter_, n_iter)
        return self

    @property
    def seen_penalty_(self) -> float:
        """The seen penalty in use: the one given, or by itself the one that was estimated."""
        check_is_fitted(self)
        # It may have been changed since `fit`, as a search for the best one does.
        check_arguments(self._parameter_ranges, seen_penalty=self.seen_penalty)
        return self._auto_penalty if self.seen_penalty == AUTO else float(self.seen_penalty)

    def _learn_part(self, part: TrainingSet, hierarchy: ClassHierarchy | None) -> Scorer:
        """Fit a copy to a part of the data, and return its scores with no seen penalty."""
        model = clone(self).set_params(seen_penalty=0.0)._fit(part, hierarchy)
        return lambda features: model._decide(
            scale_samples(model._normalizer, features, model.distance)
        )

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every class (n, C), seen ones calibrated; higher is better.

        All classes are candidates. With ``inference="paper"`` classes that superclasses rule out
        score `zerokin.classifiers.pruning.PRUNED` less, so that scores stay finite and the best
        class is the one that `predict` names. With two classes in all, the second's score less the
        first's (n,), as scikit-learn has it.
        """
        scores = self._decide(self._normalized(X))
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

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, candidates: Candidates = None
    ) -> float:
        """Return the share of samples that `predict` names right, 0 to 1.

        Parameters
        ----------
        X
            (n, d_f) features.
        y
            (n,) their classes.
        sample_weight
            (n,) how much each sample counts.
        candidates
            As for `predict`, the unseen classes by default. Labels that are not among them can
            never be right, which is warned of.
        """
        check_is_fitted(self)
        known = KnownClasses(self.classes_, self.semantics_)
        truth = known.positions(y, "y")
        chosen = candidate_positions(candidates, known, self.seen_)
        outside = np.setdiff1d(truth, chosen)
        if len(outside):
            warnings.warn(
                f"y holds {len(outside)} of the classes that are no candidates, such as "
                f"{shown(self.classes_[outside[0]])}: their samples count as wrong. "
                "candidates='all' has all classes compete",
                ZerokinWarning,
                stacklevel=2,
            )
        right = self.predict(X, candidates) == self.classes_[truth]
        return float(np.average(right, weights=sample_weight))

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
        prototype = self._rule.prototypes(unit, self._row_of_last())
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
        with ReadingSaved(cls.__name__, folder):
            return read_classifier(cls, folder)

    def _of_projection(self) -> dict[str, Any]:
        """Return the parameters of `learn_projection`."""
        names = ("alpha", "beta", "epsilon", "gamma", "n_neighbors", "max_iter", "tol", "device")
        return {name: getattr(self, name) for name in names}

    def _kernel(
        self,
        semantics: NDArray[np.float64],
        seen: NDArray[np.int64],
        hierarchy: ClassHierarchy | None,
        run: RunStage = run_stage,
    ) -> NDArray[np.float64] | ClassKernel | None:
        """Return the kernel of all classes with the seen ones (C, p), if residuals are used."""
        if self.inference != "residual":
            return None
        return run(
            relate_classes,
            semantics,
            seen,
            hierarchy,
            decay=self.layer_decay,
            semantic_weight=self.semantic_variance,
            width=self.length_scale,
            run=run,
        )

    def _row_of_last(self) -> NDArray[np.float64] | None:
        """Return the kernel of the last class with the seen ones (1, p), if residuals are used."""
        if self.inference != "residual":
            return None
        kernel = ClassKernel(
            self.semantics_,
            self.seen_,
            self.hierarchy_,
            decay=self.layer_decay,
            semantic_weight=self.semantic_variance,
            width=self.length_scale,
            median=self._median,
        )
        self._median = kernel.median
        return kernel[-1:]

    def _checked_prototypes(self, prototypes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return prototypes (n, d_f) if they are finite and any has a direction."""
        if np.isfinite(prototypes).all() and prototypes.any():
            return prototypes
        raise InvalidInput(
            "no class has a prototype in the space of features: look at the scale of X, at gamma "
            f"({self.gamma!r}), length_scale ({self.length_scale!r}) and noise ({self.noise!r})"
        )

    def _hub_offsets(self, prototypes: NDArray[np.float64]) -> NDArray[np.float64]:
        return penalize_hubs(
            prototypes,
            self._means,
            weight=self.hub_weight,
            n_neighbors=self.hub_neighbors,
            distance=self.distance,
        )

    def _normalized(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        return scale_samples(self._normalizer, new_samples(self, X), self.distance)

    def _scores(self, F: NDArray[Any]) -> NDArray[np.float64]:
        return score_samples(
            F,
            self.prototypes_,
            self._offsets,
            self.seen_,
            seen_penalty=self.seen_penalty_,
            distance=self.distance,
        )

    def _candidate_scores(
        self, X: Any, candidates: Candidates
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return candidates and their scores (n, k), minus infinity where they did not survive."""
        F = self._normalized(X)
        known = KnownClasses(self.classes_, self.semantics_)
        chosen = candidate_positions(candidates, known, self.seen_)
        scores, alive = self._scores(F)[:, chosen], self._survivors(F, chosen)
        if alive is not None:
            scores = refuse_no_candidate(np.where(alive, scores, -np.inf))
        return chosen, scores

    def _decide(
        self, F: NDArray[Any], candidates: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Return finite scores of samples (n, d_f) for candidates (all): ruled out is low."""
        chosen = np.arange(len(self.classes_)) if candidates is None else candidates
        scores, alive = self._scores(F), self._survivors(F, chosen)
        if candidates is not None:
            scores = scores[:, candidates]
        return scores if alive is None else lower_pruned(scores, alive)

    def _survivors(
        self, F: NDArray[Any], candidates: NDArray[np.int64]
    ) -> NDArray[np.bool_] | None:
        """Return which candidates (n, k) superclasses leave, or None where nothing is pruned."""
        if not self._layer_prototypes or self.hierarchy_ is None:
            return None
        check_arguments(self._parameter_ranges, top_k=self.top_k)
        layers = [nearness(F, nodes, self.distance) for nodes in self._layer_prototypes]
        return surviving_classes(layers, self.hierarchy_, candidates, keep=self.top_k)
