"""What later options leave as it was where they are off."""

from __future__ import annotations

import torch
from torch.nn.functional import cross_entropy

from training_parts import SIDE, network, recipe, source, targets, weights
from zerokin.features.input import training_view
from zerokin.features.training import Recipe, train
from zerokin.features.training.checkpoint import load_checkpoint, save_checkpoint
from zerokin.features.training.rng import augmentation_generator, epoch_order
from zerokin.features.training.schedule import rate


def plain_loop(learned, settings):
    """Train a network with superclass heads by what torch has, and nothing else."""
    groups = [
        {"params": list(module.parameters()), "name": name}
        for name, module in (("backbone", learned.backbone), ("head", learned.head))
    ]
    learned.to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(
        groups, lr=1, momentum=settings.momentum, weight_decay=settings.weight_decay, nesterov=True
    )
    classes, layers = (torch.from_numpy(labels) for labels in targets())
    for step in range(4 * settings.epochs):
        for group in optimizer.param_groups:
            group["lr"] = rate(settings, step, 4, group=group["name"])
        order = epoch_order(24, seed=settings.seed, epoch=step // 4)
        rows = order[step % 4 * 6 : step % 4 * 6 + 6]
        drawn = settings.augmentation.draw(6, augmentation_generator(seed=settings.seed, step=step))
        view = training_view(source().batch(rows), drawn, SIDE)
        found = learned(view.contiguous(memory_format=torch.channels_last))
        loss = cross_entropy(found.classes, classes[rows])
        loss = loss + 0.3 * cross_entropy(found.layers[0], layers[rows, 0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def test_weights_are_those_of_a_plain_loop_bit_for_bit():
    learned, expected = network(head="superclass-heads"), network(head="superclass-heads")
    train(learned, source(), targets(), recipe(), device="cpu", quiet=True)
    plain_loop(expected, recipe())
    there, here = weights(expected), weights(learned)
    assert there.keys() == here.keys()
    assert [name for name in there if not torch.equal(there[name], here[name])] == []


def test_a_checkpoint_says_nothing_of_options_that_are_off(tmp_path):
    train(network(), source(), targets(), recipe(), folder=tmp_path, device="cpu", quiet=True)
    groups, state = load_checkpoint(tmp_path / "checkpoint.safetensors")
    later = {
        "rotation_weight",
        "cutmix_prob",
        "distillation",
        "temperature",
        "teacher",
        "manifold_mixup",
    }
    later |= {"label_smoothing", "restart_epochs", "restart_decay", "resize_stages"}
    assert not later & state["fingerprint"].keys()
    assert groups["network"].keys() == network().state_dict().keys()


def test_a_checkpoint_that_names_options_which_are_off_is_of_the_same_training(tmp_path):
    train(network(), source(), targets(), recipe(), folder=tmp_path, device="cpu", quiet=True)
    path = tmp_path / "checkpoint.safetensors"
    groups, state = load_checkpoint(path)
    state["fingerprint"] |= {
        "rotation_weight": 0.0,
        "cutmix_prob": 0.0,
        "distillation": 0.0,
        "temperature": 4.0,
    }
    save_checkpoint(path, groups, state)
    learned = network()
    train(learned, source(), targets(), recipe(), folder=tmp_path, device="cpu", quiet=True)
    assert all(torch.equal(groups["network"][k], v) for k, v in learned.state_dict().items())


def test_recipes_are_written_as_before():
    assert (
        not {"rotation_weight", "cutmix_prob", "distillation", "temperature"}
        & Recipe().as_dict().keys()
    )
    on = Recipe(rotation_weight=0.5, distillation=0.3, temperature=2.0).as_dict()
    assert (on["rotation_weight"], on["distillation"], on["temperature"]) == (0.5, 0.3, 2.0)
