"""AM3: prototypes mixed of shots and semantics, with a weight that is learned for every class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.few_shot.episodes import draw_episodes
from zerokin.benchmark.few_shot.peers.peer import (
    Array,
    BaseClasses,
    SemanticFewShotPeer,
    Standardized,
)
from zerokin.benchmark.few_shot.peers.prototypical import nearest_means
from zerokin.errors import InvalidInput
from zerokin.parameters import Real

HIDDEN, STEPS, EPISODES, WAY, QUERIES = 300, 200, 16, 5, 5


@dataclass
class AM3(SemanticFewShotPeer):
    """The prototypical rule with prototypes λ_c p_c + (1 − λ_c) g(z_c).

    p_c is the mean of shots, g a network with one hidden layer, and λ_c = σ(h(g(z_c))) of another.
    Both learn on episodes of base classes, of as many shots, to tell their queries apart by the
    softmax of −s ‖q − prototype‖²; s is learned, too, as in the paper's version on TADAM. Here the
    features are frozen.

    Parameters
    ----------
    learning_rate
        Of Adam; a step has 16 episodes of five classes, and there are 200.
    dropout
        Of the hidden layers.
    """

    name: ClassVar[str] = "am3"
    reference: ClassVar[str] = (
        "Xing, Rostamzadeh, Oreshkin & Pinheiro, Adaptive Cross-Modal Few-Shot Learning, "
        "NeurIPS 2019"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "learning_rate": (0.00003, 0.0001, 0.0003, 0.001),
        "dropout": (0.0, 0.5, 0.8),
    }
    learning_rate: Annotated[float, Real(0, 10, closed="right")] = 0.001
    dropout: Annotated[float, Real(0, 1, closed="left")] = 0.5

    def learn(self, base: BaseClasses) -> None:
        self.base_ = base
        self.standardized_ = Standardized.from_base(base.semantics)
        # One length for all features, so that a learning rate means the same for any.
        length = np.sqrt((base.features.astype(np.float64) ** 2).sum(axis=1).mean())
        self.length_ = float(length) or 1.0

    def score_with_semantics(self, shots: Array, queries: Array, semantics: Array) -> Array:
        W = self.base_.once(
            train_am3,
            shots.shape[2],
            learning_rate=self.learning_rate,
            dropout=self.dropout,
        )
        told, share = mixture(self.standardized_(semantics), W)
        prototypes = share * shots.mean(axis=2) + (1 - share) * told * self.length_
        return nearest_means(prototypes.astype(queries.dtype), queries)


def mixture(semantics: NDArray[Any], W: Mapping[str, Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return g(z) (..., d_f) and λ (..., 1) of standardized semantics (..., d_z)."""
    told = np.maximum(semantics @ W["g1"] + W["g1_bias"], 0) @ W["g2"] + W["g2_bias"]
    logit = np.maximum(told @ W["h1"] + W["h1_bias"], 0) @ W["h2"] + W["h2_bias"]
    return told, 1 / (1 + np.exp(-logit))


def train_am3(
    base: BaseClasses, shots: int, *, learning_rate: float, dropout: float
) -> dict[str, NDArray[np.float32]]:
    """Return the weights of g and h, learned on episodes of base classes."""
    import torch
    from torch.nn import functional

    least = int(np.bincount(base.members).min())
    if least <= shots:
        raise InvalidInput(
            f"am3 learns from {shots} shots and a query of every base class, but one has {least} "
            "samples: lower shots"
        )
    drawn = draw_episodes(
        base.members,
        way=min(WAY, len(base.means)),
        shots=shots,
        queries=min(QUERIES, least - shots),
        episodes=STEPS * EPISODES,
        random_state=base.random_state,
    )
    length = np.sqrt((base.features.astype(np.float64) ** 2).sum(axis=1).mean()) or 1.0
    features = torch.from_numpy((base.features / length).astype(np.float32))
    Z = torch.from_numpy(Standardized.from_base(base.semantics)(base.semantics))
    generator = torch.Generator().manual_seed(base.random_state)
    W = first_weights(Z.shape[1], features.shape[1], generator)
    scale = torch.tensor(float(np.log(10)), requires_grad=True)
    optimizer = torch.optim.Adam([*W.values(), scale], lr=learning_rate)
    truth = torch.from_numpy(drawn.truth).repeat(EPISODES)

    def dropped(hidden: Any) -> Any:
        kept = torch.rand(hidden.shape, generator=generator) >= dropout
        return hidden * kept / (1 - dropout)

    for part in drawn.chunks(EPISODES):
        classes, shown, asked = (
            torch.from_numpy(one) for one in (part.classes, part.shots, part.queries.copy())
        )
        told = dropped(torch.relu(Z @ W["g1"] + W["g1_bias"])) @ W["g2"] + W["g2_bias"]
        hidden = dropped(torch.relu(told @ W["h1"] + W["h1_bias"]))
        share = torch.sigmoid(hidden @ W["h2"] + W["h2_bias"])
        means = features[shown].mean(2)
        prototypes = share[classes] * means + (1 - share[classes]) * told[classes]
        distances = torch.cdist(features[asked].flatten(1, 2), prototypes) ** 2
        loss = functional.cross_entropy((-scale.exp() * distances).flatten(0, 1), truth)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return {name: part.detach().numpy() for name, part in W.items()}


def first_weights(d_z: int, d_f: int, generator: Any) -> dict[str, Any]:
    """Return the first weights of g and h; λ begins at one half for all classes."""
    import torch

    def drawn(rows: int, columns: int, size: float) -> Any:
        return size * torch.randn(rows, columns, generator=generator) / rows**0.5

    W = {
        "g1": drawn(d_z, HIDDEN, 2**0.5),
        "g1_bias": torch.zeros(HIDDEN),
        "g2": drawn(HIDDEN, d_f, d_f**-0.5),
        "g2_bias": torch.zeros(d_f),
        "h1": drawn(d_f, HIDDEN, (2 * d_f) ** 0.5),
        "h1_bias": torch.zeros(HIDDEN),
        "h2": torch.zeros(HIDDEN, 1),
        "h2_bias": torch.zeros(1),
    }
    return {name: part.requires_grad_() for name, part in W.items()}
