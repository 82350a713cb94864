"""Training feature networks: recipes, exact resumption, logs, one process or many."""

from zerokin.features.training.loop import Epoch, Targets, train
from zerokin.features.training.recipe import Recipe

__all__ = ["Epoch", "Recipe", "Targets", "train"]
