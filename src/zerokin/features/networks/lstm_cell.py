"""The paper's LSTM unit, whose gates also read the cell state, and its two steps a layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from zerokin.errors import InvalidInput


def lstm_step(
    x: Tensor, h: Tensor, c: Tensor, *, W_x: Tensor, W_h: Tensor, W_c: Tensor, b: Tensor
) -> tuple[Tensor, Tensor]:
    """Take one forward step of the paper's LSTM unit.

    Every gate is an activation of ``W_h h + W_c c + W_x x + b``. The common unit lacks ``W_c``.

    Parameters
    ----------
    x
        Inputs, (B, d_x).
    h, c
        Hidden and cell state before the step, (B, H).
    W_x, W_h, W_c, b
        Weights of the gates i, f, o, g below each other: (4H, d_x), (4H, H), (4H, H), (4H,).

    Returns
    -------
    tuple
        Hidden and cell state after the step, (B, H).

    Examples
    --------
    >>> x, state = torch.zeros(1, 3), torch.ones(1, 2)
    >>> zero = {"W_x": torch.zeros(8, 3), "W_h": torch.zeros(8, 2), "W_c": torch.zeros(8, 2)}
    >>> h, c = lstm_step(x, state, state, **zero, b=torch.zeros(8))
    >>> c  # gates that read nothing are half open, and g is 0
    tensor([[0.5000, 0.5000]])
    """
    gates = functional.linear(x, W_x) + functional.linear(h, W_h) + functional.linear(c, W_c, b)
    i, f, o, g = gates.chunk(4, dim=-1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


class TwoStepLSTM(nn.Module):
    """The LSTM of one superclass layer: it reads the layers below, then its own.

    The steps' inputs differ in width, so each step has its own input matrix. Recurrent matrices and
    biases are shared, as in any LSTM.

    Parameters
    ----------
    n_below
        Width of the first step's input: classes or superclasses of the layer below.
    n_here
        Width of the second step's input: superclasses of this layer.
    hidden
        Width H of the hidden and cell states.

    Examples
    --------
    >>> lstm = TwoStepLSTM(n_below=5, n_here=2, hidden=3)
    >>> start = torch.zeros(4, 3), torch.zeros(4, 3)
    >>> h, c = lstm(torch.rand(4, 5), torch.rand(4, 2), start)
    >>> h.shape, c.shape
    (torch.Size([4, 3]), torch.Size([4, 3]))
    """

    def __init__(self, n_below: int, n_here: int, hidden: int) -> None:
        super().__init__()
        if min(n_below, n_here, hidden) < 1:
            raise InvalidInput(
                f"an LSTM's widths must be at least 1: got inputs of {n_below} and {n_here}, "
                f"hidden={hidden}"
            )
        self.W_x_below = nn.Parameter(torch.empty(4 * hidden, n_below))
        self.W_x_here = nn.Parameter(torch.empty(4 * hidden, n_here))
        self.W_h = nn.Parameter(torch.empty(4 * hidden, hidden))
        self.W_c = nn.Parameter(torch.empty(4 * hidden, hidden))
        self.b = nn.Parameter(torch.zeros(4 * hidden))
        for matrix in (self.W_x_below, self.W_x_here, self.W_h, self.W_c):
            bound = matrix.shape[1] ** -0.5
            nn.init.uniform_(matrix, -bound, bound)

    def forward(
        self, below: Tensor, here: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Return (h, c) after reading ``below`` (B, n_below) and then ``here`` (B, n_here)."""
        shared = {"W_h": self.W_h, "W_c": self.W_c, "b": self.b}
        h, c = lstm_step(below, *state, W_x=self.W_x_below, **shared)
        return lstm_step(here, h, c, W_x=self.W_x_here, **shared)
