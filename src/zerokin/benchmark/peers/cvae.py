"""CVAE, a conditional variational autoencoder that generates features of unseen classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from zerokin.benchmark.peers.generative import (
    GenerativePeer,
    Width,
    batches,
    descent,
    forward,
    random_layers,
)
from zerokin.declared import Count
from zerokin.parameters import Real

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from zerokin.benchmark.peers.generative import Layers


@dataclass
class CVAE(GenerativePeer):
    """The decoder of a variational autoencoder, given a class's semantics, generates its features.

    With q(z | f, s) = N(μ, diag σ²) of an encoder and the decoder's g(z, s) it minimizes

        mean ‖f − g(z, s)‖² / 2ν + KL(q(z | f, s) ‖ N(0, I)),   z drawn from q.

    Parameters
    ----------
    learning_rate
        Of Adam, at the start; it falls to zero linearly.
    variance
        ν, of a feature around what is decoded, where features have entries of mean square one.
    n_hidden
        Width of the one hidden layer of encoder and decoder.
    n_epochs
        Passes over the training samples.
    batch_size
        Samples of a step.
    n_noise
        Entries of z.
    n_generated
        Features to generate for each unseen class.
    ridge
        Weight of ‖W‖²/2 beside the summed cross-entropy of the last classifier.
    """

    name: ClassVar[str] = "cvae"
    reference: ClassVar[str] = (
        "Mishra, Reddy, Mittal & Murthy, A Generative Model For Zero Shot Learning Using "
        "Conditional Variational Autoencoders, CVPR Workshops 2018"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "variance": (0.3, 1.0),
        "ridge": (0.1, 0.3, 1.0),
    }
    generator_ignores: ClassVar[tuple[str, ...]] = ("ridge",)
    learning_rate: Annotated[float, Real(0, 10, closed="right")] = 1e-3
    variance: Annotated[float, Real(0, 1e6, closed="right")] = 1.0
    n_hidden: Width = 256
    n_epochs: Count = 10
    batch_size: Count = 64

    def train_generator(self, F: Tensor, S: Tensor, draw: Generator) -> Layers:
        import torch

        d_f, d_z = F.shape[1], S.shape[1]
        encoder = random_layers([d_f + d_z, self.n_hidden, 2 * self.n_noise], draw)
        decoder = random_layers([self.n_noise + d_z, self.n_hidden, d_f], draw)
        with torch.no_grad():  # as in DEM: what noise a random layer adds is never trained away
            encoder[-1][0].zero_()
            decoder[-1][0].zero_()
        n_steps = self.n_epochs * -(-len(F) // self.batch_size)
        step = descent(encoder + decoder, self.learning_rate, n_steps)
        for rows in batches(len(F), self.batch_size, self.n_epochs, draw):
            mean, log_variance = forward(encoder, F[rows], S[rows]).chunk(2, dim=1)
            noise = torch.randn(mean.shape, generator=draw)
            decoded = forward(decoder, mean + noise * (log_variance / 2).exp(), S[rows])
            step(negative_elbo(F[rows], decoded, mean, log_variance, self.variance))
        return decoder


def negative_elbo(
    F: Tensor, decoded: Tensor, mean: Tensor, log_variance: Tensor, variance: float
) -> Tensor:
    """Return the negative evidence lower bound of a batch, but for a constant.

    Parameters
    ----------
    F, decoded : (n, d_f)
        Features, and what the decoder makes of the latent vectors drawn for them.
    mean, log_variance : (n, d)
        Of those vectors, as the encoder has them.
    variance
        Of a feature around what is decoded.
    """
    misfit = ((F - decoded) ** 2).sum() / (2 * variance)
    divergence = (mean**2 + log_variance.exp() - log_variance - 1).sum() / 2
    return (misfit + divergence) / len(F)
