"""What a training is given, and what it keeps account of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray


class TrainingPaused(Exception):
    """A training's time is up before it is finished; called again with its folder, it goes on.

    Parameters
    ----------
    done
        Epochs that are behind it, with fractions.
    epochs
        Of how many.
    """

    def __init__(self, done: float, epochs: int) -> None:
        super().__init__(f"stopped after {done:.1f} of {epochs} epochs")
        self.done, self.epochs = done, epochs


class Targets(NamedTuple):
    """What the images show.

    Parameters
    ----------
    classes
        (N,): 0 … p − 1 among the seen classes. Of several labels an image (N, p): 0 and 1.
    layers
        (N, n_r): the superclass in each layer; or (N, Σ r_l): 0 and 1 for those of all layers.
    """

    classes: NDArray[Any]
    layers: NDArray[Any]


@dataclass(frozen=True)
class Epoch:
    """What an epoch came to.

    Parameters
    ----------
    epoch, step
        Its number, from 1, and that of its last step.
    loss
        Mean losses by name; ``"total"`` is what was minimized.
    seconds, images_per_second
        How long it took, and how fast it was.
    validation
        Accuracy on held-out classes, if any were.
    """

    epoch: int
    step: int
    loss: dict[str, float]
    seconds: float
    images_per_second: float
    validation: float | None = None


@dataclass
class Progress:
    """How far a training is: all of its state that is no tensor."""

    step: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    epochs: list[dict[str, Any]] = field(default_factory=list)
    best_epoch: int = 0
    best_score: float = float("-inf")

    def check(self, total_steps: int) -> None:
        """Refuse, with a ValueError, what no training of so many steps can have come to."""
        steps = range(total_steps + 1)
        if type(self.step) is not int or self.step not in steps:
            raise ValueError(f"step {self.step!r:.40}")
        if type(self.best_epoch) is not int or not 0 <= self.best_epoch <= len(self.epochs):
            raise ValueError(f"best epoch {self.best_epoch!r:.40}")
        if not all(_is_number(value) for value in (self.best_score, *self.sums.values())):
            raise ValueError("sums or scores that are no numbers")
        for record in self.epochs:
            epoch = Epoch(**record)
            plain = (epoch.epoch, epoch.step, epoch.seconds, epoch.images_per_second)
            if not all(_is_number(value) for value in (*plain, *epoch.loss.values())):
                raise ValueError("an epoch whose account holds no numbers")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
