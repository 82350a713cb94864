"""A network together with how samples are shown to it: all that their features depend on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, get_args

import torch

from zerokin._version import __version__
from zerokin.aliases import NETWORK, accept_old_names
from zerokin.compute.device import chosen_device
from zerokin.data.resizing import ResizeMode, check_resize_mode
from zerokin.errors import InvalidInput, did_you_mean, shown
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.network_settings import NetworkSettings
from zerokin.features.networks import FeatureNetwork, create_backbone
from zerokin.features.networks.backbone import Backbone
from zerokin.features.networks.backbones import preset_fitting
from zerokin.features.networks.presets import expand_preset, preset_of
from zerokin.features.networks.timm_backbones import Pooling
from zerokin.features.reading import (
    MOST_CROPS,
    Precision,
    View,
    reading_parts,
    reading_precision,
    reading_width,
)
from zerokin.parameters import SEED, check_arguments

MOST_REGIONS = 32
"""Along a side of the grid."""

AnyNetwork = FeatureLearner | FeatureNetwork | Backbone


@dataclass(frozen=True)
class Extractor:
    """Images to features.

    Parameters
    ----------
    network
        What reads the images.
    view, resize_mode
        How they are shown.
    cache_size
        Side of the squares that they become before the view is taken of them.
    weights
        Where the network's weights come from, in words.
    """

    network: FeatureNetwork | Backbone
    view: View
    resize_mode: ResizeMode
    cache_size: int
    weights: str

    @classmethod
    def from_network(
        cls,
        network: AnyNetwork,
        *,
        view: View | None = None,
        resize_mode: ResizeMode | None = None,
        weights: str | None = None,
    ) -> Extractor:
        """Take a network as it is, with its own view and resize_mode where none is given."""
        view = view or own_view(network)
        _check_view(view, network)
        side = view.image_size + 2 * round(view.image_size * (view.zoom - 1) / 2)
        if isinstance(network, FeatureLearner):
            resize_mode = resize_mode or network.settings.resize_mode
            weights = weights or (
                f"trained, {network.settings.mode}, from {named(network.settings.weights)}"
            )
            side = max(side, network.cache_size)
            network = network.network_
        resize_mode = resize_mode or "whole"
        check_resize_mode(resize_mode)
        return cls(network, view, resize_mode, side, weights or "given")

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next(self.network.parameters()).device

    @property
    def reads_images(self) -> bool:
        """Whether the network reads images, and not ready features."""
        return reading_parts(self.network)[0].reads_images

    @property
    def width(self) -> int:
        """Length d_f of the features; of regions, of all of them together."""
        return reading_width(self.network, self.view.regions)

    def recipe(self) -> dict[str, Any]:
        """Say in plain words and numbers what the features depend on, the images aside."""
        name = reading_parts(self.network)[0].name
        preset = preset_of(name)
        # Of ImageNet-1k nothing is said: files of earlier versions stay those of the same recipe.
        apart = preset is not None and preset.weights != "packaged" and self.weights != "random"
        return {
            "zerokin": __version__,
            "torch": torch.__version__,
            "backbone": name,
            "weights": self.weights,
            **({"pretraining": preset.pretraining} if preset is not None and apart else {}),
            "network_sha256": network_sha256(self.network),
            **(self._shown() if self.reads_images else {}),
            # The last digits may depend on these.
            "batch_size": self.view.batch_size,
            "device": self.device.type,
            "precision": str(reading_precision(self.device, self.view.precision)).removeprefix(
                "torch."
            ),
        }

    def _shown(self) -> dict[str, Any]:
        """Say how images are shown, and what of a transformer becomes features."""
        view, backbone = self.view, reading_parts(self.network)[0]
        preset, pooling = preset_of(backbone.name), getattr(backbone, "pooling", None)
        own_pooling = pooling is None or (preset is not None and pooling == preset.pooling)
        return {
            "resize_mode": self.resize_mode,
            "cache_size": self.cache_size,
            "image_size": view.image_size,
            **({} if own_pooling else {"pooling": pooling}),
            "zoom": float(view.zoom),
            "tta_flip": view.tta_flip,
            "tta_crops": view.tta_crops,
            # Where there is none, files of earlier versions stay those of the same recipe.
            **({} if view.tta_crop_seed is None else {"tta_crop_seed": view.tta_crop_seed}),
            **({"regions": view.regions} if view.regions else {}),
        }


@accept_old_names(NETWORK)
def open_extractor(
    backbone: str | None = None,
    *,
    weights: str | None = None,
    model: str | PathLike[str] | None = None,
    image_size: int | None = None,
    resize_mode: ResizeMode | None = None,
    pooling: Pooling | None = None,
    zoom: float | None = None,
    tta_flip: bool | None = None,
    tta_crops: int | None = None,
    tta_crop_seed: int | None = None,
    regions: int = 0,
    batch_size: int | None = None,
    device: str | None = None,
    precision: Precision | None = None,
) -> Extractor:
    """Make an extractor from names and files.

    Parameters
    ----------
    backbone, weights
        As for `create_backbone`; by default the preset whose network a weight file is of, otherwise
        ``tf_efficientnet_lite0`` with packaged weights. A preset brings its own weights.
    model
        Folder of a saved `FeatureLearner` instead.
    image_size, resize_mode, zoom, tta_flip, tta_crops, tta_crop_seed, batch_size
        How images are shown; by default as the network is meant to see them.
    pooling
        Of a transformer: which of its tokens become features, see `Pooling`. By default a preset's,
        otherwise the model's own.
    regions
        Read a grid of so many regions a side off the feature maps (a transformer's patch tokens),
        for several labels an image; 0 reads whole images.
    device
        ``"cpu"`` or ``"cuda"``; by default a GPU if there is one.
    precision
        ``"float32"`` or ``"bfloat16"``: what the network computes with. By default bfloat16 on GPUs
        that have it, float32 elsewhere. CPUs with bfloat16 arithmetic read transformers two to
        three times as fast with it, and a little less exactly.

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
        if backbone is not None or weights is not None or pooling is not None:
            raise InvalidInput(
                "a model brings its own backbone, weights and pooling: give no others"
            )
        network = FeatureLearner.load(model, device=place)
        network.network_.to(place)
        if not network.network_.backbone.reads_images:
            _refuse_shown(
                image_size=image_size,
                resize_mode=resize_mode,
                zoom=zoom,
                tta_flip=tta_flip,
                tta_crops=tta_crops,
                tta_crop_seed=tta_crop_seed,
                regions=regions or None,
            )
    else:
        if backbone is None and weights is not None:
            backbone = preset_fitting(weights)
        given = {"weights": weights, "resize_mode": resize_mode, "tta_flip": tta_flip}
        typed = {name: value for name, value in given.items() if value is not None}
        chosen = expand_preset({"backbone": backbone or NetworkSettings.backbone, **typed})
        weights = chosen.get("weights", "packaged")
        resize_mode, tta_flip = chosen.get("resize_mode"), chosen.get("tta_flip")
        size = {} if image_size is None else {"input_size": image_size}
        tokens = {} if pooling is None else {"pooling": pooling}
        options = {**chosen.get("options", {}), **size, **tokens}
        network = create_backbone(chosen["backbone"], weights=weights, **options).to(place)
        source = named(weights)
    own = own_view(network)
    view = View(
        image_size=own.image_size if image_size is None else image_size,
        zoom=own.zoom if zoom is None else zoom,
        tta_flip=own.tta_flip if tta_flip is None else tta_flip,
        batch_size=own.batch_size if batch_size is None else batch_size,
        tta_crops=own.tta_crops if tta_crops is None else tta_crops,
        tta_crop_seed=own.tta_crop_seed if tta_crop_seed is None else tta_crop_seed,
        precision=precision,
        regions=regions,
    )
    return Extractor.from_network(network, view=view, resize_mode=resize_mode, weights=source)


def _refuse_shown(**given: object) -> None:
    """Refuse to show ready features in any other way than as they are."""
    for name, value in given.items():
        if value is not None:
            raise InvalidInput(
                f"{name} is for images, and this model reads ready features: leave it out"
            )


def own_view(network: AnyNetwork) -> View:
    """Return how a network is meant to see images."""
    if isinstance(network, FeatureLearner):
        return network.view
    return View(image_size=reading_parts(network)[0].input_size)


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


def _check_view(view: View, network: AnyNetwork) -> None:
    if not 0 <= view.regions <= MOST_REGIONS:
        raise InvalidInput(
            f"regions must be from 0 to {MOST_REGIONS}, along a side: got {view.regions}"
        )
    if view.regions and view.tta_crops:
        raise InvalidInput("crops show other regions than the image: leave out tta_crops")
    if view.regions and not isinstance(network, FeatureLearner):
        backbone, head = reading_parts(network)
        if head is not None or backbone.flatten:
            raise InvalidInput(
                f"{backbone.name} gives no features of regions: choose another backbone"
            )
    if view.precision is not None and view.precision not in get_args(Precision):
        hint = did_you_mean(str(view.precision), get_args(Precision))
        raise InvalidInput(
            f"precision must be float32 or bfloat16: got {shown(view.precision)}{hint}"
        )
    for name in ("image_size", "batch_size"):
        if getattr(view, name) < 1:
            raise InvalidInput(f"{name} must be at least 1: got {getattr(view, name)}")
    if not 0 <= view.tta_crops <= MOST_CROPS:
        raise InvalidInput(f"tta_crops must be from 0 to {MOST_CROPS:,}: got {view.tta_crops}")
    if view.tta_crop_seed is not None:
        check_arguments({"tta_crop_seed": SEED}, tta_crop_seed=view.tta_crop_seed)
        if not view.tta_crops:
            raise InvalidInput("tta_crop_seed draws random crops: say how many with tta_crops")
    read = network.network_ if isinstance(network, FeatureLearner) else network
    if reading_parts(read)[0].reads_images and not 1 <= view.zoom < view.image_size:
        raise InvalidInput(f"zoom must be at least 1 (the whole image): got {view.zoom}")
