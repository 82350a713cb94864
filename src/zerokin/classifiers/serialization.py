"""A classifier in a folder: safetensors for numbers, JSON for the rest, nothing executable."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zerokin._version import __version__
from zerokin.aliases import CLASSIFIER, renamed
from zerokin.classifiers.few_shot.class_by_example import ClassShots
from zerokin.classifiers.prototypes import PrototypeRule
from zerokin.errors import InvalidInput, shown
from zerokin.features.scaler import Affine, FeatureScaler, signed_root, unit_length
from zerokin.files import read_versioned, refuse_other_folder, replacing_folder
from zerokin.hierarchy import ClassHierarchy
from zerokin.parameters import check_parameters, plain

if TYPE_CHECKING:
    from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier

MOST_PENALTY = 1e6
FORMAT, VERSION = "zerokin-classifier", 1
CONFIG, NUMBERS, HIERARCHY = "config.json", "numbers.safetensors", "hierarchy.json"


def write_classifier(model: ZeroShotClassifier, folder: str | os.PathLike[str]) -> None:
    """Write a fitted classifier; an older one in the same folder is replaced as a whole."""
    from safetensors.numpy import save_file

    folder = Path(folder)
    refuse_other_folder(folder, CONFIG, "a classifier")
    check_parameters(model)
    fitted = model._normalizer.steps
    if model.feature_scaling != fitted:
        raise InvalidInput(
            f"feature_scaling was changed from {fitted!r} to {model.feature_scaling!r} since the "
            "classifier was fitted: fit it again, or change it back"
        )
    names = model.classes_.tolist()
    try:
        _class_names(names)  # as it will be read
    except ValueError as error:
        raise InvalidInput(f"cannot write {folder}: {error}") from error
    config = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"zerokin {__version__}",
        "parameters": {name: plain(value) for name, value in model.get_params().items()},
        "classes": names,
        "n_features": int(model.n_features_in_),
        "n_iter": int(model.n_iter_),
        "auto_penalty": model._auto_penalty,
        **({} if model._median is None else {"semantic_median": model._median}),
        "layers": len(model._layer_prototypes),
        "has_hierarchy": model.hierarchy_ is not None,
    }
    with replacing_folder(folder) as temporary:
        save_file(_numbers(model), temporary / NUMBERS)
        (temporary / CONFIG).write_text(
            json.dumps(config, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        if model.hierarchy_ is not None:
            model.hierarchy_.save(temporary / HIERARCHY)


def _numbers(model: ZeroShotClassifier) -> dict[str, np.ndarray]:
    numbers = {
        "seen": model.seen_,
        "semantics": model.semantics_,
        "prototypes": model.prototypes_,
        "offsets": model._offsets,
        "means": model._means,
        "projection": model._rule.projection,
    }
    if model._rule.residuals is not None:
        numbers["residuals"] = model._rule.residuals
    if model._shots:
        numbers |= _shot_numbers(model)
    for layer, nodes in enumerate(model._layer_prototypes, start=1):
        numbers[f"layer.{layer}"] = nodes
    for step, function in enumerate(model._normalizer.maps):
        if isinstance(function, Affine):
            for part in ("shift", "matrix"):
                values = getattr(function, part)
                if values is not None:
                    numbers[f"normaliser.{step}.{part}"] = values
    return {name: np.ascontiguousarray(values) for name, values in numbers.items()}


def read_classifier(
    kind: type[ZeroShotClassifier], folder: str | os.PathLike[str]
) -> ZeroShotClassifier:
    """Read a classifier, refusing whatever does not fit together."""
    folder = Path(folder)
    config = read_versioned(
        folder / CONFIG, what="classifier", made_by="zerokin fit", kind=FORMAT, version=VERSION
    )
    try:
        numbers = _load_numbers(folder / NUMBERS)
        model = kind(**current_parameters(config["parameters"]))
        check_parameters(model)
        model.classes_ = _class_names(config["classes"])
        model.n_features_in_ = int(config["n_features"])
        model.n_iter_ = int(config["n_iter"])
        model._auto_penalty = _checked_penalty(config.get("auto_penalty", 0.0))
        model._median = _checked_median(config.get("semantic_median"))
        model.seen_ = numbers["seen"]
        model.semantics_ = numbers["semantics"]
        model.prototypes_ = numbers["prototypes"]
        model._offsets = numbers["offsets"]
        model._means = numbers["means"]
        model._rule = PrototypeRule(
            numbers["projection"], numbers.get("residuals"), unit=model.distance == "cosine"
        )
        layers = range(1, int(config["layers"]) + 1)
        if config["layers"] != sum(name.startswith("layer.") for name in numbers):
            raise ValueError(f"layers is {shown(config['layers'])}")
        model._layer_prototypes = [numbers[f"layer.{layer}"] for layer in layers]
        model._normalizer = _normalizer(model.feature_scaling, numbers)
        model._shots = _shots(numbers, model)
        has_hierarchy = bool(config["has_hierarchy"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InvalidInput(f"{folder} is not a whole classifier ({error}): fit it anew") from error
    model.hierarchy_ = ClassHierarchy.load(folder / HIERARCHY) if has_hierarchy else None
    _refuse_misfits(model, folder)
    return model


def _checked_penalty(given: Any) -> float:
    if not _is_number(given, int | float) or not abs(given) <= MOST_PENALTY:
        raise ValueError(f"auto_penalty is {shown(given)}")
    return float(given)


def _checked_median(given: Any) -> float | None:
    if given is not None and not (_is_number(given, int | float) and given >= 0):
        raise ValueError(f"semantic_median is {shown(given)}")
    return None if given is None else float(given)


def current_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters that an earlier version may have written, under today's names."""
    return renamed(CLASSIFIER, given)


