"""What makes a training's steps fast on a GPU: a compiled backbone, convolutions that are tried."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from zerokin.features.networks.backbone import Backbone
from zerokin.features.training.recipe import Recipe


def compile_backbone(backbone: Backbone, recipe: Recipe) -> None:
    """Compile a backbone's model in place, so that weights keep their names.

    Parameters
    ----------
    backbone
        What learns.
    recipe
        ``compiled`` is the mode. For images of few sides, one graph for each is faster than one
        for all of them.
    """
    mode = recipe.compiled if isinstance(recipe.compiled, str) else None
    few = recipe.initial_image_size is None or recipe.resize_stages is not None
    backbone.model.compile(mode=mode, dynamic=False if few else None)


@contextmanager
def convolutions_measured(device: torch.device) -> Iterator[None]:
    """Let cuDNN try which algorithm of a convolution is fastest, once for every shape.

    Parameters
    ----------
    device
        Where a training works; nothing is changed for any but a GPU.
    """
    usual = torch.backends.cudnn.benchmark
    if device.type == "cuda":
        torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = usual
