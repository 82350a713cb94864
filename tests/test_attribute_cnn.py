"""The small CNN: learns what is plainly there, repeats itself under a seed, names bad input."""

import numpy as np
import pytest

from zerokin.errors import InvalidInput
from zerokin.features.attribute_cnn import train_attribute_cnn

# Two attributes: the picture's upper half is red or blue, its lower half light or dark.
SEMANTICS = np.array([[1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]])
UNSEEN = np.array([0.0, 1.0, 0.0, 1.0])


def toy(semantics, n, generator):
    pictures = generator.integers(0, 40, (n, 32, 32, 3)).astype(np.uint8)
    channel = 0 if semantics[0] else 2
    pictures[:, :16, :, channel] += 180
    pictures[:, 16:] += np.uint8(180 if semantics[2] else 0)
    return pictures


@pytest.fixture(scope="module")
def trained():
    generator = np.random.default_rng(0)
    pictures = np.concatenate([toy(row, 24, generator) for row in SEMANTICS])
    targets = np.repeat(SEMANTICS, 24, axis=0)
    network = train_attribute_cnn(pictures, targets, epochs=8, width=4, batch_size=16, seed=3)
    return network, pictures, targets


def nearest(network, pictures, candidates):
    centred = candidates - network.mean
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    return np.argmax(network.semantics(pictures) @ centred.T, axis=1)


def test_learns_a_separable_toy(trained):
    network, _, _ = trained
    generator = np.random.default_rng(1)
    fresh = np.concatenate([toy(row, 10, generator) for row in SEMANTICS])
    assert (nearest(network, fresh, SEMANTICS) == np.repeat([0, 1, 2], 10)).mean() >= 0.95


def test_names_a_combination_it_never_saw(trained):
    network, _, _ = trained
    fresh = toy(UNSEEN, 20, np.random.default_rng(2))
    candidates = np.vstack([SEMANTICS[0], UNSEEN])
    assert (nearest(network, fresh, candidates) == 1).mean() >= 0.9


def test_features_are_one_row_a_picture_whatever_the_batch(trained):
    network, pictures, _ = trained
    together = network(pictures[:5])
    assert together.shape == (5, 64)
    apart = np.concatenate([network(pictures[i : i + 1]) for i in range(5)])
    np.testing.assert_allclose(together, apart, rtol=1e-4, atol=1e-5)


def test_same_seed_same_weights_and_leaves_the_global_state(trained):
    import torch

    network, pictures, targets = trained
    torch.manual_seed(99)
    state = torch.get_rng_state()
    again = train_attribute_cnn(pictures, targets, epochs=8, width=4, batch_size=16, seed=3)
    assert torch.equal(torch.get_rng_state(), state)
    for one, other in zip(network.trunk.parameters(), again.trunk.parameters(), strict=True):
        assert torch.equal(one, other)
    third = train_attribute_cnn(pictures, targets, epochs=1, width=4, batch_size=16, seed=4)
    assert not torch.equal(third.head.weight, network.head.weight)


def test_bad_input_is_named():
    pictures = np.zeros((4, 8, 8, 3), np.uint8)
    with pytest.raises(InvalidInput, match=r"row for each of the 4 pictures: got shape \(3, 2\)"):
        train_attribute_cnn(pictures, np.zeros((3, 2)))
    with pytest.raises(InvalidInput, match="float64"):
        train_attribute_cnn(pictures.astype(float), np.zeros((4, 2)))
