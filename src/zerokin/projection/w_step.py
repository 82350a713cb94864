"""The W-step: the projection that is best for given semantics."""

from __future__ import annotations

from typing import Any

from zerokin.projection.arrays import Array


def solve_w(
    xp: Any,
    eigenvalues: Array,
    eigenvectors: Array,
    FtE: Array,
    EtE: Array,
    *,
    alpha: float,
    gamma: float,
) -> tuple[Array, Array]:
    """Solve [(1−α)FᵀF + γI] W + W (α EᵀE) = FᵀE, the Sylvester equation "bpl" of the paper.

    With FᵀF = U diag(λ) Uᵀ and EᵀE = V diag(s) Vᵀ it falls apart into numbers:
    (UᵀWV)_ij = (UᵀFᵀEV)_ij / ((1−α)λ_i + γ + α s_j).

    Parameters
    ----------
    xp
        ``numpy`` or ``torch``.
    eigenvalues, eigenvectors : arrays (d_f,), (d_f, d_f)
        Of FᵀF.
    FtE, EtE : arrays (d_f, r), (r, r)
    alpha, gamma
        Parameters of the objective.

    Returns
    -------
    W : array (d_f, r)
    image : array, one number
        ‖FW‖², which the objective needs.

    Examples
    --------
    >>> import numpy as np
    >>> F, E = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([[1.0], [1.0]])
    >>> W, _ = solve_w(np, *np.linalg.eigh(F.T @ F), F.T @ E, E.T @ E, alpha=0.5, gamma=0.0)
    >>> 0.5 * F.T @ F @ W + 0.5 * W @ E.T @ E - F.T @ E
    array([[0.],
           [0.]])
    """
    strengths, V = xp.linalg.eigh(EtE)
    # Products are written so that the large factor comes second: BLAS is faster by a fifth.
    rotated = ((FtE @ V).T @ eigenvectors).T
    divisor = (1 - alpha) * eigenvalues[:, None] + (alpha * strengths.clip(0) + gamma)
    # Without a ridge, directions that neither F nor E has carry nothing but rounding.
    nothing = divisor <= divisor.max() * (len(eigenvalues) * 2.0**-52)
    rotated = xp.where(nothing, 0.0 * rotated, rotated / xp.where(nothing, divisor + 1, divisor))
    image = (eigenvalues[:, None] * rotated * rotated).sum()
    return ((V @ rotated.T) @ eigenvectors.T).T, image
