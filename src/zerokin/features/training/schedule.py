"""Learning rate and images' side as functions of how far training is: no state to save."""

from __future__ import annotations

from math import cos, pi

from zerokin.features.training.recipe import Recipe

STEP = 4


def rate(recipe: Recipe, step: int, steps_per_epoch: int, *, group: str) -> float:
    """Return a parameter group's learning rate at a step, counted from 0.

    Parameters
    ----------
    recipe
        Rates and schedule.
    step
        Number of the step.
    steps_per_epoch
        Steps of an epoch.
    group
        ``"backbone"`` or ``"head"``.

    Examples
    --------
    >>> recipe = Recipe(lr=1.0, epochs=2, head_first=1)
    >>> [round(rate(recipe, step, 2, group="backbone"), 3) for step in range(4)]
    [0.0, 0.0, 0.5, 0.146]
    >>> [round(rate(recipe, step, 2, group="head"), 3) for step in range(4)]
    [10.0, 8.536, 5.0, 1.464]
    """
    epoch = step / steps_per_epoch
    if group == "backbone" and epoch < recipe.head_first:
        return 0.0
    base = recipe.lr * (recipe.head_multiplier if group == "head" else 1.0)
    if epoch < recipe.warmup:
        # Halfway through each step, so that the first one already learns something.
        return base * (step + 0.5) / (recipe.warmup * steps_per_epoch)
    if recipe.restart_epochs is not None:
        return base * restarted_cosine(
            epoch, recipe.restart_epochs, decay=recipe.restart_decay, warmup=recipe.warmup
        )
    share = (epoch - recipe.warmup) / max(recipe.epochs - recipe.warmup, 1e-9)
    if recipe.schedule == "cosine":
        return base * 0.5 * (1 + cos(pi * min(share, 1.0)))
    if recipe.schedule == "steps":
        passed = sum(epoch / recipe.epochs >= milestone for milestone in recipe.milestones)
        return base * float(0.1**passed)
    return base


def restarted_cosine(epoch: float, period: int, *, decay: float = 1.0, warmup: float = 0) -> float:
    """Return the factor of cosine annealing with warm restarts, dᵏ (1 + cos π t) / 2 in cycle k.

    t goes from 0 to 1 in every cycle; in the first one, from the end of the warm-up on.

    Parameters
    ----------
    epoch
        How far training is, counted from 0, with fractions.
    period
        Epochs of a cycle.
    decay
        d, by which each cycle starts lower than the one before.
    warmup
        Epochs of the first cycle that are not part of it.

    Examples
    --------
    >>> [round(restarted_cosine(epoch, 2, decay=0.5), 3) for epoch in (0, 1, 2, 3, 4)]
    [1.0, 0.5, 0.5, 0.25, 0.25]
    """
    cycle, since = divmod(epoch, period)
    skipped = warmup if cycle == 0 else 0.0
    return float(decay**cycle * 0.5 * (1 + cos(pi * (since - skipped) / (period - skipped))))


def image_size_at(
    epoch: int, epochs: int, *, first: int, last: int, stages: int | None = None
) -> int:
    """Return the side of the images in an epoch, counted from 0: even growth, by fours.

    Parameters
    ----------
    epoch, epochs
        Which, of how many.
    first, last
        Sides of the first epoch and of the last.
    stages
        In so many equally long stages, each of one side; None for a growth from epoch to epoch.

    Examples
    --------
    >>> [image_size_at(epoch, 5, first=60, last=84) for epoch in range(5)]
    [60, 64, 72, 80, 84]
    >>> image_size_at(0, 1, first=60, last=84)
    84
    >>> [image_size_at(epoch, 5, first=60, last=84, stages=2) for epoch in range(5)]
    [60, 60, 60, 84, 84]
    """
    if stages is not None:
        return image_size_at(epoch * stages // epochs, min(stages, epochs), first=first, last=last)
    if epoch >= epochs - 1:
        return last
    if epoch == 0:
        return first
    grown = first + (last - first) * epoch / (epochs - 1)
    # No side beside the two that were asked for is odd: halving it again and again would lose rims.
    return min(max(round(grown / STEP) * STEP, first), last)
