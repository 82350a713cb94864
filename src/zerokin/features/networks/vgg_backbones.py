"""VGG networks as the paper uses them: five groups of convolutions, without the dense layers."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

from zerokin.features.networks.backbone import IMAGENET, Backbone

# Convolutions in each of the five groups, by depth.
GROUPS = {
    "vgg11": (1, 1, 2, 2, 2),
    "vgg13": (2, 2, 2, 2, 2),
    "vgg16": (2, 2, 3, 3, 3),
    "vgg19": (2, 2, 4, 4, 4),
}
VGG = [name + suffix for name in GROUPS for suffix in ("", "_bn")]


def vgg(name: str, *, input_size: int = 224) -> Backbone:
    """Return the convolutions of a VGG network: features are 512-d averages over positions.

    Layers are numbered ``features.0``, ``features.1``, … as in torchvision's and timm's weights.
    """
    layers: list[nn.Module] = []
    before = 3
    for width, count in zip(
        (64, 128, 256, 512, 512), GROUPS[name.removesuffix("_bn")], strict=True
    ):
        for _ in range(count):
            convolution = nn.Conv2d(before, width, 3, padding=1)
            nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
            nn.init.zeros_(convolution.bias)  # type: ignore[arg-type]
            normalized = [nn.BatchNorm2d(width)] if name.endswith("_bn") else []
            layers += [convolution, *normalized, nn.ReLU(inplace=True)]
            before = width
        layers.append(nn.MaxPool2d(2))
    model = nn.Sequential(OrderedDict(features=nn.Sequential(*layers)))
    return Backbone(
        name, model, channels=512, d_f=512, input_size=input_size, normalization=IMAGENET
    )
