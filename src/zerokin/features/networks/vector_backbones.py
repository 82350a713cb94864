"""Networks over ready features: an adapter (residual) and a multilayer perceptron.

Features that others extracted come without their images. What can still learn is a small network
that reads such a vector and gives another one, in the place of a CNN under the same heads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from zerokin.errors import InvalidInput
from zerokin.features.networks.backbone import Backbone, BackboneOutput
from zerokin.features.networks.mixup import mix_neighbors
from zerokin.parameters import Integer, OneOf, Optional, Ranges, Real, check_arguments

SCALINGS = ("standardize", "unit", "none")
MOST = 32_768
BLOCK = 4096

_RANGES: Ranges = {
    "d_in": Integer(1, MOST),
    "width": Optional(Integer(1, MOST)),
    "depth": Integer(1, 16),
    "dropout": Real(0, 1, closed="left"),
    "noise": Real(0, 1000),
    "scaling": OneOf(SCALINGS),
}


class VectorScaling(nn.Module):
    """Scale ready features before a network reads them.

    Parameters
    ----------
    d_in
        Their width.
    scaling
        ``"standardize"``: take off the mean of the training samples and divide by their standard
        deviation, number by number; ``"unit"``: give every vector the length √d_in, so that its
        entries are of the size 1; ``"none"``.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, d_in: int, scaling: str) -> None:
        super().__init__()
        self.d_in, self.scaling = d_in, scaling
        if scaling == "standardize":
            self.register_buffer("mean", torch.zeros(d_in))
            self.register_buffer("std", torch.ones(d_in))

    def learn(self, features: NDArray[np.floating], rows: NDArray[np.int64]) -> None:
        """Take mean and standard deviation of some rows of features (N, d_in)."""
        if self.scaling != "standardize":
            return
        total, squares = np.zeros(self.d_in), np.zeros(self.d_in)
        blocks = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
        for block in blocks:
            total += features[block].sum(axis=0, dtype=np.float64)
        mean = total / len(rows)
        for block in blocks:
            squares += np.square(features[block].astype(np.float64) - mean).sum(axis=0)
        std = np.sqrt(squares / len(rows))
        self.mean.copy_(torch.from_numpy(mean))
        # A number that is always the same says nothing: it becomes 0.
        self.std.copy_(torch.from_numpy(np.where(std > 0, std, 1.0)))

    def forward(self, vectors: Tensor) -> Tensor:
        """Return features (B, d_in), scaled."""
        if self.scaling == "standardize":
            return (vectors - self.mean) / self.std
        if self.scaling == "unit":
            return nn.functional.normalize(vectors, dim=1) * math.sqrt(self.d_in)
        return vectors


class GaussianNoise(nn.Module):
    """Add noise of a standard deviation while a network learns."""

    def __init__(self, std: float) -> None:
        super().__init__()
        self.std = std

    def forward(self, x: Tensor) -> Tensor:
        """Return x (B, d_in), with noise in training."""
        if not self.training or self.std == 0:
            return x
        return x + self.std * torch.randn_like(x)


class VectorModel(nn.Module):
    """Scaled features x to learned ones: x + g(x), or g(x) alone.

    Parameters
    ----------
    scaling
        What is done to features first.
    noise
        What is added to them in training.
    layers
        g.
    residual
        Whether x is added.
    """

    def __init__(
        self, scaling: VectorScaling, noise: GaussianNoise, layers: nn.Module, *, residual: bool
    ) -> None:
        super().__init__()
        self.scaling, self.noise, self.layers = scaling, noise, layers
        self.residual = residual

    def forward(self, vectors: Tensor) -> Tensor:
        """Return learned features (B, d_f) of ready ones (B, d_in)."""
        scaled = self.noise(self.scaling(vectors))
        learned: Tensor = self.layers(scaled)
        return scaled + learned if self.residual else learned


