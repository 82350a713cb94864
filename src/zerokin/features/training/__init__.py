"""Training feature networks: recipes, exact resumption, logs, one process or many."""

from zerokin.features.training.loop import train
from zerokin.features.training.recipe import Recipe
from zerokin.features.training.records import Epoch, Targets, TrainingPaused

__all__ = ["Epoch", "Recipe", "Targets", "TrainingPaused", "train"]
