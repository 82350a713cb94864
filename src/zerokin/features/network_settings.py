"""What a feature network is made of, and how features are read off it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from zerokin.aliases import NETWORK, accept_old_names
from zerokin.data.resizing import ResizeMode
from zerokin.declared import Declared, Flag, Share
from zerokin.errors import InvalidInput
from zerokin.features.networks.backbones import check_backbone
from zerokin.features.networks.vector_backbones import VECTOR
from zerokin.features.reading import MOST_CROPS, Precision
from zerokin.hierarchy.from_dataset import Grouping
from zerokin.parameters import SEED, SIDE, Integer, NamedValues, Real, Text

MOST = 1_000_000
"""Of what there may be any number: what is more only runs out of memory."""

READ_ALONE = (
    "image_size",
    "tta_flip",
    "tta_crops",
    "tta_crop_seed",
    "precision",
    "start_interpolation",
)
"""Settings that say how features are read off a network once it is trained."""

Mode = Literal["cnn-rnn", "superclass-heads", "classes", "end-to-end", "prototypical"]


@accept_old_names(NETWORK)
@dataclass(frozen=True)
class NetworkSettings(Declared):
    """What a feature network is made of.

    Parameters
    ----------
    backbone, weights, options
        As for `create_backbone`; options are what it takes beyond them. `FeatureLearner` and files
        of settings fill in those of a preset.
    mode
        ``"cnn-rnn"``: classes, and superclasses through the paper's LSTM chain;
        ``"superclass-heads"``: a linear head for each layer instead; ``"classes"``: classes alone;
        ``"end-to-end"``: features projected to the semantics of every layer; ``"prototypical"``:
        episodes of a few classes with a few shots (Snell et al. 2017), neither semantics nor
        superclasses; the recipe's ``episode_way`` says how many.
    branching, grouping
        Of the hierarchy, where none is given: ``"kmeans"``, ``"agglomerative"`` or ``"taxonomy"``.
    hidden, input_scaling, auxiliary_heads
        Of `HierarchyHead`, and of a `SemanticHead` that is ``chained``.
    scale, centered, attribute_maps, image_hidden, chained
        Of `SemanticHead`. Over ready features there are no maps.
    image_size
        Side of the square images that features are read off, in pixels; None for the backbone's
        own.
    cache_size
        Side of the images in memory, from which crops are taken; by default an eighth more than
        is shown in training or afterwards, whichever is more.
    resize_mode
        How images become squares: ``"whole"`` stretches them, ``"center"`` crops them.
    tta_flip
        Test-time augmentation: average features over an image and its mirror image.
    tta_crops
        Test-time augmentation: average features over so many crops, too, the same of every image.
    tta_crop_seed
        Test-time augmentation with random crops: features are averages over ``tta_crops`` random
        resized crops, others of every image and drawn by this seed, without the whole image (EASY,
        Bendou et al. 2022, has 30 and no mirror images). None for the same crops of every image.
    precision
        Type of number that features are read with: ``"float32"``, ``"bfloat16"``, or None for
        bfloat16 on GPUs that have it and float32 elsewhere. CPUs with bfloat16 arithmetic read
        transformers two to three times as fast with it. Training has a setting of its own.
    start_interpolation
        Weight interpolation with the start (WiSE-FT, Wortsman et al. 2022): share of the weights
        that the backbone began with in those that features are read with, from 0 to 1. It is
        1 − α of that paper. See `~zerokin.features.start_weights.StartWeights`.
    """

    backbone: Annotated[str, Text("resnet50")] = "tf_efficientnet_lite0"
    weights: Annotated[str, Text("packaged")] | None = "packaged"
    options: Annotated[Mapping[str, Any], NamedValues()] = field(default_factory=dict)
    mode: Mode = "cnn-rnn"
    branching: Annotated[int, Integer(2, MOST)] = 3
    grouping: Grouping = "kmeans"
    hidden: Annotated[int, Integer(1, MOST)] = 128
    input_scaling: Flag = True
    auxiliary_heads: Flag = True
    scale: Annotated[float, Real(0, MOST, closed="neither")] = 20.0
    centered: Flag = True
    attribute_maps: Flag = True
    image_hidden: Annotated[int, Integer(0, MOST)] | None = None
    chained: Flag = False
    image_size: Annotated[int, SIDE] | None = None
    cache_size: Annotated[int, SIDE] | None = None
    resize_mode: ResizeMode = "whole"
    tta_flip: Flag = True
    tta_crops: Annotated[int, Integer(0, MOST_CROPS)] = 0
    tta_crop_seed: Annotated[int, SEED] | None = None
    precision: Precision | None = None
    start_interpolation: Share = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chained and self.mode != "end-to-end":
            raise InvalidInput(
                f"chained puts the LSTM chain on mode 'end-to-end': leave it out of {self.mode!r}"
            )
        if self.tta_crop_seed is not None and not self.tta_crops:
            raise InvalidInput("tta_crop_seed draws random crops: say how many with tta_crops")
        check_backbone(self.backbone, self.weights)
        if self.backbone in VECTOR:
            self._check_vectors()

    def _check_vectors(self) -> None:
        """Refuse what only images have."""
        for name in ("image_size", "cache_size", "resize_mode", "tta_crops"):
            value, usual = (getattr(owner, name) for owner in (self, NetworkSettings))
            if value != usual:
                raise InvalidInput(
                    f"{name} {value} is for images, and {self.backbone} reads ready features: "
                    "leave it out"
                )

    @property
    def has_superclasses(self) -> bool:
        """Whether superclasses are learned beside classes."""
        return self.mode not in ("classes", "prototypical")

    def reading(self) -> str:
        """Return how features are read, where that is not the default.

        Examples
        --------
        >>> NetworkSettings(tta_crops=2, start_interpolation=0.5).reading()
        'tta_crops 2, start_interpolation 0.5'
        """
        given = ((name, getattr(self, name), getattr(NetworkSettings, name)) for name in READ_ALONE)
        return ", ".join(f"{name} {value}" for name, value, usual in given if value != usual)
