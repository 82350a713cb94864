"""What a feature network is made of, and how features are read off it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from zerokin.aliases import NETWORK, accept_old_names
from zerokin.data.resizing import ResizeMode
from zerokin.errors import InvalidInput, did_you_mean, shown
from zerokin.features.networks.backbones import check_backbone
from zerokin.features.reading import MOST_CROPS
from zerokin.hierarchy.from_dataset import Grouping
from zerokin.parameters import (
    Boolean,
    InstanceOf,
    Integer,
    OneOf,
    Optional,
    Ranges,
    Real,
    Text,
    check_parameters,
)

# The least and the most; what is more only runs out of memory.
COUNTS = {
    "branching": (2, 1_000_000),
    "tta_crops": (0, MOST_CROPS),
    "hidden": (1, 1_000_000),
    "image_hidden": (0, 1_000_000),
    "image_size": (1, 10_000),
    "cache_size": (1, 10_000),
}
OPTIONAL_COUNTS = ("image_hidden", "image_size", "cache_size")

READ_ALONE = ("image_size", "tta_flip", "tta_crops", "start_interpolation")
"""Settings that say how features are read off a network once it is trained."""

Mode = Literal["cnn-rnn", "superclass-heads", "classes", "end-to-end"]


@accept_old_names(NETWORK)
@dataclass(frozen=True)
class NetworkSettings:
    """What a feature network is made of.

    Parameters
    ----------
    backbone, weights, options
        As for `create_backbone`; options are what it takes beyond them.
    mode
        ``"cnn-rnn"``: classes, and superclasses through the paper's LSTM chain;
        ``"superclass-heads"``: a linear head for each layer instead; ``"classes"``: classes alone;
        ``"end-to-end"``: features projected to the semantics of every layer.
    branching, grouping
        Of the hierarchy, where none is given: ``"kmeans"``, ``"agglomerative"`` or ``"taxonomy"``.
    hidden, input_scaling, auxiliary_heads
        Of `HierarchyHead`.
    scale, centred, attribute_maps, image_hidden
        Of `SemanticHead`.
    image_size
        Side of the square images that features are read off, in pixels; None for the backbone's
        own.
    cache_size
        Side of the images in memory, from which crops are taken; by default an eighth more than
        is shown in training or afterwards, whichever is more.
    resize_mode
        How images become squares: ``"whole"`` stretches them, ``"centre"`` crops them.
    tta_flip
        Test-time augmentation: average features over an image and its mirror image.
    tta_crops
        Test-time augmentation: average features over so many crops, too, the same of every image.
    start_interpolation
        Weight interpolation with the start (WiSE-FT, Wortsman et al. 2022): share of the weights
        that the backbone began with in those that features are read with, from 0 to 1. It is
        1 − α of that paper. See `~zerokin.features.start_weights.StartWeights`.
    """

    backbone: str = "tf_efficientnet_lite0"
    weights: str | None = "packaged"
    options: Mapping[str, Any] = field(default_factory=dict)
    mode: Mode = "cnn-rnn"
    branching: int = 3
    grouping: Grouping = "kmeans"
    hidden: int = 128
    input_scaling: bool = True
    auxiliary_heads: bool = True
    scale: float = 20.0
    centred: bool = True
    attribute_maps: bool = True
    image_hidden: int | None = None
    image_size: int | None = None
    cache_size: int | None = None
    resize_mode: ResizeMode = "whole"
    tta_flip: bool = True
    tta_crops: int = 0
    start_interpolation: float = 0.0

    _parameter_ranges: ClassVar[Ranges] = {
        "backbone": Text("resnet50"),
        "weights": Optional(Text("packaged")),
        "options": InstanceOf(Mapping, "names with values"),
        "mode": OneOf(get_args(Mode)),
        "grouping": OneOf(get_args(Grouping)),
        "resize_mode": OneOf(get_args(ResizeMode)),
        **{
            name: Optional(Integer(least, most))
            if name in OPTIONAL_COUNTS
            else Integer(least, most)
            for name, (least, most) in COUNTS.items()
        },
        "input_scaling": Boolean(),
        "auxiliary_heads": Boolean(),
        "scale": Real(0, 1e6, closed="neither"),
        "centred": Boolean(),
        "attribute_maps": Boolean(),
        "tta_flip": Boolean(),
        "start_interpolation": Real(0, 1),
    }

    def __post_init__(self) -> None:
        for name, kind in (("mode", Mode), ("grouping", Grouping), ("resize_mode", ResizeMode)):
            value, known = getattr(self, name), get_args(kind)
            if value not in known:
                raise InvalidInput(
                    f"unknown {name} {shown(value)}{did_you_mean(value, known)} "
                    f"(known: {', '.join(known)})"
                )
        self._check_kinds()

    def _check_kinds(self) -> None:
        for name in ("input_scaling", "auxiliary_heads", "centred", "attribute_maps", "tta_flip"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"{name} must be true or false: got {self._shown(name)}")
        absent = [name for name in OPTIONAL_COUNTS if getattr(self, name) is None]
        for name, (least, most) in COUNTS.items():
            value = getattr(self, name)
            counts = isinstance(value, int) and not isinstance(value, bool)
            if name not in absent and not (counts and least <= value <= most):
                raise InvalidInput(
                    f"{name} must be a whole number from {least} to {most:,}: "
                    f"got {self._shown(name)}"
                )
        share = self.start_interpolation
        if isinstance(share, bool) or not (isinstance(share, int | float) and 0 <= share <= 1):
            raise InvalidInput(
                f"start_interpolation must be from 0 to 1: got {self._shown('start_interpolation')}"
            )
        scales = isinstance(self.scale, int | float) and not isinstance(self.scale, bool)
        if not (scales and 0 < self.scale < 1e6):
            raise InvalidInput(f"scale must be a number above 0: got {self._shown('scale')}")
        if not isinstance(self.backbone, str):
            raise InvalidInput(f"backbone must be a name: got {self._shown('backbone')}")
        if not isinstance(self.weights, str | None):
            raise InvalidInput(f"weights must be a path or a name: got {self._shown('weights')}")
        if not isinstance(self.options, Mapping) or not all(
            isinstance(name, str) for name in self.options
        ):
            raise InvalidInput(f"options must be names with values: got {self._shown('options')}")
        check_parameters(self)
        check_backbone(self.backbone, self.weights)

    def reading(self) -> str:
        """Return how features are read, where that is not the default.

        Examples
        --------
        >>> NetworkSettings(tta_crops=2, start_interpolation=0.5).reading()
        'tta_crops 2, start_interpolation 0.5'
        """
        given = ((name, getattr(self, name), getattr(NetworkSettings, name)) for name in READ_ALONE)
        return ", ".join(f"{name} {value}" for name, value, usual in given if value != usual)

    def _shown(self, name: str) -> str:
        return shown(getattr(self, name))
