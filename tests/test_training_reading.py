"""What a network reads off images, and how its features are validated."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

import zerokin
from training_parts import network, pixels, source
from zerokin.features.input import center_view, open_source, training_view
from zerokin.features.reading import CROPS, View, read_all, read_images
from zerokin.features.validation import _projected_scores, unseen_accuracy


def shown(n=24, side=16, zoom=1.0):
    squares = torch.from_numpy(pixels(n)).permute(0, 3, 1, 2)
    return center_view(squares, side, zoom)


def used(head="cnn-rnn"):
    """Return a network whose statistics are no longer those of a new one."""
    made = network(head=head)
    made.train()
    with torch.no_grad():
        made(shown())
    return made.eval()


@pytest.mark.parametrize("zoom", [1.0, 1.25])
def test_mirrored_reading_is_the_mean_of_both(zoom):
    made = used()
    with torch.no_grad():
        view = shown(zoom=zoom)
        expected = (made.features(view) + made.features(view.flip(3))) / 2
    found = read_all(made, source(), View(16, zoom=zoom, batch_size=7))
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-6)
    plain = read_all(made, source(), View(16, zoom=zoom, tta_flip=False))
    with torch.no_grad():
        np.testing.assert_allclose(plain, made.features(view).numpy(), atol=1e-6)
    assert np.abs(plain - found).max() > 1e-3


def test_semantics_are_the_mean_direction_of_both():
    made = used("end-to-end")
    directions = []
    with torch.no_grad():
        for view in (shown(), shown().flip(3)):
            maps, features = made.backbone(view)
            directions.append(functional.normalize(made.head.estimate(features, maps), dim=1))
    expected = functional.normalize(directions[0] + directions[1], dim=1)
    (reading,) = read_images(made, source(), View(16, batch_size=100))
    torch.testing.assert_close(reading.semantics, expected, atol=1e-6, rtol=0)
    joined = reading.joined
    assert joined.shape == (24, 8 + 4)
    for part in (joined[:, :8], joined[:, 8:]):
        torch.testing.assert_close(part.norm(dim=1), torch.ones(24), atol=1e-5, rtol=0)
    np.testing.assert_allclose(read_all(made, source(), View(16)), joined.numpy(), atol=1e-6)


def test_features_alone_keep_their_length():
    (reading,) = read_images(used(), source(), View(16))
    assert reading.semantics is None
    assert reading.joined is reading.features


@pytest.mark.parametrize("first", [0, 5, 23, 24])
def test_reading_starts_where_it_is_told(first):
    made = used()
    whole = read_all(made, source(), View(16, batch_size=4))
    rest = [r.joined.numpy() for r in read_images(made, source(), View(16), first=first)]
    assert sum(map(len, rest)) == 24 - first
    for batch in rest:
        np.testing.assert_allclose(batch, whole[first:], atol=1e-6)


def test_reading_leaves_gradients_to_the_caller():
    for reading in read_images(used(), source(), View(16, batch_size=5)):
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()
        weight = torch.ones(8, requires_grad=True)
        (reading.features * weight).sum().backward()
        torch.testing.assert_close(weight.grad, reading.features.sum(0))


def test_reading_is_done_in_evaluation_mode():
    made = used()
    expected = read_all(made, source(), View(16))
    made.train()
    before = {k: v.clone() for k, v in made.state_dict().items()}
    np.testing.assert_array_equal(read_all(made, source(), View(16)), expected)
    assert all(torch.equal(v, before[k]) for k, v in made.state_dict().items())


def ridge_by_hand(train, test, fold):
    """Project semantics to features sample by sample, and compare by cosine."""
    center = train.astype(float).mean(0)
    F, X = ((m - center) / np.linalg.norm(m - center, axis=1)[:, None] for m in (train, test))
    E = fold.semantics[fold.training_labels()].astype(float)
    # ‖F − E V‖² + ‖V‖² as one least-squares problem
    stacked = np.vstack([E, np.eye(E.shape[1])]), np.vstack([F, np.zeros((E.shape[1], F.shape[1]))])
    V = np.linalg.lstsq(*stacked, rcond=None)[0]
    P = fold.semantics[fold.unseen] @ V
    return X @ (P / np.linalg.norm(P, axis=1)[:, None]).T


@pytest.fixture(scope="module")
def fold():
    return zerokin.load_dataset("critters").fold(1)


def test_features_are_validated_by_ridge_regression(fold):
    rng = np.random.default_rng(0)
    train, test = (
        rng.normal(size=(len(rows), 6)).astype(np.float32)
        for rows in (fold.split.train, fold.split.test_unseen)
    )
    found = _projected_scores(train, test, fold)
    np.testing.assert_allclose(found, ridge_by_hand(train, test, fold), atol=1e-4)


def test_validation_is_the_mean_over_classes(fold, monkeypatch):
    from zerokin.features import validation

    truth = fold.evaluation_labels(fold.split.test_unseen)
    # Every image is called the first unseen class: one class right, all others wrong.
    scores = np.zeros((len(truth), len(fold.unseen)))
    scores[:, 0] = 1
    monkeypatch.setattr(validation, "_projected_scores", lambda *_: scores)
    nothing = np.zeros((len(fold.images), 16, 16, 3), np.uint8)
    found = unseen_accuracy(network(), fold, open_source(nothing, 16, quiet=True), View(16))
    assert found == pytest.approx(100 / len(np.unique(truth)))


def test_crops_are_the_same_of_every_image_and_count_as_much_as_the_whole():
    made = used()
    squares = torch.from_numpy(pixels(24)).permute(0, 3, 1, 2)
    views = [shown()]
    for crop in CROPS.draw(3, torch.Generator().manual_seed(0)):
        views.append(training_view(squares, crop.repeat(24, 1), 16))
    views += [view.flip(3) for view in views]
    with torch.no_grad():
        expected = torch.stack([made.features(view) for view in views]).mean(0).numpy()
    found = read_all(made, source(), View(16, batch_size=7, tta_crops=3))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.abs(found - read_all(made, source(), View(16))).max() > 1e-3
