"""Conjugate gradients for many shifted sparse systems that share one matrix."""

from __future__ import annotations

import math
from typing import Any

from zerokin.compute.processes import ALONE, Processes
from zerokin.projection.arrays import Array, Arrays


def solve_shifted(
    arrays: Arrays,
    laplacian: Any,
    shifts: Array,
    epsilon: float,
    right: Array,
    start: Array,
    *,
    rtol: float,
    processes: Processes = ALONE,
) -> Array:
    """Solve (λ_k I + εL) x_k = b_k for all columns k together.

    One sparse product serves all columns; each has its own step and stops when its residual
    falls below ``rtol`` ‖b_k‖. L has eigenvalues in [0, 2], so the condition number is at most
    (λ_k + 2ε)/λ_k and a handful of steps is enough. From whatever start, every step lowers the
    quadratic it minimizes: the objective cannot rise, however early the iteration stops.

    Parameters
    ----------
    arrays
        NumPy or torch.
    laplacian : sparse array (N, N)
        L, symmetric.
    shifts : array (b,)
        λ, all positive.
    epsilon
        Factor of the Laplacian.
    right : array (N, b)
        The right-hand sides b_k as columns.
    start : array (N, b)
        Where to start; overwritten by the solution.
    rtol
        Relative residual to reach.
    processes
        Those that have the other rows of all arrays with a row per sample.

    Returns
    -------
    array (N, b)
        ``start``, now the solution.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from zerokin.projection.arrays import NumpyArrays
    >>> L = sp.csr_array(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    >>> b, x = np.array([[3.0], [0.0]]), np.zeros((2, 1))
    >>> solve_shifted(NumpyArrays(), L, np.ones(1), 1.0, b, x, rtol=1e-12).round(9)
    array([[2.],
           [1.]])
    """
    xp, dots = arrays.xp, arrays.dots
    dtype = str(right.dtype).removeprefix("torch.")
    blocks = arrays.cached_blocks(len(right))
    x, spare = start, xp.empty_like(start)
    # Divided by ε, the system is (s_k I + L) x_k = b_k / ε.
    shifts = shifts / epsilon

    def apply(vectors: Array) -> tuple[Array, Array]:
        """Multiply by the matrix; also return the dot products with the result."""
        image: Array = laplacian @ vectors
        product: Array = 0.0
        for rows in blocks:
            xp.multiply(vectors[rows], shifts, out=spare[rows])
            image[rows] += spare[rows]
            product = product + dots(vectors[rows], image[rows])
        return image, processes.sum(product)

    residual = right / epsilon
    scale = processes.sum(dots(residual, residual))
    residual -= apply(x)[0]
    direction = arrays.contiguous(residual)
    size = processes.sum(dots(residual, residual))
    # A column that is nothing but rounding beside the others need not be resolved.
    target = rtol**2 * xp.maximum(scale, scale.max() * xp.finfo(right.dtype).eps ** 2)
    for number in range(_enough_steps(shifts, rtol)):
        active = size > target
        # Columns that are done stay as they are: it does no harm to ask a device now and then.
        if number % arrays.steps_between_checks == 0 and not bool(active.any()):
            break
        image, curvature = apply(direction)
        step = xp.where(active, size / xp.where(active, curvature, 1.0), 0.0)
        step = arrays.cast(step, dtype)
        smaller: Array = 0.0
        for rows in blocks:
            xp.multiply(direction[rows], step, out=spare[rows])
            x[rows] += spare[rows]
            image[rows] *= step
            residual[rows] -= image[rows]
            smaller = smaller + dots(residual[rows], residual[rows])
        smaller = processes.sum(smaller)
        keep = arrays.cast(xp.where(active, smaller / xp.where(active, size, 1.0), 0.0), dtype)
        for rows in blocks:
            direction[rows] *= keep
            direction[rows] += residual[rows]
        size = smaller
    return x


def _enough_steps(shifts: Array, rtol: float) -> int:
    """Count the steps by which theory has every column converged, with some to spare."""
    condition = 1 + 2 / float(shifts.min())
    return 10 + math.ceil(math.sqrt(condition) * math.log(2 * math.sqrt(condition) / rtol))
