"""Losses against their formulas, summed image by image."""

import numpy as np
import pytest
import torch

from zerokin.errors import InvalidInput
from zerokin.features.networks import HeadOutputs, HierarchyHead, hierarchy_loss, semantic_loss
from zerokin.features.networks.losses import _on_device


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


CLASSES = torch.tensor([2, 0, 1])
LAYERS = torch.tensor([[1, 0], [3, 1], [0, 0]])


def random_outputs(*, auxiliary=True, reconstruction=False):
    def logits(width):
        return torch.randn(3, width, dtype=torch.float64)

    return HeadOutputs(
        classes=logits(5),
        layers=(logits(4), logits(2)),
        auxiliary=(logits(4), logits(2)) if auxiliary else (),
        reconstruction=tuple(logits(1)[:, 0].square() for _ in range(3)) if reconstruction else (),
    )


def surprise(logits, labels):
    """Mean of −log softmax at the true label."""
    total = 0.0
    for row, label in zip(logits.detach().numpy(), labels.tolist(), strict=True):
        total -= np.log(np.exp(row[label]) / sum(np.exp(value) for value in row))
    return total / len(labels)


def test_loss_is_the_papers_sum():
    outputs = random_outputs(auxiliary=False)
    total, parts = hierarchy_loss(outputs, CLASSES, LAYERS, [0.7, 0.2])
    wanted = {
        "classes": surprise(outputs.classes, CLASSES),
        "layer 1": surprise(outputs.layers[0], LAYERS[:, 0]),
        "layer 2": surprise(outputs.layers[1], LAYERS[:, 1]),
    }
    assert parts.keys() == wanted.keys()
    for name, value in wanted.items():
        assert parts[name].item() == pytest.approx(value, abs=1e-6)
    expected = wanted["classes"] + 0.7 * wanted["layer 1"] + 0.2 * wanted["layer 2"]
    assert total.item() == pytest.approx(expected, abs=1e-6)


def test_auxiliary_logits_add_their_own_terms_with_the_same_weights():
    outputs = random_outputs()
    total, parts = hierarchy_loss(outputs, CLASSES, LAYERS, [0.7, 0.2])
    base, _ = hierarchy_loss(outputs._replace(auxiliary=()), CLASSES, LAYERS, [0.7, 0.2])
    first = surprise(outputs.auxiliary[0], LAYERS[:, 0])
    second = surprise(outputs.auxiliary[1], LAYERS[:, 1])
    assert (total - base).item() == pytest.approx(0.7 * first + 0.2 * second, abs=1e-6)
    assert parts["layer 2 linear"].item() == pytest.approx(second, abs=1e-6)


def test_one_weight_serves_all_layers_and_zero_leaves_the_classes():
    outputs = random_outputs()
    one, _ = hierarchy_loss(outputs, CLASSES, LAYERS, 0.3)
    each, _ = hierarchy_loss(outputs, CLASSES, LAYERS, [0.3, 0.3])
    assert one.item() == each.item()
    none, parts = hierarchy_loss(outputs, CLASSES, LAYERS, 0)
    assert none.item() == parts["classes"].item()


def test_reconstruction_counts_mu_times_with_the_layers_weights():
    outputs = random_outputs(reconstruction=True)
    total, parts = semantic_loss(outputs, CLASSES, LAYERS, [0.7, 0.2], mu=0.5)
    base, _ = hierarchy_loss(outputs, CLASSES, LAYERS, [0.7, 0.2])
    means = [float(np.mean(errors.numpy())) for errors in outputs.reconstruction]
    wanted = 0.5 * (means[0] + 0.7 * means[1] + 0.2 * means[2])
    assert (total - base).item() == pytest.approx(wanted, abs=1e-6)
    assert parts["reconstruction 1"].item() == pytest.approx(means[1])
    without, _ = semantic_loss(outputs, CLASSES, LAYERS, [0.7, 0.2])
    assert without.item() == base.item()


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0, 2.0])
def test_classes_count_by_their_own_weight_and_layers_by_default_three_tenths(weight):
    outputs = random_outputs()
    total, parts = hierarchy_loss(outputs, CLASSES, LAYERS, class_weight=weight)
    layers = sum(part for name, part in parts.items() if name != "classes")
    assert total.item() == pytest.approx((weight * parts["classes"] + 0.3 * layers).item())
    if weight == 1:
        assert total.item() == hierarchy_loss(outputs, CLASSES, LAYERS)[0].item()


