"""Learning on ready features: what a data set, a network and its settings must have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from zerokin.data.dataset import Dataset
from zerokin.data.images import Images
from zerokin.errors import InvalidInput, shown
from zerokin.features.input.feature_source import FeatureSource
from zerokin.features.network_settings import NetworkSettings
from zerokin.features.networks.backbone import Backbone
from zerokin.features.networks.vector_backbones import VECTOR, VectorBackbone


def reads_images(settings: NetworkSettings) -> bool:
    """Tell whether a network reads images, and not ready features."""
    return settings.backbone not in VECTOR


def refuse_other_inputs(settings: NetworkSettings, dataset: Dataset) -> None:
    """Refuse images where a network reads features, and features where it reads images.

    Parameters
    ----------
    settings
        Of the network.
    dataset
        What it is to read.
    """
    source, name = dataset.provenance.source, settings.backbone
    if reads_images(settings):
        if dataset.kind == "features":
            raise InvalidInput(
                f"{source} holds features, not images, which {name} reads: take the backbone "
                f"{' or '.join(VECTOR)}"
            )
        dataset.images  # noqa: B018  says what is missing
        return
    if dataset.kind == "images":
        raise InvalidInput(
            f"{source} holds images, but {name} reads ready features: give features= (zerokin "
            "extract writes them), or a backbone for images such as lite0"
        )
    found, wanted = dataset.features.shape[1], settings.options.get("d_in")
    if wanted not in (None, found):
        raise InvalidInput(
            f"{source} holds features of {found:,} numbers, but d_in is {shown(wanted)}: leave it "
            "out of options"
        )


def backbone_options(settings: NetworkSettings, dataset: Dataset) -> dict[str, Any]:
    """Return the options of a backbone, with the width of the features that it will read."""
    options = dict(settings.options)
    return options if reads_images(settings) else {**options, "d_in": dataset.features.shape[1]}


def learn_scaling(backbone: Backbone, dataset: Dataset) -> None:
    """Learn how ready features are scaled from the training samples, which must be finite."""
    if isinstance(backbone, VectorBackbone):
        dataset.refuse_not_finite(dataset.split.train)
        backbone.model.scaling.learn(dataset.features, dataset.split.train)


def open_features(
    features: Images | NDArray[np.floating], backbone: Backbone, device: torch.device
) -> FeatureSource:
    """Open features (N, d_in) for a network that reads such.

    Parameters
    ----------
    features
        In memory or mapped.
    backbone
        What reads them.
    device
        Where it is.
    """
    assert isinstance(backbone, VectorBackbone)
    shape = getattr(features, "shape", None)
    if (
        isinstance(features, Images)
        or shape is None
        or shape[1:] != (backbone.d_in,)
        or features.dtype.kind not in "fiu"
    ):
        raise InvalidInput(
            f"this network reads features (N, {backbone.d_in:,}): got {shown(features)}"
        )
    return FeatureSource(features, device)
