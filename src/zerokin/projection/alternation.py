"""Algorithm 1: the W-step and the E-step in turn until the objective stands still."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from zerokin.compute.processes import Processes
from zerokin.projection.arrays import Array, Arrays, row_blocks
from zerokin.projection.e_step import Initial, Sums, local_graph, solve_e, usual_widths
from zerokin.projection.memory import READ_ROWS, FitPlan, plan_fit
from zerokin.projection.objective import Parameters, Terms, objective
from zerokin.projection.row_space import row_space
from zerokin.projection.rows import release_pages
from zerokin.projection.scratch import scratch_array
from zerokin.projection.spectrum import FeatureSpectrum
from zerokin.projection.w_step import solve_w

RTOL = {"float64": 1e-10, "float32": 1e-6}


class Solution(NamedTuple):
    """What Algorithm 1 found; E in an orthonormal basis of the row space of E⁰."""

    W: np.ndarray
    """(d_f, d_z)"""
    coordinates: np.ndarray
    """(N, r): E is ``coordinates @ basis``"""
    basis: np.ndarray
    """(r, d_z), orthonormal rows"""
    objective: np.ndarray
    """at the start (W = 0, E = E⁰), then after every half-step"""
    iterations: int


class Moments(NamedTuple):
    """All that the W-step needs to know of E."""

    FtE: Array
    EtE: Array


def alternate(
    spectrum: FeatureSpectrum,
    prototypes: np.ndarray,
    labels: np.ndarray,
    laplacian: sp.csr_array | None,
    parameters: Parameters,
    *,
    max_iter: int,
    tol: float,
    learn_semantics: bool = True,
    rtol: float | None = None,
    n_neighbors: int = 0,
) -> Solution:
    """Minimize the objective over W and E in turn, from E = E⁰.

    Parameters
    ----------
    spectrum
        Features, factored.
    prototypes, labels : arrays (P, d_z), (N,)
        E⁰ is ``prototypes[labels]``.
    laplacian : csr_array (N, N), or None where ε is 0
    parameters
        α, β, ε, γ.
    max_iter
        Most iterations, of two half-steps each.
    tol
        Stop after a half-step that lowers the objective by no more than this share.
    learn_semantics
        Whether E is learned too; otherwise one W-step gives the exact minimum for E = E⁰.
    rtol
        Relative residual of the E-step's systems; by default 1e-10 (float64) or 1e-6 (float32).
    n_neighbors
        Of the Laplacian, for the memory it takes.
    """
    arrays, F, dtype = spectrum.arrays, spectrum.F, spectrum.dtype
    coordinates, basis = row_space(prototypes, dtype)
    plan = _plan(spectrum, len(coordinates), coordinates.shape[1], n_neighbors)
    initial = Initial(
        arrays.put(coordinates, dtype),
        arrays.put(np.eye(len(basis)), "float64"),
        arrays.put(labels, "int64"),
    )
    laplacian = laplacian if parameters.epsilon else None
    shards, processes = spectrum.shards, spectrum.processes
    graph = local_graph(arrays, laplacian, dtype, shards)
    with arrays.full_precision():
        E = _start(initial, plan, dtype)
        moments = _first_moments(arrays, F, E, initial, plan, processes)
        roughness, departure = _first_roughness(laplacian, labels, coordinates, processes), 0.0
        start = Terms(_trace(moments.EtE), spectrum.total, roughness, departure, ridge=0.0)
        values = [objective(start, parameters)]
        for iteration in range(1, max_iter + 1):
            W, image = solve_w(
                arrays.xp,
                spectrum.eigenvalues,
                spectrum.eigenvectors,
                moments.FtE,
                moments.EtE,
                alpha=parameters.alpha,
                gamma=parameters.gamma,
            )
            W, image = processes.leading(W), processes.leading(image)
            WtW = processes.leading(W.T @ W)
            terms = _terms_after_w(spectrum.total, W, WtW, image, moments, roughness, departure)
            values.append(objective(terms, parameters))
            if not learn_semantics or _stands_still(values, tol):
                break
            # From here on everything is written in the eigenbasis of WᵀW: an orthogonal
            # change of coordinates within the row space, which the objective does not see.
            squares, turn = map(processes.leading, arrays.xp.linalg.eigh(WtW))
            W, initial = W @ turn, initial._replace(turn=initial.turn @ turn)
            _turn_rows(E, arrays.cast(turn, dtype), plan)
            sums = solve_e(
                arrays,
                F,
                W,
                squares.clip(0),
                E,
                initial,
                graph,
                parameters,
                rtol=rtol or RTOL[dtype],
                plan=plan,
            )
            roughness, departure = sums.roughness, sums.departure
            terms = _terms_after_e(spectrum.total, sums, ridge=terms.ridge)
            values.append(objective(terms, parameters))
            if iteration == max_iter or _stands_still(values, tol):
                break
            moments = _moments(arrays, F, E, plan, processes)
        frame = initial.turn.T @ arrays.put(basis, "float64")
        return Solution(
            W=arrays.get(arrays.cast(spectrum.lift(W) @ frame, dtype)),
            coordinates=arrays.get(E),
            basis=arrays.get(arrays.cast(frame, dtype)),
            objective=np.array(values),
            iterations=iteration,
        )


def _stands_still(values: list[float], tol: float) -> bool:
    """Tell whether the last half-step lowered the objective by next to nothing."""
    return values[-2] - values[-1] <= tol * values[-2]


def _terms_after_w(
    total: float,
    W: Array,
    WtW: Array,
    image: Array,
    moments: Moments,
    roughness: float,
    departure: float,
) -> Terms:
    """Terms of the objective from small matrices alone: squares multiplied out, in float64."""
    agreement = float((W * moments.FtE).sum())
    return Terms(
        semantics=float(image) - 2 * agreement + _trace(moments.EtE),
        features=total - 2 * agreement + float((WtW * moments.EtE).sum()),
        roughness=roughness,
        departure=departure,
        ridge=_trace(WtW),
    )


def _terms_after_e(total: float, sums: Sums, *, ridge: float) -> Terms:
    """Terms of the objective from the sums of the E-step; no array of F's size is needed."""
    return Terms(
        semantics=sums.residual,
        features=total - 2 * sums.agreement + sums.reconstruction,
        roughness=sums.roughness,
        departure=sums.departure,
        ridge=ridge,
    )


