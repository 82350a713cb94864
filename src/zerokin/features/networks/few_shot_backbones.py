"""Backbones that are trained from nothing: conv4, ResNet-12, WRN-28-10, and one for CPUs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from zerokin.errors import InvalidInput, shown
from zerokin.features.networks.backbone import IMAGENET, Backbone, BackboneOutput
from zerokin.features.networks.mixup import Stages

# The side of mini-ImageNet's images, for which these networks are known.
SIDE = 84


def conv4(*, width: int = 64, input_size: int = SIDE, flatten: bool = False) -> Backbone:
    """Return the "Simple" network: four blocks of 3 × 3 convolution, batch norm, ReLU, max-pooling.

    Parameters
    ----------
    width
        Channels of every block.
    input_size
        Side of the images.
    flatten
        Features are the flattened maps (1,600 wide at 84 pixels, as few-shot papers have it)
        instead of averages over positions.
    """
    blocks = [
        nn.Sequential(_conv3x3(before, width), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2))
        for before in (3, width, width, width)
    ]
    return Backbone(
        "conv4",
        _initialised(Stages(*blocks, mixed_before=(1, 2, 3))),
        channels=width,
        d_f=width * (input_size // 16) ** 2 if flatten else width,
        input_size=input_size,
        normalization=IMAGENET,
        flatten=flatten,
    )


def resnet12(
    *,
    width: int = 64,
    dropout: float = 0.0,
    drop_block: float = 0.0,
    input_size: int = SIDE,
) -> Backbone:
    """Return ResNet-12: four residual blocks of 64, 160, 320 and 640 channels.

    Parameters
    ----------
    width
        Channels of the first block, w; the others have 2.5 w, 5 w and 10 w, rounded down. 45 is the
        "ResNet-12 (1/√2)" of EASY (Bendou et al. 2022); GPUs prefer multiples of 16, such as 48.
    dropout
        Probability of dropping a value after each block.
    drop_block
        Share of the maps after the last two blocks that is dropped in squares of five (DropBlock,
        Ghiasi, Lin & Le 2018), in the place of values there.
    input_size
        Side of the images.
    """
    _check_dropout(dropout)
    _check_dropout(drop_block, "drop_block")
    dropped: list[nn.Module] = [nn.Dropout(dropout) for _ in range(4)]
    if drop_block:
        dropped[2:] = [DropBlock(drop_block), DropBlock(drop_block)]
    if isinstance(width, bool) or not isinstance(width, int) or not 1 <= width <= 10_000:
        raise InvalidInput(f"width must be a whole number from 1 to 10,000: got {shown(width)}")
    widths = pairwise((3, width, 5 * width // 2, 5 * width, 10 * width))
    blocks = [_ResNet12Block(i, o, drop) for (i, o), drop in zip(widths, dropped, strict=True)]
    return Backbone(
        "resnet12",
        _initialised(Stages(*blocks, mixed_before=(1, 2, 3))),
        channels=10 * width,
        d_f=10 * width,
        input_size=input_size,
        normalization=IMAGENET,
    )


def wrn28_10(*, dropout: float = 0.0, input_size: int = SIDE, stem_stride: int = 1) -> Backbone:
    """Return the wide residual network of 28 layers, ten times as wide: 160, 320, 640 channels.

    Parameters
    ----------
    dropout
        Probability of dropping a value between the two convolutions of a block.
    stem_stride
        Stride of the first convolution: 2 takes a quarter of the time. The network was made for
        images of 32 pixels.
    input_size
        Side of the images.
    """
    _check_dropout(dropout)
    if stem_stride not in (1, 2):
        raise InvalidInput(f"stem_stride must be 1 or 2: got {stem_stride}")
    layers: list[nn.Module] = [_conv3x3(3, 16, stem_stride)]
    before = 16
    for width, stride in ((160, 1), (320, 2), (640, 2)):
        for block in range(4):
            layers.append(_WideBlock(before, width, stride if block == 0 else 1, dropout))
            before = width
    layers += [nn.BatchNorm2d(before), nn.ReLU()]
    # As S2M2 does: before the groups of blocks.
    model = _initialised(Stages(*layers, mixed_before=(1, 5, 9)))
    return Backbone(
        "wrn28-10", model, channels=640, d_f=640, input_size=input_size, normalization=IMAGENET
    )


class MeanAndMaximum(Backbone):
    """Features are averages over positions beside maxima: what fills the image, what is there."""

    def _extract(self, x: Tensor, *shares: Tensor) -> BackboneOutput:
        maps: Tensor = self.model(x, *shares)
        pooled = torch.cat([maps.mean(dim=(2, 3)), maps.amax(dim=(2, 3))], dim=1)
        return BackboneOutput(maps, pooled)


def small(*, width: int = 24, input_size: int = 64) -> Backbone:
    """Return a network that a CPU trains in a minute: four blocks, each twice as wide.

    Parameters
    ----------
    width
        Channels of the first block.
    input_size
        Side of the images.
    """
    layers: list[nn.Module] = []
    before = 3
    for block in range(4):
        channels = width * 2**block
        first = nn.Conv2d(before, channels, 5, stride=2, padding=2, bias=False)
        layers += [
            first if block == 0 else _conv3x3(before, channels),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
        ]
        layers += [nn.MaxPool2d(2)] if block in (1, 2) else []
        before = channels
    return MeanAndMaximum(
        "small",
        _initialised(nn.Sequential(*layers)),
        channels=before,
        d_f=2 * before,
        input_size=input_size,
        normalization=IMAGENET,
    )


FEW_SHOT: dict[str, Callable[..., Backbone]] = {
    "small": small,
    "conv4": conv4,
    "resnet12": resnet12,
    "wrn28-10": wrn28_10,
}


class DropBlock(nn.Module):
    """Drops squares of maps while it learns, and makes up for them in what is left.

    Parameters
    ----------
    share
        Of a map's positions that are dropped, where squares do not overlap.
    size
        Side of a square; of the whole map where that is smaller.
    """

    def __init__(self, share: float, size: int = 5) -> None:
        super().__init__()
        self.share, self.size = share, size

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        batch, channels, height, width = x.shape
        size = min(self.size, height, width)
        places = (height - size + 1, width - size + 1)
        rate = self.share * height * width / (size**2 * places[0] * places[1])
        # Channels last, as the maps of a training are.
        drawn = torch.rand(batch, *places, channels, device=x.device).permute(0, 3, 1, 2)
        corners = functional.pad((drawn < rate).to(x.dtype), [size - 1] * 4)
        kept = 1 - functional.max_pool2d(corners, size, stride=1)
        # Of all channels that would be dropped at once, nothing could be made up for.
        return x * kept * (kept.numel() / kept.sum(dtype=torch.float32).clamp(min=1)).to(x.dtype)


class _ResNet12Block(nn.Module):
    def __init__(self, before: int, width: int, drop: nn.Module) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for number, channels in enumerate((before, width, width)):
            layers += [nn.LeakyReLU(0.1)] if number else []
            layers += [_conv3x3(channels, width), nn.BatchNorm2d(width)]
        self.residual = nn.Sequential(*layers)
        self.shortcut = nn.Sequential(
            nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width)
        )
        self.dropout = drop

    def forward(self, x: Tensor) -> Tensor:
        joined = functional.leaky_relu(self.residual(x) + self.shortcut(x), 0.1)
        dropped: Tensor = self.dropout(functional.max_pool2d(joined, 2))
        return dropped


class _WideBlock(nn.Module):
    """Normalize and activate first, then convolve: the order of wide residual networks."""

    def __init__(self, before: int, width: int, stride: int, dropout: float) -> None:
        super().__init__()
        self.activate = nn.Sequential(nn.BatchNorm2d(before), nn.ReLU())
        self.residual = nn.Sequential(
            _conv3x3(before, width, stride),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Dropout(dropout),
            _conv3x3(width, width),
        )
        # Only a block that changes width or size needs a convolution to match.
        self.shortcut = (
            nn.Conv2d(before, width, 1, stride=stride, bias=False) if before != width else None
        )

    def forward(self, x: Tensor) -> Tensor:
        active = self.activate(x)
        carried = x if self.shortcut is None else self.shortcut(active)
        joined: Tensor = carried + self.residual(active)
        return joined


def _conv3x3(before: int, width: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(before, width, 3, stride=stride, padding=1, bias=False)


def _initialised(model: nn.Module) -> nn.Module:
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return model


def _check_dropout(share: float, name: str = "dropout") -> None:
    if not 0 <= share < 1:
        raise InvalidInput(f"{name} must be at least 0 and below 1: got {share}")
