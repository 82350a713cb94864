"""Backbones from timm, by any of its model names."""

from __future__ import annotations

from math import isqrt
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from zerokin.errors import InvalidInput, did_you_mean, shown
from zerokin.features.networks.backbone import Backbone, BackboneOutput, Normalization

# EfficientNet-Lite was trained on (255 x − 127) / 128, to which timm's 0.5 only comes near.
EFFICIENTNET_LITE = Normalization(mean=(127 / 255,) * 3, std=(128 / 255,) * 3)

Pooling = Literal["cls", "mean", "cls+mean", "cls2", "cls4", "cls4+mean"]
"""The class token of a transformer, the mean of its patch tokens, or both side by side.

``cls2`` and ``cls4`` are the class tokens of the last two and four blocks, the last block's last;
``cls4+mean`` is what DINOv2's authors evaluate by linear classifiers (Oquab et al. 2023).
"""

LAST_BLOCKS = {"cls": 1, "cls2": 2, "cls4": 4}
"""Blocks whose class tokens a part of a pooling takes."""


class TimmBackbone(Backbone):
    """A timm model: its last feature maps, and features pooled as that model pools them.

    Most models average over positions; some normalize or widen after that, transformers may take
    the class token.

    Attributes
    ----------
    pooling : str or None
        Of transformers: one of `Pooling`, in place of the model's own.
    """

    pooling: Pooling | None = None

    def _extract(self, x: Tensor, *_shares: Tensor) -> BackboneOutput:
        model: Any = self.model
        tokens: list[Tensor] = []
        try:
            if (count := _n_blocks(self.pooling)) > 1:
                hidden, blocks = model.forward_intermediates(
                    x, indices=count, norm=True, return_prefix_tokens=True
                )
                tokens = [prefix[:, 0] for _, prefix in blocks]
            else:
                hidden = model.forward_features(x)
        except AssertionError as error:  # how timm refuses a size
            raise InvalidInput(f"{self.name} (input_size={self.input_size}): {error}") from error
        maps = self._maps(hidden)
        if self.pooling is None:
            return BackboneOutput(maps, model.forward_head(hidden, pre_logits=True))
        pooled = tokens or ([hidden[:, 0]] if "cls" in self.pooling else [])
        if "mean" in self.pooling:
            pooled.append(maps.mean(dim=(2, 3)))
        return BackboneOutput(maps, torch.cat(pooled, dim=1))

    def _maps(self, hidden: object) -> Tensor:
        if isinstance(hidden, Tensor) and hidden.ndim == 4:
            channels_last = getattr(self.model, "output_fmt", "NCHW") == "NHWC"
            return hidden.permute(0, 3, 1, 2) if channels_last else hidden
        if isinstance(hidden, Tensor) and hidden.ndim == 3:
            # Class and register tokens come first; the rest is a square of patches.
            n_prefix = getattr(self.model, "num_prefix_tokens", None)
            side = isqrt(hidden.shape[1] - (n_prefix or 0))
            patches = hidden[:, hidden.shape[1] - side**2 :]
            return patches.transpose(1, 2).reshape(len(hidden), -1, side, side)
        raise InvalidInput(f"{self.name} gives no feature map: choose another backbone")


def timm_backbone(
    name: str,
    model: nn.Module,
    *,
    input_size: int | None,
    normalization: Normalization | None,
    pooling: Pooling | None = None,
) -> TimmBackbone:
    """Wrap a timm model made with ``num_classes=0``.

    Parameters
    ----------
    name
        Its name in timm.
    model
        The model.
    input_size
        Side of the images; None: what the model was made for.
    normalization
        What the model expects; None: what timm says.
    pooling
        Of a transformer with a class token; None: as the model pools by itself.
    """
    timm_model: Any = model
    config: dict[str, Any] = timm_model.pretrained_cfg
    native = int(config["input_size"][1])
    if input_size is not None and input_size != native:
        resize(timm_model, name, input_size, native)
    n_features = int(timm_model.num_features)
    d_f = int(getattr(model, "head_hidden_size", None) or n_features)
    if pooling is not None:
        _check_pooling(timm_model, name, pooling)
        d_f = n_features * (_n_blocks(pooling) + ("mean" in pooling))
    backbone = TimmBackbone(
        name,
        model,
        channels=n_features,
        d_f=d_f,
        input_size=input_size or native,
        normalization=normalization or Normalization(tuple(config["mean"]), tuple(config["std"])),
    )
    backbone.pooling = pooling
    return backbone


def _check_pooling(model: Any, name: str, pooling: str) -> None:
    known = get_args(Pooling)
    if pooling not in known:
        hint = did_you_mean(str(pooling), known)
        raise InvalidInput(f"pooling must be one of {', '.join(known)}: got {shown(pooling)}{hint}")
    if getattr(model, "cls_token", None) is None:
        raise InvalidInput(f"{name} has no class token: leave out pooling")
    count = _n_blocks(pooling)
    if count > 1 and len(getattr(model, "blocks", ())) < count:
        raise InvalidInput(f"{name} has fewer than {count} blocks: choose another pooling")


def _n_blocks(pooling: str | None) -> int:
    """Count the blocks whose class tokens a pooling takes."""
    return LAST_BLOCKS.get((pooling or "").partition("+")[0], 0)


def resize(model: Any, name: str, input_size: int, native: int) -> None:
    """Make a model with position embeddings read another size; convolutions read any."""
    if not model.pretrained_cfg.get("fixed_input_size"):
        return
    if getattr(model, "dynamic_img_size", False):  # position embeddings follow each image
        patch = int(model.patch_embed.patch_size[0])
        if input_size % patch:
            near = max(round(input_size / patch), 1) * patch
            raise InvalidInput(
                f"{name} reads patches of {patch} × {patch} pixels: got input_size={input_size}, "
                f"try {near}"
            )
        return
    if not hasattr(model, "set_input_size"):
        raise InvalidInput(
            f"{name} reads images of {native} × {native} pixels only: got input_size={input_size}"
        )
    try:
        model.set_input_size(img_size=(input_size, input_size))
    except (AssertionError, ValueError) as error:
        raise InvalidInput(f"{name} cannot take input_size={input_size}: {error}") from error
