"""Squares of maps that are dropped while a network learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from zerokin.errors import InvalidInput
from zerokin.features.networks import create_backbone
from zerokin.features.networks.few_shot_backbones import DropBlock


def dropped(share, size, shape, seed=0):
    torch.manual_seed(seed)
    return DropBlock(share, size).train()(torch.ones(shape)).numpy()


def test_what_is_dropped_is_a_union_of_squares():
    zero = dropped(0.15, 3, (4, 8, 9, 7)) == 0
    assert 0 < zero.mean() < 0.5
    for one in zero.reshape(-1, 9, 7):
        covered = np.zeros_like(one)
        for y in range(7):
            for x in range(5):
                if one[y : y + 3, x : x + 3].all():
                    covered[y : y + 3, x : x + 3] = True
        assert np.array_equal(covered, one)


@pytest.mark.parametrize(("share", "size", "side"), [(0.1, 1, 10), (0.1, 5, 10), (0.2, 5, 5)])
def test_as_much_is_dropped_as_asked_for_but_for_overlaps(share, size, side):
    found = (dropped(share, size, (64, 64, side, side)) == 0).mean()
    assert 0.85 * share < found < 1.05 * share


def test_the_sum_stays_as_it_was():
    assert dropped(0.2, 5, (16, 32, 10, 10)).mean() == pytest.approx(1, abs=1e-4)


def test_a_square_larger_than_the_map_drops_whole_maps():
    zero = dropped(0.3, 5, (16, 32, 3, 3)) == 0
    each = zero.reshape(-1, 9)
    assert (each.all(1) | ~each.any(1)).all()
    assert 0 < zero.mean() < 1


def test_nothing_becomes_infinite_where_all_is_dropped():
    torch.manual_seed(0)
    assert torch.isfinite(DropBlock(0.999, 2).train()(torch.ones(1, 1, 2, 2))).all()


def test_a_network_drops_while_it_learns_alone_and_the_gradient_passes_by():
    backbone = create_backbone("resnet12", dropout=0.1, drop_block=0.2, input_size=32)
    kinds = [type(block.dropout).__name__ for block in backbone.model]
    assert kinds == ["Dropout", "Dropout", "DropBlock", "DropBlock"]
    assert backbone.state_dict().keys() == create_backbone("resnet12").state_dict().keys()
    images = torch.rand(2, 3, 32, 32)
    assert (backbone.train()(images).maps == 0).any()
    backbone.eval()
    assert torch.equal(backbone(images).maps, backbone(images).maps)
    maps = torch.rand(3, 4, 6, 6, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(1)
    kept = DropBlock(0.3, 2).train()(maps)
    kept.sum().backward()
    assert torch.equal(maps.grad == 0, kept == 0)


def test_a_share_that_is_none_is_refused():
    with pytest.raises(InvalidInput, match=r"drop_block must be at least 0 and below 1: got 1"):
        create_backbone("resnet12", drop_block=1)
