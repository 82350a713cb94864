"""Reading in bfloat16 on a CPU: near float32, independent of company, and written down."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import torch

from training_parts import pixels
from zerokin.errors import InvalidInput
from zerokin.features.cpu_precision import linear_in_bfloat16
from zerokin.features.extractor import Extractor
from zerokin.features.input import open_source
from zerokin.features.networks import create_backbone
from zerokin.features.reading import View, read_all

SIDE = 28


@pytest.fixture(scope="module")
def transformer():
    torch.manual_seed(3)
    return create_backbone(
        "vit_tiny_patch16_224",
        weights=None,
        input_size=SIDE,
        patch_size=7,
        depth=3,
        pooling="cls+mean",
        dynamic_img_size=True,
    ).eval()


def read(backbone, images, **view):
    source = open_source(images, SIDE, quiet=True)
    return read_all(backbone, source, View(SIDE, **view))


def test_bfloat16_is_near_float32_and_not_the_same(transformer):
    images = pixels(11, side=SIDE)
    exact = read(transformer, images)
    np.testing.assert_array_equal(read(transformer, images, precision="float32"), exact)
    found = read(transformer, images, precision="bfloat16")
    apart = np.linalg.norm(found - exact, axis=1) / np.linalg.norm(exact, axis=1)
    # bfloat16 has 8 bits of mantissa; a wrong attention or a lost layer is off by all of it.
    assert 0 < apart.max() < 2**-4


def test_the_network_itself_stays_in_float32(transformer):
    before = {name: value.clone() for name, value in transformer.state_dict().items()}
    read(transformer, pixels(3, side=SIDE), precision="bfloat16")
    for name, value in transformer.state_dict().items():
        assert value.dtype == torch.float32
        torch.testing.assert_close(value, before[name], atol=0, rtol=0)


def test_company_changes_nothing_in_bfloat16(transformer):
    images = pixels(7, side=SIDE)
    together = read(transformer, images, precision="bfloat16", batch_size=7)
    alone = [read(transformer, images[i : i + 1], precision="bfloat16") for i in range(7)]
    np.testing.assert_array_equal(together, np.concatenate(alone))


def test_a_copy_is_made_once_and_again_after_the_network_learned():
    backbone = create_backbone("conv4")
    first = linear_in_bfloat16(backbone)
    assert linear_in_bfloat16(backbone) is first
    with torch.no_grad():
        next(backbone.parameters()).mul_(2)
    second = linear_in_bfloat16(backbone)
    torch.testing.assert_close(next(second.parameters()), next(backbone.parameters()))
    alive = weakref.ref(backbone)
    del backbone, first, second
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("asked", [None, "float32", "bfloat16"])
def test_the_recipe_of_features_names_the_precision(transformer, asked):
    extractor = Extractor.from_network(transformer, view=View(SIDE, precision=asked))
    assert extractor.recipe()["precision"] == (asked or "float32")


def test_an_unknown_precision_is_refused_by_name(transformer):
    with pytest.raises(InvalidInput, match="precision must be float32 or bfloat16: got 'float16'"):
        Extractor.from_network(transformer, view=View(SIDE, precision="float16"))
