"""Reading on a CPU: each view by itself on one core, through a network with folded batch norm.

A core reads one view faster than its share of many, whose maps leave the cache; and what is read
off an image cannot depend on the others that happen to be read with it, to the last bit.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from functools import cache
from threading import Barrier, Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from zerokin.compute.machine import available_cores
from zerokin.features.networks.backbone import Backbone

Given = TypeVar("Given")
Found = TypeVar("Found")
State = tuple[tuple[int, int], ...]
Shape = tuple[int, ...]

# The largest block whose freeing has the C library of Linux keep memory of that size in future.
KEPT_BLOCK = 31 * 2**20

# Rounding alone moves features by 1e-6 of the largest; a fold that went wrong, by far more.
TOLERANCE = 1e-3

# Side of the images that tell whether a fold went well: a fold does not depend on their size.
PROBE_SIZE = 96

_folds: WeakKeyDictionary[Backbone, tuple[State, Backbone | None]] = WeakKeyDictionary()
_folding = Lock()


def on_all_cores(work: Callable[[Given], Found], items: Iterable[Given]) -> list[Found]:
    """Return ``work(item)`` for every item, in order; each on one thread of torch, no more."""
    return list(_threads().map(work, items))


@cache
def _threads() -> ThreadPoolExecutor:
    # Otherwise memory is given back and fetched again, page by page, between any two views.
    torch.empty(KEPT_BLOCK, dtype=torch.uint8)
    count, usual = available_cores(), torch.get_num_threads()
    started = Barrier(count + 1)

    def start() -> None:
        torch.get_num_threads()  # has torch set this thread up, which would undo the next line
        torch.set_num_threads(1)
        started.wait()

    pool = ThreadPoolExecutor(count, "zerokin reading", initializer=start)
    for _ in range(count):
        pool.submit(int)
    started.wait()
    # For these threads it stays at 1, but new threads of others would begin with it, too.
    torch.set_num_threads(usual)
    return pool


if hasattr(os, "register_at_fork"):  # a forked process has none of the threads
    os.register_at_fork(after_in_child=_threads.cache_clear)


def fuse_bn(backbone: Backbone) -> Backbone:
    """Return a backbone in evaluation mode with batch norm folded into its convolutions.

    It is a copy, made once for as long as the weights stay as they are. A backbone without batch
    norm after convolutions is returned as it is, and so is one that folding would change.

    Parameters
    ----------
    backbone
        On the CPU.

    Examples
    --------
    >>> from zerokin.features.networks import create_backbone
    >>> sum(isinstance(part, nn.BatchNorm2d) for part in create_backbone("conv4").modules())
    4
    >>> fused = fuse_bn(create_backbone("conv4"))
    >>> sum(isinstance(part, nn.BatchNorm2d) for part in fused.modules())
    0
    """
    state = tuple((t.data_ptr(), t._version) for t in (*backbone.parameters(), *backbone.buffers()))
    with _folding:
        known, made = _folds.get(backbone, (None, None))
        if known != state:
            made = on_all_cores(_fold, [backbone])[0]  # many threads would wait for each other
            _folds[backbone] = state, made
    return made or backbone


@torch.no_grad()
def _fold(backbone: Backbone) -> Backbone | None:
    if not any(_foldable(part) for part in backbone.modules()):
        return None
    pairs = _pairs(backbone)
    if not pairs:
        return None
    copy = deepcopy(backbone).eval()
    for conv, norm in pairs:
        above, _, last = norm.rpartition(".")
        rest = _fold_pair(copy.model.get_submodule(conv), copy.model.get_submodule(norm))
        setattr(copy.model.get_submodule(above), last, rest)
    copy = copy.to(memory_format=torch.channels_last)
    return copy if _agree(backbone, copy) else None


def _pairs(backbone: Backbone) -> list[tuple[str, str]]:
    """Return the names of convolutions whose output a batch norm reads, and of the latter.

    Seen while a copy reads noise. Tracing the graph would change how every module of the process
    is called meanwhile, those that other threads read with among them.
    """
    watched = deepcopy(backbone).eval()
    convolved: dict[int, tuple[str, Tensor]] = {}
    found: list[tuple[str, str]] = []
    calls: Counter[str] = Counter()

    def after_convolution(name: str) -> Callable[..., None]:
        def note(_module: nn.Module, _given: Any, output: Tensor) -> None:
            calls[name] += 1
            convolved[id(output)] = name, output  # kept, so that no other tensor gets its id

        return note

    def before_norm(name: str) -> Callable[..., None]:
        def note(_module: nn.Module, given: tuple[Tensor, ...]) -> None:
            calls[name] += 1
            if id(given[0]) in convolved:
                found.append((convolved[id(given[0])][0], name))

        return note

    for name, part in watched.model.named_modules():
        if type(part) is nn.Conv2d or type(part).__name__ == "Conv2dSame":
            part.register_forward_hook(after_convolution(name))
        elif _foldable(part):
            part.register_forward_pre_hook(before_norm(name))
    _shown_small(watched, _noise)
    return [pair for pair in found if calls[pair[0]] == calls[pair[1]] == 1]


def _foldable(norm: nn.Module) -> bool:
    plain = type(norm) is nn.BatchNorm2d or type(norm).__name__ == "BatchNormAct2d"
    return plain and isinstance(norm.running_var, Tensor)


def _fold_pair(conv: Any, norm: Any) -> nn.Module:
    """Scale and shift a convolution as a batch norm would; return what else the latter does."""
    scale = (norm.running_var.double() + norm.eps).rsqrt()
    if norm.weight is not None:
        scale = scale * norm.weight.double()
    shift = -norm.running_mean.double()
    if conv.bias is not None:
        shift = shift + conv.bias.double()
    bias = shift * scale
    if norm.bias is not None:
        bias = bias + norm.bias.double()
    weight = conv.weight.double() * scale[:, None, None, None]
    conv.weight = nn.Parameter(weight.to(conv.weight.dtype), requires_grad=False)
    conv.bias = nn.Parameter(bias.to(conv.weight.dtype), requires_grad=False)
    # timm's batch norm goes on with an activation.
    parts = [getattr(norm, name) for name in ("drop", "act") if hasattr(norm, name)]
    return nn.Sequential(*(part for part in parts if not isinstance(part, nn.Identity)))


def _agree(backbone: Backbone, copy: Backbone) -> bool:
    """Compare both on noise, black and white.

    Something else may read what a convolution gives to its batch norm, or another path be taken
    for other images.
    """
    training = backbone.training
    backbone.eval()
    pairs = [
        [_shown_small(network, probe) for network in (backbone, copy)]
        for probe in (_noise, torch.zeros, torch.ones)
    ]
    backbone.train(training)
    return all(
        bool((expected - found).abs().max() <= TOLERANCE * expected.abs().max())
        for expected, found in pairs
    )


def _shown_small(backbone: Backbone, probe: Callable[[Shape], Tensor]) -> Tensor:
    """Return features of a probe of a small side, which costs little; of its own if it must be."""
    small = min(PROBE_SIZE, backbone.input_size)
    try:
        features: Tensor = backbone(probe((1, 3, small, small))).features
    except (RuntimeError, AssertionError, ValueError):  # some networks take one size alone
        side = backbone.input_size
        features = backbone(probe((1, 3, side, side))).features
    return features


def _noise(shape: Shape) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(0))
