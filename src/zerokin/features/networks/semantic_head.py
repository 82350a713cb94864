"""The end-to-end head: features projected to semantics and compared with every class by cosine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from zerokin.errors import InvalidInput
from zerokin.features.networks.head_outputs import HeadOutputs
from zerokin.features.networks.superclass_chain import chain_logits, make_chain

Matrix = Tensor | NDArray[Any]


class SemanticProjection(nn.Module):
    """Estimate semantics from features, and from where in the image an attribute shows most.

    Parameters
    ----------
    d_f
        Width of the features.
    d_z
        Width of the semantics.
    map_channels
        Channels of the feature maps that attribute maps read; None: no attribute maps.
    """

    def __init__(self, d_f: int, d_z: int, map_channels: int | None = None) -> None:
        super().__init__()
        self.linear = nn.Linear(d_f, d_z)
        # A bias here would only repeat that of the linear map: the maximum passes it through.
        self.maps = None if map_channels is None else nn.Conv2d(map_channels, d_z, 1, bias=False)

    def forward(self, features: Tensor, maps: Tensor | None = None) -> Tensor:
        """Return semantics (B, d_z) of features (B, d_f) and feature maps (B, C, h, w)."""
        estimate: Tensor = self.linear(features)
        if self.maps is None:
            return estimate
        if maps is None:
            raise InvalidInput("a head with attribute maps needs the feature maps too: got None")
        shown: Tensor = self.maps(maps).amax(dim=(2, 3))
        return estimate + shown

    def reconstruct(self, semantics: Tensor) -> Tensor:
        """Return features (B, d_f) from semantics: E Wᵀ in the paper, with the same W."""
        features: Tensor = semantics @ self.linear.weight
        return features


class SemanticImage(nn.Module):
    """What semantics look like: class vectors mapped into the space of standardized features.

    Nearest neighbors are more evenly spread there than among semantics, where few classes attract
    most images.

    Parameters
    ----------
    d_z
        Width of the semantics.
    d_f
        Width of the features.
    hidden
        Units of a hidden layer; 0 for a linear map.
    """

    def __init__(self, d_z: int, d_f: int, hidden: int) -> None:
        super().__init__()
        self.standardize = nn.BatchNorm1d(d_f, affine=False)
        self.layers = (
            nn.Sequential(nn.Linear(d_z, hidden), nn.ReLU(), nn.Linear(hidden, d_f))
            if hidden
            else nn.Linear(d_z, d_f)
        )

    def cosines(self, standard: Tensor, directions: Tensor) -> Tensor:
        """Return cosines of standardized features (B, d_f) with unit semantics (n, d_z), (B, n)."""
        # In full precision, as all cosines; unit semantics have entries of the size 1 / √d_z.
        with torch.autocast(standard.device.type, enabled=False):
            images = self.layers(directions * directions.shape[1] ** 0.5)
            return _cosines(standard, functional.normalize(images, dim=1))


class SemanticHead(nn.Module):
    """Name classes by the cosine between projected features and class semantics.

    Every layer has a projection of its own (W^l in the paper). Logits are ``scale`` times cosines:
    with the seen classes at layer 0, with all nodes of each superclass layer above. Classes that
    had no part in training are scored by their semantics alone: `scores`.

    Parameters
    ----------
    d_f
        Width of the features.
    seen_semantics
        Vectors of the seen classes, (p, d_z).
    layer_semantics
        Prototypes of the superclasses of layers 1, 2, …, (r_l, d_z) each.
    scale
        Inverse temperature of the softmax.
    centered
        Compare semantics after subtracting the mean of the seen classes from all of them.
    map_channels
        Channels of the backbone's feature maps: adds to each projection a 1 × 1 convolution to d_z
        attribute maps, of which the maximum over positions counts. None: no attribute maps.
    reconstruction
        Also give the error of rebuilding features from their projection, for the loss's μ.
    image_hidden
        Compare in the space of features, too: semantics of all layers are mapped there by one
        network with so many hidden units (0: a linear map), and cosines of both spaces are
        averaged. None: compare semantics alone.
    chained
        Put the paper's LSTM chain on top: what cosines say of every layer is read by its LSTMs,
        whose outputs are the superclass logits (`~zerokin.features.networks.superclass_chain`).
        Classes are named by their cosines all the same.
    hidden, input_scaling, auxiliary_heads
        Of the chain, as for `HierarchyHead`; without one they say nothing.

    Examples
    --------
    >>> head = SemanticHead(8, torch.eye(4)[:3], [torch.tensor([[1.0, 1, 0, 0], [0, 0, 1, 1]])])
    >>> features = torch.rand(5, 8)
    >>> outputs = head(features)
    >>> outputs.classes.shape, outputs.layers[0].shape
    (torch.Size([5, 3]), torch.Size([5, 2]))
    >>> head.scores(features, torch.eye(4)).shape  # the fourth class is unseen
    torch.Size([5, 4])
    """

    centre: Tensor

    def __init__(
        self,
        d_f: int,
        seen_semantics: Matrix,
        layer_semantics: Sequence[Matrix] = (),
        *,
        scale: float = 20.0,
        centered: bool = False,
        map_channels: int | None = None,
        reconstruction: bool = False,
        image_hidden: int | None = None,
        chained: bool = False,
        hidden: int = 128,
        input_scaling: bool = True,
        auxiliary_heads: bool = True,
    ) -> None:
        super().__init__()
        layers = [_matrix(seen_semantics, "seen_semantics", None)]
        self.d_f, self.d_z = d_f, layers[0].shape[1]
        for number, given in enumerate(layer_semantics, start=1):
            layers.append(_matrix(given, f"layer_semantics of layer {number}", self.d_z))
        if d_f < 1 or not scale > 0:
            raise InvalidInput(f"d_f and scale must be above 0: got d_f={d_f}, scale={scale}")
        if image_hidden is not None and image_hidden < 0:
            raise InvalidInput(f"image_hidden must be 0 or more, or None: got {image_hidden}")
        self.image_hidden = image_hidden
        self.scale, self.uses_maps = scale, map_channels is not None
        self.reconstruction = reconstruction
        mean = layers[0].mean(dim=0)
        self.register_buffer("centre", mean if centered else torch.zeros_like(mean))
        for number, semantics in enumerate(layers):
            self.register_buffer(f"prototypes_{number}", self._directions(semantics))
        self.projections = nn.ModuleList(
            SemanticProjection(d_f, self.d_z, map_channels) for _ in layers
        )
        self.image = None if image_hidden is None else SemanticImage(self.d_z, d_f, image_hidden)
        # Drawn last: a head without a chain starts from the same weights as ever.
        self.chained, self.hidden = chained, hidden
        self.input_scaling, self.auxiliary_heads = input_scaling, auxiliary_heads
        sizes = [len(semantics) for semantics in layers[1:]] if chained else []
        self.lstms, self.readouts = make_chain(self.n_seen, sizes, hidden)

    @property
    def n_seen(self) -> int:
        """Number p of seen classes."""
        return len(self.get_buffer("prototypes_0"))

    def forward(self, features: Tensor, maps: Tensor | None = None) -> HeadOutputs:
        """Return logits for features (B, d_f) and feature maps (B, C, h, w) if it reads them."""
        projections = cast("list[SemanticProjection]", list(self.projections))
        estimates = [projection(features, maps) for projection in projections]
        standard = self._standardized(features)
        logits = [
            self.scale * self._compared(standard, estimate, self.get_buffer(f"prototypes_{number}"))
            for number, estimate in enumerate(estimates)
        ]
        errors = [
            reconstruction_error(features, projection.reconstruct(estimate))
            for projection, estimate in zip(projections, estimates, strict=True)
            if self.reconstruction
        ]
        classes, compared = logits[0], tuple(logits[1:])
        if not self.chained:
            return HeadOutputs(classes=classes, layers=compared, reconstruction=tuple(errors))
        return HeadOutputs(
            classes=classes,
            layers=chain_logits(
                self.lstms,
                self.readouts,
                classes,
                compared,
                hidden=self.hidden,
                input_scaling=self.input_scaling,
            ),
            auxiliary=compared if self.auxiliary_heads else (),
            reconstruction=tuple(errors),
        )

    def estimate(self, features: Tensor, maps: Tensor | None = None, *, layer: int = 0) -> Tensor:
        """Return the projection of features into the semantics of a layer, (B, d_z)."""
        if not 0 <= layer < len(self.projections):
            raise InvalidInput(f"no layer {layer}: the head has 0 to {len(self.projections) - 1}")
        estimated: Tensor = self.projections[layer](features, maps)
        return estimated

    def scores(
        self, features: Tensor, semantics: Matrix, maps: Tensor | None = None, *, layer: int = 0
    ) -> Tensor:
        """Return cosines with any classes, seen or not, by their semantics (n, d_z): (B, n)."""
        return self.compare(features, self.estimate(features, maps, layer=layer), semantics)

    def compare(self, features: Tensor, estimates: Tensor, semantics: Matrix) -> Tensor:
        """Return cosines of features (B, d_f) and their estimates (B, d_z) with any classes."""
        directions = self._directions(_matrix(semantics, "semantics", self.d_z))
        return self._compared(self._standardized(features), estimates, directions)

    def _standardized(self, features: Tensor) -> Tensor | None:
        """Return features as the image of semantics has them; None where there is no image."""
        if self.image is None:
            return None
        with torch.autocast(features.device.type, enabled=False):
            standard: Tensor = self.image.standardize(features.to(self.centre))
        return standard

    def _compared(self, standard: Tensor | None, estimates: Tensor, directions: Tensor) -> Tensor:
        """Return cosines with classes, in the space of semantics or averaged over both spaces."""
        cosines = _cosines(estimates, directions)
        if self.image is None or standard is None:
            return cosines
        return (cosines + self.image.cosines(standard, directions)) / 2

    def _directions(self, semantics: Tensor) -> Tensor:
        return functional.normalize(semantics.to(self.centre) - self.centre, dim=1)


def reconstruction_error(features: Tensor, rebuilt: Tensor) -> Tensor:
    """Return ‖f − f̂‖² / ‖f‖² for each row, (B,).

    The paper's ‖F − E Wᵀ‖² is for fixed features. Learned ones could shrink to please it, so their
    length is divided out.
    """
    # The floor keeps a row of zeros, which a ReLU can produce, from dividing by zero.
    return (features - rebuilt).square().sum(1) / features.square().sum(1).clamp_min(1e-12)


def _cosines(estimates: Tensor, directions: Tensor) -> Tensor:
    # In full precision also under autocast: bfloat16 tells cosines near 1 apart by 0.004 only.
    with torch.autocast(estimates.device.type, enabled=False):
        return functional.normalize(estimates.to(directions), dim=1) @ directions.T


def _matrix(semantics: Matrix, what: str, d_z: int | None) -> Tensor:
    # A copy: hierarchies lend their arrays read-only, at which torch warns.
    given = semantics if isinstance(semantics, Tensor) else torch.from_numpy(np.array(semantics))
    matrix = given.to(torch.get_default_dtype())
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidInput(f"{what} must be a row per class: got shape {tuple(matrix.shape)}")
    if d_z is not None and matrix.shape[1] != d_z:
        raise InvalidInput(
            f"{what} must have the {d_z} columns of the seen classes' semantics: "
            f"got {matrix.shape[1]}"
        )
    if not bool(matrix.isfinite().all()):
        row = int((~matrix.isfinite()).any(dim=1).nonzero()[0])
        raise InvalidInput(f"{what} holds a number that is not finite in row {row}")
    return matrix
