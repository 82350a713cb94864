"""A classifier's folder whose parts do not fit together is refused by the part that is wrong."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from api_problem import D_F, D_Z, NAMES, NEW, SEEN, TREE, C, X, Y, Z
from zerokin.classifiers import ZeroShotClassifier
from zerokin.data import ClassTable
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.hierarchy import ClassHierarchy

TABLE = ClassTable(tuple(NAMES), Z)
SCALING = "power-center-whiten2-unit"


@pytest.fixture(scope="module", params=["residual", "paper"])
def model(request):
    return ZeroShotClassifier(inference=request.param, feature_scaling=SCALING).fit(
        X, Y, semantics=TABLE, hierarchy=TREE
    )


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


def change_numbers(folder, name, changed):
    numbers = load_file(folder / "numbers.safetensors")
    numbers[name] = np.ascontiguousarray(changed(numbers[name]))
    save_file(numbers, folder / "numbers.safetensors")


def change_config(folder, **changes):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | changes), encoding="utf-8")


def shapes(model):
    """What every array must be, by the classifier's own sizes."""
    expected = {
        "semantics": (C, D_Z),
        "prototypes": (C, D_F),
        "offsets": (C,),
        "means": (SEEN, D_F),
        "projection": (D_F, D_Z),
        "normaliser.1.shift": (D_F,),
        "normaliser.2.matrix": (D_F, D_F),
    }
    if model.inference == "residual":
        expected["residuals"] = (SEEN, D_F)
    else:
        sizes = enumerate(TREE.sizes, start=1)
        expected |= {f"layer.{layer}": (size, D_F) for layer, size in sizes}
    return expected


def test_the_folder_holds_these_arrays_and_settings(model, saved):
    numbers = load_file(saved / "numbers.safetensors")
    assert {k: v.shape for k, v in numbers.items()} == shapes(model) | {"seen": (SEEN,)}
    text = (saved / "config.json").read_text(encoding="utf-8")
    config = json.loads(text)
    assert config["classes"] == NAMES
    assert config["n_features"] == D_F
    assert config["has_hierarchy"]
    assert config["layers"] == (TREE.n_layers if model.inference == "paper" else 0)
    assert config["n_iter"] == model.n_iter_
    assert config["parameters"]["feature_scaling"] == SCALING
    assert text.startswith('{\n "format": "zerokin-classifier",\n "version": 1,\n')  # to be read
    assert text.endswith("}\n")


def test_what_is_loaded_is_what_was_saved(model, saved):
    loaded = ZeroShotClassifier.load(saved)
    for name in ("seen_", "semantics_", "prototypes_", "_offsets", "_means"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    np.testing.assert_array_equal(loaded._rule.projection, model._rule.projection)
    assert (loaded.n_features_in_, loaded.n_iter_) == (model.n_features_in_, model.n_iter_)
    for one, other in zip(loaded._normalizer.maps, model._normalizer.maps, strict=True):
        np.testing.assert_array_equal(one(NEW), other(NEW))
    for layer in range(1, TREE.n_layers + 1):
        np.testing.assert_array_equal(loaded.hierarchy_.labels(layer), TREE.labels(layer))
    for a, b in zip(loaded.explain(NEW), model.explain(NEW), strict=True):
        assert a == b


def test_names_beyond_ascii_are_written_as_they_are(tmp_path):
    names = ["œil", *NAMES[1:]]
    model = ZeroShotClassifier().fit(X, Y, semantics=dict(zip(names, Z, strict=True)))
    model.save(tmp_path / "model")
    assert "œil" in (tmp_path / "model" / "config.json").read_text(encoding="utf-8")
    assert ZeroShotClassifier.load(tmp_path / "model").classes_.tolist() == names


@pytest.mark.parametrize(
    "changed",
    [
        lambda a: a[..., :-1],
        lambda a: a[:-1],
        lambda a: a[..., None],
        lambda a: a.ravel()[0].reshape(()),
        lambda a: np.round(a).astype(np.int64),
        lambda a: np.where(np.arange(a.shape[-1]) == 1, np.nan, a),
        lambda a: np.where(np.arange(a.shape[-1]) == 1, np.inf, a),
    ],
    ids=["narrower", "shorter", "deeper", "scalar", "whole", "NaN", "infinite"],
)
def test_arrays_of_another_shape_or_kind_are_named(model, saved, changed):
    for name in shapes(model):
        folder = saved.with_name(f"with-{name}")
        model.save(folder)
        change_numbers(folder, name, changed)
        # Where the hierarchy has no semantics to lend, widths follow from the array itself.
        with pytest.raises(InvalidInput, match=r"is of shape|do not fit") as refusal:
            ZeroShotClassifier.load(folder)
        said = str(refusal.value)
        assert str(folder) in said
        if name != "semantics" and "do not fit" not in said:
            assert f": {name} is of shape" in said


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        (lambda s: s[None], "seen does not hold positions"),
        (lambda s: s.astype(np.float64), "seen does not hold positions"),
        (lambda s: s - 1, "seen does not hold positions"),
        (lambda s: s + C - SEEN + 1, "seen does not hold positions"),
        (lambda s: np.where(s == 2, 3, s), "seen must hold different classes"),
        (lambda s: s[:0], "seen must hold different classes, at least one"),
    ],
)
def test_seen_classes_that_are_no_positions_are_refused(saved, changed, line):
    change_numbers(saved, "seen", changed)
    with pytest.raises(InvalidInput, match=line):
        ZeroShotClassifier.load(saved)


