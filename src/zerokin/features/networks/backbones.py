"""Backbones by name, with weights from a file, a package or the hub."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from zerokin.errors import InvalidInput, MissingFile, did_you_mean
from zerokin.features.networks.backbone import Backbone
from zerokin.features.networks.clip_backbones import clip_backbone
from zerokin.features.networks.few_shot_backbones import FEW_SHOT
from zerokin.features.networks.packaged_weights import PACKAGES, packaged_weights
from zerokin.features.networks.presets import BEST_FIRST, PRESETS
from zerokin.features.networks.timm_backbones import EFFICIENTNET_LITE, timm_backbone
from zerokin.features.networks.vector_backbones import VECTOR, VectorBackbone
from zerokin.features.networks.vgg_backbones import VGG, vgg
from zerokin.features.networks.weight_files import load_weights, read_weights, unwrapped
from zerokin.hub import cached_file, first_line
from zerokin.semantics.clip_models import OPEN_CLIP, WEIGHTS_FILE, check_clip, clip_file


def create_backbone(
    name: str,
    *,
    weights: str | PathLike[str] | None = None,
    input_size: int | None = None,
    **options: Any,
) -> Backbone:
    """Make a backbone by name.

    Parameters
    ----------
    name
        One of `PRESETS`, with its image size and pooling;
        ``"small"`` for CPUs; ``"conv4"``, ``"resnet12"`` or ``"wrn28-10"`` for few-shot learning;
        ``"vgg16"`` (and 11,
        13, 19, with ``_bn``), convolutions only; ``"adapter"`` or ``"mlp"`` over ready features,
        whose width they have to know (``d_in``); an image tower of open_clip, such as
        ``"open_clip/ViT-B-16"``; otherwise any model of timm, such as ``"resnet50"`` or
        ``"tf_efficientnet_lite0"``.
    weights
        None: random. ``"hub"``: pretrained weights of timm or open_clip, from the hub's cache or
        downloaded. ``"packaged"``: for
        ``tf_efficientnet_lite0``, ``1`` and ``2``, from the extra ``pretrained``. Otherwise a file:
        safetensors or a torch state dict. A classifier in it is ignored.
    input_size
        Side of the images; by default what the model was made for. Convolutional models read any.
    options
        Passed on: ``width``, ``dropout`` and ``drop_block`` of resnet12, ``dropout`` of wrn28-10,
        ``width`` and ``flatten`` of conv4, ``d_in``, ``width``, ``depth``, ``dropout``, ``noise``
        and ``scaling`` of adapter and mlp, ``pooling`` of timm's transformers (``"cls"``,
        ``"mean"``, ``"cls+mean"``, ``"cls2"``, ``"cls4"`` or ``"cls4+mean"``), and what a timm
        model takes, such as ``drop_path_rate``.

    Returns
    -------
    Backbone
        In training mode, as every new torch module.

    Examples
    --------
    >>> create_backbone("vgg16").d_f
    512
    >>> create_backbone("wrn28_10")
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: unknown backbone 'wrn28_10'; did you mean 'wrn28-10'? ...
    """
    if input_size is not None and input_size < 1:
        raise InvalidInput(f"input_size must be at least 1: got {input_size}")
    check_backbone(name, weights)
    if name in PRESETS:
        preset = PRESETS[name]
        name, options = preset.model, {**preset.options, **options}
        if input_size is not None:
            options["input_size"] = input_size
        input_size = options.pop("input_size", None)
    if name.startswith(OPEN_CLIP):
        return _clip(name, weights, input_size, options)
    architecture = name.partition(".")[0]
    if input_size is not None and architecture in (*FEW_SHOT, *VGG):
        options["input_size"] = input_size
    if name in VECTOR:
        if input_size is not None:
            raise InvalidInput(f"{name} reads features, which have no size: leave out input_size")
        if "d_in" not in options:
            raise InvalidInput(
                f"{name} has to know the width of the features that it reads: train it on a data "
                "set of features (zerokin train), or give d_in"
            )
    try:
        if name in FEW_SHOT:
            return _few_shot(name, weights, options)
        if name in VECTOR:
            return _vector(name, weights, options)
        if architecture in VGG:
            return _vgg(name, weights, options)
        return _timm(name, weights, input_size, options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise InvalidInput(f"{name} does not take that option: {error}") from error


def preset_fitting(weights: str | PathLike[str]) -> str | None:
    """Return the preset whose network a weight file is of; None if it is of none, or no file.

    Parameters
    ----------
    weights
        As for `create_backbone`.
    """
    if not Path(weights).is_file():
        return None
    tensors = read_weights(Path(weights))
    for name in BEST_FIRST:
        with torch.device("meta"):
            wanted = create_backbone(name).model.state_dict()
        found = unwrapped(tensors, wanted)
        needed = [key for key in wanted if not key.endswith("num_batches_tracked")]
        if all(key in found and found[key].shape == wanted[key].shape for key in needed):
            return name
    return None


def check_backbone(name: str, weights: str | PathLike[str] | None) -> None:
    """Refuse a name that no backbone has, or weights there are none of; nothing is read or made.

    Examples
    --------
    >>> check_backbone("smal", None)
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: unknown backbone 'smal'; did you mean 'small'? ...
    """
    if name in PRESETS:
        name = PRESETS[name].model
    architecture = name.partition(".")[0]
    if name.startswith(OPEN_CLIP):
        check_clip(name)
    elif name not in (*FEW_SHOT, *VECTOR) and architecture not in (*VGG, *PACKAGES):
        _check_timm(name)
    if weights == "packaged" and architecture not in PACKAGES:
        known = ", ".join(PACKAGES)
        raise InvalidInput(
            f"no packaged weights for {name!r} ({known} have some): give weights=None to start "
            f"from random ones, 'hub', or a weight file"
        )
    if weights == "hub" and name in (*FEW_SHOT, *VECTOR):
        raise InvalidInput(f"the hub has no weights for {name}: train it, or give a weight file")


def _few_shot(name: str, weights: str | PathLike[str] | None, options: dict[str, Any]) -> Backbone:
    backbone: Backbone = FEW_SHOT[name](**options)
    if weights is not None:
        _load_file(backbone.model, weights, name=name)
    return backbone


def _vector(
    name: str, weights: str | PathLike[str] | None, options: dict[str, Any]
) -> VectorBackbone:
    backbone = VECTOR[name](**options)
    if weights is not None:
        load_weights(backbone.model, _read(weights), name=name, source=weights)
    return backbone


def _vgg(name: str, weights: str | PathLike[str] | None, options: dict[str, Any]) -> Backbone:
    backbone = vgg(name.partition(".")[0], **options)
    if weights is not None:
        found = (
            _timm_model(name, {"num_classes": 0}, pretrained=True).state_dict()
            if weights == "hub"
            else _read(weights)
        )
        dense = ("classifier.", "pre_logits.", "head.")
        load_weights(backbone.model, found, name=name, source=weights, ignored=dense)
    return backbone


def _timm(
    name: str,
    weights: str | PathLike[str] | None,
    input_size: int | None,
    options: dict[str, Any],
) -> Backbone:
    architecture = name.partition(".")[0]
    pooling = options.pop("pooling", None)
    model = _timm_model(name, {**options, "num_classes": 0}, pretrained=weights == "hub")
    if weights == "packaged":
        found = packaged_weights(architecture, model)
        load_weights(model, found, name=name, source="the packaged file")
    elif weights is not None and weights != "hub":
        classifier = model.pretrained_cfg["classifier"]
        heads = [classifier] if isinstance(classifier, str) else classifier or []
        ignored = tuple(f"{head}." for head in heads)
        _load_file(model, weights, name=name, ignored=ignored)
    lite = architecture.startswith("tf_efficientnet_lite")
    return timm_backbone(
        name,
        model,
        input_size=input_size,
        normalization=EFFICIENTNET_LITE if lite else None,
        pooling=pooling,
    )


def _clip(
    name: str,
    weights: str | PathLike[str] | None,
    input_size: int | None,
    options: dict[str, Any],
) -> Backbone:
    if options:
        raise InvalidInput(f"{name} takes no options: leave out {', '.join(options)}")
    backbone = clip_backbone(name)
    if input_size not in (None, backbone.input_size):
        side = backbone.input_size
        raise InvalidInput(
            f"{name} reads images of {side} × {side} pixels only: got input_size={input_size}"
        )
    if weights is not None:
        found = _read(clip_file(name, "hub")[0] if weights == "hub" else weights)
        # Of a file with both towers, that of images.
        own = {k.removeprefix("visual."): v for k, v in found.items() if k.startswith("visual.")}
        load_weights(backbone.model, own or found, name=name, source=weights)
    return backbone


def _load_file(
    model: nn.Module, weights: str | PathLike[str], *, name: str, ignored: tuple[str, ...] = ()
) -> None:
    """Load a file of weights into a model; one of another network is told the preset it is of."""
    try:
        load_weights(model, _read(weights), name=name, source=weights, ignored=ignored)
    except InvalidInput as error:
        fitting = preset_fitting(weights)
        if fitting is None or PRESETS[fitting].model.partition(".")[0] == name.partition(".")[0]:
            raise
        raise InvalidInput(f"{error}; it is of the preset {fitting!r}") from error


def _read(weights: str | PathLike[str]) -> dict[str, Tensor]:
    if not Path(weights).exists():
        hint = did_you_mean(str(weights), ("hub", "packaged"))
        raise MissingFile(
            f"no weight file at {weights}{hint}: give a .safetensors file, a torch state dict, "
            f"'hub' or 'packaged'"
        )
    return read_weights(Path(weights))


def _check_timm(name: str) -> None:
    import timm

    architecture, _, tag = name.partition(".")
    if not timm.is_model(architecture):
        own = [*PRESETS, *FEW_SHOT, *VECTOR]
        known = [*own, *VGG, *timm.list_models()]
        raise InvalidInput(
            f"unknown backbone {name!r}{did_you_mean(name, known)} "
            f"(known: {', '.join(own)} and the {len(known) - len(own):,} of "
            f"timm.list_models())"
        )
    tagged = timm.list_pretrained(f"{architecture}*")
    if tag and name not in tagged:
        raise InvalidInput(f"timm has no weights called {name!r}{did_you_mean(name, tagged)}")


def _timm_model(name: str, options: dict[str, Any], *, pretrained: bool) -> Any:
    import timm

    _check_timm(name)
    if not pretrained:
        return timm.create_model(name, **options)
    if not timm.models.is_model_pretrained(name.partition(".")[0]):
        raise InvalidInput(f"the hub has no weights for {name}: give a weight file")
    # What is cached is read as it is: timm would ask the hub about it first.
    repository = getattr(timm.get_pretrained_cfg(name), "hf_hub_id", None)
    cached = cached_file(repository, WEIGHTS_FILE["timm"]) if repository else None
    if cached is not None:
        options["pretrained_cfg_overlay"] = {"file": str(cached)}
    try:
        return timm.create_model(name, pretrained=True, **options)
    except TypeError:
        raise
    except Exception as error:
        # Downloading can fail in as many ways as there are networks and libraries below timm.
        raise MissingFile(
            f"weights of {name} could not be had from the hub ({first_line(error)}): "
            f"check the connection, or give a weight file"
        ) from error
