"""Features of every network of an ablation, trained where they are missing and kept in files."""

from __future__ import annotations

import json
import time
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from zerokin.aliases import NETWORK, RECIPE, renamed
from zerokin.compute.device import chosen_device
from zerokin.compute.processes import current
from zerokin.data.dataset import Dataset
from zerokin.errors import InvalidInput
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.input.feature_source import FeatureSource
from zerokin.features.input.sources import Source, open_source
from zerokin.features.network_config import NetworkPlan
from zerokin.features.scaler import unit_length
from zerokin.files import replacing

Files = dict[tuple[str, int], Path]
"""A network's readings by part: of a ``("fold", number)`` or of a ``("seed", number)``."""


class Readings:
    """What the networks of an ablation read off a data set's images.

    A training that was interrupted goes on from its checkpoint, and what is finished is not done
    again: each reading lies in ``NETWORK-PART.npy`` beside a JSON file of how it was made.

    Parameters
    ----------
    dataset
        Images or ready features, with validation folds.
    cache_size
        Side of the images in memory. They are decoded when the first network needs them: not
        at all where everything was read before.
    folder
        Where readings and checkpoints are kept.
    device
        Where networks are trained.
    stop_after
        Minutes after which a training pauses (`TrainingPaused`), over all networks together.
    compact
        Of `train`.
    quiet
        Show no progress.
    """

    def __init__(
        self,
        dataset: Dataset,
        cache_size: int,
        folder: Path,
        *,
        device: str | None = None,
        stop_after: float | None = None,
        compact: bool = False,
        quiet: bool = False,
    ) -> None:
        self.compact = compact
        self.until = None if stop_after is None else time.monotonic() + 60 * stop_after
        self.dataset, self.cache_size, self.folder = dataset, cache_size, folder
        self.device, self.quiet = device, quiet

    @cached_property
    def source(self) -> Source:
        """All images, opened; or the data set's ready features."""
        where = chosen_device(self.device)
        if self.dataset.kind == "features":
            self.dataset.refuse_not_finite(self._used(self.dataset))
            return FeatureSource(self.dataset.features, torch.device(where))
        return open_source(self.dataset.images, self.cache_size, device=where, quiet=self.quiet)

    def fold(self, plan: NetworkPlan, number: int, seed: int) -> Path:
        """Return the file of a network that has not seen the classes of a validation fold."""
        return self._made(plan, self.dataset.fold(number, seed=seed), f"fold-{number}", seed)

    def final(self, plan: NetworkPlan, seed: int) -> Path:
        """Return the file of a network trained on all seen classes."""
        return self._made(plan, self.dataset, f"seed-{seed}", seed)

    def base(self, plan: NetworkPlan, seed: int) -> Path:
        """Return the file of a network that has not seen the classes of the one validation fold.

        Of few-shot learning, where it serves validation and test alike: all images are read.
        """
        base = self.dataset.fold(1, test_seen=0.0, seed=seed)
        return self._made(plan, base, f"base-{seed}", seed, read=np.arange(len(self.dataset)))

    def base_fold(self, plan: NetworkPlan, part: Dataset, number: int, seed: int) -> Path:
        """Return the file of a network that has not seen a part of the base classes, either.

        ``part`` is one of `zerokin.benchmark.few_shot.evaluation.held_out_base_parts`.
        """
        return self._made(plan, part, f"base-{seed}-fold-{number}", seed)

    def _made(
        self,
        plan: NetworkPlan,
        dataset: Dataset,
        part: str,
        seed: int,
        *,
        read: NDArray[np.int64] | None = None,
    ) -> Path:
        path = reading_file(self.folder, plan.name, part)
        note = path.with_suffix(".json")
        about = {
            **_described(plan, seed),
            "split": dataset.split.version,
            "cache_size": self.cache_size,
            "data": self.dataset.sha256,
        }
        told = _told(note)
        if told is not None:
            # Notes did not always tell.
            there = told.setdefault("data", about["data"])
            if there != about["data"]:
                raise InvalidInput(
                    f"{path} is of other data (hash {there[:12]} there, "
                    f"{about['data'][:12]} here): use another folder, or remove this one"
                )
        processes = current()
        # A file may come to light in one process before it does in another: one decides.
        if processes.leading(np.array([told == about and _whole(path, len(dataset))]))[0]:
            return path
        learner = self._trained(plan, dataset, part, seed)
        used = self._used(dataset) if read is None else read
        features = learner.transform(self.source.select(used))
        whole = np.zeros((len(dataset), features.shape[1]), np.float16)
        whole[used] = features
        if processes.leads:
            with replacing(path) as temporary:
                np.save(temporary, whole)
            about_it = {**about, "history": [vars(epoch) for epoch in learner.history_]}
            with replacing(note) as temporary:
                temporary.write_text(json.dumps(about_it) + "\n", encoding="utf-8")
        processes.wait()
        return path

    def _trained(self, plan: NetworkPlan, dataset: Dataset, part: str, seed: int) -> FeatureLearner:
        """Return a network as it is trained for a part; at once where its training is finished."""
        teacher = None
        if plan.teacher is not None:
            # From the same data set: the teacher of a fold has not seen what validates either.
            teacher = self._trained(plan.teacher, dataset, part, seed)
        work = self.folder / f"{plan.trained_as or plan.name}-{part}"
        learner = plan.learner(seed, self.device)
        source = self.source  # decoded now, which takes time, too
        left = None if self.until is None else max((self.until - time.monotonic()) / 60, 1e-3)
        return learner.fit(
            dataset,
            source=source,
            folder=work,
            teacher=teacher,
            quiet=self.quiet,
            stop_after=left,
            compact=self.compact,
        )

    @staticmethod
    def _used(dataset: Dataset) -> NDArray[np.int64]:
        """Return the samples a split uses; in a fold, those of test classes do not exist."""
        split = dataset.split
        return np.unique(np.concatenate([split.train, split.test_seen, split.test_unseen]))


