"""From projected features to class names."""

from zerokin.recognition.nearest_prototype import cosine_scores, nearest_prototype

__all__ = ["cosine_scores", "nearest_prototype"]
