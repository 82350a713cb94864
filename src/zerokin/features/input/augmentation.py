"""What training and testing see of an image, computed for whole batches where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Annotated, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from zerokin.compute.device import to_device
from zerokin.declared import Declared, Flag, Share
from zerokin.errors import InvalidInput
from zerokin.parameters import SIDE, Real, Several, check_arguments

LUMA = (0.299, 0.587, 0.114)


@dataclass(frozen=True)
class Augmentation(Declared):
    """Data augmentation: how images are varied while a network learns.

    Parameters
    ----------
    area
        Least and most share of the image's area that a crop shows.
    ratio
        Least and most proportion of a crop's width to its height, where a crop of that area fits.
    mirror
        Show half of the crops mirrored.
    brightness, contrast, saturation
        Each is multiplied by a factor of up to 1 ± this.
    """

    area: Annotated[tuple[float, float], Several(Real(0, 1, closed="right"), length=2)] = (0.5, 1.0)
    ratio: Annotated[tuple[float, float], Several(Real(0, closed="neither"), length=2)] = (
        0.75,
        4 / 3,
    )
    mirror: Flag = True
    brightness: Share = 0.0
    contrast: Share = 0.0
    saturation: Share = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("area", "ratio"):
            low, high = getattr(self, name)
            if low > high:
                raise InvalidInput(f"{name} must be two numbers a ≤ b: got {low} and {high}")

    @property
    def recolors(self) -> bool:
        """Whether any factor of the colors can be another one than 1."""
        return any((self.brightness, self.contrast, self.saturation))

    def draw(self, n: int, generator: torch.Generator) -> Tensor:
        """Draw n augmentations, (n, 8): center x and y, half width and height, mirrored, 3 colors.

        Drawn on the CPU from one generator, they do not depend on the device nor on how a batch is
        shared out among processes.
        """
        return self.from_uniform(self.uniform(n, generator))

    @staticmethod
    def uniform(n: int, generator: torch.Generator) -> Tensor:
        """Draw the numbers from 0 to 1 that `from_uniform` makes n augmentations of, (n, 8)."""
        return torch.rand(n, 8, generator=generator)

    def from_uniform(self, u: Tensor) -> Tensor:
        """Return the augmentations that `uniform` numbers stand for, each by itself, (n, 8)."""
        either_way = 2 * u - 1
        low, high = self.area
        area = low + (high - low) * u[:, 0]
        log_low, log_span = _log_range(self.ratio)
        ratio = (log_low + log_span * u[:, 1]).exp()
        # A large crop has to be nearly as square as the image, or it would not fit into it.
        ratio = ratio.clamp(area, 1 / area)
        # Half the sides in units where the image reaches from -1 to 1.
        half_sides = torch.stack([area * ratio, area / ratio], 1).sqrt().clamp(max=1)
        center = (1 - half_sides) * either_way[:, 2:4]
        below = 0.5 if self.mirror else 0.0
        sign = torch.where(u[:, 4:5] < below, -1.0, 1.0)
        spread = torch.tensor([self.brightness, self.contrast, self.saturation])
        colors = 1 + spread * either_way[:, 5:]
        return torch.cat([center, half_sides, sign, colors], 1)


class Transform(NamedTuple):
    """Crop, flip and color jitter of each of B images, as it lies on their device.

    Parameters
    ----------
    maps
        Matrices that take places (x, y, 1) in the view to places in the image, (B, 3, 2).
    factors
        Of brightness, contrast and saturation, (B, 3); None where colors stay.
    """

    maps: Tensor
    factors: Tensor | None

    def part(self, rows: slice) -> Transform:
        """Return what is done to some of the images."""
        return Transform(self.maps[rows], None if self.factors is None else self.factors[rows])


def make_transform(drawn: Tensor, device: torch.device, *, recolored: bool = True) -> Transform:
    """Prepare what `Augmentation.draw` drew, for images on a device.

    Parameters
    ----------
    drawn
        (B, 8).
    device
        Where the images lie.
    recolored
        False where all color factors are 1 (`Augmentation.recolors`), which saves their work.
    """
    maps = drawn.new_zeros(len(drawn), 3, 2)
    maps[:, 0, 0] = drawn[:, 2] * drawn[:, 4]
    maps[:, 1, 1] = drawn[:, 3]
    maps[:, 2] = drawn[:, :2]
    return Transform(
        to_device(maps, device), to_device(drawn[:, 5:], device) if recolored else None
    )


def training_view(images: Tensor, drawn: Tensor, side: int) -> Tensor:
    """Return one augmentation of each image, (B, 3, side, side), floating point in 0..1.

    Parameters
    ----------
    images
        (B, 3, S, S), uint8.
    drawn
        What `Augmentation.draw` drew for them, (B, 8).
    side
        Side of the view.
    """
    return apply_transform(images, make_transform(drawn, images.device), side)


def apply_transform(images: Tensor, transform: Transform, side: int) -> Tensor:
    """Return images cropped, flipped and recolored by a transform: see `training_view`."""
    # A GPU is asked for few and large things, and never waited for.
    middles = _middles(side, images.device).expand(len(images), -1, -1)
    view = functional.grid_sample(
        images / 255,
        middles.bmm(transform.maps).view(-1, side, side, 2),
        mode="bilinear",
        padding_mode="border",
        align_corners=False,
    )
    if transform.factors is not None:
        view = _recolored(view, transform.factors)
    # Weights of neighboring pixels may sum up to a rounding error more than 1.
    return view.clamp(0, 1)


@lru_cache(maxsize=32)
def _middles(side: int, device: torch.device) -> Tensor:
    """Return the middles of a view's pixels as (x, y, 1), from -1 to 1: (1, side², 3)."""
    line = torch.linspace(-1, 1, side) * (side - 1) / side if side > 1 else torch.zeros(1)
    middles = torch.ones(side, side, 3)
    middles[..., 0] = line
    middles[..., 1] = line[:, None]
    return middles.view(1, -1, 3).to(device)


@cache
def _luma(device: torch.device) -> Tensor:
    return torch.tensor(LUMA, device=device).view(1, 3, 1, 1)


def _recolored(view: Tensor, factors: Tensor) -> Tensor:
    brightness, contrast, saturation = factors[:, :, None, None, None].unbind(1)
    view = view * brightness
    grey = (view * _luma(view.device)).sum(1, keepdim=True)
    view = torch.lerp(grey, view, saturation)
    mean = grey.mean(dim=(2, 3), keepdim=True)
    return torch.lerp(mean, view, contrast)


@cache
def _log_range(ratio: tuple[float, float]) -> tuple[float, float]:
    """Return the logarithm of the least ratio, and how far that of the most lies above it."""
    low, high = torch.tensor(ratio).log()
    return low.item(), (high - low).item()


def center_view(images: Tensor, side: int, zoom: float = 1.0) -> Tensor:
    """Return the center of each image, (B, 3, side, side), floating point in 0..1.

    Parameters
    ----------
    images
        (B, 3, S, S), uint8.
    side
        Side of the view.
    zoom
        1 shows all of the image; 1.15 leaves out its rim, as is usual.
    """
    check_arguments({"side": SIDE, "zoom": Real(1)}, side=side, zoom=zoom)
    margin = min(round(images.shape[-1] * (1 - 1 / zoom) / 2), (images.shape[-1] - 1) // 2)
    center = images[:, :, margin : images.shape[2] - margin, margin : images.shape[3] - margin]
    view = center.float() / 255
    if view.shape[-1] != side:
        view = functional.interpolate(
            view, size=(side, side), mode="bilinear", antialias=True, align_corners=False
        )
    return view
