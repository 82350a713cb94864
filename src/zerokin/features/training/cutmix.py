"""CutMix (Yun et al. 2019): a box of its neighbor in every image; labels share the loss."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from zerokin.errors import InvalidInput
from zerokin.features.networks.mixup import neighbors
from zerokin.features.training.recipe import Recipe
from zerokin.features.training.rng import cutmix_generator


@dataclass(frozen=True)
class CutMixBox:
    """Box of CutMix, the same in all images of a step, in shares of their side.

    Parameters
    ----------
    top, left, bottom, right
        Its rims, 0 … 1.

    Examples
    --------
    >>> box = CutMixBox(0.5, 0.0, 1.0, 0.5)
    >>> box.pixels(8), box.share(8)
    ((slice(4, 8, None), slice(0, 4, None)), 0.25)
    """

    top: float
    left: float
    bottom: float
    right: float

    def pixels(self, side: int) -> tuple[slice, slice]:
        """Return its rows and columns in images of a side."""
        top, left, bottom, right = (
            round(rim * side) for rim in (self.top, self.left, self.bottom, self.right)
        )
        return slice(top, bottom), slice(left, right)

    def share(self, side: int) -> float:
        """Return the share of the pixels that it covers."""
        rows, columns = self.pixels(side)
        height, width = (len(range(side)[rim]) for rim in (rows, columns))
        return height * width / side**2


def draw_cutmix_box(probability: float, *, seed: int, step: int) -> CutMixBox | None:
    """Draw the CutMix box of a step, with the proportions of an image; None where it has none.

    The share of the area is even in 0 … 1 for boxes that end within the image, and the center
    is anywhere in it.

    Parameters
    ----------
    probability
        That a step has one.
    seed, step
        Decide what is drawn, whatever device and process ask.
    """
    u = torch.rand(4, generator=cutmix_generator(seed=seed, step=step), dtype=torch.float64)
    chance, area, y, x = u.tolist()
    if chance >= probability:
        return None
    half = area**0.5 / 2
    return CutMixBox(max(y - half, 0.0), max(x - half, 0.0), min(y + half, 1.0), min(x + half, 1.0))


def apply_cutmix(view: Tensor, box: CutMixBox) -> Tensor:
    """Return images (B, 3, S, S), each with its neighbor's pixels within the box."""
    rows, columns = box.pixels(view.shape[-1])
    result = view.clone()
    result[:, :, rows, columns] = neighbors(view[:, :, rows, columns])
    return result


def check_pairs(recipe: Recipe, part_size: int) -> None:
    """Refuse parts of a batch that do not fall into pairs, where CutMix or mixup need them."""
    what = "cutmix_prob goes" if recipe.cutmix_prob else "manifold_mixup goes"
    if (recipe.cutmix_prob or recipe.manifold_mixup) and part_size % 2:
        raise InvalidInput(
            f"{what} from image to image in pairs, but a process learns from {part_size:,} "
            "at a time: give an even batch_size, or change accumulation"
        )
