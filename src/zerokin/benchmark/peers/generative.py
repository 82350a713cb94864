"""Generative peers: a classifier for all classes is trained on generated features of unseen ones.

What CVAE and f-CLSWGAN share: small networks as lists of layers, and the classifier at the end.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from zerokin.benchmark.peers.adam import falling_adam
from zerokin.benchmark.peers.conse import softmax_regression
from zerokin.benchmark.peers.peer import Peer, RidgeWeight
from zerokin.benchmark.peers.training_set import Array, Samples, TrainingSet
from zerokin.compute.products import quick_products
from zerokin.declared import Count
from zerokin.errors import InvalidInput
from zerokin.parameters import Integer

if TYPE_CHECKING:
    from torch import Generator, Tensor

    Layers = list[tuple[Tensor, Tensor]]

SLOPE = 0.2
"""Of leaky rectifiers below zero."""

TOLERANCE = 1e-2
"""Of the gradient of softmax regressions: the last digits of what was generated are noise."""

MOST = 1e6
"""Of a generated entry, where those of features have a mean square of one."""

Width = Annotated[int, Integer(1, 1_000_000)]


@dataclass
class GenerativePeer(Peer):
    """Generate features of unseen classes from their semantics, and train a classifier with them.

    The generator is learned on seen classes. The classifier, a softmax regression over all
    classes, is trained when `score` first meets the candidates: on the training samples of seen
    classes and on generated samples of the others. A fitted peer keeps it.

    Parameters
    ----------
    n_noise
        Entries of the noise that features are generated from.
    n_generated
        Features to generate for each unseen class.
    ridge
        Weight of ‖W‖²/2 beside the summed cross-entropy of a softmax regression.
    """

    generator_ignores: ClassVar[tuple[str, ...]] = ()
    """Hyper-parameters that make no difference to the generator: their values share one."""

    n_noise: Width = 50
    n_generated: Count = 50
    ridge: RidgeWeight = 0.3

    @abstractmethod
    def train_generator(self, F: Tensor, S: Tensor, draw: Generator) -> Layers:
        """Return layers that make features of (noise, semantics).

        F (N, d_f) and S (N, d_z) are the samples and the semantics of their classes, both with
        entries whose mean square is one.
        """

    def learn(self, training: TrainingSet) -> None:
        self.training_ = training
        self._key = tuple(
            getattr(self, one.name)
            for one in fields(self)
            if one.name not in self.generator_ignores
        )
        self.generator_, self.noise_ = training.once(
            ("generator", *self._key), lambda: self._learn_generator(training)
        )
        self.classifier_: tuple[Array, Array] | None = None

    def _learn_generator(self, training: TrainingSet) -> tuple[Layers, Tensor]:
        """Return the generator's layers, and the noise that it makes features of."""
        import torch

        F = torch.from_numpy(training.F * training.F.shape[1] ** 0.5).float()
        S = torch.from_numpy(training.S * training.S.shape[1] ** 0.5).float()[training.labels]
        draw = torch.Generator().manual_seed(training.random_state)
        with quick_products():
            layers = self.train_generator(F, S, draw)
        noise = torch.randn(self.n_generated, self.n_noise, generator=draw)
        return [(W.detach(), b.detach()) for W, b in layers], noise

    def generate(self, S: Array) -> Array:
        """Return ``n_generated`` features of each class (k, n, d_f), scaled as those of training.

        All classes share the same noise, so that their order does not matter.
        """
        import torch

        (k, d_z), n = S.shape, self.n_generated
        conditions = torch.from_numpy(S * d_z**0.5).float().repeat_interleave(n, dim=0)
        made = forward(self.generator_, self.noise_.repeat(k, 1), conditions).numpy()
        if not (np.abs(made) < MOST).all():
            raise InvalidInput(f"{self.name} diverged: lower its learning_rate")
        generated: Array = made.reshape(k, n, made.shape[1]) / made.shape[1] ** 0.5
        return generated

    def score(self, F: Array, Z: Array) -> Array:
        if self.classifier_ is None:
            samples = self.training_.once(
                ("samples of all", *self._key, Z.tobytes()), lambda: self.samples_of_all(Z)
            )
            self.classifier_ = softmax_regression(samples, self.ridge, tol=TOLERANCE)
        W, b = self.classifier_
        scores: Array = F @ W + b
        return scores

    def samples_of_all(self, Z: Array) -> TrainingSet:
        """Return the training samples and generated ones of the classes (C, d_z) that have none."""
        training = self.training_
        unseen = np.setdiff1d(np.arange(len(Z)), training.seen)
        generated = self.generate(Z[unseen]).reshape(-1, training.F.shape[1])
        samples = Samples(
            np.concatenate([training.F, generated.astype(training.F.dtype)]),
            np.concatenate([training.seen[training.labels], unseen.repeat(self.n_generated)]),
            np.arange(len(Z)),
            feature_scale=1.0,
        )
        return TrainingSet(samples, Z, semantic_scale=1.0)


def random_layers(widths: Sequence[int], draw: Generator) -> Layers:
    """Return weights (He et al., 2015) and zero biases of layers between these widths."""
    import torch

    return [
        (
            (torch.randn(d_in, d_out, generator=draw) * (2 / d_in) ** 0.5).requires_grad_(),
            torch.zeros(d_out, requires_grad=True),
        )
        for d_in, d_out in pairwise(widths)
    ]


def forward(layers: Layers, *inputs: Tensor) -> Tensor:
    """Return what layers make of inputs (n, ·) side by side, leaky rectifiers between them."""
    import torch

    x = torch.cat(inputs, dim=1)
    for W, b in layers[:-1]:
        x = torch.nn.functional.leaky_relu(x @ W + b, SLOPE)
    W, b = layers[-1]
    return x @ W + b


def batches(n_samples: int, size: int, n_epochs: int, draw: Generator) -> Iterator[Tensor]:
    """Yield the rows of each batch; every pass has an order of its own."""
    import torch

    for _ in range(n_epochs):
        yield from torch.split(torch.randperm(n_samples, generator=draw), size)


def descent(
    layers: Layers, learning_rate: float, n_steps: int, betas: tuple[float, float] = (0.9, 0.999)
) -> Callable[[Tensor], None]:
    """Return a step of Adam on these layers down a loss; its rate falls to zero in ``n_steps``."""
    import torch

    weights = [weight for layer in layers for weight in layer]
    move = falling_adam(weights, learning_rate, n_steps, betas)

    def step(loss: Tensor) -> None:
        for weight, slope in zip(weights, torch.autograd.grad(loss, weights), strict=True):
            weight.grad = slope
        move()

    return step
