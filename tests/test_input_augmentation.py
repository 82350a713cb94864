"""Crops, mirrors and colors against sampling by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from zerokin.errors import InvalidInput
from zerokin.features.input import Augmentation, center_view, training_view

STILL = {"area": (1.0, 1.0), "ratio": (1.0, 1.0), "mirror": False}


def drawn(n=500, seed=0, **given):
    return Augmentation(**given).draw(n, torch.Generator().manual_seed(seed))


def noise(n, side, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.integers(0, 256, (n, 3, side, side), dtype=np.uint8))


def sampled(image, variation, side):
    """Sample one image (3, S, S) bilinearly, pixel by pixel."""
    x, y, half_width, half_height, sign = (float(v) for v in variation[:5])
    size = image.shape[-1]
    image = image.numpy().astype(float) / 255
    view = np.empty((3, side, side))
    for i in range(side):
        for j in range(side):
            # The middle of pixel j, from -1 to 1 across the crop, then in pixels of the image.
            across, down = (2 * j + 1) / side - 1, (2 * i + 1) / side - 1
            u = ((x + sign * half_width * across + 1) * size - 1) / 2
            v = ((y + half_height * down + 1) * size - 1) / 2
            u, v = np.clip([u, v], 0, size - 1)
            left, top = int(u), int(v)
            right, bottom = min(left + 1, size - 1), min(top + 1, size - 1)
            a, b = u - left, v - top
            above = (1 - a) * image[:, top, left] + a * image[:, top, right]
            below = (1 - a) * image[:, bottom, left] + a * image[:, bottom, right]
            view[:, i, j] = (1 - b) * above + b * below
    return view


areas = st.tuples(st.floats(0.05, 1), st.floats(0.05, 1)).map(lambda pair: tuple(sorted(pair)))
ratios = st.tuples(st.floats(0.2, 5), st.floats(0.2, 5)).map(lambda pair: tuple(sorted(pair)))


@settings(max_examples=50, deadline=None)
@given(area=areas, ratio=ratios, seed=st.integers(0, 1000))
def test_crops_lie_in_the_image_and_have_the_area_asked_for(area, ratio, seed):
    x, y, half_width, half_height = drawn(64, seed, area=area, ratio=ratio)[:, :4].double().T
    assert (x.abs() + half_width).max() <= 1 + 1e-6
    assert (y.abs() + half_height).max() <= 1 + 1e-6
    shown = half_width * half_height
    assert shown.min() > area[0] - 1e-5
    assert shown.max() < area[1] + 1e-5
    # Where a crop of its area and of any proportion in the range fits, the proportion is in it.
    fits = (shown * ratio[1] <= 1) & (shown / ratio[0] <= 1)
    proportion = (half_width / half_height)[fits]
    assert ((proportion > ratio[0] - 1e-4) & (proportion < ratio[1] * (1 + 1e-4))).all()


def test_areas_and_proportions_are_spread_over_their_ranges():
    _, _, half_width, half_height = drawn(4000, area=(0.2, 0.6), ratio=(0.5, 2))[:, :4].T
    area, log_ratio = half_width * half_height, (half_width / half_height).log2()
    quarters = torch.tensor([0.25, 0.5, 0.75])
    torch.testing.assert_close(area.quantile(quarters), 0.2 + 0.4 * quarters, atol=0.02, rtol=0)
    torch.testing.assert_close(log_ratio.quantile(quarters), 2 * quarters - 1, atol=0.08, rtol=0)


def test_crops_of_noise_equal_sampling_by_hand():
    images, variations = noise(4, 13), drawn(4, area=(0.2, 0.9))
    variations[:, 5:] = 1
    found = training_view(images, variations, 7)
    expected = [sampled(p, v, 7) for p, v in zip(images, variations, strict=True)]
    np.testing.assert_allclose(found.numpy(), np.stack(expected), atol=2e-5)


def test_a_crop_of_a_gradient_shows_its_box():
    # Brightness is the column's middle in pixels: a crop reads off where it lies.
    ramp = torch.arange(64, dtype=torch.uint8).expand(1, 3, 64, 64).contiguous()
    box = torch.tensor([[0.25, 0.0, 0.5, 0.5, 1, 1, 1, 1]])
    row = training_view(ramp, box, 32)[0, 0, 0] * 255
    # From -0.25 to 0.75 of -1 to 1: columns 24 to 56, one each.
    np.testing.assert_allclose(row.numpy(), np.arange(24, 56), atol=1e-3)


def test_a_mirrored_crop_is_the_crop_flipped():
    images, variations = noise(6, 20), drawn(6, mirror=False)
    mirrored = variations.clone()
    mirrored[:, 4] = -1
    plain, flipped = (training_view(images, v, 16) for v in (variations, mirrored))
    torch.testing.assert_close(flipped.flip(3), plain, atol=1e-5, rtol=0)


def test_half_of_the_crops_are_mirrored():
    assert 0.45 < float((drawn(4000)[:, 4] == -1).float().mean()) < 0.55
    assert (drawn(100, mirror=False)[:, 4] == 1).all()


@pytest.mark.parametrize("side", [1, 8, 31])
def test_the_whole_image_at_its_own_size_comes_back(side):
    images = noise(3, side)
    view = training_view(images, drawn(3, **STILL), side)
    torch.testing.assert_close(view, images / 255, atol=1e-5, rtol=0)
    assert torch.equal((view * 255).round().to(torch.uint8), images)


def test_color_factors_of_one_change_nothing():
    images, still = noise(3, 9), drawn(3, **STILL)
    assert (still[:, 5:] == 1).all()
    half = still.clone()
    half[:, 5] = 0.5  # by half, and nothing else: exact in binary
    assert torch.equal(training_view(images, half, 9) * 2, training_view(images, still, 9))


def colors(brightness=1.0, contrast=1.0, saturation=1.0):
    """Recolor two pixels: (0.4, 0.2, 0) and (0, 0, 1) in bytes, side by side."""
    image = torch.zeros(1, 3, 2, 2, dtype=torch.uint8)
    image[0, :, :, 0] = torch.tensor([102, 51, 0])[:, None]
    image[0, :, :, 1] = torch.tensor([0, 0, 255])[:, None]
    variation = torch.tensor([[0, 0, 1, 1, 1, brightness, contrast, saturation]])
    return training_view(image, variation, 2)[0, :, 0].T.tolist()


def test_colors_by_hand():
    # Luma: 0.299 · 0.4 + 0.587 · 0.2 = 0.237 and 0.114; their mean is 0.1755.
    assert colors(brightness=0.5) == [pytest.approx(p) for p in ([0.2, 0.1, 0], [0, 0, 0.5])]
    assert colors(brightness=2) == [pytest.approx(p) for p in ([0.8, 0.4, 0], [0, 0, 1])]
    assert colors(saturation=0) == [pytest.approx([v] * 3) for v in (0.237, 0.114)]
    assert colors(saturation=0.5)[0] == pytest.approx([0.3185, 0.2185, 0.1185])
    assert colors(contrast=0) == [pytest.approx([0.1755] * 3)] * 2
    assert colors(contrast=0.5)[1] == pytest.approx([0.08775, 0.08775, 0.58775])
    assert colors(contrast=2)[0] == pytest.approx([0.6245, 0.2245, 0])
    # Brightness first: the luma halves with it.
    assert colors(brightness=0.5, saturation=0)[0] == pytest.approx([0.1185] * 3)


def test_color_factors_lie_in_their_ranges():
    factors = drawn(4000, brightness=0.3, saturation=1.0)[:, 5:]
    assert 0.7 <= factors[:, 0].min() < 0.71
    assert 1.29 < factors[:, 0].max() <= 1.3
    assert (factors[:, 1] == 1).all()
    assert factors[:, 2].min() < 0.01


def test_the_same_draw_for_the_same_generator_alone():
    assert torch.equal(drawn(5, seed=3), drawn(5, seed=3))
    assert not torch.equal(drawn(5, seed=3), drawn(5, seed=4))


@pytest.mark.parametrize(
    "wrong",
    [
        {"area": (0, 1)},
        {"area": (0.9, 0.5)},
        {"area": (0.5, 1.1)},
        {"area": 0.5},
        {"area": (0.5, 0.7, 1.0)},
        {"area": ("a", "b")},
        {"ratio": (-1, 1)},
        {"ratio": (1, float("inf"))},
        {"mirror": "no"},
        {"brightness": -0.1},
        {"contrast": 1.5},
        {"saturation": "0.5"},
        {"saturation": float("nan")},
    ],
)
def test_wrong_variations_are_refused_by_name(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Augmentation(**wrong)


def test_the_center_at_its_own_size_is_the_image():
    images = noise(2, 10)
    assert torch.equal(center_view(images, 10), images / 255)


def test_zoom_leaves_out_a_rim():
    images = noise(2, 20)
    # 1 − 1/1.25 is a fifth: 2 pixels of 20 on every side.
    assert torch.equal(center_view(images, 16, 1.25), images[:, :, 2:18, 2:18] / 255)


def test_a_smaller_view_averages_as_pillow_does():
    images = noise(1, 30)
    theirs = Image.fromarray(images[0].permute(1, 2, 0).numpy()).resize((12, 12), 2)
    ours = center_view(images, 12)[0].permute(1, 2, 0) * 255
    np.testing.assert_allclose(ours.numpy(), np.asarray(theirs, float), atol=1.01)


def test_a_zoom_that_shows_nothing_more_shows_the_middle():
    assert center_view(noise(1, 9), 4, 1e6).shape == (1, 3, 4, 4)


@pytest.mark.parametrize("zoom", [0.5, float("nan")])
def test_a_zoom_out_is_refused(zoom):
    with pytest.raises(InvalidInput, match="zoom must be a number of at least 1"):
        center_view(noise(1, 9), 4, zoom)
