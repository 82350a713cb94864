"""Backbones from timm, by any of its model names."""

from __future__ import annotations

from math import isqrt
from typing import Any

from torch import Tensor, nn

from zerokin.errors import InvalidInput
from zerokin.features.networks.backbone import Backbone, BackboneOutput, Normalization

# EfficientNet-Lite was trained on (255 x − 127) / 128, to which timm's 0.5 only comes near.
EFFICIENTNET_LITE = Normalization(mean=(127 / 255,) * 3, std=(128 / 255,) * 3)


class TimmBackbone(Backbone):
    """A timm model: its last feature maps, and features pooled as that model pools them.

    Most models average over positions; some normalize or widen after that, transformers may take
    the class token.
    """

    def _extract(self, x: Tensor, *_shares: Tensor) -> BackboneOutput:
        model: Any = self.model
        try:
            hidden = model.forward_features(x)
        except AssertionError as error:  # how timm refuses a size
            raise InvalidInput(f"{self.name} (input_size={self.input_size}): {error}") from error
        return BackboneOutput(self._maps(hidden), model.forward_head(hidden, pre_logits=True))

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
    name: str, model: nn.Module, *, input_size: int | None, normalization: Normalization | None
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
    """
    timm_model: Any = model
    config: dict[str, Any] = timm_model.pretrained_cfg
    native = int(config["input_size"][1])
    if input_size is not None and input_size != native:
        resize(timm_model, name, input_size, native)
    n_features = int(timm_model.num_features)
    return TimmBackbone(
        name,
        model,
        channels=n_features,
        d_f=int(getattr(model, "head_hidden_size", None) or n_features),
        input_size=input_size or native,
        normalization=normalization or Normalization(tuple(config["mean"]), tuple(config["std"])),
    )


def resize(model: Any, name: str, input_size: int, native: int) -> None:
    """Make a model with position embeddings read another size; convolutions read any."""
    if not model.pretrained_cfg.get("fixed_input_size"):
        return
    if not hasattr(model, "set_input_size"):
        raise InvalidInput(
            f"{name} reads images of {native} × {native} pixels only: got input_size={input_size}"
        )
    try:
        model.set_input_size(img_size=(input_size, input_size))
    except (AssertionError, ValueError) as error:
        raise InvalidInput(f"{name} cannot take input_size={input_size}: {error}") from error
