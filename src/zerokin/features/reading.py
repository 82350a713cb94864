"""What a network reads off pictures, batch by batch: features, and semantics where it has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from zerokin.features.input.augmentation import centre_view
from zerokin.features.input.sources import PictureSource, Rows
from zerokin.features.networks.backbone import Backbone
from zerokin.features.networks.network import FeatureNetwork
from zerokin.features.networks.semantic_head import SemanticHead
from zerokin.progress import track


class View(NamedTuple):
    """How pictures are shown to a network that has learned."""

    side: int
    zoom: float = 1.0
    mirrored: bool = True
    """also show them mirrored, and average"""
    batch_size: int = 128


class Reading(NamedTuple):
    """What a network read off a batch of pictures."""

    features: Tensor
    """(B, d_f)"""
    semantics: Tensor | None
    """(B, d_z), of unit length; None for networks without a semantic head"""

    @property
    def joined(self) -> Tensor:
        """Features and semantics in one row, each part of unit length; features alone without."""
        if self.semantics is None:
            return self.features
        return torch.cat([functional.normalize(self.features, dim=1), self.semantics], dim=1)


def read_pictures(
    network: FeatureNetwork | Backbone,
    source: PictureSource,
    view: View,
    *,
    first: int = 0,
    quiet: bool = True,
) -> Iterator[Reading]:
    """Yield what a network reads off all pictures of a source, in order.

    Parameters
    ----------
    network
        What reads, best on the source's device; it is put into evaluation mode.
    source
        The pictures.
    view
        How they are shown.
    first
        The picture to start from.
    quiet
        Show no progress.
    """
    network.eval()
    starts = range(first, len(source), view.batch_size)
    rows: list[Rows] = [np.arange(s, min(s + view.batch_size, len(source))) for s in starts]
    device = next(network.parameters()).device
    for pictures in track(
        source.batches(rows), "reading pictures, batches", total=len(rows), quiet=quiet
    ):
        yield _read(network, pictures.to(device), view)


def read_all(
    network: FeatureNetwork | Backbone, source: PictureSource, view: View, *, quiet: bool = True
) -> NDArray[np.float32]:
    """Return what a network reads off all pictures as one matrix, a row each."""
    found = np.empty((len(source), reading_width(network)), np.float32)
    start = 0
    for reading in read_pictures(network, source, view, quiet=quiet):
        joined = reading.joined.float().cpu().numpy()
        found[start : start + len(joined)] = joined
        start += len(joined)
    return found


def reading_width(network: FeatureNetwork | Backbone) -> int:
    """Return how many numbers a network reads off a picture."""
    backbone, head = reading_parts(network)
    return backbone.d_f + (0 if head is None else head.d_z)


def reading_parts(network: FeatureNetwork | Backbone) -> tuple[Backbone, SemanticHead | None]:
    """Return the parts of a network that read pictures: other heads only teach."""
    if isinstance(network, Backbone):
        return network, None
    head = network.head
    return network.backbone, head if isinstance(head, SemanticHead) else None


def reading_precision(device: torch.device) -> torch.dtype:
    """Return the type of number that a backbone computes with on a device."""
    fast = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return torch.bfloat16 if fast else torch.float32


@torch.no_grad()
def _read(network: FeatureNetwork | Backbone, pictures: Tensor, view: View) -> Reading:
    backbone, head = reading_parts(network)
    shown = centre_view(pictures, view.side, view.zoom)
    shown = shown.contiguous(memory_format=torch.channels_last)
    views = [shown, shown.flip(3)] if view.mirrored else [shown]
    fast = reading_precision(shown.device) == torch.bfloat16
    features, semantics = [], []
    for picture in views:
        with torch.autocast(shown.device.type, dtype=torch.bfloat16, enabled=fast):
            maps, feature = backbone(picture)
        features.append(feature.float())
        if head is not None:
            estimate = head.estimate(features[-1], maps.float())
            semantics.append(functional.normalize(estimate, dim=1))
    mean = torch.stack(features).mean(0)
    if not semantics:
        return Reading(mean, None)
    return Reading(mean, functional.normalize(torch.stack(semantics).mean(0), dim=1))
