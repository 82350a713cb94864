"""Measures and settings."""

from zerokin.evaluation.metrics import per_class_top1, top1

__all__ = ["per_class_top1", "top1"]
