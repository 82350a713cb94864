"""The E-step: semantics of every sample that are best for a given projection."""

from __future__ import annotations

from typing import Any, NamedTuple

from zerokin.projection.arrays import Array, Arrays, available_cores
from zerokin.projection.conjugate_gradients import solve_shifted
from zerokin.projection.objective import Parameters


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


def solve_e(
    arrays: Arrays,
    F: Array,
    W: Array,
    squares: Array,
    E: Array,
    prototypes: Array,
    labels: Array,
    laplacian: Any,
    parameters: Parameters,
    *,
    rtol: float,
) -> Sums:
    """Solve E [αβ WᵀW + (1−α)I] + ε L E = β F W + (1−α)(1−β) E⁰, eq. "ssl" of the paper.

    In the eigenbasis of WᵀW the columns of E part: (λ_k I + εL) e_k = b_k with
    λ_k = αβ θ_k + 1 − α. W, E and the prototypes come in that basis.

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
    prototypes, labels : arrays (P, r), (N,)
        E⁰ is ``prototypes[labels]``.
    laplacian : sparse array (N, N), or None where ε is 0
    parameters
        α, β and ε.
    rtol
        Relative residual that every column reaches.

    Returns
    -------
    Sums
    """
    alpha, beta, epsilon = parameters.alpha, parameters.beta, parameters.epsilon
    dtype = str(E.dtype).removeprefix("torch.")
    shifts = arrays.cast(alpha * beta * squares + (1 - alpha), dtype)
    W, prototypes = arrays.cast(W, dtype), arrays.cast(prototypes, dtype)
    width, block = _widths(arrays, *W.shape)
    sums = []
    for first in range(0, W.shape[1], width):
        image = F @ W[:, first : first + width]

        def columns_of(offset: int, first: int = first, image: Array = image) -> Sums:
            part = image[:, offset : offset + block]
            columns = slice(first + offset, first + offset + part.shape[1])
            fixed = prototypes[:, columns][labels]
            right = part * beta
            right += fixed * ((1 - alpha) * (1 - beta))
            if epsilon:
                start = arrays.contiguous(E[:, columns])
                shift = shifts[columns]
                found = solve_shifted(arrays, laplacian, shift, epsilon, right, start, rtol=rtol)
            else:
                right /= shifts[columns]
                found = right
            E[:, columns] = found
            fixed -= found
            return Sums(
                residual=_squares(arrays, part - found),
                agreement=float(arrays.dots(part, found).sum()),
                reconstruction=float((arrays.dots(found, found) * squares[columns]).sum()),
                roughness=float(arrays.dots(found, laplacian @ found).sum()) if epsilon else 0.0,
                departure=_squares(arrays, fixed),
            )

        sums += arrays.each(columns_of, range(0, image.shape[1], block))
        del image
    return Sums(*(sum(values) for values in zip(*sums, strict=True)))


def _squares(arrays: Arrays, values: Array) -> float:
    return float(arrays.dots(values, values).sum())


def _widths(arrays: Arrays, d_f: int, r: int) -> tuple[int, int]:
    """Columns of FW to hold at once, and columns to solve together.

    Every column solved takes eight temporaries. All of them stay below the size of F, and on
    the CPU a block stays small enough for the caches.
    """
    if arrays.device != "cpu":
        return r, max(8, min(r, d_f // 8))
    block = max(4, min(32, d_f // (8 * available_cores())))
    return max(block, min(r, d_f // 2)), block
