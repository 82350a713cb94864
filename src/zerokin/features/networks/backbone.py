"""What turns images into features: a convolutional model together with its own normalization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from zerokin.errors import InvalidInput
from zerokin.features.networks.mixup import Stages, mix_neighbors


@dataclass(frozen=True)
class Normalization:
    """What a model expects to be taken off images in 0..1, and divided by.

    Parameters
    ----------
    mean, std
        Mean and standard deviation of each channel.
    """

    mean: tuple[float, float, float]
    std: tuple[float, float, float]


IMAGENET = Normalization(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))


class BackboneOutput(NamedTuple):
    """What a backbone makes of images.

    Parameters
    ----------
    maps
        (B, C, h, w) feature maps.
    features
        (B, d_f) features.
    """

    maps: Tensor
    features: Tensor


class Backbone(nn.Module):
    """Images to feature maps and features. `create_backbone` makes one by name.

    Images are uint8, or floating point in 0..1: what the model expects beyond that, the backbone
    does by itself.

    Parameters
    ----------
    name
        What the model is called.
    model
        Normalized images to feature maps. Its state dict is what weight files hold.
    channels
        Channels C of the feature maps.
    d_f
        Width of the features; ``channels`` if they are averages over positions.
    input_size
        Side of the images that the model is meant for, in pixels.
    normalization
        What the model expects of images; None if it reads something else.
    flatten
        Features are the maps themselves, flattened, instead of their averages.

    Attributes
    ----------
    reads_images : bool
        False of backbones that read ready features.
    mixup_places : int
        Places at which samples can be mixed: the input, and those between blocks where the model
        is made of `Stages`.
    """

    reads_images: ClassVar[bool] = True
    mean: Tensor
    std: Tensor

    def __init__(
        self,
        name: str,
        model: nn.Module,
        *,
        channels: int,
        d_f: int,
        input_size: int,
        normalization: Normalization | None,
        flatten: bool = False,
    ) -> None:
        super().__init__()
        self.name, self.model = name, model
        self.channels, self.d_f, self.input_size = channels, d_f, input_size
        self.normalization, self.flatten = normalization, flatten
        # Not persistent: weight files hold weights, and these follow from the name.
        for key in ("mean", "std") if normalization is not None else ():
            values = torch.tensor(getattr(normalization, key)).view(1, 3, 1, 1)
            self.register_buffer(key, values, persistent=False)
        self._range_known = False
        self.mixup_places = 1 + len(model.mixed_before) if isinstance(model, Stages) else 1

    def extra_repr(self) -> str:
        return f"{self.name}, d_f={self.d_f}, input_size={self.input_size}"

    def forward(self, images: Tensor, shares: Tensor | None = None) -> BackboneOutput:
        """Return maps and features of images (B, 3, H, W).

        Parameters
        ----------
        images
            uint8, or floating point in 0..1.
        shares
            λ of manifold mixup at every place, (mixup_places, B); None mixes nothing.
        """
        try:
            x = self.normalize(images)
            if shares is None:
                return self._extract(x)
            # An interpolation of normalized images is that of the images, normalized.
            x = mix_neighbors(x, shares[0])
            return self._extract(x, *([shares[1:]] if self.mixup_places > 1 else []))
        except RuntimeError as error:
            # Only the layers themselves know how often they halve what they are shown.
            if "too small" not in str(error):
                raise
            raise InvalidInput(
                f"images of {images.shape[2]} × {images.shape[3]} pixels are too small for "
                f"{self.name}: show larger ones"
            ) from error

    def normalize(self, images: Tensor) -> Tensor:
        """Return images as the model expects them."""
        self._check(images)
        scaled = images.to(self.mean.dtype)
        if images.dtype == torch.uint8:
            scaled = scaled / 255
        return (scaled - self.mean) / self.std

    def _extract(self, x: Tensor, *shares: Tensor) -> BackboneOutput:
        """Return maps and features of normalized images; shares are for `Stages`."""
        maps: Tensor = self.model(x, *shares)
        features = maps.flatten(1) if self.flatten else maps.mean(dim=(2, 3))
        if features.shape[1] != self.d_f:
            raise InvalidInput(
                f"flattened features of {self.name} have a fixed width: images must be "
                f"{self.input_size} pixels a side, got {x.shape[2]} × {x.shape[3]}"
            )
        return BackboneOutput(maps, features)

    def _check(self, images: Tensor) -> None:
        if images.ndim != 4 or images.shape[1] != 3:
            shape = tuple(images.shape)
            raise InvalidInput(f"images must be (B, 3, height, width): got {shape}")
        if images.dtype == torch.uint8:
            return
        if not images.is_floating_point():
            raise InvalidInput(
                f"images must be uint8 or floating point in 0..1: got {images.dtype}"
            )
        # Looked at once: whoever feeds images feeds them all alike, and a look at every batch
        # would make a GPU wait.
        if not self._range_known and images.numel():
            low, high = images.min().item(), images.max().item()
            if low < -0.5 or high > 1.5:
                raise InvalidInput(
                    f"floating-point images must lie in 0..1, before any normalization (the "
                    f"backbone does it): got {low:.3g} to {high:.3g}"
                )
            self._range_known = True