def _plan(
    spectrum: FeatureSpectrum, prototypes: int, columns: int, n_neighbors: int
) -> FitPlan | None:
    """Return what to hold at a time and where E lies, or None where memory is not bounded."""
    if spectrum.memory_budget is None:
        return None
    return plan_fit(
        spectrum.problem(n_neighbors),
        columns,
        prototypes,
        spectrum.memory_budget,
        usual=usual_widths(spectrum.arrays, spectrum.F.shape[1], columns, spectrum.processes),
    )


def _start(initial: Initial, plan: FitPlan | None, dtype: str) -> Array:
    """E⁰, (N, r): in memory, or in a file where the plan has it so."""
    if plan is None or not plan.in_file:
        return initial.prototypes[initial.labels]
    E = scratch_array((len(initial.labels), initial.prototypes.shape[1]), dtype)
    for rows in _blocks(E, plan):
        E[rows] = initial.prototypes[initial.labels[rows]]
    return E


def _blocks(E: Array, plan: FitPlan | None) -> Iterator[slice]:
    """Cut the samples into blocks of rows; pages of E that lie in a file are given back."""
    for rows in row_blocks(len(E), plan.rows if plan else READ_ROWS[1]):
        yield rows
        if plan is not None and plan.in_file:
            release_pages(E)


def _moments(
    arrays: Arrays, F: Array, E: Array, plan: FitPlan | None, processes: Processes
) -> Moments:
    """FᵀE and EᵀE, summed in float64 over blocks of rows and over processes."""
    FtE, EtE = 0.0, 0.0
    for rows in _blocks(E, plan):
        part = E[rows]
        # As (EᵀF)ᵀ, where the tall factor comes second, BLAS is faster by a fifth and more.
        FtE = FtE + arrays.cast(part.T @ F[rows], "float64").T
        EtE = EtE + arrays.cast(part.T @ part, "float64")
    return Moments(processes.sum(FtE), processes.sum(EtE))


def _first_moments(
    arrays: Arrays,
    F: Array,
    E: Array,
    initial: Initial,
    plan: FitPlan | None,
    processes: Processes,
) -> Moments:
    """FᵀE⁰ and E⁰ᵀE⁰, where a sum over the samples of each prototype comes first if it pays."""
    prototypes = initial.prototypes
    if 4 * len(prototypes) > len(F) and not processes.shared:
        return _moments(arrays, F, E, plan, processes)
    counts = arrays.xp.bincount(initial.labels, minlength=len(prototypes))
    sums = arrays.cast(arrays.sums_by_label(F, initial.labels, len(prototypes)), "float64")
    weighted = arrays.cast(prototypes, "float64")
    sums, counts = processes.sum(sums), processes.sum(counts)
    return Moments(sums.T @ weighted, (weighted * counts[:, None]).T @ weighted)


def _turn_rows(E: Array, turn: Array, plan: FitPlan | None) -> None:
    """E ← E · turn in place, a block of rows at a time."""
    for rows in _blocks(E, plan):
        E[rows] = E[rows] @ turn


def _first_roughness(
    laplacian: sp.csr_array | None,
    labels: np.ndarray,
    coordinates: np.ndarray,
    processes: Processes,
) -> float:
    """tr(E⁰ᵀLE⁰): entries of L are first summed over pairs of prototypes."""
    if laplacian is None:
        return 0.0
    entries = laplacian.tocoo()
    rows, columns = entries.coords
    of_all = processes.gather(labels)
    pairs = sp.csr_array(
        (entries.data, (labels[rows], of_all[columns])), shape=(len(coordinates),) * 2
    )
    own = np.sum((pairs @ coordinates) * coordinates, dtype=np.float64, keepdims=True)
    return float(processes.sum(own).item())


def _trace(matrix: Array) -> float:
    return float(matrix.diagonal().sum())
