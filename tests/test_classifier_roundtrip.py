"""Saving refuses what loading could not read, and leaves what was there; the rest comes back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api_problem import NEW, X, Y, Z
from zerokin.classifiers import ZeroShotClassifier
from zerokin.errors import InvalidInput, ZerokinError

NUMBERS = st.one_of(
    st.floats(-5, 5), st.sampled_from([np.nan, np.inf, True, None, "0.5", np.float32(0.5), 2**70])
)
COUNTS = st.one_of(
    st.integers(-1, 9), st.sampled_from([2.0, np.int64(3), np.nan, True, None, "3", 2**70])
)
PARAMETERS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(
            ("alpha", "length_scale", "semantic_variance", "hub_weight", "seen_penalty"), NUMBERS
        ),
        **dict.fromkeys(("top_k", "hub_neighbors", "branching", "random_state"), COUNTS),
        "inference": st.sampled_from(["residual", "flat", "paper", "none", 3]),
        "feature_scaling": st.sampled_from(
            ["unit", "power-whiten3-unit", "center-unit", "x", None]
        ),
    },
)
NAMES = st.one_of(
    st.lists(st.text(min_size=1, max_size=4), min_size=6, max_size=6, unique=True),
    st.lists(st.integers(-5, 99), min_size=6, max_size=6, unique=True),
    st.lists(st.floats(-5, 5), min_size=6, max_size=6, unique=True),
    st.sampled_from(
        [
            [2**70 + i for i in range(6)],
            [True, False, True, False, True, False],
            [None, "a", "b", "c", "d", "e"],
            [1, "1", "b", "c", "d", "e"],
            ["a", "b", "c", "d", "e", "f\x00"],
        ]
    ),
)


def answers(model):
    return model.predict_top_k(NEW, 3, "all")


@settings(max_examples=120, deadline=None)
@given(names=NAMES, parameters=PARAMETERS, later=PARAMETERS)
def test_saved_is_refused_or_comes_back(tmp_path_factory, names, parameters, later):
    folder = tmp_path_factory.mktemp("saved") / "model"
    before = ZeroShotClassifier().fit(X, Y, semantics=Z)
    before.save(folder)
    expected, files = answers(before), {path: path.read_bytes() for path in folder.iterdir()}
    try:
        # As a dictionary names are what they are; labels count by their position there.
        table = dict(zip(names, Z[:6], strict=False))
        model = ZeroShotClassifier(**parameters).fit(X, np.array(list(table))[Y], semantics=table)
    except (ZerokinError, ValueError, IndexError):
        return  # what cannot be fitted is the business of other tests
    model.set_params(**later)
    refused = None
    try:
        model.save(folder)
    except ZerokinError as error:
        refused = str(error)
    if refused is not None:
        assert "\n" not in refused
        assert {path: path.read_bytes() for path in folder.iterdir()} == files
        for one, other in zip(answers(ZeroShotClassifier.load(folder)), expected, strict=True):
            assert np.array_equal(one, other)
        return
    loaded = ZeroShotClassifier.load(folder)
    assert loaded.get_params() == model.get_params()
    assert loaded.classes_.tolist() == model.classes_.tolist()
    try:
        wanted = answers(model)
    except ZerokinError as error:  # such as features normalized otherwise than those fitted on
        with pytest.raises(type(error)):
            answers(loaded)
        return
    for one, other in zip(answers(loaded), wanted, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        (Y + 0.0, "got 0.0"),
        (Y % 2 == 0, "got False"),
        (np.array([2**63 + 5, 2**63 + 9], np.uint64)[Y % 2], "cannot be kept"),
    ],
    ids=["floats", "booleans", "beyond int64"],
)
def test_class_names_that_no_file_keeps_are_refused(tmp_path, labels, named):
    model = ZeroShotClassifier().fit(X, labels)
    with pytest.raises(InvalidInput, match=named):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("length_scale", np.nan),
        ("top_k", 2.0),
        ("random_state", 2**70),
        ("alpha", None),
        ("gamma", True),
    ],
)
def test_parameters_that_cannot_be_loaded_are_not_saved(tmp_path, name, value):
    model = ZeroShotClassifier().fit(X, Y, semantics=Z)
    model.set_params(**{name: value})
    with pytest.raises(InvalidInput, match=f"{name} must be"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize("later", ["unit", "power-center-whiten3-unit"])
def test_scaling_that_was_changed_after_fit_is_not_saved(tmp_path, later):
    model = ZeroShotClassifier().fit(X, Y, semantics=Z)
    model.set_params(feature_scaling=later)
    with pytest.raises(InvalidInput, match=f"from 'power-whiten3-unit' to '{later}' since"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    model.set_params(feature_scaling="power-whiten3-unit").save(tmp_path / "model")


def test_numpy_scalars_are_saved_as_numbers(tmp_path):
    model = ZeroShotClassifier(np.float32(0.5), top_k=np.int64(2), length_scale=np.float64(0.25))
    model.fit(X, Y, semantics=Z).save(tmp_path / "model")
    assert ZeroShotClassifier.load(tmp_path / "model").get_params() == model.get_params()
