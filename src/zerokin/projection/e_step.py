"""The E-step: semantics of every sample that are best for a given projection."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from zerokin.compute.machine import available_cores
from zerokin.compute.processes import ALONE, Processes
from zerokin.projection.arrays import Array, Arrays, row_blocks
from zerokin.projection.conjugate_gradients import solve_shifted
from zerokin.projection.memory import READ_ROWS, FitPlan
from zerokin.projection.objective import Parameters
from zerokin.projection.rows import FeatureRows, release_pages
from zerokin.projection.shards import Shards, SharedGraph


class Graph(NamedTuple):
    """A Laplacian with its samples in an order that keeps neighbors close together."""

    laplacian: Any
    """sparse (N, N), rows and columns in ``order``; None where ε is 0"""
    order: Any
    """(N,) of int, or ``slice(None)``"""
    processes: Processes = ALONE
    """those that have the other rows, where several share the samples"""


class Initial(NamedTuple):
    """E⁰ in the current basis: ``(prototypes @ turn)[labels]``, never written out as a whole."""

    prototypes: Array
    """(P, r)"""
    turn: Array
    """(r, r), orthogonal: from the basis of the prototypes to the current one"""
    labels: Array
    """(N,) of int"""

    def columns(self, columns: slice, order: Any) -> Array:
        """Columns of E⁰ for all samples, (N, b)."""
        return (self.prototypes @ self.turn[:, columns])[self.labels[order]]


class Sums(NamedTuple):
    """Sums over samples that the objective needs, gathered while their columns are at hand."""

    residual: float
    """‖FW − E‖²"""
    agreement: float
    """tr((FW)ᵀE)"""
    reconstruction: float
    """‖EWᵀ‖²"""
    roughness: float
    """tr(EᵀLE)"""
    departure: float
    """‖E − E⁰‖²"""


def local_graph(
    arrays: Arrays, laplacian: sp.csr_array | None, dtype: str, shards: Shards | None = None
) -> Graph:
    """Order samples so that neighbors lie close together, and bring the Laplacian to the device.

    Sparse products then find neighbors in the caches: several times faster from some ten
    thousand samples on.
    """
    processes = ALONE if shards is None else shards.processes
    if laplacian is None:
        return Graph(None, slice(None), processes)
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    if shards is not None and processes.shared:
        own = sp.csr_array(laplacian[:, shards.start : shards.start + laplacian.shape[0]])
        order = np.ascontiguousarray(reverse_cuthill_mckee(own, symmetric_mode=True))
        return Graph(SharedGraph(laplacian.astype(dtype), shards, order), order, processes)
    order = np.ascontiguousarray(reverse_cuthill_mckee(laplacian, symmetric_mode=True))
    local = sp.csr_array(laplacian[order][:, order])
    return Graph(arrays.sparse(local, dtype), arrays.put(order, "int64"))


def solve_e(
    arrays: Arrays,
    F: Array,
    W: Array,
    squares: Array,
    E: Array,
    initial: Initial,
    graph: Graph,
    parameters: Parameters,
    *,
    rtol: float,
    plan: FitPlan | None = None,
) -> Sums:
    """Solve E [αβ WᵀW + (1−α)I] + ε L E = β F W + (1−α)(1−β) E⁰, eq. "ssl" of the paper.

    In the eigenbasis of WᵀW the columns of E part: (λ_k I + εL) e_k = b_k with
    λ_k = αβ θ_k + 1 − α. W, E and E⁰ come in that basis.

    Parameters
    ----------
    arrays
        NumPy or torch.
    F : array (N, d_f)
    W : array (d_f, r)
        With orthogonal columns.
    squares : array (r,)
        θ, their squared lengths: WᵀW = diag(θ).
    E : array (N, r)
        The semantics so far, where the iteration starts; overwritten by the solution.
    initial
        E⁰.
    graph
        The Laplacian, if ε is not 0.
    parameters
        α, β and ε.
    rtol
        Relative residual that every column reaches.
    plan
        How much to hold at a time, where memory is bounded.

    Returns
    -------
    Sums
    """
    alpha, beta, epsilon = parameters.alpha, parameters.beta, parameters.epsilon
    dtype = str(E.dtype).removeprefix("torch.")
    shifts = arrays.cast(alpha * beta * squares + (1 - alpha), dtype)
    W = arrays.cast(W, dtype)
    initial = initial._replace(turn=arrays.cast(initial.turn, dtype))
    if plan is None:
        width, block, workers = usual_widths(arrays, W.shape[0], W.shape[1], graph.processes)
    else:
        width, block, workers = plan.width, plan.block, plan.workers

    def solve_columns(image: Array, columns: slice) -> Array:
        """Solve for some columns, and return what they add to the `Sums`, still on the device."""
        image = image[graph.order]
        fixed = initial.columns(columns, graph.order)
        right = image * beta
        right += fixed * ((1 - alpha) * (1 - beta))
        shift, theta = shifts[columns], squares[columns]
        if epsilon:
            found = arrays.contiguous(E[:, columns][graph.order])
            solve_shifted(
                *(arrays, graph.laplacian, shift, epsilon, right, found),
                rtol=rtol,
                processes=graph.processes,
            )
            roughness = arrays.dots(found, graph.laplacian @ found).sum()
        else:
            right /= shift
            found = right
            roughness = 0.0 * theta.sum()
        E[graph.order, columns] = found
        agreement = arrays.dots(image, found).sum()
        reconstruction = (arrays.dots(found, found) * theta).sum()
        fixed -= found
        found -= image
        residual, departure = (arrays.dots(one, one).sum() for one in (found, fixed))
        parts = Sums(residual, agreement, reconstruction, roughness, departure)
        return arrays.xp.stack(tuple(parts))

    sums: list[Array] = []
    for held in row_blocks(W.shape[1], width):
        image = _projected(arrays, F, W[:, held], plan)
        parts = [
            (image[:, part], slice(held.start + part.start, held.start + part.stop))
            for part in row_blocks(image.shape[1], block)
        ]
        sums += arrays.each(lambda part: solve_columns(*part), parts, workers)
        del image, parts
        if plan is not None and plan.in_file:
            release_pages(E)
    own = arrays.get(sum(sums[1:], sums[0]))  # the one moment that waits for a device
    return Sums(*graph.processes.sum(own).tolist())


def _projected(arrays: Arrays, F: Array, W: Array, plan: FitPlan | None) -> Array:
    """F W, (N, b), each of its columns in one piece."""
    # As (WᵀFᵀ)ᵀ, where the tall factor comes second, BLAS is faster by a fifth and more.
    if not isinstance(F, FeatureRows):
        return (W.T @ F.T).T
    image = arrays.empty((W.shape[1], len(F)), F.dtype.name)
    for rows in row_blocks(len(F), plan.rows if plan else READ_ROWS[1]):
        image[:, rows] = W.T @ F[rows].T
    return image.T


def usual_widths(
    arrays: Arrays, d_f: int, r: int, processes: Processes = ALONE
) -> tuple[int, int, int]:
    """Choose the columns of FW to hold, the columns to solve together, and the threads.

    A column being solved takes nine temporaries: all of them together stay near the size of F,
    and a block narrow enough for the processor's caches.
    """
    width = max(8, min(r, d_f // 2))
    if arrays.device != "cpu":
        return width, max(8, d_f // 8), 1
    # Several processes speak to each other in one order: each on one thread.
    workers = 1 if processes.shared else max(1, min(available_cores(), d_f // 96))
    return width, max(4, min(32, d_f // (6 * workers))), workers
