"""The paper's LSTM chain up the hierarchy: superclass logits from those of every layer below."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from zerokin.features.networks.lstm_cell import TwoStepLSTM


def make_chain(
    n_seen: int, layer_sizes: Sequence[int], hidden: int
) -> tuple[nn.ModuleList, nn.ModuleList]:
    """Return a two-step LSTM and a linear readout for every superclass layer.

    Parameters
    ----------
    n_seen
        Number p of seen classes, which the first LSTM reads.
    layer_sizes
        Superclasses r_1, r_2, … of the layers; none make an empty chain.
    hidden
        Width of the LSTMs' states.
    """
    steps = zip([n_seen, *layer_sizes], layer_sizes, strict=False)
    lstms = nn.ModuleList(TwoStepLSTM(below, here, hidden) for below, here in steps)
    return lstms, nn.ModuleList(nn.Linear(hidden, size) for size in layer_sizes)


def chain_logits(
    lstms: nn.ModuleList,
    readouts: nn.ModuleList,
    classes: Tensor,
    layers: Sequence[Tensor],
    *,
    hidden: int,
    input_scaling: bool,
    sigmoid: bool = False,
) -> tuple[Tensor, ...]:
    """Return the logits of p̂_1, p̂_2, …, (B, r_l) each.

    The l-th LSTM starts from the state of the one before (zeros at first), reads p_0 (l = 1) or
    p̂_{l−1} (above), then p_l, and its hidden state gives p̂_l.

    Parameters
    ----------
    lstms, readouts
        Of `make_chain`.
    classes
        Logits of p_0, (B, p).
    layers
        Logits of p_1, p_2, …, (B, r_l) each.
    hidden
        Width of the LSTMs' states.
    input_scaling
        Multiply each softmax output by its number of classes, so that inputs are 1 on average.
    sigmoid
        Outputs are probabilities of their own, each between 0 and 1: there is nothing to scale.
    """

    def read(logits: Tensor) -> Tensor:
        if sigmoid:
            return logits.sigmoid()
        probabilities = logits.softmax(dim=1)
        return probabilities * logits.shape[1] if input_scaling else probabilities

    h = c = classes.new_zeros(len(classes), hidden)
    below, chained = read(classes), []
    for lstm, readout, logits in zip(lstms, readouts, layers, strict=True):
        h, c = lstm(below, read(logits), (h, c))
        chained.append(readout(h))
        below = read(chained[-1])
    return tuple(chained)
