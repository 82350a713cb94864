"""Random crops at reading: others of every image, and the same wherever it is read."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from zerokin.errors import InvalidInput
from zerokin.features.extractor import Extractor
from zerokin.features.input.random_crops import draw_random_crops
from zerokin.features.input.sources import ResidentSource
from zerokin.features.network_settings import NetworkSettings
from zerokin.features.networks import create_backbone
from zerokin.features.reading import View, read_all


def images(n=13, side=21, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(256, (n, 3, side, side), generator=generator, dtype=torch.uint8)


def test_crops_are_spread_as_random_resized_crops_are():
    """Area and proportion of each, against the law they are drawn from."""
    drawn = draw_random_crops(images(60), 50, seed=3).flatten(0, 1).numpy()
    x, y, half_width, half_height, sign = drawn[:, :5].T
    area = half_width * half_height
    assert 0.08 <= area.min() < 0.09
    assert 0.99 < area.max() <= 1 + 1e-5
    # Area is uniform: every tenth of its range has a tenth of the crops, up to five deviations.
    counts = np.histogram(area, bins=np.linspace(0.08, 1, 11))[0]
    assert np.abs(counts - 300).max() < 5 * np.sqrt(300 * 0.9)
    ratio = half_width / half_height
    assert (ratio > 0.74).all()
    assert (ratio < 1.34).all()
    assert (np.abs(x) + half_width <= 1 + 1e-5).all()
    assert (np.abs(y) + half_height <= 1 + 1e-5).all()
    assert (sign == 1).all()
    assert (drawn[:, 5:] == 1).all()
    # Numbers of one crop say nothing of each other, nor those of one image of the next.
    correlations = np.corrcoef(np.stack([x[:-1], y[:-1], area[:-1], x[1:], area[1:]]))
    assert np.abs(correlations - np.eye(5)).max() < 0.1


def test_every_image_has_its_own_whatever_stands_beside_it():
    shown = images()
    together = draw_random_crops(shown, 4, seed=5)
    assert torch.equal(draw_random_crops(shown[7:9].flip(0), 4, seed=5), together[7:9].flip(0))
    assert torch.equal(draw_random_crops(shown, 2, seed=5), together[:, :2])
    assert len(torch.unique(together.flatten(0, 1), dim=0)) == 13 * 4
    assert not torch.equal(draw_random_crops(shown, 4, seed=6), together)
    changed = shown.clone()
    changed[0, 1, 2, 3] ^= 1
    assert not torch.equal(draw_random_crops(changed, 4, seed=5)[0], together[0])
    # Two pixels change places: the same sum of all, another image.
    changed = shown.clone()
    changed[0, 0, 0, :2] = changed[0, 0, 0, :2].flip(0)
    assert not torch.equal(draw_random_crops(changed, 4, seed=5)[0], together[0])


def test_features_are_averages_over_the_crops_alone():
    torch.manual_seed(0)
    network = create_backbone("conv4", weights=None, width=5)
    shown = images()
    view = View(16, tta_flip=False, batch_size=5, tta_crops=3, tta_crop_seed=2)
    found = read_all(network, ResidentSource(shown), view)
    expected = torch.zeros(13, network.d_f)
    from torch.nn import functional

    for number, crops in enumerate(draw_random_crops(shown, 3, seed=2)):
        for x, y, w, h in crops[:, :4]:
            theta = torch.tensor([[[w, 0, x], [0, h, y]]])
            grid = functional.affine_grid(theta, [1, 3, 16, 16], align_corners=False)
            crop = functional.grid_sample(
                shown[number : number + 1] / 255,
                grid,
                padding_mode="border",
                align_corners=False,
            )
            with torch.no_grad():
                expected[number] += network(crop)[1][0] / 3
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-4)
    again = read_all(network, ResidentSource(shown), view._replace(batch_size=4))
    np.testing.assert_allclose(again, found, atol=1e-5)


def test_recipe_of_features_says_so_and_refuses_none_to_draw():
    network = create_backbone("conv4", weights=None, width=5)
    plain = Extractor.from_network(network, view=View(16, tta_crops=3)).recipe()
    drawn = Extractor.from_network(network, view=View(16, tta_crops=3, tta_crop_seed=0)).recipe()
    assert drawn == {**plain, "tta_crop_seed": 0}
    with pytest.raises(InvalidInput, match="say how many with tta_crops"):
        Extractor.from_network(network, view=View(16, tta_crop_seed=0))
    with pytest.raises(InvalidInput, match="tta_crop_seed must be a whole number from 0"):
        Extractor.from_network(network, view=View(16, tta_crops=1, tta_crop_seed=-1))
    with pytest.raises(InvalidInput, match="say how many with tta_crops"):
        NetworkSettings(tta_crop_seed=4)
    assert NetworkSettings(tta_crops=2, tta_crop_seed=4).reading() == "tta_crops 2, tta_crop_seed 4"
