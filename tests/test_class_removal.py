"""A classifier that forgets a class answers as one that leaves it out of the candidates."""

from __future__ import annotations

import numpy as np
import pytest

from zerokin import ZeroShotClassifier
from zerokin.classifiers.removal import without_class


@pytest.fixture(scope="module", params=["residual", "flat", "paper"])
def model(request):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(14, 6))
    y = np.repeat([0, 1, 2, 4, 5, 7, 8, 10, 11, 13], 12)
    X = Z[y] @ rng.normal(size=(6, 20)) + 0.4 * rng.normal(size=(len(y), 20))
    names = [f"class {i}" for i in range(14)]
    semantics = dict(zip(names, Z, strict=True))
    return ZeroShotClassifier(inference=request.param, feature_scaling="unit").fit(
        X, np.array(names)[y], semantics=semantics
    )


@pytest.mark.parametrize("position", [3, 6, 9, 12])
def test_forgetting_a_class_is_leaving_it_out(model, position):
    X = np.random.default_rng(1).normal(size=(40, 20))
    smaller = without_class(model, position)
    others = [name for name in model.classes_ if name != f"class {position}"]
    assert smaller.classes_.tolist() == others
    assert sorted(smaller.classes_[smaller.seen_]) == sorted(model.classes_[model.seen_])
    assert [smaller.hierarchy_.n_classes, smaller.hierarchy_.n_layers] == [
        13,
        model.hierarchy_.n_layers,
    ]
    for candidates in (others, [name for name in others if int(name.split()[1]) % 3 == 0]):
        names, scores = model.predict_top_k(X, 3, candidates)
        fewer, same = smaller.predict_top_k(X, 3, candidates)
        assert np.array_equal(names[np.isfinite(scores)], fewer[np.isfinite(same)])
        assert np.array_equal(scores, same)
    assert len(model.classes_) == 14


def test_what_was_removed_can_come_back(model):
    vector = model.semantics_[12]
    again = without_class(model, 12).add_class("class 12", vector)
    X = np.random.default_rng(1).normal(size=(40, 20))
    if model.inference == "flat":
        order = [*range(12), 13, 12]
        assert np.allclose(again.decision_function(X), model.decision_function(X)[:, order])
    assert sorted(again.classes_) == sorted(model.classes_)
