"""What training and testing see of a picture, computed for whole batches where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor
from torch.nn import functional

from zerokin.errors import InvalidInput, shown


@dataclass(frozen=True)
class Augmentation:
    """How pictures are varied while a network learns.

    Parameters
    ----------
    area
        Least and most share of the picture's area that a crop shows.
    ratio
        Least and most proportion of a crop's width to its height, where a crop of that area fits.
    mirror
        Show half of the crops mirrored.
    brightness, contrast, saturation
        Each is multiplied by a factor of up to 1 ± this.
    """

    area: tuple[float, float] = (0.5, 1.0)
    ratio: tuple[float, float] = (0.75, 4 / 3)
    mirror: bool = True
    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0

    def __post_init__(self) -> None:
        for name in ("area", "ratio"):
            given = getattr(self, name)
            if not (_numbers(given) and len(given) == 2 and 0 < given[0] <= given[1] < inf):
                raise InvalidInput(
                    f"{name} of crops must be two numbers 0 < a ≤ b: got {shown(given)}"
                )
            object.__setattr__(self, name, tuple(given))
        if self.area[1] > 1:
            raise InvalidInput(f"a crop cannot show more than the whole picture: area {self.area}")
        if not isinstance(self.mirror, bool):
            raise InvalidInput(f"mirror must be true or false: got {shown(self.mirror)}")
        for name in ("brightness", "contrast", "saturation"):
            value = getattr(self, name)
            if not (_numbers([value]) and 0 <= value <= 1):
                raise InvalidInput(f"{name} must be within 0 and 1: got {shown(value)}")

    def draw(self, n: int, generator: torch.Generator) -> Tensor:
        """Draw n variations, (n, 8): centre x and y, half width and height, mirrored, 3 colours.

        Drawn on the CPU from one generator, they do not depend on the device nor on how a batch is
        shared out among processes.
        """
        u = torch.rand(n, 8, generator=generator)
        low, high = self.area
        area = low + (high - low) * u[:, 0]
        log_low, log_high = (torch.tensor(value).log() for value in self.ratio)
        ratio = (log_low + (log_high - log_low) * u[:, 1]).exp()
        # A large crop has to be nearly as square as the picture, or it would not fit into it.
        ratio = ratio.clamp(area, 1 / area)
        # Half the sides in units where the picture reaches from -1 to 1.
        half_width = (area * ratio).sqrt().clamp(max=1)
        half_height = (area / ratio).sqrt().clamp(max=1)
        x = (1 - half_width) * (2 * u[:, 2] - 1)
        y = (1 - half_height) * (2 * u[:, 3] - 1)
        sign = torch.where((u[:, 4] < 0.5) & torch.tensor(self.mirror), -1.0, 1.0)
        spread = torch.tensor([self.brightness, self.contrast, self.saturation])
        colours = 1 + spread * (2 * u[:, 5:] - 1)
        return torch.cat([torch.stack([x, y, half_width, half_height, sign], 1), colours], 1)


def training_view(pictures: Tensor, drawn: Tensor, side: int) -> Tensor:
    """Return one variation of each picture, (B, 3, side, side), floating point in 0..1.

    Parameters
    ----------
    pictures
        (B, 3, S, S), uint8.
    drawn
        What `Augmentation.draw` drew for them, (B, 8).
    side
        Side of the view.
    """
    drawn = drawn.to(pictures.device, non_blocking=True)
    x, y, half_width, half_height, sign = drawn[:, :5].unbind(1)
    zero = torch.zeros_like(x)
    maps = torch.stack(
        [
            torch.stack([half_width * sign, zero, x], 1),
            torch.stack([zero, half_height, y], 1),
        ],
        1,
    )
    grid = functional.affine_grid(maps, [len(pictures), 3, side, side], align_corners=False)
    view = functional.grid_sample(
        pictures.float() / 255,
        grid,
        mode="bilinear",
        padding_mode="border",
        align_corners=False,
    )
    return _recoloured(view, drawn[:, 5:])


def _recoloured(view: Tensor, factors: Tensor) -> Tensor:
    brightness, contrast, saturation = factors[:, :, None, None, None].unbind(1)
    view = view * brightness
    grey = (view * view.new_tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1)).sum(1, keepdim=True)
    view = torch.lerp(grey, view, saturation)
    mean = grey.mean(dim=(2, 3), keepdim=True)
    return torch.lerp(mean, view, contrast).clamp(0, 1)


def _numbers(values: object) -> bool:
    return isinstance(values, list | tuple) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    )


def centre_view(pictures: Tensor, side: int, zoom: float = 1.0) -> Tensor:
    """Return the centre of each picture, (B, 3, side, side), floating point in 0..1.

    Parameters
    ----------
    pictures
        (B, 3, S, S), uint8.
    side
        Side of the view.
    zoom
        1 shows all of the picture; 1.15 leaves out its rim, as is usual.
    """
    if not zoom >= 1:
        raise InvalidInput(f"zoom must be at least 1 (the whole picture): got {zoom}")
    margin = min(round(pictures.shape[-1] * (1 - 1 / zoom) / 2), (pictures.shape[-1] - 1) // 2)
    centre = pictures[
        :, :, margin : pictures.shape[2] - margin, margin : pictures.shape[3] - margin
    ]
    view = centre.float() / 255
    if view.shape[-1] != side:
        view = functional.interpolate(
            view, size=(side, side), mode="bilinear", antialias=True, align_corners=False
        )
    return view
