"""A small convolutional network that learns class semantics from pictures, quick on a CPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.progress import track

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class AttributeCNN:
    """What `train_attribute_cnn` learned: call it for features, ask `semantics` for estimates.

    Parameters
    ----------
    trunk
        Four convolutional blocks, then mean and maximum over positions: pictures to features
        of width ``d_f``.
    head
        Linear map from features to semantics.
    mean
        Mean of the distinct target rows, (d_z,): the head's origin.
    """

    trunk: torch.nn.Sequential
    head: torch.nn.Linear
    mean: NDArray[np.float64]

    def __call__(self, pictures: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the features of pictures, (N, d_f)."""
        import torch

        self.trunk.eval()
        batches = []
        with torch.inference_mode():
            for start in range(0, len(pictures), 256):
                batches.append(self.trunk(_tensor(pictures[start : start + 256])))
        features: NDArray[np.float64] = torch.cat(batches).double().numpy()
        return features

    def semantics(self, pictures: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return estimated semantics less `mean`, up to a positive factor a row, (N, d_z).

        Compare them by cosine with class semantics less the same mean.
        """
        weight = self.head.weight.detach().double().numpy()
        bias = self.head.bias.detach().double().numpy()
        estimates: NDArray[np.float64] = self(pictures) @ weight.T + bias
        return estimates


def train_attribute_cnn(
    pictures: NDArray[np.uint8],
    targets: NDArray[np.float64],
    *,
    epochs: int = 10,
    width: int = 24,
    batch_size: int = 64,
    learning_rate: float = 3e-3,
    scale: float = 10.0,
    seed: int = 0,
    quiet: bool = True,
) -> AttributeCNN:
    """Train a CNN whose projected features point at the semantics of the picture's class.

    The distinct rows of ``targets`` are the seen classes. The loss is the cross-entropy of a
    softmax over them, whose logits are ``scale`` times the cosine between a picture's estimate and
    each class's semantics, both less the mean of the classes.

    Parameters
    ----------
    pictures
        (N, side, side, 3), uint8.
    targets
        Semantics of each picture's class, (N, d_z).
    epochs, batch_size, learning_rate
        Of AdamW under a one-cycle schedule.
    width
        Channels of the first block; each of the three others doubles them.
    scale
        Inverse temperature of the softmax.
    seed
        Fixes weights, order and augmentation: the same seed gives the same network.
    quiet
        Show no progress.

    Returns
    -------
    AttributeCNN
        Callable: pictures to features, (N, 16 width).
    """
    import torch
    from torch.nn import functional

    pictures, targets = np.asarray(pictures), np.asarray(targets, dtype=np.float64)
    _check(pictures, targets)
    classes, labels = np.unique(targets, axis=0, return_inverse=True)
    mean = classes.mean(axis=0)
    prototypes = functional.normalize(torch.from_numpy(classes - mean).float(), dim=1)

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        trunk, head = _network(width, targets.shape[1])
    trunk = trunk.to(memory_format=torch.channels_last)
    generator = np.random.default_rng(seed)
    parameters = [*trunk.parameters(), *head.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=learning_rate, weight_decay=0.05)
    steps = -(-len(pictures) // batch_size) * epochs
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, learning_rate, total_steps=steps)
    for _ in track(range(epochs), "training the attribute CNN, epochs", total=epochs, quiet=quiet):
        trunk.train()
        order = generator.permutation(len(pictures))
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            estimates = head(trunk(_augmented(_tensor(pictures[chosen]), generator)))
            logits = scale * functional.normalize(estimates, dim=1) @ prototypes.T
            loss = functional.cross_entropy(logits, torch.from_numpy(labels[chosen]))
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
    trunk.eval()
    return AttributeCNN(trunk=trunk, head=head, mean=mean)


def _check(pictures: NDArray[np.uint8], targets: NDArray[np.float64]) -> None:
    if pictures.ndim != 4 or pictures.shape[3] != 3 or pictures.dtype != np.uint8:
        got = f"{pictures.dtype} {pictures.shape}"
        raise InvalidInput(f"pictures must be uint8 of shape (N, side, side, 3): got {got}")
    if targets.ndim != 2 or len(targets) != len(pictures):
        raise InvalidInput(
            f"targets must have a row for each of the {len(pictures):,} pictures: "
            f"got shape {targets.shape}"
        )


def _network(width: int, n_outputs: int) -> tuple[torch.nn.Sequential, torch.nn.Linear]:
    import torch
    from torch import nn

    layers: list[nn.Module] = []
    channels = 3
    for block in range(4):
        out = width * 2**block
        kernel, stride = (5, 2) if block == 0 else (3, 1)
        layers += [
            nn.Conv2d(channels, out, kernel, stride=stride, padding=kernel // 2, bias=False),
            nn.BatchNorm2d(out),
            nn.ReLU(),
        ]
        layers += [nn.MaxPool2d(2)] if block in (1, 2) else []
        channels = out

    # The average says what fills the picture, the maximum that a small part is there at all.
    class MeanAndMaximum(nn.Module):
        def forward(self, maps: torch.Tensor) -> torch.Tensor:
            return torch.cat([maps.mean(dim=(2, 3)), maps.amax(dim=(2, 3))], dim=1)

    return nn.Sequential(*layers, MeanAndMaximum()), nn.Linear(2 * channels, n_outputs)


def _tensor(pictures: NDArray[np.uint8]) -> torch.Tensor:
    import torch

    scaled = torch.from_numpy(np.ascontiguousarray(pictures)).permute(0, 3, 1, 2).float()
    return ((scaled - 128.0) / 64.0).contiguous(memory_format=torch.channels_last)


def _augmented(batch: torch.Tensor, generator: np.random.Generator) -> torch.Tensor:
    """Mirror some pictures, shift the batch by a few pixels and change its light."""
    import torch

    mirrored = torch.from_numpy(generator.random(len(batch)) < 0.5)
    batch = torch.where(mirrored[:, None, None, None], batch.flip(3), batch)
    down, right = generator.integers(-4, 5, 2).tolist()
    gain = generator.normal(1.0, 0.1, (len(batch), 3, 1, 1)).astype(np.float32)
    return torch.roll(batch, (down, right), (2, 3)) * torch.from_numpy(gain)
