"""Episode sampler (Snell et al. 2017): every step learns from a few classes and images of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput, shown
from zerokin.features.input.sources import Rows
from zerokin.features.networks.network import Head
from zerokin.features.networks.prototypical_head import PrototypicalHead
from zerokin.features.training.batch_sampler import BatchSampler
from zerokin.features.training.recipe import Recipe
from zerokin.features.training.rng import episode_rng


class EpisodeSampler(BatchSampler):
    """The episodes of a training: functions of seed and step, so that nothing has to be saved.

    An epoch has as many episodes as have, together, the number of training images.

    Parameters
    ----------
    classes
        (N,) of the training images.
    recipe
        With ``episode_way``, ``episode_shots`` and ``episode_queries``.

    Examples
    --------
    >>> recipe = Recipe(episode_way=2, episode_shots=1, episode_queries=2)
    >>> episodes = EpisodeSampler(np.repeat([0, 1, 2], 5), recipe)
    >>> episodes.per_epoch, episodes.draw(step=11)  # image 7 is the shot of class 1
    (2, array([7, 9, 6, 4, 0, 2]))
    """

    def __init__(self, classes: NDArray[np.int64], recipe: Recipe) -> None:
        check_episodes(classes, recipe)
        assert recipe.episode_way is not None
        self.way, self.shots = recipe.episode_way, recipe.episode_shots
        self.queries = recipe.episode_queries
        self.each = self.shots + self.queries
        super().__init__(len(classes), batch_size=self.way * self.each, seed=recipe.seed)
        counts = np.unique(classes, return_counts=True)[1]
        self.members = np.split(np.argsort(classes, kind="stable"), counts.cumsum()[:-1])

    def of_epoch(self, epoch: int, *, first: int) -> Iterator[tuple[int, int, Rows]]:
        """Yield step, part (the only one) and rows of every episode, from a step on."""
        for step in range(first, (epoch + 1) * self.per_epoch):
            yield step, 0, self.draw(step)

    def draw(self, step: int) -> Rows:
        """Return the images of a step, (W · (K + Q),): class by class, shots before queries."""
        rng = episode_rng(seed=self.seed, step=step)
        classes = rng.permutation(len(self.members))[: self.way]
        return np.concatenate([rng.choice(self.members[c], self.each, False) for c in classes])

    @property
    def labels(self) -> NDArray[np.int64]:
        """(W · Q,) which of its episode's classes each query is of, the same in all episodes."""
        return np.repeat(np.arange(self.way), self.queries)


def check_episodes(
    classes: NDArray[np.int64], recipe: Recipe, names: Sequence[str] | None = None
) -> None:
    """Refuse episodes that training images cannot fill.

    Parameters
    ----------
    classes
        (N,) of the training images.
    recipe
        How episodes are drawn, if they are.
    names
        Of the classes, for errors.
    """
    if recipe.episode_way is None:
        return
    known, counts = np.unique(classes, return_counts=True)
    if recipe.episode_way > len(known):
        raise InvalidInput(
            f"episodes of {recipe.episode_way} classes are more than the {len(known)} to learn "
            "from: lower episode_way"
        )
    shots, queries = recipe.episode_shots, recipe.episode_queries
    if counts.min() < shots + queries:
        few = int(known[counts.argmin()])
        raise InvalidInput(
            f"{shots} shots and {queries} queries need {shots + queries} images of a class, but "
            f"class {few if names is None else shown(names[few])} has {counts.min()}: lower "
            "episode_shots or episode_queries"
        )


def check_head(head: Head, recipe: Recipe, *, processes: int) -> None:
    """Refuse a head that is not made for what a recipe draws, and episodes shared out."""
    recipe.check_mode(getattr(head, "mode", "end-to-end"))
    if not isinstance(head, PrototypicalHead):
        return
    there, here = (head.way, head.shots), (recipe.episode_way, recipe.episode_shots)
    if there != here:
        raise InvalidInput(
            f"the head is for {there[0]}-way {there[1]}-shot episodes, but the recipe draws "
            f"{here[0]}-way {here[1]}-shot ones: make them alike"
        )
    if processes > 1:
        raise InvalidInput(
            f"an episode cannot be shared by {processes} processes, which would each lack shots: "
            "train in one process"
        )
