"""Metrics as the field defines them, in percent: accuracies, curves, and of several labels."""

from zerokin.metrics.accuracy import class_weights, harmonic_mean, hit_at, per_class_top1, top1
from zerokin.metrics.multi_label import (
    PrecisionRecallF1,
    average_precision,
    label_matrix,
    mean_average_precision,
    precision_recall_f1,
    precision_recall_f1_at_k,
)
from zerokin.metrics.seen_unseen_curve import SeenUnseenCurve

__all__ = [
    "PrecisionRecallF1",
    "SeenUnseenCurve",
    "average_precision",
    "class_weights",
    "harmonic_mean",
    "hit_at",
    "label_matrix",
    "mean_average_precision",
    "per_class_top1",
    "precision_recall_f1",
    "precision_recall_f1_at_k",
    "top1",
]
