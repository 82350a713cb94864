"""Features of images by networks, and of validation folds by networks that never saw them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerokin.data.dataset import TEST_SEEN, Dataset
from zerokin.data.feature_files import FeatureFile
from zerokin.features.extraction import extract_features
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.input.sources import ImageSource, open_source
from zerokin.features.network_ensemble import (
    NetworkEnsemble,
    join_features,
    kept_alike,
    networks_of,
)
from zerokin.features.networks.presets import best_at_hand
from zerokin.features.training import Recipe
from zerokin.hierarchy import ClassHierarchy
from zerokin.parameters import InstanceOf, Optional, Ranges, check_arguments

Features = NDArray[np.float32]
Folder = str | os.PathLike[str] | None

FINE_TUNING: Mapping[str, Any] = {"lr": 0.006, "head_multiplier": 3.0}
"""What CUB's validation folds prefer for the end-to-end network, with ImageNet weights at first."""

_RANGES: Ranges = {
    "learner": Optional(InstanceOf((FeatureLearner, Mapping), "a FeatureLearner or its settings"))
}
Learner = FeatureLearner | Mapping[str, Any] | None


class FoldFeatures(Dataset):
    """A data set with features (N, d_f) in place of images, and others for validation folds.

    ``of_folds`` has some for every fold, by a network that was trained without it, or none.
    """

    def __init__(
        self, dataset: Dataset, features: Features | FeatureFile, of_folds: Sequence[Features] = ()
    ) -> None:
        super().__init__(**(dataset._fields() | {"inputs": features}))
        self.of_folds = tuple(of_folds)

    def fold(self, number: int, *, test_seen: float = 0.2, seed: int = 0) -> Dataset:
        """Return a validation fold with the features that belong to it."""
        whole = super().fold(number, test_seen=test_seen, seed=seed)
        return whole.with_inputs(self.of_folds[number - 1]) if self.of_folds else whole

    def repeated_folds(
        self, *, held_out: int, test_seen: float = TEST_SEEN, seed: int = 0
    ) -> list[Dataset]:
        """Return folds drawn anew; none where each fold needs a network of its own."""
        if self.of_folds:
            return []
        return super().repeated_folds(held_out=held_out, test_seen=test_seen, seed=seed)


class NetworkFeatures(NamedTuple):
    """A network or several, and the data set with their features in place of images."""

    learner: FeatureLearner | NetworkEnsemble
    featured: FoldFeatures
    has_seen_folds: bool
    """the network was trained on the classes that validation folds hold out"""


def read_with_networks(
    dataset: Dataset,
    learner: Learner | Sequence[Learner],
    hierarchy: ClassHierarchy | None,
    *,
    finetune: bool,
    fold_networks: bool,
    folder: Folder,
    quiet: bool,
) -> NetworkFeatures:
    """Prepare or train networks as `zerokin.fit_recognizer` is asked to, and read all images.

    Of several the features stand side by side (`zerokin.features.network_ensemble`).
    """
    several = isinstance(learner, Sequence) and not isinstance(learner, str)
    given: list[Any] = list(learner) if several else [learner]  # type: ignore[arg-type]
    for one in given:
        check_arguments(_RANGES, learner=one)
    dataset.images  # noqa: B018  refuses what is not images before anything is trained
    owned = [own_learner(one, finetune) for one in given]
    if len(owned) == 1 and not several:
        return _read_with_network(
            dataset,
            *owned[0],
            hierarchy,
            finetune=finetune,
            fold_networks=fold_networks,
            folder=folder,
            quiet=quiet,
        )
    for network, _ in owned:
        if not hasattr(network, "network_"):
            network.prepare(dataset, hierarchy if network.settings.has_superclasses else None)
    alike = kept_alike([network for network, _ in owned])
    read = [
        _read_with_network(
            dataset,
            network,
            trained,
            hierarchy,
            finetune=finetune,
            fold_networks=fold_networks,
            folder=_below(folder, f"network-{number}"),
            quiet=quiet,
        )
        for number, (network, (_, trained)) in enumerate(zip(alike, owned, strict=True), start=1)
    ]
    parts = [one.featured for one in read]
    featured = FoldFeatures(
        dataset,
        join_features([part.features for part in parts]),
        [join_features(fold) for fold in zip(*(part.of_folds for part in parts), strict=True)],
    )
    members = [network for one in read for network in networks_of(one.learner)]
    return NetworkFeatures(
        NetworkEnsemble(members), featured, any(one.has_seen_folds for one in read)
    )


