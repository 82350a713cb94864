"""Metrics as the field defines them, in percent: accuracies, harmonic mean, seen-unseen curve."""

from zerokin.metrics.accuracy import class_weights, harmonic_mean, hit_at, per_class_top1, top1
from zerokin.metrics.seen_unseen_curve import SeenUnseenCurve

__all__ = [
    "SeenUnseenCurve",
    "class_weights",
    "harmonic_mean",
    "hit_at",
    "per_class_top1",
    "top1",
]
