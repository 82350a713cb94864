"""A classifier of several labels in a folder: JSON beside that of its `ZeroShotClassifier`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zerokin._version import __version__
from zerokin.classifiers.multi_label.calibration import Calibration
from zerokin.errors import InvalidInput
from zerokin.files import read_versioned, refuse_other_folder, replacing_folder
from zerokin.parameters import check_parameters, is_real, plain

if TYPE_CHECKING:
    from zerokin.classifiers.multi_label.multi_label_classifier import MultiLabelZeroShotClassifier

FORMAT, VERSION = "zerokin-multi-label-classifier", 1
CONFIG, ZERO_SHOT = "multi_label.json", "zero_shot"
PARAMETERS = ("n_assignments", "ranking_epochs", "global_weight", "pooling", "competition")


def write_multi_label(model: MultiLabelZeroShotClassifier, folder: str | os.PathLike[str]) -> None:
    """Write a fitted classifier; an older one in the same folder is replaced as a whole."""
    folder = Path(folder)
    refuse_other_folder(folder, CONFIG, "a classifier of several labels")
    with replacing_folder(folder) as temporary:
        write_files(model, temporary)


def write_files(model: MultiLabelZeroShotClassifier, folder: Path) -> None:
    """Write a fitted classifier into a folder that is there."""
    check_parameters(model)
    threshold = model.threshold
    config = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"zerokin {__version__}",
        "parameters": {name: plain(getattr(model, name)) for name in PARAMETERS},
        "threshold": [[plain(name), plain(value)] for name, value in threshold.items()]
        if isinstance(threshold, Mapping)
        else plain(threshold),
        "thresholds": model.thresholds_.tolist(),
        "calibration": list(model.calibration_),
    }
    model.zero_shot_.save(folder / ZERO_SHOT)
    (folder / CONFIG).write_text(
        json.dumps(config, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def is_multi_label(folder: str | os.PathLike[str]) -> bool:
    """Tell whether a folder holds a classifier of several labels."""
    return (Path(folder) / CONFIG).is_file()


def read_multi_label(
    kind: type[MultiLabelZeroShotClassifier], folder: str | os.PathLike[str]
) -> MultiLabelZeroShotClassifier:
    """Read a classifier, refusing whatever does not fit together."""
    from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier

    folder = Path(folder)
    config = read_versioned(
        folder / CONFIG,
        what="classifier of several labels",
        made_by="zerokin fit",
        kind=FORMAT,
        version=VERSION,
    )
    inner = ZeroShotClassifier.load(folder / ZERO_SHOT)
    try:
        threshold = config["threshold"]
        if isinstance(threshold, list):
            threshold = dict(threshold)
        parameters = {name: config["parameters"][name] for name in PARAMETERS}
        model = kind(inner, threshold=threshold, **parameters)
        check_parameters(model)
        model.zero_shot_, model.n_features_in_ = inner, inner.n_features_in_
        model.calibration_ = _calibration(config["calibration"])
        thresholds = config["thresholds"]
        if len(thresholds) != len(inner.classes_) or not all(map(_is_probability, thresholds)):
            raise ValueError("thresholds are not those of the classes")
        model.thresholds_ = np.array(thresholds, dtype=np.float64)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"{folder} is not a whole classifier ({error}): fit it anew") from error
    return model


def _calibration(given: Any) -> Calibration:
    slope, offset, threshold = given
    if not (is_real(slope) and is_real(offset) and slope > 0 and _is_probability(threshold)):
        raise ValueError("the calibration is damaged")
    return Calibration(float(slope), float(offset), float(threshold))


def _is_probability(value: object) -> bool:
    return is_real(value) and 0 <= value <= 1  # type: ignore[operator]
