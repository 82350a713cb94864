"""Weights part of the way back to where training began."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import zerokin
from zerokin.errors import InvalidInput
from zerokin.features.start_weights import StartWeights
from zerokin.features.training import Recipe


def moved(share):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    start = StartWeights(model, share)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model.train()
    with torch.no_grad():
        for value in model.parameters():
            value.add_(torch.randn_like(value))
        model(torch.randn(2, 3, 8, 8))
    after = {name: value.clone() for name, value in model.state_dict().items()}
    return model, start, before, after


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_every_weight_and_statistic_goes_back_by_the_share(share):
    model, start, before, after = moved(share)
    start.mix_in()
    for name, value in model.state_dict().items():
        if value.is_floating_point():
            expected = share * before[name] + (1 - share) * after[name]
            torch.testing.assert_close(value, expected, msg=name)
        else:
            assert torch.equal(value, after[name])  # how many batches were seen


def test_weights_mixed_in_for_a_while_come_back_exactly():
    model, start, _, after = moved(0.5)
    with start.mixed_in():
        assert not torch.equal(model.state_dict()["0.weight"], after["0.weight"])
    for name, value in model.state_dict().items():
        assert torch.equal(value, after[name]), name


def learner(share, **recipe):
    return zerokin.FeatureLearner(
        "conv4",
        "classes",
        weights=None,
        options={"width": 4},
        image_size=16,
        start_interpolation=share,
        recipe=Recipe(image_size=16, batch_size=64, lr=0.1, **recipe),
        device="cpu",
    )


@pytest.fixture(scope="module")
def critters():
    return zerokin.load_dataset("critters")


def test_a_finished_training_serves_any_share(critters, tmp_path):
    whole = learner(0.0, epochs=1).fit(critters, folder=tmp_path)
    log = (tmp_path / "log.jsonl").read_text()
    half = learner(0.5, epochs=1).fit(critters, folder=tmp_path)
    assert (tmp_path / "log.jsonl").read_text() == log  # nothing was trained again
    start = learner(0.0, epochs=0).fit(critters)
    weight = [one.network_.backbone.model[0][0].weight.detach() for one in (whole, half, start)]
    torch.testing.assert_close(weight[1], (weight[0] + weight[2]) / 2)
    heads = [one.network_.head.state_dict() for one in (whole, half)]
    assert all(torch.equal(heads[0][name], heads[1][name]) for name in heads[0])


def test_what_validation_sees_is_what_training_ends_with(critters):
    back = learner(1.0, epochs=2).fit(critters, validation_fold=1)
    scores = [epoch.validation for epoch in back.history_]
    assert scores[0] == scores[1]  # all the way back, whatever was learned
    assert (
        scores[0] != learner(0.0, epochs=1).fit(critters, validation_fold=1).history_[0].validation
    )


def test_scores_of_another_share_do_not_tell_which_epoch_is_best(critters, tmp_path):
    learner(0.5, epochs=1).fit(critters, validation_fold=1, folder=tmp_path)
    said = (
        r"validated with image_size 16, start_interpolation 0\.5 there, "
        r".* start_interpolation 1\.0 here"
    )
    with pytest.raises(InvalidInput, match=said):
        learner(1.0, epochs=1).fit(critters, validation_fold=1, folder=tmp_path)


def test_a_saved_network_is_not_mixed_again(critters, tmp_path):
    half = learner(0.5, epochs=1).fit(critters)
    half.save(tmp_path / "model")
    images = np.stack([critters.images.array(index) for index in range(4)])
    again = zerokin.FeatureLearner.load(tmp_path / "model", device="cpu")
    np.testing.assert_array_equal(again.transform(images), half.transform(images))


@pytest.mark.parametrize("share", [-0.1, 1.5, True, "half", float("nan")])
def test_what_is_no_share_is_refused(share):
    with pytest.raises(InvalidInput, match="start_interpolation must be a number from 0 to 1"):
        learner(share)