def _read_with_network(
    dataset: Dataset,
    network: FeatureLearner,
    trained: bool,
    hierarchy: ClassHierarchy | None,
    *,
    finetune: bool,
    fold_networks: bool,
    folder: Folder,
    quiet: bool,
) -> NetworkFeatures:
    if finetune or not hasattr(network, "network_"):
        network.prepare(dataset, hierarchy if network.settings.has_superclasses else None)
    of_folds: list[Features] = []
    features: Features | FeatureFile
    if finetune:
        numbers = range(1, 1 + len(dataset.split.folds) * fold_networks)
        for part in (dataset, *(dataset.fold(number) for number in numbers)):
            network.check_episodes(part)
        source = open_source(
            dataset.images,
            network.cache_size,
            resize_mode=network.settings.resize_mode,
            device=network.torch_device,
            quiet=quiet,
        )
        kept = _below(folder, "network")
        network.fit(dataset, hierarchy=hierarchy, source=source, folder=kept, quiet=quiet)
        features = network.transform(source, quiet=quiet)
        if fold_networks:
            of_folds = _fold_features(network, dataset, hierarchy, source, folder, quiet=quiet)
    elif folder is not None:
        features = extract_features(
            network, dataset, Path(folder) / "features.safetensors", quiet=quiet
        )
    else:
        features = network.transform(dataset.images, quiet=quiet)
    featured = FoldFeatures(dataset, features, of_folds)
    return NetworkFeatures(network, featured, (finetune or trained) and not of_folds)


def own_learner(learner: Learner, finetune: bool) -> tuple[FeatureLearner, bool]:
    """Return a learner of our own, and whether it was fitted before."""
    if isinstance(learner, FeatureLearner):
        network = copy(learner)
        return network, bool(getattr(network, "history_", []))
    # A network that is not trained needs no superclass heads.
    settings = {"mode": "end-to-end" if finetune else "classes", "recipe": {}, **(learner or {})}
    # How a network is trained was chosen for the default one.
    if not finetune and not {"backbone", "weights"} & settings.keys():
        settings["backbone"] = best_at_hand()
    if isinstance(settings["recipe"], Mapping):
        usual = FINE_TUNING if finetune else {}
        settings["recipe"] = Recipe.from_dict({**usual, **settings["recipe"]})
    return FeatureLearner(**settings), False


def _fold_features(
    network: FeatureLearner,
    dataset: Dataset,
    hierarchy: ClassHierarchy | None,
    source: ImageSource,
    folder: Folder,
    *,
    quiet: bool,
) -> list[Features]:
    """Return features by a network for each fold; only those of training images are filled."""
    found = []
    train = dataset.split.train
    # A fold knows nothing of unseen classes.
    tree = None if hierarchy is None else hierarchy.select(dataset.seen.tolist())
    for number in range(1, len(dataset.split.folds) + 1):
        own, kept = copy(network), _below(folder, f"fold-{number}")
        own.fit(dataset.fold(number), hierarchy=tree, source=source, folder=kept, quiet=quiet)
        read = own.transform(source.select(train), quiet=quiet)
        whole = np.zeros((len(dataset), read.shape[1]), np.float32)
        whole[train] = read
        found.append(whole)
    return found


def _below(folder: Folder, name: str) -> Path | None:
    return None if folder is None else Path(folder) / name
