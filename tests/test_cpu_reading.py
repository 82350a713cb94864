"""Reading on a CPU: folded networks, one view at a time, the same to the last bit."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from training_parts import network, pixels
from zerokin.features.cpu_reading import fuse_bn, on_all_cores
from zerokin.features.input import open_source
from zerokin.features.networks import create_backbone
from zerokin.features.networks.backbone import IMAGENET, Backbone
from zerokin.features.reading import View, read_all


def shaken(backbone):
    """Give batch norms statistics and weights as training would: none of them 0 or 1."""
    generator = torch.Generator().manual_seed(1)
    for part in backbone.modules():
        if isinstance(part, nn.BatchNorm2d):
            for values in (part.running_var, part.weight.data):
                values.copy_(0.5 + torch.rand(values.shape, generator=generator))
            for values in (part.running_mean, part.bias.data):
                values.copy_(torch.rand(values.shape, generator=generator) - 0.5)
    return backbone.eval()


def norms(backbone):
    return sum(isinstance(part, nn.BatchNorm2d) for part in backbone.modules())


@pytest.mark.parametrize(
    "name", ["conv4", "resnet12", "small", "tf_efficientnet_lite0", "resnet18", "mobilenetv2_100"]
)
def test_a_folded_network_is_the_network(name):
    # In double precision: random weights make rounding grow from layer to layer.
    backbone = shaken(create_backbone(name)).double()
    view = torch.rand(2, 3, 64, 64, dtype=torch.float64)
    fast = fuse_bn(backbone)
    assert norms(backbone) > 0
    assert norms(fast) == 0
    with torch.no_grad():
        for ours, theirs in zip(fast(view), backbone(view), strict=True):
            scale = theirs.abs().max()
            torch.testing.assert_close(ours / scale, theirs / scale, atol=1e-11, rtol=0)


def test_a_network_is_folded_once_and_again_after_it_learned():
    backbone = shaken(create_backbone("conv4"))
    first = fuse_bn(backbone)
    assert fuse_bn(backbone) is first
    with torch.no_grad():
        next(backbone.parameters()).mul_(2)
    view = torch.rand(1, 3, 84, 84)
    with torch.no_grad():
        assert fuse_bn(backbone) is not first
        torch.testing.assert_close(fuse_bn(backbone)(view).features, backbone(view).features)


@pytest.mark.parametrize("name", ["conv4", "vgg11"])
def test_a_network_that_nobody_uses_is_let_go(name):
    backbone = create_backbone(name)
    fuse_bn(backbone)
    alive = weakref.ref(backbone)
    del backbone
    gc.collect()
    assert alive() is None


class Bend(nn.Module):
    """A model of which a fold must leave something alone."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.conv = nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x):
        if self.kind == "undecided" and x.sum() > 0:
            return self.norm(self.conv(x))
        first = self.conv(x)
        if self.kind == "read twice":
            return self.norm(first) + first
        if self.kind == "called twice":
            return self.norm(self.conv(self.norm(first)))
        if self.kind == "other way round":
            return self.conv(self.norm(x))
        return self.norm(torch.relu(first))


@pytest.mark.parametrize(
    "kind", ["undecided", "read twice", "called twice", "other way round", "relu between"]
)
def test_what_cannot_be_folded_stays(kind):
    backbone = Backbone(kind, Bend(kind), channels=3, d_f=3, input_size=8, normalization=IMAGENET)
    assert fuse_bn(shaken(backbone)) is backbone


def test_others_read_on_while_a_network_is_folded():
    used = create_backbone("conv4", width=8).eval()
    image = torch.rand(1, 3, 84, 84)
    with torch.no_grad():
        expected = used(image).features
    stop, read = threading.Event(), []

    def go_on_reading():
        with torch.no_grad():
            while not stop.is_set():
                read.append(torch.equal(used(image).features, expected))

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(go_on_reading) for _ in range(2)]
        while len(read) < 20:
            time.sleep(0.001)
        for _ in range(40):
            fuse_bn(create_backbone("conv4", width=8))
        stop.set()
        for reader in readers:
            reader.result()
    assert all(read)


@pytest.mark.parametrize("head", ["cnn-rnn", "end-to-end"])
def test_company_changes_nothing(head):
    made, images = network(head=head), pixels(24)
    shaken(made.backbone)

    def read(rows, batch_size):
        source = open_source(images[rows], 16, quiet=True)
        return read_all(made, source, View(16, batch_size=batch_size))

    whole = read(np.arange(24), 128)
    for batch_size in (1, 5):
        np.testing.assert_array_equal(read(np.arange(24), batch_size), whole)
    np.testing.assert_array_equal(read(np.array([7]), 128), whole[7:8])
    np.testing.assert_array_equal(read(np.arange(24)[::-1], 6), whole[::-1])


def test_company_changes_nothing_for_a_large_network():
    backbone = shaken(create_backbone("tf_efficientnet_lite0"))
    images = np.random.default_rng(0).integers(0, 256, (5, 96, 96, 3), np.uint8)
    view = View(96)
    whole = read_all(backbone, open_source(images, 96, quiet=True), view)
    for row in range(5):
        alone = open_source(images[row : row + 1], 96, quiet=True)
        np.testing.assert_array_equal(read_all(backbone, alone, view)[0], whole[row])


def test_work_is_done_on_threads_of_one_core_each():
    usual = torch.get_num_threads()
    found = on_all_cores(
        lambda _: (torch.get_num_threads(), threading.current_thread().name), range(20)
    )
    assert {threads for threads, _ in found} == {1}
    assert all(name.startswith("zerokin reading") for _, name in found)
    assert torch.get_num_threads() == usual
    later = []
    other = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    other.start()
    other.join()
    assert later == [usual]


def test_what_fails_on_another_thread_is_heard_of():
    with pytest.raises(ZeroDivisionError):
        on_all_cores(lambda x: 1 // x, [1, 0])
