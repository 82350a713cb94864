"""Several feature networks side by side, used as one."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.reading import reading_width
from zerokin.features.scaler import unit_length

if TYPE_CHECKING:
    import torch

    from zerokin.data.images import Images
    from zerokin.features.input.sources import Source

MOST = 16
"""Networks that may stand side by side."""


class NetworkEnsemble:
    """Networks side by side: the features of each, of unit length, one after the other in a row.

    So each network counts alike, whatever the length of its features; a cosine between two rows is
    the mean of the networks' own. What recognizes images asks it what it asks a `FeatureLearner`.
    Reading an image costs what it costs with all networks together.

    Parameters
    ----------
    members
        Fitted learners that show images in one ``resize_mode``. Images are kept for all of them at
        the largest of their sizes, so that they are decoded once.

    Examples
    --------
    >>> NetworkEnsemble([])
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: an ensemble has 2 to 16 networks: got 0
    """

    def __init__(self, members: Sequence[FeatureLearner]) -> None:
        self.members = tuple(kept_alike(members))

    @property
    def network_(self) -> torch.nn.ModuleList:
        """All networks, as one module."""
        from torch.nn import ModuleList

        return ModuleList(member.network_ for member in self.members)

    @property
    def settings(self) -> Any:
        """Settings of the first network; resize mode and cache size are those of all."""
        return self.members[0].settings

    @property
    def cache_size(self) -> int:
        """Side of the images that crops are taken from."""
        return self.members[0].cache_size

    @property
    def torch_device(self) -> torch.device:
        """Where the networks work."""
        return self.members[0].torch_device

    def transform(
        self, images: Images | Source | NDArray[Any], *, quiet: bool = True
    ) -> NDArray[np.float32]:
        """Return the features of images (N, d_f), d_f being the sum of the networks' own."""
        return join_features([one.transform(images, quiet=quiet) for one in self.members])


def join_features(parts: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
    """Return features (N, d) of several networks side by side, each of unit length."""
    joined: NDArray[np.float32]
    joined = np.concatenate([unit_length(part) for part in parts], axis=1).astype(np.float32)
    return joined


def kept_alike(members: Sequence[FeatureLearner]) -> list[FeatureLearner]:
    """Return copies of learners that take images of one size and form from memory."""
    if not 2 <= len(members) <= MOST:
        raise InvalidInput(f"an ensemble has 2 to {MOST} networks: got {len(members)}")
    modes = list(dict.fromkeys(member.settings.resize_mode for member in members))
    if len(modes) > 1:
        raise InvalidInput(
            f"networks side by side show images alike, but resize_mode is {modes[0]!r} of one and "
            f"{modes[1]!r} of another: set resize_mode of all"
        )
    side = max(member.cache_size for member in members)
    alike = [copy(member) for member in members]
    for member in alike:
        member.settings = replace(member.settings, cache_size=side)
    return alike


def networks_of(learner: FeatureLearner | NetworkEnsemble | None) -> tuple[FeatureLearner, ...]:
    """Return the networks of a learner, an ensemble, or none."""
    if learner is None:
        return ()
    return learner.members if isinstance(learner, NetworkEnsemble) else (learner,)


def side_by_side(
    members: Sequence[FeatureLearner],
) -> FeatureLearner | NetworkEnsemble | None:
    """Return one learner as it is, several as an ensemble, and none as None."""
    if len(members) > 1:
        return NetworkEnsemble(members)
    return members[0] if members else None


def joint_width(members: Sequence[FeatureLearner]) -> int:
    """Return how many numbers networks read off an image together."""
    return sum(reading_width(member.network_) for member in members)
