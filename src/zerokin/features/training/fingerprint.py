"""What makes two trainings the same: a checkpoint serves no other."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.features.input.sources import PictureSource
from zerokin.features.networks.network import FeatureNetwork
from zerokin.features.training.recipe import LATER, Recipe
from zerokin.features.training.records import Targets


def fingerprint(
    network: FeatureNetwork,
    source: PictureSource,
    targets: Targets,
    recipe: Recipe,
    origin: str | None,
    teacher: FeatureNetwork | None = None,
) -> dict[str, Any]:
    """Describe a training: recipe, network, labels, where its first weights came from, teacher."""
    described = {
        **recipe.as_dict(),
        "backbone": network.backbone.name,
        "pictures": len(source),
        "targets": _digest(*targets),
        "parameters": sum(value.numel() for value in network.parameters()),
        "origin": origin,
        # What a head itself holds besides weights: the semantics of classes and superclasses.
        "semantics": _digest(
            *(value.cpu().numpy() for value in network.head.buffers(recurse=False))
        ),
    }
    if teacher is not None:
        # All of it: its answers depend on the statistics of batch normalisation, too.
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


def refuse_other(there: dict[str, Any], here: dict[str, Any], path: Path, prefix: str = "") -> None:
    """Refuse a checkpoint of another training, naming what differs."""
    # An option that is off is not written down; first, since it may change what comes after.
    for name in {**LATER, **here, **there}:
        value, other = (side.get(name, LATER.get(name)) for side in (here, there))
        if isinstance(value, dict) and isinstance(other, dict):
            refuse_other(other, value, path, f"{name}.")
        elif other != value:
            raise InvalidInput(
                f"{path} is of another training ({prefix}{name} {other} there, {value} here): "
                "use another folder, or remove the file to start over"
            )
