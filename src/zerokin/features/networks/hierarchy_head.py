"""The head of the paper's feature network: linear heads, and an LSTM chain up the hierarchy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from zerokin.errors import InvalidInput, did_you_mean
from zerokin.features.networks.head_outputs import HeadOutputs
from zerokin.features.networks.superclass_chain import chain_logits, make_chain

MODES = ("cnn-rnn", "superclass-heads", "classes")


class HierarchyHead(nn.Module):
    """Predict classes and superclasses from features.

    One linear head per layer gives p_0 (seen classes) and p_1 … p_{n_r} (all superclasses of a
    layer). In mode ``"cnn-rnn"`` the l-th two-step LSTM starts from the state of the one before
    (zeros at first), reads p_0 (l = 1) or p̂_{l−1} (above), then p_l, and its hidden state gives
    p̂_l.

    Parameters
    ----------
    d_f
        Width of the features.
    n_seen
        Number p of seen classes.
    layer_sizes
        Superclasses r_1, r_2, … of the layers, from small to large ones.
    hidden
        Width of the LSTMs' states.
    mode
        ``"cnn-rnn"``: superclass logits from the LSTM chain; ``"superclass-heads"``: from the
        linear heads, no LSTM; ``"classes"``: no superclasses at all.
    input_scaling
        Multiply each softmax output that an LSTM reads by its number of classes, so that inputs are
        1 on average. Plain probabilities near 1/K, as the paper feeds them, are too small to learn
        from. Only the LSTM chain has inputs to scale.
    auxiliary_heads
        Also give the logits of the linear heads under the LSTM chain, for a loss of their own. In
        the other modes there is no second set of logits to give.
    sigmoid
        Several labels an image: every output is a probability of its own, which the LSTMs read as
        it is. Linear heads look at every position of the feature maps (B, d_f, H, W), and an
        output is the log-mean-exp over positions (multiple-instance learning).

    Attributes
    ----------
    uses_maps : bool
        Whether `forward` needs feature maps, too: with ``sigmoid``.
    joint : bool or None
        Whether mode ``"superclass-heads"`` computes all logits as one matrix product; None does so
        on GPUs, whose time goes into launching kernels otherwise. Sums may be rounded otherwise.

    Examples
    --------
    >>> import torch
    >>> head = HierarchyHead(d_f=16, n_seen=10, layer_sizes=[5, 2], hidden=8)
    >>> outputs = head(torch.rand(3, 16))
    >>> outputs.classes.shape, [logits.shape[1] for logits in outputs.layers]
    (torch.Size([3, 10]), [5, 2])
    """

    def __init__(
        self,
        d_f: int,
        n_seen: int,
        layer_sizes: Sequence[int],
        *,
        hidden: int = 128,
        mode: str = "cnn-rnn",
        input_scaling: bool = True,
        auxiliary_heads: bool = True,
        sigmoid: bool = False,
    ) -> None:
        super().__init__()
        _check(d_f, n_seen, layer_sizes, hidden, mode)
        sizes = [] if mode == "classes" else list(layer_sizes)
        chained = sizes if mode == "cnn-rnn" else []
        self.d_f, self.hidden, self.mode = d_f, hidden, mode
        self.input_scaling, self.auxiliary_heads = input_scaling, auxiliary_heads
        self.joint: bool | None = None
        self.sigmoid = self.uses_maps = sigmoid
        self.class_head = nn.Linear(d_f, n_seen)
        self.layer_heads = nn.ModuleList(nn.Linear(d_f, size) for size in sizes)
        self.lstms, self.readouts = make_chain(n_seen, chained, hidden)

    @property
    def n_seen(self) -> int:
        """Number p of seen classes."""
        return self.class_head.out_features

    def forward(self, features: Tensor, maps: Tensor | None = None) -> HeadOutputs:
        """Return logits for features (B, d_f), with ``sigmoid`` for their maps (B, d_f, H, W)."""
        joint = features.is_cuda if self.joint is None else self.joint
        if joint and self.mode == "superclass-heads" and not self.sigmoid:
            return self._jointly(features)
        read = (lambda head: head(features)) if maps is None else partial(logits_of_maps, maps)
        classes: Tensor = read(self.class_head)
        linear = tuple(read(head) for head in self.layer_heads)
        if self.mode != "cnn-rnn":
            return HeadOutputs(classes=classes, layers=linear)
        return HeadOutputs(
            classes=classes,
            layers=self._chain(classes, linear),
            auxiliary=linear if self.auxiliary_heads else (),
        )

    def _jointly(self, features: Tensor) -> HeadOutputs:
        """Return the logits of all linear heads by one product with their joined weights."""
        heads: list[Any] = [self.class_head, *self.layer_heads]
        weight, bias = (torch.cat([getattr(h, name) for h in heads]) for name in ("weight", "bias"))
        joint = functional.linear(features, weight, bias)
        # In full precision from here on, once for all of them.
        joint = joint.to(torch.promote_types(joint.dtype, torch.float32))
        classes, *layers = torch.split(joint, [head.out_features for head in heads], dim=1)
        return HeadOutputs(classes=classes, layers=tuple(layers), joint=joint)

    def _chain(self, classes: Tensor, linear: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return chain_logits(
            self.lstms,
            self.readouts,
            classes,
            linear,
            hidden=self.hidden,
            input_scaling=self.input_scaling,
            sigmoid=self.sigmoid,
        )


def _check(d_f: int, n_seen: int, layer_sizes: Sequence[int], hidden: int, mode: str) -> None:
    if mode not in MODES:
        known = ", ".join(MODES)
        raise InvalidInput(f"unknown mode {mode!r}{did_you_mean(mode, MODES)} (known: {known})")
    for name, value in (("d_f", d_f), ("n_seen", n_seen), ("hidden", hidden)):
        if value < 1:
            raise InvalidInput(f"{name} must be at least 1: got {value}")
    if mode != "classes" and (len(layer_sizes) == 0 or min(layer_sizes) < 1):
        raise InvalidInput(
            f"mode {mode!r} needs the size of at least one superclass layer, each at least 1: "
            f"got layer_sizes={list(layer_sizes)} (mode 'classes' needs none)"
        )


def logits_of_maps(maps: Tensor, head: nn.Module) -> Tensor:
    """Return logits (B, n) of a linear head over feature maps: log-mean-exp over positions.

    Examples
    --------
    >>> import torch
    >>> maps = torch.rand(2, 5, 3, 4)
    >>> logits_of_maps(maps, nn.Linear(5, 7)).shape
    torch.Size([2, 7])
    """
    positions: Tensor = head(maps.flatten(2).transpose(1, 2))
    return positions.logsumexp(dim=1) - math.log(positions.shape[1])
