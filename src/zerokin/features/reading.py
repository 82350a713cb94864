"""What a network reads off images, batch by batch: features, and semantics where it has them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from zerokin.aliases import NETWORK, accept_old_names
from zerokin.compute.processes import current, whole_batches
from zerokin.features.cpu_precision import linear_in_bfloat16
from zerokin.features.cpu_reading import fuse_bn, on_all_cores
from zerokin.features.input.augmentation import (
    Augmentation,
    apply_transform,
    center_view,
    make_transform,
)
from zerokin.features.input.random_crops import draw_random_crops
from zerokin.features.input.sources import Rows, Source
from zerokin.features.networks.backbone import Backbone
from zerokin.features.networks.network import FeatureNetwork
from zerokin.features.networks.semantic_head import SemanticHead
from zerokin.progress import track

Precision = Literal["float32", "bfloat16"]
"""Types of number that a network computes with; features are stored in float32 or float16."""

CROPS = Augmentation(area=(0.4, 0.9), mirror=False)
"""Of which those are drawn that reading shows beside the whole image."""
MOST_CROPS = 1_000


@accept_old_names(NETWORK)
class View(NamedTuple):
    """How images are shown to a network that has learned: size and test-time augmentation."""

    image_size: int
    zoom: float = 1.0
    tta_flip: bool = True
    """average with their mirror images"""
    batch_size: int = 128
    tta_crops: int = 0
    """average with so many crops, the same of every image"""
    tta_crop_seed: int | None = None
    """average over ``tta_crops`` random crops alone, others of every image, by this seed"""
    precision: Precision | None = None
    """type of number to compute with; None: bfloat16 on GPUs that have it, float32 elsewhere"""
    regions: int = 0
    """read a grid of so many regions a side, in place of whole images; 0: whole images"""


class Reading(NamedTuple):
    """What a network read off a batch of images."""

    features: Tensor
    """(B, d_f); of regions (B, regions² · C), row by row of the grid"""
    semantics: Tensor | None
    """(B, d_z), of unit length; None for networks without a semantic head"""

    @property
    def joined(self) -> Tensor:
        """Features and semantics in one row, each part of unit length; features alone without."""
        if self.semantics is None:
            return self.features
        return torch.cat([functional.normalize(self.features, dim=1), self.semantics], dim=1)


def read_images(
    network: FeatureNetwork | Backbone,
    source: Source,
    view: View,
    *,
    first: int = 0,
    quiet: bool = True,
) -> Iterator[Reading]:
    """Yield what a network reads off all images of a source, in order.

    Parameters
    ----------
    network
        What reads, best on the source's device; it is put into evaluation mode.
    source
        The images.
    view
        How they are shown.
    first
        The image to start from.
    quiet
        Show no progress.
    """
    network.eval()
    starts = range(first, len(source), view.batch_size)
    rows: list[Rows] = [np.arange(s, min(s + view.batch_size, len(source))) for s in starts]
    device = next(network.parameters()).device
    for images in track(
        source.batches(rows), "reading images, batches", total=len(rows), quiet=quiet
    ):
        yield _read(network, images.to(device), view)


def read_all(
    network: FeatureNetwork | Backbone, source: Source, view: View, *, quiet: bool = True
) -> NDArray[np.float32]:
    """Return what a network reads off all images as one matrix, a row each.

    Several processes share the images, and all get the whole matrix.
    """
    processes = current()
    if processes.shared:
        rows = whole_batches(processes, len(source), view.batch_size)
        source = source.select(np.arange(rows.start, rows.stop))
    found = np.empty((len(source), reading_width(network, view.regions)), np.float32)
    start = 0
    for reading in read_images(network, source, view, quiet=quiet):
        joined = reading.joined.float().cpu().numpy()
        found[start : start + len(joined)] = joined
        start += len(joined)
    return processes.gather(found)


def reading_width(network: FeatureNetwork | Backbone, regions: int = 0) -> int:
    """Return how many numbers a network reads off an image, or off the grid of its regions."""
    backbone, head = reading_parts(network)
    if regions:
        return backbone.channels * regions**2
    return backbone.d_f + (0 if head is None else head.d_z)


def reading_parts(network: FeatureNetwork | Backbone) -> tuple[Backbone, SemanticHead | None]:
    """Return the parts of a network that read images: other heads only teach."""
    if isinstance(network, Backbone):
        return network, None
    head = network.head
    return network.backbone, head if isinstance(head, SemanticHead) else None


def reading_precision(device: torch.device, precision: Precision | None = None) -> torch.dtype:
    """Return the type of number that a backbone computes with on a device.

    Parameters
    ----------
    device
        Where it computes.
    precision
        What was asked for; None: bfloat16 on GPUs that have it, float32 elsewhere, so that what a
        CPU reads does not depend on the CPU.
    """
    if precision is not None:
        return torch.bfloat16 if precision == "bfloat16" else torch.float32
    fast = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return torch.bfloat16 if fast else torch.float32


def _read(network: FeatureNetwork | Backbone, images: Tensor, view: View) -> Reading:
    backbone, head = reading_parts(network)
    if not backbone.reads_images:
        return _estimated(backbone, head, images, 0, torch.float32)
    precision = reading_precision(images.device, view.precision)
    if images.device.type != "cpu":
        views = [
            _estimated(backbone, head, shown, view.regions, precision)
            for shown in _views(images, view)
        ]
        return _averaged(views, view)
    fast = fuse_bn(backbone)
    if precision == torch.bfloat16:
        fast = linear_in_bfloat16(fast)
    apart = (images[i : i + 1] for i in range(len(images)))
    shown = on_all_cores(lambda image: _views(image, view), apart)
    several = on_all_cores(
        lambda one: _estimated(fast, head, one, view.regions, precision), chain.from_iterable(shown)
    )
    each = len(several) // len(images)
    readings = [_averaged(several[i : i + each], view) for i in range(0, len(several), each)]
    features = torch.cat([reading.features for reading in readings])
    semantics = [reading.semantics for reading in readings if reading.semantics is not None]
    return Reading(features, torch.cat(semantics) if semantics else None)


@cache
def _crops(n: int) -> tuple[Tensor, ...]:
    return CROPS.draw(n, torch.Generator().manual_seed(0)).unbind() if n else ()


@torch.no_grad()
def _views(images: Tensor, view: View) -> list[Tensor]:
    if view.tta_crop_seed is None:
        wholes = [center_view(images, view.image_size, view.zoom)]
        drawn = [crop.expand(len(images), -1) for crop in _crops(view.tta_crops)]
    else:
        wholes = []
        drawn = list(draw_random_crops(images, view.tta_crops, seed=view.tta_crop_seed).unbind(1))
    for one in drawn:
        crops = make_transform(one, images.device, recolored=CROPS.recolors)
        wholes.append(apply_transform(images, crops, view.image_size))
    shown = [whole.contiguous(memory_format=torch.channels_last) for whole in wholes]
    return [*shown, *(whole.flip(3) for whole in shown)] if view.tta_flip else shown


@torch.no_grad()
def _estimated(
    backbone: Backbone,
    head: SemanticHead | None,
    shown: Tensor,
    regions: int,
    precision: torch.dtype,
) -> Reading:
    """Return what one view of each image shows."""
    fast = precision == torch.bfloat16
    with torch.autocast(shown.device.type, dtype=torch.bfloat16, enabled=fast):
        maps, features = backbone(shown)
    if regions:
        # A grid finer than the maps repeats their cells; a coarser one averages them.
        cells = functional.adaptive_avg_pool2d(maps.float(), regions)
        return Reading(cells.permute(0, 2, 3, 1).flatten(1), None)
    features = features.float()
    if head is None:
        return Reading(features, None)
    estimate = head.estimate(features, maps.float())
    return Reading(features, functional.normalize(estimate, dim=1))


@torch.no_grad()
def _averaged(views: list[Reading], view: View) -> Reading:
    shown = [one.features for one in views]
    if view.regions and view.tta_flip:  # the latter half are mirrored, and so are their regions
        half = len(shown) // 2
        shown = [*shown[:half], *(_mirrored(one, view.regions) for one in shown[half:])]
    features = torch.stack(shown).mean(0)
    semantics = [one.semantics for one in views if one.semantics is not None]
    if not semantics:
        return Reading(features, None)
    return Reading(features, functional.normalize(torch.stack(semantics).mean(0), dim=1))


def _mirrored(features: Tensor, regions: int) -> Tensor:
    """Return regions (B, regions² · C) of mirrored images where they lie in the images."""
    grid = features.reshape(len(features), regions, regions, -1)
    return grid.flip(2).flatten(1)
