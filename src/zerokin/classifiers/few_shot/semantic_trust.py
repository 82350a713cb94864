"""How far the semantics of each class can be trusted beside its shots: adaptive κ.

Residual correction (`zerokin.classifiers.residual_correction`) is a Gaussian process over classes,
and also says how uncertain a prototype is: a class with kin among the seen ones is met better than
one without. With kernel K and noise λ, the mean of class c lies around its prototype with variance

    v_c = k(c, c) + λ − K[c, S] (K[S, S] + λI)⁻¹ K[S, c]

A Gaussian class known so well is worth κ_c ∝ 1 / v_c shots. So κ_c = κ (v̄ / v_c)^a, where v̄ is the
mean of v over seen classes that are left out in turn (in closed form: Rasmussen & Williams 2006,
section 5.4.2), and a from 0 (one κ for all) to 1 is chosen. AM3 (Xing et al., NeurIPS 2019) learns
such a weight by a network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.class_kernel import ClassKernel
from zerokin.classifiers.memo import RunStage, run_stage
from zerokin.classifiers.stages import relate_classes

if TYPE_CHECKING:
    from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier

Vector = NDArray[np.float64]

BLOCK = 4096
"""Classes whose covariances are held at a time."""


def semantic_trust(
    model: ZeroShotClassifier, exponent: float, run: RunStage = run_stage
) -> Vector | None:
    """Return κ_c / κ of all classes (C,), 1 for seen ones; None where all classes are alike.

    Parameters
    ----------
    model
        Fitted; its kernel is used even where its inference does not correct prototypes.
    exponent
        a.
    run
        Runs the stages.
    """
    if not exponent:
        return None
    tree = model.hierarchy_
    kernel = run(
        relate_classes,
        model.semantics_,
        model.seen_,
        tree,
        decay=model.layer_decay,
        semantic_weight=model.semantic_variance,
        width=model.length_scale,
        run=run,
    )
    layers = 0 if tree is None else tree.n_layers
    prior = model.semantic_variance + sum(model.layer_decay**layer for layer in range(layers))
    return run(trust_by_variance, kernel, model.seen_, prior, model.noise, exponent)


def trust_by_variance(
    kernel: NDArray[np.float64] | ClassKernel,
    seen: NDArray[np.int64],
    prior: float,
    noise: float,
    exponent: float,
) -> Vector:
    """Return (v̄ / v_c)^a of all classes (C,), 1 for seen ones.

    Parameters
    ----------
    kernel
        (C, p) covariances of all classes with the seen ones.
    seen
        (p,) positions of the seen classes.
    prior
        k(c, c), the same for every class.
    noise, exponent
        λ and a.

    Examples
    --------
    >>> K = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.0], [0.0, 0.0]])   # 2 is kin of 0, 3 of none
    >>> trust_by_variance(K, np.array([0, 1]), 1.0, 0.5, 1.0).round(2)
    array([1.  , 1.  , 1.56, 1.  ])
    """
    inverse = np.linalg.inv(kernel[seen] + noise * np.eye(len(seen)))
    explained = np.empty(len(kernel))
    for start in range(0, len(kernel), BLOCK):
        rows = kernel[start : start + BLOCK]
        explained[start : start + BLOCK] = np.einsum("cs,cs->c", rows @ inverse, rows)
    left_out = 1 / np.diag(inverse)
    ratios: Vector = (left_out.mean() / (prior + noise - explained).clip(min=noise)) ** exponent
    ratios[seen] = 1.0
    return ratios
