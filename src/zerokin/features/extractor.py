"""A network together with how pictures are shown to it: all that their features depend on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from zerokin._version import __version__
from zerokin.compute.device import chosen_device
from zerokin.data.framing import Framing, check_framing
from zerokin.errors import InvalidInput
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.networks import FeatureNetwork, create_backbone
from zerokin.features.networks.backbone import Backbone
from zerokin.features.reading import (
    MOST_CROPS,
    View,
    reading_parts,
    reading_precision,
    reading_width,
)

AnyNetwork = FeatureLearner | FeatureNetwork | Backbone


@dataclass(frozen=True)
class Extractor:
    """Pictures to features.

    Parameters
    ----------
    network
        What reads the pictures.
    view, framing
        How they are shown.
    stored_side
        Side of the squares that they become before the view is taken of them.
    weights
        Where the network's weights come from, in words.
    """

    network: FeatureNetwork | Backbone
    view: View
    framing: Framing
    stored_side: int
    weights: str

    @classmethod
    def of(
        cls,
        network: AnyNetwork,
        *,
        view: View | None = None,
        framing: Framing | None = None,
        weights: str | None = None,
    ) -> Extractor:
        """Take a network as it is, with its own view and framing where none is given."""
        view = view or own_view(network)
        _check_view(view)
        side = view.side + 2 * round(view.side * (view.zoom - 1) / 2)
        if isinstance(network, FeatureLearner):
            framing = framing or network.settings.framing
            weights = weights or (
                f"trained, {network.settings.mode}, from {named(network.settings.weights)}"
            )
            side = max(side, network.stored_side)
            network = network.network_
        framing = framing or "whole"
        check_framing(framing)
        return cls(network, view, framing, side, weights or "given")

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next(self.network.parameters()).device

    @property
    def width(self) -> int:
        """Length d_f of the features."""
        return reading_width(self.network)

    def recipe(self) -> dict[str, Any]:
        """Say in plain words and numbers what the features depend on, the pictures aside."""
        return {
            "zerokin": __version__,
            "torch": torch.__version__,
            "backbone": reading_parts(self.network)[0].name,
            "weights": self.weights,
            "network_sha256": network_sha256(self.network),
            "framing": self.framing,
            "stored_side": self.stored_side,
            "side": self.view.side,
            "zoom": float(self.view.zoom),
            "mirrored": self.view.mirrored,
            "crops": self.view.crops,
            # The last digits may depend on these.
            "batch_size": self.view.batch_size,
            "device": self.device.type,
            "precision": str(reading_precision(self.device)).removeprefix("torch."),
        }


def open_extractor(
    backbone: str | None = None,
    *,
    weights: str | None = None,
    model: str | PathLike[str] | None = None,
    side: int | None = None,
    framing: Framing | None = None,
    zoom: float | None = None,
    mirrored: bool | None = None,
    crops: int | None = None,
    batch_size: int | None = None,
    device: str | None = None,
) -> Extractor:
    """Make an extractor from names and files.

    Parameters
    ----------
    backbone, weights
        As for `create_backbone`; by default ``tf_efficientnet_lite0`` with packaged weights, and
        any other backbone with what ``weights`` says.
    model
        Folder of a saved `FeatureLearner` instead.
    side, framing, zoom, mirrored, crops, batch_size
        How pictures are shown; by default as the network is meant to see them.
    device
        ``"cpu"`` or ``"cuda"``; by default a GPU if there is one.

    Examples
    --------
    >>> open_extractor("conv4", weights="packaged")
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: no packaged weights for 'conv4' (tf_efficientnet_lite0, ...
    """
    network: AnyNetwork
    source = None
    place = chosen_device(device)
    if model is not None:
        if backbone is not None or weights is not None:
            raise InvalidInput("a model brings its own backbone and weights: give no others")
        network = FeatureLearner.load(model, device=place)
        network.network_.to(place)
    else:
        network = create_backbone(
            backbone or "tf_efficientnet_lite0", weights=weights or "packaged", input_size=side
        ).to(place)
        source = named(weights or "packaged")
    own = own_view(network)
    view = View(
        side=own.side if side is None else side,
        zoom=own.zoom if zoom is None else zoom,
        mirrored=own.mirrored if mirrored is None else mirrored,
        batch_size=own.batch_size if batch_size is None else batch_size,
        crops=own.crops if crops is None else crops,
    )
    return Extractor.of(network, view=view, framing=framing, weights=source)


def own_view(network: AnyNetwork) -> View:
    """Return how a network is meant to see pictures."""
    if isinstance(network, FeatureLearner):
        return network.view
    return View(side=reading_parts(network)[0].input_size)


def named(weights: str | PathLike[str] | None) -> str:
    """Return where weights come from; of a file, its name alone."""
    if weights is None:
        return "random"
    return str(weights) if weights in ("packaged", "hub") else f"file {Path(weights).name}"


def network_sha256(network: FeatureNetwork | Backbone) -> str:
    """Return one SHA-256 over names, shapes and values of all weights that features depend on.

    Examples
    --------
    >>> from zerokin.features.networks import create_backbone
    >>> network_sha256(create_backbone("conv4")) == network_sha256(create_backbone("conv4"))
    False
    """
    whole = hashlib.sha256()
    for part in reading_parts(network):
        for name, tensor in {} if part is None else sorted(part.state_dict().items()):
            whole.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\0".encode())
            whole.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return whole.hexdigest()


def _check_view(view: View) -> None:
    for name in ("side", "batch_size"):
        if getattr(view, name) < 1:
            raise InvalidInput(f"{name} must be at least 1: got {getattr(view, name)}")
    if not 0 <= view.crops <= MOST_CROPS:
        raise InvalidInput(f"crops must be from 0 to {MOST_CROPS:,}: got {view.crops}")
    if not 1 <= view.zoom < view.side:
        raise InvalidInput(f"zoom must be at least 1 (the whole picture): got {view.zoom}")
