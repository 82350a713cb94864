"""The training loop: the same code for one process or many, from the start or from a checkpoint."""

from __future__ import annotations

import time
from os import PathLike
from pathlib import Path

import torch

from zerokin.errors import InvalidInput
from zerokin.features.input.sources import Source
from zerokin.features.networks.network import FeatureNetwork
from zerokin.features.training.compilation import convolutions_measured
from zerokin.features.training.display import TrainingDisplay
from zerokin.features.training.log import TrainingLog
from zerokin.features.training.recipe import Recipe
from zerokin.features.training.records import Epoch, Targets
from zerokin.features.training.run import TrainingRun, Validate


def train(
    network: FeatureNetwork,
    source: Source,
    targets: Targets,
    recipe: Recipe,
    *,
    folder: str | PathLike[str] | None = None,
    device: str | None = None,
    validate: Validate | None = None,
    patience: int | None = None,
    checkpoint_every: int | None = None,
    log_every: int = 50,
    tensorboard: bool = False,
    origin: str | None = None,
    teacher: FeatureNetwork | None = None,
    stop_after: float | None = None,
    compact: bool = False,
    quiet: bool = False,
) -> list[Epoch]:
    """Train a network in place.

    With a folder the training can be stopped at any moment and called again: it goes on from its
    last checkpoint and ends with exactly the weights of an uninterrupted one.

    Parameters
    ----------
    network
        What learns. With early stopping it ends with the weights of the best epoch.
    source
        The training images.
    targets
        What they show, in the same order.
    recipe
        How.
    folder
        For the checkpoint and ``log.jsonl``.
    device
        ``"cpu"`` or ``"cuda"``; by default a GPU if there is one.
    validate
        Called after every epoch with the network: a score, the higher the better.
    patience
        Stop after so many epochs without a better score, and take the best epoch's weights.
    checkpoint_every
        Steps between checkpoints; by default one every five minutes and after every epoch.
    log_every
        Steps between log lines.
    tensorboard
        Also write TensorBoard's event files.
    origin
        What the network starts from, such as a hash of its first weights: a checkpoint of a
        training with another origin is refused.
    teacher
        A trained network of the same classes, whose answers to the same views are learned from,
        too, where the recipe has ``distillation``. It does not learn.
    stop_after
        Minutes after which the training writes a checkpoint and raises `TrainingPaused`.
    compact
        Keep momenta in checkpoints in eight bits each: files are little over half as large, and a
        training that goes on from one does not end with exactly the same weights.
    quiet
        Show no progress.

    Returns
    -------
    list of Epoch
        All epochs, also those before a resumption.
    """
    for name, value in (
        ("patience", patience),
        ("checkpoint_every", checkpoint_every),
        ("log_every", log_every),
    ):
        if value is not None and value < 1:
            raise InvalidInput(f"{name} must be at least 1: got {value}")
    if patience is not None and validate is None:
        raise InvalidInput("patience= needs validate= to tell which epoch is best")
    if stop_after is not None and not stop_after > 0:
        raise InvalidInput(f"stop_after must be a number of minutes above 0: got {stop_after}")
    for option, given in (("stop_after=", stop_after), ("compact=True", compact or None)):
        if given is not None and folder is None:
            raise InvalidInput(f"{option} needs a folder for the checkpoint")
    if tensorboard and folder is None:
        raise InvalidInput("tensorboard=True needs a folder to write to")
    place = None if folder is None else Path(folder)
    until = None if stop_after is None else time.perf_counter() + 60 * stop_after
    run = TrainingRun(network, source, targets, recipe, place, device, origin, teacher)
    run.compact = compact
    try:
        run.resume()
        devices = [run.device] if run.device.type == "cuda" else []
        with (
            torch.random.fork_rng(devices=devices),
            convolutions_measured(run.device),
            TrainingLog(
                run.folder if run.leads else None,
                after=run.progress.step,
                tensorboard=tensorboard and run.leads,
            ) as log,
            TrainingDisplay(
                run.total_steps, recipe.epochs, quiet=quiet or not run.leads
            ) as display,
        ):
            while run.progress.step < run.total_steps and not run.exhausted(patience):
                if run.out_of_time(until):
                    raise run.pause()
                run.epoch(log, display, log_every, checkpoint_every, until)
                epoch = run.finish_epoch(validate, log)
                display.epoch(epoch.epoch, epoch.loss, epoch.seconds, epoch.validation)
        run.finish(best=patience is not None)
    finally:
        run.release()
    return [Epoch(**record) for record in run.progress.epochs]
