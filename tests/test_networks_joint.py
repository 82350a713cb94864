"""All superclass heads as one product and one loss: the same as one by one."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from training_parts import furthest, network, recipe, source, targets, weights
from zerokin.features.networks import HierarchyHead, hierarchy_loss
from zerokin.features.networks.losses import joint_cross_entropy
from zerokin.features.training import train

SIZES = [7, 5, 11, 1, 2]


def head_and_data(n=13):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        head = HierarchyHead(9, 6, SIZES, mode="superclass-heads").double()
        features = torch.randn(n, 9, dtype=torch.float64)
        classes = torch.randint(0, 6, (n,))
        layers = torch.stack([torch.randint(0, size, (n,)) for size in SIZES], 1)
    return head, features, classes, layers


@pytest.mark.parametrize("smoothing", [0.0, 0.15])
@pytest.mark.parametrize("class_weight", [1.0, 0.4])
def test_joint_heads_have_the_loss_and_the_gradients_of_separate_ones(smoothing, class_weight):
    lambdas = [0.3, 0.0, 1.2, 0.5, 0.1]
    found = []
    for joint in (False, True):
        head, features, classes, layers = head_and_data()
        head.joint = joint
        features.requires_grad_()
        outputs = head(features)
        assert (outputs.joint is not None) == joint
        total, parts = hierarchy_loss(
            outputs,
            classes,
            layers,
            lambdas,
            class_weight=class_weight,
            label_smoothing=smoothing,
        )
        total.backward()
        gradients = {name: value.grad for name, value in head.named_parameters()}
        found.append(({"total": total.detach(), **parts}, {"f": features.grad, **gradients}))
    for separate, together in zip(*found, strict=True):
        assert separate.keys() == together.keys()
        for name, value in separate.items():
            torch.testing.assert_close(together[name], value, atol=1e-6, rtol=0)
    assert max(value.abs().max() for value in found[0][1].values()) > 1e-2


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_the_joint_loss_is_torchs_of_each_layer(smoothing):
    sizes, generator = (4, 9, 1, 6), torch.Generator().manual_seed(0)
    joint = 3 * torch.randn(17, sum(sizes), generator=generator, dtype=torch.float64)
    labels = torch.stack([torch.randint(0, n, (17,), generator=generator) for n in sizes], 1)
    found = joint_cross_entropy(joint, sizes, labels, label_smoothing=smoothing)
    for number, logits in enumerate(joint.split(sizes, dim=1)):
        expected = functional.cross_entropy(logits, labels[:, number], label_smoothing=smoothing)
        assert found[number].item() == pytest.approx(expected.item(), abs=1e-12)
    if not smoothing:
        assert joint_cross_entropy(joint, sizes, labels).tolist() == found.tolist()


def test_logits_are_the_same_and_separate_on_a_cpu():
    head, features, *_ = head_and_data()
    plain = head(features)
    assert plain.joint is None
    assert head.n_seen == 6
    head.joint = True
    together = head(features)
    torch.testing.assert_close(together.classes, plain.classes)
    for one, other in zip(together.layers, plain.layers, strict=True):
        torch.testing.assert_close(one, other)
    part = together.rows(slice(4, 9))
    torch.testing.assert_close(part.joint, together.joint[4:9])
    torch.testing.assert_close(part.layers[2], plain.layers[2][4:9])


@pytest.mark.parametrize("settings", [{}, {"manifold_mixup": 2.0, "rotation_weight": 0.5}])
def test_a_whole_training_ends_alike(settings):
    ends = []
    for joint in (False, True):
        learned = network(head="superclass-heads")
        learned.head.joint = joint
        train(learned, source(), targets(), recipe(**settings), device="cpu", quiet=True)
        ends.append(weights(learned))
    assert furthest(*ends) < 1e-4
    assert furthest(ends[0], weights(network(head="superclass-heads"))) > 1e-2


def test_other_modes_stay_as_they_are():
    for mode in ("cnn-rnn", "classes"):
        head = HierarchyHead(9, 6, SIZES, mode=mode)
        head.joint = True
        assert head(torch.zeros(2, 9)).joint is None
