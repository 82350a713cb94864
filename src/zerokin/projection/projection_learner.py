"""The estimator: projection learning between features and the semantics of one layer."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from zerokin.compute.processes import current
from zerokin.errors import InvalidInput, shown
from zerokin.matrices import finite_matrix, plain_array
from zerokin.parameters import (
    DEVICE,
    Boolean,
    Integer,
    OneOf,
    Optional,
    Ranges,
    Real,
    check_parameters,
)
from zerokin.projection.alternation import alternate
from zerokin.projection.arrays import DTYPES
from zerokin.projection.graph import checked_laplacian
from zerokin.projection.memory import (
    MEMORY_BUDGET,
    Problem,
    budget_bytes,
    refuse_below,
    refuse_no_cpu,
)
from zerokin.projection.neighbors import NEIGHBORS, SEARCH, Search
from zerokin.projection.objective import Parameters
from zerokin.projection.row_space import distinct_rows
from zerokin.projection.rows import bytes_in_memory, held_features
from zerokin.projection.shards import Shards
from zerokin.projection.spectrum import FeatureSpectrum


class ProjectionNotFitted(InvalidInput, NotFittedError):  # type: ignore[misc]
    """A ProjectionLearner was used before `fit`."""


class ProjectionLearner(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learn one matrix that projects features to semantics, and its transpose back.

    Minimizes ‖FW − E‖² + μ‖F − EWᵀ‖² + ε′ tr(EᵀLE) + ν‖E − E⁰‖² + η‖W‖² over the projection W
    and the samples' semantics E, in turn, each step exactly (Algorithm 1 of the paper).

    Parameters
    ----------
    alpha : float in [0, 1)
        Share of reconstructing features from semantics: μ = α/(1−α).
    beta : float in (0, 1]
        Freedom of a sample's semantics to leave its prototype: ν = (1−β)/β.
    epsilon : float >= 0
        Smoothness of semantics over the neighbor graph: ε′ = ε/(β(1−α)). 0 needs no graph.
    gamma : float >= 0
        Ridge: η = γ/(1−α).
    n_neighbors : int
        Neighbors of each sample in the graph.
    max_iter : int
        Most iterations, of a W-step and an E-step each.
    tol : float
        Stop after a half-step, of either kind, that lowers the objective by no more than this
        share of it.
    learn_semantics : bool
        Whether E moves at all. If not, W is the exact minimum for E = E⁰, in one step.
    device : str
        ``"cpu"`` (NumPy) or a torch device such as ``"cuda"``.
    dtype : {"float32", "float64"} or None
        Of arrays with a row per sample; None keeps that of F.
    memory_budget : int, str or None
        Most memory of the process, in bytes or as ``"8GiB"``; None for no bound. Features in files
        (memory-mapped, or `ShardedFeatures`) are then read by blocks of rows, the E-step solves
        fewer columns at a time, and E goes to an unnamed file where it must.
    neighbor_search : {"auto", "exact", "approximate"}
        How the graph's neighbors are found: see `nearest_neighbors`.

    Attributes
    ----------
    W_ : array (d_f, d_z)
        The projection.
    E_ : array (N, d_z)
        The learned semantics of the training samples.
    objective_ : array
        The objective at the start (W = 0, E = E⁰) and then after every half-step: W, E, W, E, …
    laplacian_ : csr_array (N, N) or None
        The graph's normalized Laplacian; None if ``epsilon`` is 0, which needs none.
    graph_recall_ : float or None
        Share of the true neighbors in the graph: 1.0 of an exact search; of an approximate one,
        measured on 1,000 samples. None without a graph, or with one of your own.
    n_iter_ : int
        Iterations done: W-steps, each followed by an E-step unless it was the last.
    n_features_in_ : int
        d_f.

    Examples
    --------
    Two prototypes, one for every class, and 40 samples of them:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> prototypes, labels = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), np.arange(40) % 2
    >>> F = prototypes[labels] @ rng.normal(size=(3, 5)) + 0.1 * rng.normal(size=(40, 5))
    >>> learner = ProjectionLearner(alpha=0.5, beta=0.5, epsilon=0.1, n_neighbors=5)
    >>> learner.fit(F, prototypes, labels=labels).W_.shape
    (5, 3)
    >>> distance = np.linalg.norm(F[:, None] - learner.project_semantics(prototypes), axis=2)
    >>> bool(np.all(distance.argmin(axis=1) == labels))
    True
    >>> bool(np.all(np.diff(learner.objective_) <= 0))
    True
    """

    _parameter_ranges: ClassVar[Ranges] = {
        **Parameters._parameter_ranges,
        "n_neighbors": NEIGHBORS,
        "max_iter": Integer(1),
        "tol": Real(0),
        "learn_semantics": Boolean(),
        "device": DEVICE,
        "dtype": Optional(OneOf(DTYPES)),
        "memory_budget": MEMORY_BUDGET,
        "neighbor_search": SEARCH,
    }

    def __init__(
        self,
        alpha: float = 0.5,
        beta: float = 0.5,
        epsilon: float = 0.1,
        gamma: float = 0.01,
        n_neighbors: int = 10,
        max_iter: int = 20,
        tol: float = 1e-3,
        *,
        learn_semantics: bool = True,
        device: str = "cpu",
        dtype: str | None = None,
        memory_budget: int | str | None = None,
        neighbor_search: Search = "auto",
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.epsilon = epsilon
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.tol = tol
        self.learn_semantics = learn_semantics
        self.device = device
        self.dtype = dtype
        self.memory_budget = memory_budget
        self.neighbor_search = neighbor_search

    def fit(
        self,
        F: Any,
        E: Any,
        *,
        labels: Any = None,
        spectrum: FeatureSpectrum | None = None,
        laplacian: Any = None,
    ) -> ProjectionLearner:
        """Learn from features and their semantics.

        Parameters
        ----------
        F : array (N, d_f)
            Features of the training samples. Of several processes
            (`zerokin.compute.joined`) each gives its own rows.
        E : array (N, d_z), or (P, d_z) with ``labels``
            Semantics of every sample, or of every prototype.
        labels : array (N,) of int, optional
            Row of ``E`` that holds a sample's semantics.
        spectrum : FeatureSpectrum, optional
            Made of the same F: what several fits share, so that it is computed once.
        laplacian : sparse array (N, N), optional
            A graph of your own in place of the nearest neighbors.

        Returns
        -------
        ProjectionLearner
            Itself.
        """
        check_parameters(self)
        parameters = Parameters(self.alpha, self.beta, self.epsilon, self.gamma)
        self.graph_recall_: float | None = None
        if self.memory_budget is not None:
            F = spectrum.features if spectrum is not None and spectrum.holds(F) else F
            F, _ = held_features(F, "F", self.dtype)
        elif spectrum is None or F is not spectrum.features:
            F = finite_matrix(F, "F")
        samples = len(F)
        prototypes, index = _semantics(E, labels, samples=samples)
        current().refuse_different("semantics", prototypes.tobytes())
        graph = self.n_neighbors if parameters.epsilon else 0
        self._refuse_little_memory(F, prototypes, int(graph))
        spectrum = self._checked_spectrum(F, spectrum)
        if laplacian is not None:
            if current().shared:
                raise InvalidInput("several processes find the neighbors: leave out laplacian")
            laplacian = checked_laplacian(laplacian, samples)
        elif parameters.epsilon:
            laplacian = spectrum.laplacian(self.n_neighbors)
            self.graph_recall_ = spectrum.graph_recalls[int(self.n_neighbors)]
        solution = alternate(
            spectrum,
            prototypes,
            index,
            laplacian,
            parameters,
            max_iter=int(self.max_iter),
            tol=self.tol,
            learn_semantics=bool(self.learn_semantics),
            n_neighbors=0 if laplacian is None else _links(laplacian),
        )
        if not np.isfinite(solution.W).all():
            raise InvalidInput(
                "the projection came out as NaN or infinity: look at the scale of F and E, and at "
                f"gamma ({self.gamma!r}) and epsilon ({self.epsilon!r})"
            )
        self.W_ = solution.W
        self._coordinates, self._basis = solution.coordinates, solution.basis
        self.objective_ = solution.objective
        self.n_iter_ = solution.iterations
        self.laplacian_: sp.csr_array | None = laplacian
        self.n_features_in_ = self.W_.shape[0]
        return self

    @property
    def E_(self) -> np.ndarray:
        """The learned semantics of the training samples, (N, d_z)."""
        self._check_fitted()
        E: np.ndarray = self._coordinates @ self._basis
        return E

    def transform(self, F: Any) -> np.ndarray:
        """Project features (n, d_f) to semantics: F W, (n, d_z)."""
        return _projected(F, "F", self._check_fitted(), "features")

    def project_semantics(self, Z: Any) -> np.ndarray:
        """Project semantics (n, d_z) to features: Z Wᵀ, (n, d_f)."""
        return _projected(Z, "Z", self._check_fitted().T, "semantics")

    def _check_fitted(self) -> np.ndarray:
        if not hasattr(self, "W_"):
            raise ProjectionNotFitted("this ProjectionLearner is not fitted yet: call fit first")
        return self.W_

    def _refuse_little_memory(self, F: Any, prototypes: np.ndarray, n_neighbors: int) -> None:
        """Refuse a budget too small for any plan, before long work."""
        budget = budget_bytes(self.memory_budget)
        if budget is None:
            return
        refuse_no_cpu(self.device)
        size = np.dtype(self.dtype or F.dtype).itemsize
        shards = Shards.of(len(F))
        held = shards.most(bytes_in_memory(F))
        problem = Problem(shards.largest, F.shape[1], size, held, n_neighbors)
        least = problem.least(min(prototypes.shape), len(prototypes))
        refuse_below(least, budget, problem)

    def _checked_spectrum(self, F: Any, spectrum: FeatureSpectrum | None) -> FeatureSpectrum:
        if spectrum is None:
            return FeatureSpectrum(
                F,
                device=self.device,
                dtype=self.dtype,
                memory_budget=self.memory_budget,
                neighbor_search=self.neighbor_search,
            )
        if not isinstance(spectrum, FeatureSpectrum):
            raise InvalidInput(f"spectrum must be a FeatureSpectrum: got {shown(spectrum)}")
        if not spectrum.holds(F):
            raise InvalidInput(
                f"spectrum was made of other features (shape {spectrum.features.shape}) than F "
                f"(shape {np.shape(F)}): make it of the F you fit"
            )
        for name, here, there in (
            ("device", str(self.device), spectrum.device),
            ("dtype", self.dtype or spectrum.dtype, spectrum.dtype),
            ("memory_budget", budget_bytes(self.memory_budget), spectrum.memory_budget),
        ):
            if here != there:
                raise InvalidInput(
                    f"spectrum has {name} {there!r} but the learner {here!r}: give both the same"
                )
        return spectrum


def _semantics(E: Any, labels: Any, *, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return distinct prototypes and every sample's row among them."""
    prototypes, processes = finite_matrix(E, "E"), current()
    if labels is None:
        if len(prototypes) != samples:
            raise InvalidInput(
                f"E has {len(prototypes):,} rows but F {samples:,}: give one row of semantics for "
                "every sample, or prototypes with labels="
            )
        prototypes, index = distinct_rows(prototypes)
        if not processes.shared:
            return prototypes, index
        before = np.append(0, np.cumsum(processes.gather(np.array([len(prototypes)]))))
        prototypes, place = distinct_rows(processes.gather(prototypes))
        return prototypes, place[index + before[processes.rank]]
    index = plain_array(labels, "labels")
    if index.shape != (samples,) or index.dtype.kind not in "iu":
        raise InvalidInput(
            f"labels must be {samples:,} whole numbers, one for every row of F: got "
            f"shape {index.shape} of {index.dtype}"
        )
    outside = np.flatnonzero((index < 0) | (index >= len(prototypes)))
    if outside.size:
        raise InvalidInput(
            f"labels[{outside[0]}] is {index[outside[0]]}, but E has rows 0 to "
            f"{len(prototypes) - 1}"
        )
    # Prototypes without a sample would only widen the row space.
    present = processes.union(index)
    return prototypes[present], np.searchsorted(present, index)


def _links(laplacian: sp.csr_array) -> int:
    """Half the entries of a row of a Laplacian: of all rows on average, wherever they are."""
    entries = current().sum(np.array([laplacian.nnz, laplacian.shape[0]]))
    links: int = math.ceil(entries[0] / entries[1] / 2)
    return links


def _projected(values: Any, name: str, matrix: np.ndarray, what: str) -> np.ndarray:
    checked = finite_matrix(values, name)
    if checked.shape[1] != len(matrix):
        raise InvalidInput(
            f"{name} has {checked.shape[1]} columns, but the projection was learned for "
            f"{len(matrix)} {what}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        projected: np.ndarray = checked @ matrix
    if not np.isfinite(projected).all():
        raise InvalidInput(f"{name} is too large to project: scale it as the features fitted on")
    return projected
