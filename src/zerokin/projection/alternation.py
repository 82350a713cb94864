"""Algorithm 1: the W-step and the E-step in turn until the objective stands still."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from zerokin.projection.arrays import Array, Arrays, row_blocks
from zerokin.projection.e_step import solve_e
from zerokin.projection.objective import Parameters, Terms, objective
from zerokin.projection.row_space import row_space
from zerokin.projection.spectrum import FeatureSpectrum
from zerokin.projection.w_step import solve_w

RTOL = {"float64": 1e-10, "float32": 1e-6}


class Solution(NamedTuple):
    """What Algorithm 1 found, in an orthonormal basis of the row space of E⁰."""

    W: np.ndarray
    """(d_f, d_z)"""
    coordinates: np.ndarray
    """(N, r): E is ``coordinates @ basis``"""
    basis: np.ndarray
    """(r, d_z), orthonormal rows"""
    objective: np.ndarray
    """at the start (W = 0, E = E⁰), then after every half-step"""
    iterations: int


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
) -> Solution:
    """Minimise the objective over W and E in turn, from E = E⁰.

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
        Most pairs of half-steps.
    tol
        Stop when a pair lowers the objective by less than this share.
    learn_semantics
        Whether E is learned too; otherwise one W-step gives the exact minimum for E = E⁰.
    rtol
        Relative residual of the E-step's systems; by default 1e-10 (float64) or 1e-6 (float32).
    """
    arrays, F, dtype = spectrum.arrays, spectrum.F, spectrum.dtype
    coordinates, basis = row_space(prototypes)
    Y, frame = arrays.put(coordinates, "float64"), arrays.put(basis, "float64")
    index = arrays.put(labels, "int64")
    smooth = None
    if laplacian is not None and parameters.epsilon:
        smooth = arrays.sparse(laplacian, dtype)
    with arrays.full_precision():
        E = arrays.cast(Y, dtype)[index]
        roughness, departure = _roughness(arrays, smooth, E), 0.0
        FtE, EtE = _moments(arrays, F, E)
        strength = float(EtE.diagonal().sum())
        values = [objective(Terms(strength, spectrum.total, roughness, 0.0, 0.0), parameters)]
        for iteration in range(1, max_iter + 1):
            W, image = solve_w(
                arrays.xp,
                spectrum.eigenvalues,
                spectrum.eigenvectors,
                FtE,
                EtE,
                alpha=parameters.alpha,
                gamma=parameters.gamma,
            )
            WtW = W.T @ W
            agreement = float((W * FtE).sum())
            ridge = float(WtW.diagonal().sum())
            terms = Terms(
                semantics=float(image) - 2 * agreement + float(EtE.diagonal().sum()),
                features=spectrum.total - 2 * agreement + float((WtW * EtE).sum()),
                roughness=roughness,
                departure=departure,
                ridge=ridge,
            )
            values.append(objective(terms, parameters))
            if not learn_semantics:
                break
            # From here on everything is written in the eigenbasis of WᵀW: an orthogonal
            # change of coordinates within the row space, which the objective does not see.
            squares, turn = arrays.xp.linalg.eigh(WtW)
            squares = squares.clip(0)
            W, Y, frame = W @ turn, Y @ turn, turn.T @ frame
            _turn_rows(E, arrays.cast(turn, dtype))
            sums = solve_e(
                arrays,
                F,
                W,
                squares,
                E,
                Y,
                index,
                smooth,
                parameters,
                rtol=rtol or RTOL[dtype],
            )
            roughness, departure = sums.roughness, sums.departure
            terms = Terms(
                semantics=sums.residual,
                features=spectrum.total - 2 * sums.agreement + sums.reconstruction,
                roughness=roughness,
                departure=departure,
                ridge=ridge,
            )
            values.append(objective(terms, parameters))
            before = values[-3]
            if before - values[-1] <= tol * abs(before) or iteration == max_iter:
                break
            FtE, EtE = _moments(arrays, F, E)
    return Solution(
        W=arrays.get(spectrum.lift(W) @ frame).astype(dtype, copy=False),
        coordinates=arrays.get(E),
        basis=arrays.get(frame).astype(dtype, copy=False),
        objective=np.array(values),
        iterations=iteration,
    )


def _moments(arrays: Arrays, F: Array, E: Array) -> tuple[Array, Array]:
    """FᵀE and EᵀE, summed in float64 over blocks of rows."""
    FtE, EtE = 0.0, 0.0
    for rows in row_blocks(len(F)):
        FtE = FtE + arrays.cast(F[rows].T @ E[rows], "float64")
        EtE = EtE + arrays.cast(E[rows].T @ E[rows], "float64")
    return FtE, EtE


def _turn_rows(E: Array, turn: Array) -> None:
    """E ← E · turn in place, a block of rows at a time."""
    for rows in row_blocks(len(E)):
        E[rows] = E[rows] @ turn


def _roughness(arrays: Arrays, laplacian: object, E: Array) -> float:
    """tr(EᵀLE), a block of columns at a time."""
    total = 0.0
    for first in range(0, E.shape[1] if laplacian is not None else 0, 32):
        columns = arrays.contiguous(E[:, first : first + 32])
        total += float(arrays.dots(columns, laplacian @ columns).sum())
    return total