def _described(plan: NetworkPlan, seed: int) -> dict[str, Any]:
    """Return how a network is made and read, and the one that teaches it."""
    described = {
        "settings": json.loads(json.dumps(dict(plan.settings))),
        "recipe": plan.learner(seed, None).recipe.as_dict(),
    }
    if plan.teacher is not None:
        described["teacher"] = _described(plan.teacher, seed)
    return described


def _told(note: Path) -> dict[str, Any] | None:
    """Return how a reading was made; None where nothing tells."""
    try:
        told: Any = json.loads(note.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(told, dict):
        return None
    return _under_new_names({name: value for name, value in told.items() if name != "history"})


def _under_new_names(told: dict[str, Any]) -> dict[str, Any]:
    """Return a note of any version under the names of this one."""
    told = renamed(NETWORK, told)
    for name, table in (("settings", NETWORK), ("recipe", RECIPE)):
        if isinstance(told.get(name), dict):
            told[name] = renamed(table, told[name])
    if isinstance(told.get("teacher"), dict):
        told["teacher"] = _under_new_names(told["teacher"])
    return told


def _whole(path: Path, n: int) -> bool:
    """Return whether a reading has all of its rows, and not what a full disk left of them."""
    try:
        return len(np.load(path, mmap_mode="r")) == n
    except (FileNotFoundError, ValueError, EOFError):
        return False


def reading_file(folder: Path, network: str, part: str) -> Path:
    """Return where a network's reading of a part, such as ``seed-0``, is kept."""
    return folder / f"{network}-{part}.npy"


def joined_readings(files: list[Files], part: tuple[str, int]) -> NDArray[np.float32]:
    """Return the features of one or several networks side by side, each of unit length."""
    read: list[NDArray[np.float32]] = [np.load(of[part]).astype(np.float32) for of in files]
    if len(read) == 1:
        return read[0]
    beside: NDArray[np.float32] = np.concatenate([unit_length(F) for F in read], axis=1)
    return beside
