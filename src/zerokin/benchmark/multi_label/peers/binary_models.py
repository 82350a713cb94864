"""Logistic regressions, one for every seen class: whether a sample has this label."""

from __future__ import annotations

from zerokin.benchmark.multi_label.peers.peer import LabelTraining
from zerokin.benchmark.peers.linear_models import fit_linear_models
from zerokin.benchmark.peers.training_set import Array


def binary_models(training: LabelTraining, ridge: float) -> tuple[Array, Array]:
    """Return W (d_f, p) and b (p,) of logistic regressions, one for each seen class.

    Parameters
    ----------
    training
        Features and labels.
    ridge
        Weight of ‖W‖²/2 beside the summed cross-entropy.
    """
    import torch

    truth = torch.from_numpy(training.Y).float()
    return training.once(
        ("binary", ridge),
        lambda: fit_linear_models(
            training.for_linear_models,
            lambda scores: torch.sigmoid(scores) - truth,
            truth.shape[1],
            curvature=0.25,
            ridge=ridge,
        ),
    )
