"""f-CLSWGAN, a Wasserstein network with a classification loss that generates features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from zerokin.benchmark.peers.conse import softmax_regression
from zerokin.benchmark.peers.generative import (
    SLOPE,
    TOLERANCE,
    GenerativePeer,
    Width,
    batches,
    descent,
    forward,
    random_layers,
)
from zerokin.benchmark.peers.peer import RidgeWeight
from zerokin.declared import Count
from zerokin.parameters import Real

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from zerokin.benchmark.peers.generative import Layers

BETAS = (0.5, 0.999)
"""Of Adam, as in the paper."""

CRITIC_PACE = 3.0
"""The critic's learning rate in units of the generator's (Heusel et al., NIPS 2017)."""


@dataclass
class FCLSWGAN(GenerativePeer):
    """A generator that a conditional critic and a classifier of seen classes find convincing.

    The critic D maximizes the Wasserstein distance between real features f and generated ones
    g = G(noise, s), with a gradient penalty at points f̂ between them; the generator minimizes it
    together with the cross-entropy of a softmax regression fitted on the seen classes:

        min_G max_D  mean D(f, s) − D(g, s) − λ (‖∇D(f̂, s)‖ − 1)²  +  β · mean −log p(y | g).

    Parameters
    ----------
    learning_rate
        Of the generator's Adam, at the start; it falls to zero linearly.
    class_weight
        β, where features have entries of mean square one.
    penalty
        λ.
    class_ridge
        Weight of ‖W‖²/2 beside the summed cross-entropy of that softmax regression.
    n_critic
        Steps of the critic for one of the generator.
    n_hidden
        Width of the one hidden layer of generator and critic.
    n_epochs
        Passes of the critic over the training samples.
    batch_size
        Samples of a step.
    n_noise
        Entries of the noise.
    n_generated
        Features to generate for each unseen class.
    ridge
        Weight of ‖W‖²/2 beside the summed cross-entropy of the last classifier.
    """

    name: ClassVar[str] = "f-clswgan"
    reference: ClassVar[str] = (
        "Xian, Lorenz, Schiele & Akata, Feature Generating Networks for Zero-Shot Learning, "
        "CVPR 2018"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "class_weight": (0.3, 1.0),
        "ridge": (0.1, 0.3, 1.0),
    }
    generator_ignores: ClassVar[tuple[str, ...]] = ("ridge",)
    learning_rate: Annotated[float, Real(0, 10, closed="right")] = 1e-3
    class_weight: Annotated[float, Real(0, 1e6)] = 1.0
    penalty: Annotated[float, Real(0, 1e6)] = 10.0
    class_ridge: RidgeWeight = 0.3
    n_critic: Count = 5
    n_hidden: Width = 256
    n_epochs: Count = 10
    batch_size: Count = 64

    def train_generator(self, F: Tensor, S: Tensor, draw: Generator) -> Layers:
        import torch

        training, d_f, d_z = self.training_, F.shape[1], S.shape[1]
        labels = torch.from_numpy(training.labels)
        W, b = training.samples.once(
            ("roughly", self.class_ridge),
            lambda: softmax_regression(training, self.class_ridge, tol=TOLERANCE),
        )
        classifier = [(torch.from_numpy(W / d_f**0.5).float(), torch.from_numpy(b).float())]
        generator = random_layers([self.n_noise + d_z, self.n_hidden, d_f], draw)
        critic = random_layers([d_f + d_z, self.n_hidden, 1], draw)
        with torch.no_grad():  # as in DEM: what noise a random layer adds is never trained away
            generator[-1][0].zero_()
        n_steps = self.n_epochs * -(-len(F) // self.batch_size)
        improve_critic = descent(critic, CRITIC_PACE * self.learning_rate, n_steps, BETAS)
        improve = descent(generator, self.learning_rate, n_steps // self.n_critic + 1, BETAS)
        for t, rows in enumerate(batches(len(F), self.batch_size, self.n_epochs, draw), start=1):
            real, s = F[rows], S[rows]
            made = forward(generator, torch.randn(len(s), self.n_noise, generator=draw), s)
            share = torch.rand(len(s), 1, generator=draw)
            improve_critic(critic_loss(critic, real, made.detach(), s, share, self.penalty))
            if t % self.n_critic == 0:
                told = forward(classifier, made)
                improve(generator_loss(critic, made, s, told, labels[rows], self.class_weight))
        return generator


def critic_loss(
    critic: Layers, real: Tensor, made: Tensor, S: Tensor, share: Tensor, penalty: float
) -> Tensor:
    """Return the critic's loss on real and generated features (n, d_f) of the same classes.

    Parameters
    ----------
    critic
        Its layers, for (features, semantics).
    real, made : (n, d_f)
        Features.
    S : (n, d_z)
        Semantics of their classes.
    share : (n, 1)
        How much of the real feature is in the points at which the gradient is measured.
    penalty
        Weight of the gradient penalty.
    """
    import torch

    features = torch.cat([real, made])
    of_real, of_made = forward(critic, features, torch.cat([S, S])).chunk(2)
    slopes = feature_gradients(critic, share * real + (1 - share) * made, S)
    unevenness: Tensor = ((slopes.norm(dim=1) - 1) ** 2).mean()
    return (of_made - of_real).mean() + penalty * unevenness


def feature_gradients(critic: Layers, F: Tensor, S: Tensor) -> Tensor:
    """Return the gradients (n, d_f) of a critic with one hidden layer with respect to features.

    Written out, which is less to compute than differentiating twice.
    """
    import torch

    (W, b), (w, _) = critic
    active = torch.cat([F, S], dim=1) @ W + b > 0
    slopes: Tensor = torch.where(active, w[:, 0], SLOPE * w[:, 0]) @ W[: F.shape[1]].T
    return slopes


def generator_loss(
    critic: Layers, made: Tensor, S: Tensor, logits: Tensor, labels: Tensor, class_weight: float
) -> Tensor:
    """Return the generator's loss: what the critic finds missing, and cross-entropy.

    Parameters
    ----------
    critic
        Its layers, for (features, semantics).
    made : (n, d_f)
        Generated features.
    S : (n, d_z)
        Semantics of their classes.
    logits : (n, p)
        What the classifier of the seen classes makes of them.
    labels : (n,)
        Their classes.
    class_weight
        Weight of the cross-entropy.
    """
    import torch

    misnamed = torch.nn.functional.cross_entropy(logits, labels)
    return class_weight * misnamed - forward(critic, made, S).mean()