def _is_number(value: object, kind: Any) -> bool:
    # Comparing, unlike isfinite, also takes a whole number that no float can hold.
    return isinstance(value, kind) and not isinstance(value, bool) and abs(value) < 1e300


def _class_names(given: Any) -> NDArray[Any]:
    """Return the names of classes, all of them texts or all of them numbers."""
    if not isinstance(given, list) or not given or len(set(map(repr, given))) < len(given):
        raise ValueError("classes must be a list of different names")
    if not all(isinstance(name, str) for name in given) and not all(
        _is_number(name, int) for name in given
    ):
        strange = next((name for name in given if not isinstance(name, str)), given[0])
        raise ValueError(
            f"names of classes must be texts, or all of them whole numbers: got {shown(strange)}"
        )
    names = np.array(given)
    if names.dtype.kind not in "Ui" or names.tolist() != given:
        raise ValueError("a name of a class cannot be kept, such as one that ends in NUL")
    "".join(map(str, given)).encode()  # half a character cannot be written again
    return names


def _load_numbers(path: Path) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        numbers: dict[str, np.ndarray] = load_file(path)
    except FileNotFoundError as error:
        raise InvalidInput(f"{path.name} is missing") from error
    except (SafetensorError, OSError) as error:
        raise InvalidInput(f"{path.name} is damaged: {error}") from error
    return numbers


def _normalizer(steps: str, numbers: dict[str, np.ndarray]) -> FeatureScaler:
    normalizer = FeatureScaler(steps)
    for step, name in enumerate(normalizer.names):
        if name == "power":
            normalizer.maps.append(signed_root)
        elif name == "unit":
            normalizer.maps.append(unit_length)
        else:
            parts = (numbers.get(f"normaliser.{step}.{part}") for part in ("shift", "matrix"))
            normalizer.maps.append(Affine(*parts))
    return normalizer


def _shot_numbers(model: ZeroShotClassifier) -> dict[str, np.ndarray]:
    names, shots = model.classes_.tolist(), list(model._shots.values())
    # Of a class without semantics the zero-shot prototype is zero, which no other one is.
    projected = [one.mean * 0 if one.projected is None else one.projected for one in shots]
    return {
        "shots.positions": np.array([names.index(name) for name in model._shots], dtype=np.int64),
        "shots.counts": np.array([one.count for one in shots], dtype=np.int64),
        "shots.kappas": np.array([one.kappa for one in shots], dtype=np.float64),
        "shots.means": np.array([one.mean for one in shots], dtype=np.float64),
        "shots.projected": np.array(projected, dtype=np.float64),
    }