def test_the_last_classes_may_be_the_seen_ones(tmp_path):
    """Positions may be anything from 0 to C - 1."""
    for shift in (0, C - SEEN):
        fitted = ZeroShotClassifier().fit(X, Y + shift, semantics=Z)
        fitted.save(tmp_path / "model")
        loaded = ZeroShotClassifier.load(tmp_path / "model")
        assert loaded.seen_.tolist() == list(range(shift, shift + SEEN))


def test_a_hierarchy_of_other_classes_is_refused(model, saved):
    small = TREE.select(range(C - 1))
    small.save(saved / "hierarchy.json")
    with pytest.raises(InvalidInput, match=f"hierarchy of {C - 1} classes, not {C}"):
        ZeroShotClassifier.load(saved)
    if model.inference == "paper":
        ClassHierarchy([np.arange(C) // 2], names=NAMES).save(saved / "hierarchy.json")
        with pytest.raises(InvalidInput, match="the layers do not fit the hierarchy"):
            ZeroShotClassifier.load(saved)
        change_config(saved, has_hierarchy=False)
        with pytest.raises(InvalidInput, match="the layers do not fit the hierarchy"):
            ZeroShotClassifier.load(saved)
    else:
        change_config(saved, has_hierarchy=False)
        assert ZeroShotClassifier.load(saved).hierarchy_ is None


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"layers": 9}, "layers is 9"),
        ({"layers": "2"}, "is not a whole classifier"),
        ({"classes": []}, "classes must be a list of different names"),
        ({"classes": "names"}, "classes must be a list of different names"),
        ({"classes": {"a": 1}}, "classes must be a list of different names"),
        ({"classes": [*NAMES[:-1], NAMES[0]]}, "classes must be a list of different names"),
        ({"classes": [*NAMES[:-1], 3]}, "or all of them whole numbers: got 3"),
        ({"classes": [*range(C - 1), True]}, "or all of them whole numbers: got 0"),
        ({"classes": [*range(C - 1), 0.5]}, "or all of them whole numbers: got 0"),
        ({"classes": [*range(C - 1), 2**70]}, "a name of a class cannot be kept"),
        ({"classes": [*range(C - 1), 10**301]}, "or all of them whole numbers"),
        ({"classes": [*NAMES[:-1], "a\0"]}, "a name of a class cannot be kept"),
        ({"classes": [*NAMES[:-1], "\ud800"]}, "is not a whole classifier"),
        ({"n_features": None}, "is not a whole classifier"),
        ({"parameters": {"alpha": 2.0}}, "alpha must be"),
        ({"parameters": ["alpha"]}, "is not a whole classifier"),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(saved, change, line):
    change_config(saved, **change)
    with pytest.raises(ZerokinError, match=line) as refusal:
        ZeroShotClassifier.load(saved)
    assert len(str(refusal.value).splitlines()) == 1


def test_classes_by_number_come_back_as_numbers(saved):
    numbers = [7, -3, *range(20, 20 + C - 2)]
    change_config(saved, classes=numbers, has_hierarchy=False, layers=0)
    kept = {k: v for k, v in load_file(saved / "numbers.safetensors").items() if "layer" not in k}
    save_file(kept, saved / "numbers.safetensors")
    loaded = ZeroShotClassifier.load(saved)
    assert loaded.classes_.dtype.kind == "i"
    assert loaded.classes_.tolist() == numbers


def test_a_refusal_to_write_names_the_folder(tmp_path):
    fitted = ZeroShotClassifier().fit(X, Y % 3 + 0.0)
    with pytest.raises(InvalidInput, match=re.escape(f"cannot write {tmp_path / 'model'}")):
        fitted.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