class VectorBackbone(Backbone):
    """Ready features (B, d_in) to learned ones (B, d_f), in the place of images to features.

    Parameters
    ----------
    name
        What it is called.
    model
        A `VectorModel`.
    d_in
        Width of what it reads.
    d_f
        Width of what it gives.
    """

    reads_images: ClassVar[bool] = False
    model: VectorModel

    def __init__(self, name: str, model: VectorModel, *, d_in: int, d_f: int) -> None:
        super().__init__(name, model, channels=d_f, d_f=d_f, input_size=1, normalization=None)
        self.d_in = d_in

    def extra_repr(self) -> str:
        return f"{self.name}, d_in={self.d_in}, d_f={self.d_f}"

    def forward(self, images: Tensor, shares: Tensor | None = None) -> BackboneOutput:
        """Return learned features of vectors (B, d_in), as maps of one position, too.

        Parameters
        ----------
        images
            The vectors.
        shares
            λ of mixup, (1, B); None mixes nothing.
        """
        if images.ndim != 2 or images.shape[1] != self.d_in:
            raise InvalidInput(
                f"this {self.name} reads features (B, {self.d_in:,}): got {tuple(images.shape)}"
            )
        vectors = images if shares is None else mix_neighbors(images, shares[0])
        features = self.model(vectors)
        return BackboneOutput(features[:, :, None, None], features)


def adapter(
    *,
    d_in: int,
    width: int | None = None,
    depth: int = 1,
    dropout: float = 0.0,
    noise: float = 0.0,
    scaling: str = "standardize",
) -> VectorBackbone:
    """Return a residual adapter, f + g(f), as CLIP-Adapter has it (Gao et al. 2021).

    The last layer starts from zeros: before it learns, an adapter gives the scaled features.

    Parameters
    ----------
    d_in
        Width of the ready features; of the learned ones, too.
    width
        Units of a hidden layer; by default a quarter of d_in.
    depth
        Hidden layers.
    dropout
        Probability of dropping a hidden unit in training.
    noise
        Standard deviation of the noise that is added to scaled features in training.
    scaling
        Of `VectorScaling`.
    """
    width = _checked(d_in, width, depth, dropout, noise, scaling) or max(1, d_in // 4)
    last = nn.Linear(width, d_in)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    layers = nn.Sequential(*_hidden_layers(d_in, width, depth, dropout), last)
    model = VectorModel(VectorScaling(d_in, scaling), GaussianNoise(noise), layers, residual=True)
    return VectorBackbone("adapter", model, d_in=d_in, d_f=d_in)


def mlp(
    *,
    d_in: int,
    width: int | None = None,
    depth: int = 1,
    dropout: float = 0.0,
    noise: float = 0.0,
    scaling: str = "standardize",
) -> VectorBackbone:
    """Return a multilayer perceptron with ReLU: features are its last hidden layer.

    Parameters
    ----------
    d_in
        Width of the ready features.
    width
        Units of a hidden layer, and so of the learned features; by default as many as d_in.
    depth, dropout, noise, scaling
        As for `adapter`.
    """
    width = _checked(d_in, width, depth, dropout, noise, scaling) or d_in
    layers = nn.Sequential(*_hidden_layers(d_in, width, depth, dropout))
    model = VectorModel(VectorScaling(d_in, scaling), GaussianNoise(noise), layers, residual=False)
    return VectorBackbone("mlp", model, d_in=d_in, d_f=width)


VECTOR: dict[str, Callable[..., VectorBackbone]] = {"adapter": adapter, "mlp": mlp}
"""Backbones that read ready features, by name."""


def input_options(backbone: Backbone) -> dict[str, Any]:
    """Return what `create_backbone` has to know of a backbone's input beside its settings."""
    return {"d_in": backbone.d_in} if isinstance(backbone, VectorBackbone) else {}


def _hidden_layers(d_in: int, width: int, depth: int, dropout: float) -> list[nn.Module]:
    layers: list[nn.Module] = []
    before = d_in
    for _ in range(depth):
        linear = nn.Linear(before, width)
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.ReLU(), nn.Dropout(dropout)]
        before = width
    return layers


def _checked(
    d_in: int, width: int | None, depth: int, dropout: float, noise: float, scaling: str
) -> int | None:
    check_arguments(
        _RANGES, d_in=d_in, width=width, depth=depth, dropout=dropout, noise=noise, scaling=scaling
    )
    return width
