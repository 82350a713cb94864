"""Learning which way up an image is, beside its class."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from training_parts import (
    PARENTS,
    SIDE,
    furthest,
    labels,
    network,
    pixels,
    recipe,
    records,
    source,
    targets,
    weights,
)
from zerokin.errors import InvalidInput
from zerokin.features.input import open_source, training_view
from zerokin.features.training import train
from zerokin.features.training.checkpoint import load_checkpoint
from zerokin.features.training.rng import augmentation_generator
from zerokin.features.training.rotation import rotate_images, rotation_labels
from zerokin.features.training.run import TrainingRun


def learn(learned, settings, shown=None, **options):
    return train(
        learned, shown or source(), targets(), settings, device="cpu", quiet=True, **options
    )


def cross_entropy(logits, wanted):
    """Mean of log Σ exp − the logit of the right one."""
    logits = logits.detach().double().numpy()
    return np.mean(np.log(np.exp(logits).sum(1)) - logits[np.arange(len(logits)), wanted])


@pytest.mark.parametrize("n", [12, 60, 64])
def test_half_stay_upright_and_the_others_are_turned_in_equal_parts(n):
    counts = np.bincount(rotation_labels(0, n).numpy(), minlength=4)
    assert counts[0] == n // 2
    assert counts[1:].max() - counts[1:].min() <= (n % 6 > 0)


@pytest.mark.parametrize(("start", "n"), [(0, 13), (5, 9), (3, 1), (64, 6)])
def test_every_image_is_turned_as_numpy_turns_it(start, n):
    view = torch.rand(n, 3, 5, 5, generator=torch.Generator().manual_seed(n))
    given = view.clone()
    expected = [
        np.rot90(image.numpy(), k, axes=(1, 2))
        for image, k in zip(view, rotation_labels(start, n).tolist(), strict=True)
    ]
    assert np.array_equal(rotate_images(view, start).numpy(), np.stack(expected))
    assert torch.equal(view, given)


@pytest.mark.parametrize("cuts", [2, 3, 4])
def test_a_batch_is_turned_the_same_however_it_is_cut(cuts):
    view = torch.rand(24, 3, 4, 4)
    size = 24 // cuts
    parts = [rotate_images(view[k * size : (k + 1) * size], k * size) for k in range(cuts)]
    assert torch.equal(torch.cat(parts), rotate_images(view, 0))


def test_the_loss_is_that_of_classes_superclasses_and_turns_of_turned_images():
    learned, settings = (
        network(head="superclass-heads"),
        recipe(rotation_weight=0.7, layer_weight=0.3),
    )
    run = TrainingRun(learned, source(), targets(), settings, None, "cpu")
    with torch.no_grad():
        for weight in learned.rotation_head.parameters():
            weight.normal_(generator=torch.Generator().manual_seed(0))
    rows = np.array([3, 17, 8, 1, 20, 11])
    shown = source().batch(rows)
    run.shared.train()
    losses = run.learn_from(shown, rows, step=5, part=0)

    drawn = settings.augmentation.draw(6, augmentation_generator(seed=0, step=5))
    view = training_view(shown, drawn, SIDE).numpy()
    quarters = np.array([0, 1, 0, 2, 0, 3])
    view = np.stack([np.rot90(v, k, axes=(1, 2)) for v, k in zip(view, quarters, strict=True)])
    features = learned.features(torch.from_numpy(view))
    outputs = learned.head(features)
    W, b = learned.rotation_head.weight, learned.rotation_head.bias
    expected = {
        "classes": cross_entropy(outputs.classes, labels(24)[rows]),
        "layer 1": cross_entropy(outputs.layers[0], PARENTS[labels(24)[rows]]),
        "rotation": cross_entropy(features @ W.T + b, quarters),
    }
    expected["total"] = expected["classes"] + 0.3 * expected["layer 1"] + 0.7 * expected["rotation"]
    found = {name: float(value) for name, value in losses.items()}
    assert found == pytest.approx(expected, abs=1e-5)


def test_turns_are_learned_and_shown_in_the_log(tmp_path):
    # Brighter towards the top.
    ramp = np.linspace(60, -60, 20)[None, :, None, None]
    shown = open_source((pixels() / 2 + 64 + ramp).clip(0, 255).astype(np.uint8), 20, quiet=True)
    settings = recipe(rotation_weight=1.0, epochs=25, batch_size=12, lr=0.05, schedule="constant")
    history = learn(network(), settings, shown, folder=tmp_path)
    assert history[0].loss["rotation"] > 1.2  # the entropy of 1/2, 1/6, 1/6, 1/6 is 1.24
    assert history[-1].loss["rotation"] < 0.8
    assert records(tmp_path)[-1]["loss"]["rotation"] == history[-1].loss["rotation"]


@pytest.mark.parametrize("patience", [None, 2])
def test_the_layer_is_in_checkpoints_and_not_in_what_is_used(tmp_path, patience):
    learned = network()
    names = learned.state_dict().keys()
    seen = []

    def validate(given):
        seen.append(given.rotation_head is not None)
        return -float(len(seen))

    options = {"validate": validate, "patience": patience} if patience else {}
    learn(learned, recipe(rotation_weight=0.5, ema_decay=0.5), folder=tmp_path, **options)
    assert learned.state_dict().keys() == names
    assert learned(torch.rand(2, 3, SIDE, SIDE)).rotations is None
    assert all(seen)
    groups, _ = load_checkpoint(tmp_path / "checkpoint.safetensors")
    for group in ("network", "ema"):
        assert groups[group]["rotation_head.weight"].shape == (4, 8)
    assert groups["network"]["rotation_head.weight"].abs().max() > 0


def test_an_interrupted_network_is_left_without_the_layer():
    def stop(_):
        raise KeyboardInterrupt

    learned = network()
    with pytest.raises(KeyboardInterrupt):
        learn(learned, recipe(rotation_weight=0.5), validate=stop)
    assert learned.rotation_head is None


def test_the_layer_learns_at_the_heads_rate():
    learned = network()
    head = [id(weight) for weight in learned.head.parameters()]
    learned.add_rotation_head()
    backbone, new = learned.parameter_groups(0.1, 5.0)
    assert new["lr"] == 0.5
    assert [id(w) for w in new["params"]] == [*head, *map(id, learned.rotation_head.parameters())]
    assert len(backbone["params"]) == len(list(learned.backbone.parameters()))


@pytest.mark.parametrize("cut", [2, 3])
def test_parts_of_a_batch_add_up_to_it(cut):
    ends = []
    for accumulation in (1, cut):
        learned = network(normalized=False)
        settings = recipe(accumulation=accumulation, rotation_weight=0.8, batch_size=12, lr=0.05)
        learn(learned, settings)
        ends.append(weights(learned))
    assert furthest(ends[0], weights(network(normalized=False))) > 1e-2
    assert furthest(*ends) < 1e-6


def test_turns_that_were_first_asked_for_in_inference_mode_can_be_learned():
    with torch.inference_mode():
        rotation_labels(0, 18)
    logits = torch.zeros(18, 4, requires_grad=True)
    torch.nn.functional.cross_entropy(logits, rotation_labels(0, 18)).backward()


def test_another_weight_of_turns_is_another_training(tmp_path):
    learn(network(), recipe(epochs=1), folder=tmp_path / "off")
    with pytest.raises(InvalidInput, match=r"rotation_weight 0\.0 there, 0\.5 here"):
        learn(network(), recipe(epochs=1, rotation_weight=0.5), folder=tmp_path / "off")
    learn(network(), recipe(epochs=1, rotation_weight=0.5), folder=tmp_path / "on")
    with pytest.raises(
        InvalidInput, match=r"another training \(rotation_weight 0\.5 there, 0\.0 here"
    ):
        learn(network(), recipe(epochs=1), folder=tmp_path / "on")
