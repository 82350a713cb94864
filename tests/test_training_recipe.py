"""Recipes: what is written is what is read, and what is wrong is named."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from zerokin.errors import InvalidInput
from zerokin.features.input import Augmentation
from zerokin.features.training import Recipe


def number(low, high):
    return st.floats(low, high, allow_nan=False)


def pair(low, high):
    return st.tuples(number(low, high), number(low, high)).map(lambda p: tuple(sorted(p)))


recipes = st.builds(
    Recipe,
    epochs=st.integers(0, 500),
    batch_size=st.integers(1, 4096),
    lr=number(1e-9, 10),
    head_multiplier=number(1e-3, 100),
    momentum=number(0, 0.999),
    weight_decay=number(0, 1),
    schedule=st.sampled_from(["cosine", "steps", "constant"]),
    milestones=st.lists(number(0, 1), max_size=4).map(tuple),
    warmup=number(0, 10),
    head_first=st.integers(0, 10),
    layer_weight=number(0, 3) | st.lists(number(0, 3), max_size=4).map(tuple),
    rotation_weight=number(0, 3),
    manifold_mixup=number(0, 5),
    label_smoothing=number(0, 0.9),
    restart_decay=number(0.1, 1),
    compiled=st.booleans() | st.sampled_from(["reduce-overhead", "max-autotune"]),
    cutmix_prob=number(0, 1),
    distillation=number(0, 1),
    temperature=number(0.1, 20),
    image_size=st.none() | st.integers(1, 1000),
    augmentation=st.builds(
        Augmentation,
        area=pair(0.01, 1),
        ratio=pair(0.1, 10),
        mirror=st.booleans(),
        brightness=number(0, 1),
    ),
    optimizer=st.sampled_from(["sgd", "adamw"]),
    precision=st.sampled_from(["auto", "float32", "bfloat16"]),
    accumulation=st.integers(1, 16),
    clip_norm=st.none() | number(1e-3, 100),
    ema_decay=number(0, 0.9999),
    frozen_batch_norm=st.booleans(),
    seed=st.integers(0, 2**32),
)


@given(recipe=recipes)
def test_what_is_written_is_what_is_read(recipe):
    assert Recipe.from_dict(recipe.as_dict()) == recipe
    assert Recipe.from_dict(json.loads(json.dumps(recipe.as_dict()))) == recipe


def test_yaml_reads_back():
    recipe = Recipe(lr=1e-5, milestones=[0.3], augmentation=Augmentation(area=[0.2, 1]))
    assert Recipe.from_dict(yaml.safe_load(yaml.safe_dump(recipe.as_dict()))) == recipe


def test_what_is_left_out_keeps_its_default():
    assert Recipe.from_dict({}) == Recipe()
    found = Recipe.from_dict({"augmentation": {"mirror": False}})
    assert found == Recipe(augmentation=Augmentation(mirror=False))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batchsize": 3}, "unknown entry 'batchsize'; did you mean 'batch_size'"),
        (
            {"augmentation": {"brightnes": 0.1}},
            "unknown entry 'augmentation.brightnes'; did you mean 'brightness'",
        ),
        ({"augmentation": 3}, "augmentation must be names with values: got 3"),
        ([1], "must be names with values: got [1]"),
        ({"epochs": 1.5}, "epochs must be a whole number from 0: got 1.5"),
        ({"epochs": True}, "epochs must be a whole number"),
        ({"batch_size": 0}, "batch_size must be a whole number from 1: got 0"),
        ({"accumulation": 0}, "accumulation must be"),
        ({"seed": -1}, "seed must be"),
        ({"image_size": 0}, "image_size must be a whole number from 1"),
        ({"lr": 0}, "lr must be a number above 0"),
        ({"lr": "1e-3"}, "lr must be a number above 0: got '1e-3' (in YAML, 1.0e-3)"),
        ({"lr": float("inf")}, "lr must be a number"),
        ({"lr": float("nan")}, "lr must be a number"),
        ({"lr": None}, "lr must be a number"),
        ({"head_multiplier": -1}, "head_multiplier must be a number above 0"),
        ({"warmup": -1}, "warmup must be a number of at least 0"),
        ({"layer_weight": -0.1}, "layer_weight must be a number of at least 0"),
        ({"layer_weight": [0.1, -1]}, "layer_weight[1] must be a number of at least 0: got -1"),
        ({"layer_weight": [0.1, "x"]}, "layer_weight[1] must be a number"),
        ({"layer_weight": None}, "layer_weight must be a number"),
        ({"rotation_weight": -0.5}, "rotation_weight must be a number of at least 0: got -0.5"),
        ({"rotation_weight": True}, "rotation_weight must be a number"),
        ({"cutmix_prob": 1.5}, "cutmix_prob must be a number from 0 to 1: got 1.5"),
        ({"cutmix_prob": None}, "cutmix_prob must be a number"),
        ({"distillation": 1.5}, "distillation must be a number from 0 to 1: got 1.5"),
        ({"temperature": 0}, "temperature must be a number above 0"),
        ({"momentum": 1}, "momentum must be a number from 0 to below 1"),
        ({"ema_decay": 1.5}, "ema_decay must be a number from 0 to below 1"),
        ({"clip_norm": 0}, "clip_norm must be a number above 0"),
        ({"milestones": [30, 60]}, "milestones[0] must be a number from 0 to 1"),
        ({"milestones": "0.5"}, "milestones must be a list"),
        ({"milestones": 0.5}, "milestones must be a list"),
        ({"frozen_batch_norm": "false"}, "frozen_batch_norm must be true or false"),
        ({"compiled": 1}, "compiled must be true or false, or one of default, reduce-overhead"),
        ({"compiled": "fast"}, "compiled must be true or false, or one of"),
        ({"manifold_mixup": -1}, "manifold_mixup must be a number of at least 0"),
        ({"label_smoothing": 1}, "label_smoothing must be a number from 0 to below 1"),
        ({"restart_epochs": 0}, "restart_epochs must be a whole number from 1"),
        (
            {"resize_stages": 1, "initial_image_size": 8},
            "resize_stages must be a whole number from 2",
        ),
        ({"resize_stages": 2}, "resize_stages 2 needs initial_image_size"),
        ({"restart_decay": 0}, "restart_decay must be a number above 0 and at most 1"),
        ({"restart_decay": 1.5}, "restart_decay must be a number above 0 and at most 1"),
        ({"restart_epochs": 9, "schedule": "steps"}, "restart_epochs 9 needs the schedule cosine"),
        ({"restart_epochs": 2, "warmup": 2}, "warmup 2 must end before the first restart"),
        ({"initial_image_size": 0}, "initial_image_size must be a whole number from 1"),
        (
            {"initial_image_size": 20, "image_size": 16},
            "initial_image_size 20 is above the size it grows to, 16",
        ),
        (
            {"schedule": "cosin"},
            "schedule must be one of cosine, steps, constant: got 'cosin'; did you mean 'cosine'",
        ),
        (
            {"precision": "float16"},
            "precision must be one of auto, float32, bfloat16: got 'float16'; did you mean 'bf",
        ),
        (
            {"augmentation": {"area": [0.5]}},
            "augmentation.area must be 2 values, each a number above 0 and",
        ),
        ({"augmentation": {"area": "ab"}}, "augmentation.area must be 2 values"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(InvalidInput) as caught:
        Recipe.from_dict(settings)
    assert message in str(caught.value)


def test_every_layer_has_a_weight_of_its_own_or_the_same():
    recipe = Recipe(layer_weight=[0.1, 0.5])
    assert recipe.layer_weights(2) == [0.1, 0.5]
    assert recipe.layer_weights(0) == []
    assert Recipe(layer_weight=0.2).layer_weights(3) == [0.2] * 3
    with pytest.raises(InvalidInput, match="has 2 numbers, but there are 3 superclass layers"):
        recipe.layer_weights(3)


def test_an_augmentation_has_to_be_one():
    with pytest.raises(InvalidInput, match="augmentation must be an Augmentation"):
        Recipe(augmentation={"mirror": True})
