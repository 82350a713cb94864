"""What makes two trainings the same: a checkpoint serves no other."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.features.input.feature_source import features_digest
from zerokin.features.input.sources import Source
from zerokin.features.networks.network import FeatureNetwork
from zerokin.features.training.recipe import LATER, Recipe
from zerokin.features.training.records import Targets

RANDOM = "random "
"""How the origin of a training begins whose weights were all drawn, before their hash."""


def fingerprint(
    network: FeatureNetwork,
    source: Source,
    targets: Targets,
    recipe: Recipe,
    origin: str | None,
    teacher: FeatureNetwork | None = None,
) -> dict[str, Any]:
    """Describe a training: recipe, network, labels, where its first weights came from, teacher."""
    described = {
        **recipe.as_dict(),
        "backbone": network.backbone.name,
        "images": len(source),
        "targets": _digest(*targets),
        "parameters": sum(value.numel() for value in network.parameters()),
        "origin": origin,
        # What a head itself holds besides weights: the semantics of classes and superclasses.
        "semantics": _digest(
            *(value.cpu().numpy() for value in network.head.buffers(recurse=False))
        ),
    }
    if not network.backbone.reads_images:
        described["features"] = features_digest(source)
    if teacher is not None:
        # All of it: its answers depend on the statistics of batch normalization, too.
        state = teacher.state_dict().values()
        described["teacher"] = _digest(*(value.cpu().numpy() for value in state))
    return described


def weights_digest(network: FeatureNetwork) -> str:
    """Return a short hash of a network's weights."""
    return _digest(*(value.detach().cpu().numpy() for value in network.parameters()))


def _digest(*arrays: NDArray[Any]) -> str:
    content = hashlib.sha256()
    for given in arrays:
        content.update(f"{given.shape}".encode() + np.ascontiguousarray(given).tobytes())
    return content.hexdigest()[:16]


def same_origin(there: object, here: object) -> bool:
    """Tell whether two trainings may have started from the same weights.

    Random weights are known by the recipe's seed: processors round what they draw otherwise, and a
    training may go on beside another one than it began on. What was written before origins said
    `RANDOM` is compared by its hash.

    Examples
    --------
    >>> same_origin("random 1f3a", "random 90c2"), same_origin("1f3a", "90c2")
    (True, False)
    >>> same_origin("1f3a", "random 1f3a")
    True
    """
    if not isinstance(there, str) or not isinstance(here, str):
        return there == here
    if there.startswith(RANDOM) and here.startswith(RANDOM):
        return there.partition(",")[2] == here.partition(",")[2]
    return there.removeprefix(RANDOM) == here.removeprefix(RANDOM)


def refuse_other(there: dict[str, Any], here: dict[str, Any], path: Path, prefix: str = "") -> None:
    """Refuse a checkpoint of another training, naming what differs."""
    # An option that is off is not written down; first, since it may change what comes after.
    for name in {**LATER, **here, **there}:
        value, other = (side.get(name, LATER.get(name)) for side in (here, there))
        if isinstance(value, dict) and isinstance(other, dict):
            refuse_other(other, value, path, f"{name}.")
        elif not same_origin(other, value) if name == "origin" else other != value:
            raise InvalidInput(
                f"{path} is of another training ({prefix}{name} {other} there, {value} here): "
                "use another folder, or remove the file to start over"
            )