def _shots(numbers: Mapping[str, np.ndarray], model: ZeroShotClassifier) -> dict[Any, ClassShots]:
    """Return what is kept of shots, by class; bundles of earlier versions hold none."""
    if not any(name.startswith("shots.") for name in numbers):
        return {}
    positions, counts = numbers["shots.positions"], numbers["shots.counts"]
    kappas, means = numbers["shots.kappas"], numbers["shots.means"]
    projected = numbers["shots.projected"]
    m, d_f = len(positions), model.n_features_in_
    whole = (positions, (m,), "i"), (counts, (m,), "i")
    real = (kappas, (m,), "f"), (means, (m, d_f), "f"), (projected, (m, d_f), "f")
    if any(
        values.shape != shape or values.dtype.kind != kind or not np.isfinite(values).all()
        for values, shape, kind in (*whole, *real)
    ):
        raise ValueError("what it holds of shots does not fit together")
    known = np.setdiff1d(np.arange(len(model.classes_)), model.seen_)
    if not np.isin(positions, known).all() or len(np.unique(positions)) < m:
        raise ValueError("its shots are not of different unseen classes")
    if (counts < 1).any() or (kappas < 0).any():
        raise ValueError("its shots are counted wrong")
    names = model.classes_.tolist()
    return {
        names[at]: ClassShots(
            int(counts[row]),
            means[row],
            projected[row] if projected[row].any() else None,
            float(kappas[row]),
        )
        for row, at in enumerate(positions.tolist())
    }


def _refuse_misfits(model: ZeroShotClassifier, folder: Path) -> None:
    n_classes, d_f = len(model.classes_), model.n_features_in_
    seen = model.seen_
    if seen.ndim != 1 or seen.dtype.kind != "i" or not ((seen >= 0) & (seen < n_classes)).all():
        raise InvalidInput(f"{folder}: seen does not hold positions of classes")
    if not len(seen) or len(np.unique(seen)) < len(seen):
        raise InvalidInput(f"{folder}: seen must hold different classes, at least one")
    p, d_z = len(seen), model.semantics_.shape[-1] if model.semantics_.ndim else 0
    expected = {
        "semantics": (model.semantics_, (n_classes, d_z)),
        "prototypes": (model.prototypes_, (n_classes, d_f)),
        "offsets": (model._offsets, (n_classes,)),
        "means": (model._means, (p, d_f)),
        "projection": (model._rule.projection, (d_f, d_z)),
    }
    if model._rule.residuals is not None:
        expected["residuals"] = (model._rule.residuals, (p, d_f))
    for layer, nodes in enumerate(model._layer_prototypes, start=1):
        expected[f"layer.{layer}"] = (nodes, (len(nodes) if nodes.ndim else 0, d_f))
    for step, function in enumerate(model._normalizer.maps):
        if isinstance(function, Affine):
            if function.shift is not None:
                expected[f"normaliser.{step}.shift"] = (function.shift, (d_f,))
            if function.matrix is not None:
                expected[f"normaliser.{step}.matrix"] = (function.matrix, (d_f, d_f))
    for name, (values, shape) in expected.items():
        if values.shape != shape or values.dtype.kind != "f" or not np.isfinite(values).all():
            raise InvalidInput(
                f"{folder}: {name} is of shape {values.shape}, not {shape}, or not finite "
                "floats: fit it anew"
            )
    tree = model.hierarchy_
    if tree is not None and tree.n_classes != n_classes:
        raise InvalidInput(f"{folder}: hierarchy of {tree.n_classes} classes, not {n_classes}")
    if model._layer_prototypes and (
        tree is None or [len(nodes) for nodes in model._layer_prototypes] != list(tree.sizes)
    ):
        raise InvalidInput(f"{folder}: the layers do not fit the hierarchy")
