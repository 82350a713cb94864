"""What every head answers: logits for the classes and for each superclass layer."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class HeadOutputs(NamedTuple):
    """Logits of a head, before any softmax.

    Parameters
    ----------
    classes
        Seen classes, (B, p); of a `PrototypicalHead`, an episode's queries and classes, (W · Q, W).
    layers
        Superclass layers 1, 2, …, (B, r_l) each.
    auxiliary
        A second opinion on the same superclass layers (the linear heads below the LSTM chain), or
        empty.
    reconstruction
        For each layer 0, 1, …: how much of a feature its projection loses, ‖f − f̂‖² / ‖f‖², (B,),
        or empty.
    rotations
        Logits of rotation prediction, (B, 4); None from networks that do not predict it.
    joint
        Classes and layers side by side, (B, p + Σ r_l), where a head computed them at once.
    """

    classes: Tensor
    layers: tuple[Tensor, ...] = ()
    auxiliary: tuple[Tensor, ...] = ()
    reconstruction: tuple[Tensor, ...] = ()
    rotations: Tensor | None = None
    joint: Tensor | None = None

    def rows(self, chosen: slice) -> HeadOutputs:
        """Return the logits of some of the images."""

        def cut(given: Tensor | None) -> Tensor | None:
            return None if given is None else given[chosen]

        return HeadOutputs(
            self.classes[chosen],
            tuple(logits[chosen] for logits in self.layers),
            tuple(logits[chosen] for logits in self.auxiliary),
            tuple(errors[chosen] for errors in self.reconstruction),
            cut(self.rotations),
            cut(self.joint),
        )