def test_weights_are_made_on_the_device_of_the_logits():
    with torch.device("meta"):
        made = _on_device((0.25, 0.5), torch.float64, torch.device("cpu"))
    assert (made.tolist(), made.dtype) == ([0.25, 0.5], torch.float64)


@pytest.mark.parametrize("mu", [0.0, 0.4])
@pytest.mark.parametrize("settings", [{"class_weight": 0.3}, {"label_smoothing": 0.2}, {}])
def test_semantic_loss_passes_everything_on(mu, settings):
    outputs = random_outputs(reconstruction=True)
    total, parts = semantic_loss(outputs, CLASSES, LAYERS, mu=mu, **settings)
    base, base_parts = hierarchy_loss(outputs, CLASSES, LAYERS, 0.3, **settings)
    means = [errors.mean() for errors in outputs.reconstruction]
    wanted = base + mu * (means[0] + 0.3 * means[1] + 0.3 * means[2])
    assert total.item() == pytest.approx(wanted.item(), abs=1e-9)
    assert {name: parts[name] for name in base_parts} == base_parts


def test_without_mu_no_reconstruction_is_needed():
    outputs = random_outputs()
    total, _ = semantic_loss(outputs, CLASSES, LAYERS)
    assert total.item() == hierarchy_loss(outputs, CLASSES, LAYERS)[0].item()


def test_smoothed_labels_share_the_rest_evenly():
    outputs = random_outputs(auxiliary=False)
    total, parts = hierarchy_loss(outputs, CLASSES, LAYERS, [0.7, 0.2], label_smoothing=0.3)
    wanted = []
    for logits, labels in zip(
        (outputs.classes, *outputs.layers), (CLASSES, *LAYERS.T), strict=True
    ):
        width = logits.shape[1]
        every = [surprise(logits, torch.full((3,), one)) for one in range(width)]
        wanted.append(0.7 * surprise(logits, labels) + 0.3 * sum(every) / width)
    for part, value in zip(parts.values(), wanted, strict=True):
        assert part.item() == pytest.approx(value, abs=1e-6)
    expected = wanted[0] + 0.7 * wanted[1] + 0.2 * wanted[2]
    assert total.item() == pytest.approx(expected, abs=1e-6)


def test_gradients():
    outputs = random_outputs(reconstruction=True)
    tensors = [outputs.classes, *outputs.layers, *outputs.auxiliary, *outputs.reconstruction]

    def loss(classes, *others):
        given = HeadOutputs(classes, others[:2], others[2:4], others[4:])
        return semantic_loss(given, CLASSES, LAYERS, [0.7, 0.2], mu=0.5)[0]

    assert torch.autograd.gradcheck(loss, [tensor.requires_grad_() for tensor in tensors])


def test_parts_are_for_reading_only():
    outputs = HierarchyHead(4, 5, [4, 2], hidden=2)(torch.randn(3, 4))
    total, parts = hierarchy_loss(outputs, CLASSES, LAYERS)
    assert total.requires_grad
    assert not any(part.requires_grad for part in parts.values())


def test_a_head_without_superclasses_needs_no_superclass_labels():
    outputs = HierarchyHead(4, 5, [], mode="classes")(torch.randn(3, 4))
    total, parts = hierarchy_loss(outputs, CLASSES, torch.empty(3, 0, dtype=torch.long))
    assert list(parts) == ["classes"]
    assert total.item() == pytest.approx(surprise(outputs.classes, CLASSES), abs=1e-5)


def test_bad_labels_and_weights_are_named():
    outputs = random_outputs()
    with pytest.raises(InvalidInput, match=r"one for each of the 2 superclass layers: got 3"):
        hierarchy_loss(outputs, CLASSES, LAYERS, [1, 2, 3])
    with pytest.raises(InvalidInput, match="0 or more"):
        hierarchy_loss(outputs, CLASSES, LAYERS, [1, -2])
    with pytest.raises(InvalidInput, match=r"\(3, 2\): got \(3, 1\)"):
        hierarchy_loss(outputs, CLASSES, LAYERS[:, :1])
    with pytest.raises(InvalidInput, match=r"class_labels must be \(3,\): got \(2,\)"):
        hierarchy_loss(outputs, CLASSES[:2], LAYERS)
    with pytest.raises(InvalidInput, match="reconstruction=True"):
        semantic_loss(outputs, CLASSES, LAYERS, mu=0.1)
    with pytest.raises(InvalidInput, match="mu must be 0 or more"):
        semantic_loss(outputs, CLASSES, LAYERS, mu=-1)
