"""Reading on a CPU: each view by itself on one core, through a network with folded batch norm.

A core reads one view faster than its share of many, whose maps leave the cache; and what is read
off a picture cannot depend on the others that happen to be read with it, to the last bit.
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
from torch import Tensor, fx, nn

from zerokin.features.networks.backbone import Backbone
from zerokin.machine import available_cores

Given = TypeVar("Given")
Found = TypeVar("Found")
State = tuple[tuple[int, int], ...]

# The largest block whose freeing has the C library of Linux keep memory of that size in future.
KEPT_BLOCK = 31 * 2**20

# Rounding alone moves features by 1e-6 of the largest; a fold that went wrong, by far more.
TOLERANCE = 1e-3

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


def folded(backbone: Backbone) -> Backbone:
    """Return a backbone in evaluation mode with batch norm folded into its convolutions.

    It is a copy, made once for as long as the weights stay as they are. A backbone without batch
    norm after convolutions, or one that does not show its graph, is returned as it is.

    Parameters
    ----------
    backbone
        On the CPU.

    Examples
    --------
    >>> from zerokin.features.networks import create_backbone
    >>> sum(isinstance(part, nn.BatchNorm2d) for part in create_backbone("conv4").modules())
    4
    >>> sum(isinstance(part, nn.BatchNorm2d) for part in folded(create_backbone("conv4")).modules())
    0
    """
    state = tuple((t.data_ptr(), t._version) for t in (*backbone.parameters(), *backbone.buffers()))
    with _folding:
        known, made = _folds.get(backbone, (None, None))
        if known != state:
            made = _fold(backbone)
            _folds[backbone] = state, made
    return made or backbone


@torch.no_grad()
def _fold(backbone: Backbone) -> Backbone | None:
    pairs = _pairs(backbone.model)
    if not pairs:
        return None
    copy = deepcopy(backbone).eval()
    for conv, norm in pairs:
        above, _, last = norm.rpartition(".")
        rest = _fold_pair(copy.model.get_submodule(conv), copy.model.get_submodule(norm))
        setattr(copy.model.get_submodule(above), last, rest)
    copy = copy.to(memory_format=torch.channels_last)
    return copy if _agree(backbone, copy) else None


def _pairs(model: nn.Module) -> list[tuple[str, str]]:
    """Return the names of convolutions that a batch norm alone reads, and of the latter."""
    if not any(isinstance(part, nn.BatchNorm2d) for part in model.modules()):
        return []
    try:
        graph = _Tracer().trace(model)
    # Tracing runs the model's own code on stand-ins, which may fail in any way.
    except Exception:
        return []
    modules = dict(model.named_modules())
    calls = [node for node in graph.nodes if node.op == "call_module"]
    often = Counter(id(modules[node.target]) for node in calls)
    found = []
    for node in calls:
        norm, before = modules[node.target], node.args[0] if node.args else None
        if not _foldable(norm) or not isinstance(before, fx.Node) or before.op != "call_module":
            continue
        conv = modules[str(before.target)]
        once = often[id(conv)] == often[id(norm)] == len(before.users) == 1
        if once and (type(conv) is nn.Conv2d or type(conv).__name__ == "Conv2dSame"):
            found.append((str(before.target), str(node.target)))
    return found


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


class _Tracer(fx.Tracer):
    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        # Among the convolutions and norms are timm's, which are no part of torch.nn.
        own = isinstance(m, nn.Conv2d | nn.BatchNorm2d)
        return own or super().is_leaf_module(m, module_qualified_name)


def _agree(backbone: Backbone, copy: Backbone) -> bool:
    """Compare both on noise: a model may do other things than the graph that it showed."""
    side = backbone.input_size
    noise = torch.rand(1, 3, side, side, generator=torch.Generator().manual_seed(0))
    training = backbone.training
    expected, found = backbone.eval()(noise).features, copy(noise).features
    backbone.train(training)
    return bool((expected - found).abs().max() <= TOLERANCE * expected.abs().max())
