"""SemFew: prototypes reconstructed from shots and semantics, mixed with the mean of the shots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.few_shot.peers.peer import (
    Array,
    BaseClasses,
    SemanticFewShotPeer,
    Standardized,
)
from zerokin.declared import Share
from zerokin.features.scaler import unit_length
from zerokin.parameters import Real

HIDDEN, STEPS, BATCH, SLOPE = 256, 200, 128, 0.2


@dataclass
class SemFew(SemanticFewShotPeer):
    """The nearest prototype by angle, k r_c + (1 − k) p_c.

    p_c is the mean of shots and r_c the mean of h(z_c, x) over shots x. h, a network with one
    hidden layer, learns to reconstruct the mean of a base class from its semantics and any one of
    its samples, by the absolute error. The paper also writes semantics anew by language models;
    here they are those of the data.

    Parameters
    ----------
    mix
        k.
    learning_rate
        Of Adam, for 200 steps of 128 samples; in the last half it falls to a tenth.
    """

    name: ClassVar[str] = "semfew"
    reference: ClassVar[str] = (
        "Zhang, Xu, Jiang & He, Simple Semantic-Aided Few-Shot Learning, CVPR 2024"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "mix": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
        "learning_rate": (0.0001, 0.0003, 0.001),
    }
    mix: Share = 0.6
    learning_rate: Annotated[float, Real(0, 10, closed="right")] = 0.001

    def learn(self, base: BaseClasses) -> None:
        self.weights_ = base.once(train_semfew, learning_rate=self.learning_rate)
        self.standardized_ = Standardized.from_base(base.semantics)

    def score_with_semantics(self, shots: Array, queries: Array, semantics: Array) -> Array:
        W = self.weights_
        told = self.standardized_(semantics) @ W["semantics"]
        # The hidden layer, by parts: what is said of a class is the same for all of its shots.
        hidden = told[:, :, None] + (shots / W["length"]) @ W["sample"] + W["bias"]
        hidden = np.where(hidden > 0, hidden, SLOPE * hidden).mean(axis=2)
        reconstructed = (hidden @ W["last"] + W["last_bias"]) * W["length"]
        prototypes = self.mix * reconstructed + (1 - self.mix) * shots.mean(axis=2)
        found: Array = unit_length(queries.reshape(-1, queries.shape[2])).reshape(queries.shape)
        unit = unit_length(prototypes.reshape(-1, queries.shape[2])).reshape(prototypes.shape)
        return found @ unit.astype(found.dtype).transpose(0, 2, 1)


def train_semfew(base: BaseClasses, *, learning_rate: float) -> dict[str, NDArray[np.float32]]:
    """Return the weights of h, learned on samples of base classes."""
    import torch
    from torch.nn import functional

    length = float(np.sqrt((base.features.astype(np.float64) ** 2).sum(axis=1).mean())) or 1.0
    features = torch.from_numpy((base.features / length).astype(np.float32))
    targets = torch.from_numpy((base.means / length).astype(np.float32))
    Z = torch.from_numpy(Standardized.from_base(base.semantics)(base.semantics))
    members = torch.from_numpy(base.members)
    rng = np.random.default_rng(base.random_state)
    (d_z, d_f), width = (Z.shape[1], features.shape[1]), Z.shape[1] + features.shape[1]

    def drawn(rows: int, columns: int, size: float) -> Any:
        first = size * rng.normal(size=(rows, columns))
        return torch.from_numpy(first.astype(np.float32)).requires_grad_()

    W = {
        "semantics": drawn(d_z, HIDDEN, width**-0.5),
        # Features are of length one, not their entries.
        "sample": drawn(d_f, HIDDEN, (d_f / width) ** 0.5),
        "bias": torch.zeros(HIDDEN, requires_grad=True),
        "last": drawn(HIDDEN, d_f, (HIDDEN * d_f) ** -0.5),
        "last_bias": torch.zeros(d_f, requires_grad=True),
    }
    optimizer = torch.optim.Adam(W.values(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=STEPS // 2, gamma=0.1)
    for _ in range(STEPS):
        chosen = torch.from_numpy(rng.integers(len(features), size=BATCH))
        classes = members[chosen]
        hidden = Z[classes] @ W["semantics"] + features[chosen] @ W["sample"] + W["bias"]
        said = functional.leaky_relu(hidden, SLOPE) @ W["last"] + W["last_bias"]
        loss = functional.l1_loss(said, targets[classes])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    weights: dict[str, Any] = {name: part.detach().numpy() for name, part in W.items()}
    return {**weights, "length": np.float32(length)}
