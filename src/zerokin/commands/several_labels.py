"""``fit`` and ``predict`` where samples have several labels: the data, or the model, says so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zerokin.commands.arguments import out
from zerokin.errors import InvalidInput

if TYPE_CHECKING:
    from zerokin.classifiers import MultiLabelZeroShotClassifier
    from zerokin.data.multi_label import MultiLabelDataset

BLOCK = 256


def refuse_options(given: Mapping[str, Any], why: str) -> None:
    """Refuse options that were typed and mean nothing here."""
    for name, value in given.items():
        if value not in (None, False):
            raise InvalidInput(f"{name} {why}: leave it out")


def fit_labels(dataset: MultiLabelDataset, folder: Path, *, tune: bool, seed: int) -> None:
    """Fit a `MultiLabelZeroShotClassifier` and write its folder."""
    from zerokin.classifiers.multi_label.serialization import CONFIG
    from zerokin.files import refuse_other_folder
    from zerokin.selection.multi_label.fitting import fit_label_classifier

    refuse_other_folder(folder, CONFIG, "a classifier of several labels")
    if dataset.kind != "features":
        source = dataset.provenance.source
        raise InvalidInput(
            f"{source} holds {dataset.kind}: read features of their regions first, by `zerokin "
            f"extract {source} --regions 4 --out regions.safetensors`, and give --features "
            "regions.safetensors"
        )
    model, chosen = fit_label_classifier(dataset, tune=tune, random_state=seed)
    if chosen is not None:
        best = chosen.best
        out.print(
            f"validation classes: mAP among them {best.score('pure'):.1f} %, mean of mAP and F1@3 "
            f"over all {best.score('generalized'):.1f} % ({chosen.n_compared} settings compared)",
            soft_wrap=True,
        )
    out.print(f"labels are given from a probability of {model.calibration_.threshold:.3f} on")
    model.save(folder)
    out.print(f"{len(dataset.seen)} seen and {len(dataset.unseen)} unseen classes")
    out.print(f"wrote {folder}", soft_wrap=True)


def predicts_labels(folder: Path) -> bool:
    """Tell whether a folder holds a classifier of several labels."""
    from zerokin.classifiers.multi_label.serialization import CONFIG

    return (folder / CONFIG).is_file()


def label_lines(
    folder: Path, given: Any, *, candidates: Any, k: int | None, form: str
) -> Iterator[str]:
    """Yield lines of output: the labels of each image with their probabilities and regions.

    Without ``k`` those from the threshold on, otherwise the best k.
    """
    from zerokin.classifiers import MultiLabelZeroShotClassifier

    model: MultiLabelZeroShotClassifier = MultiLabelZeroShotClassifier.load(folder)
    names = getattr(given, "names", None)
    rows = given.open() if hasattr(given, "open") else given
    if form == "csv":
        yield "image,label,role,probability,region\n"
    for start in range(0, len(rows), BLOCK):
        block = np.asarray(rows[start : start + BLOCK])
        for at, labels in enumerate(label_answers(model, block, candidates, k), start=start):
            yield WRITERS[form](names[at] if names else str(at), labels)


def label_answers(
    model: MultiLabelZeroShotClassifier, X: NDArray[Any], candidates: Any, k: int | None
) -> Iterator[list[dict[str, Any]]]:
    """Yield for every image its labels, best first."""
    from zerokin.classifiers.ranking import ranked

    p, where = model.predict_proba(X), model.locate(X)
    given = model.predict(X, candidates)
    chosen = model._candidates(candidates)
    seen = set(model.seen_.tolist())
    order = chosen[ranked(p[:, chosen], len(chosen))[0]]
    for row, best in enumerate(order.tolist()):
        kept = best[:k] if k is not None else [at for at in best if given[row, at]]
        yield [
            {
                "label": str(model.classes_[at]),
                "role": "seen" if at in seen else "unseen",
                "probability": round(float(p[row, at]), 4),
                "region": int(where[row, at]),
            }
            for at in kept
        ]


def _json_line(image: str, labels: list[dict[str, Any]]) -> str:
    return json.dumps({"image": image, "labels": labels}, ensure_ascii=False) + "\n"


def _csv_lines(image: str, labels: list[dict[str, Any]]) -> str:
    from zerokin.report.answers_csv import csv_line

    return "".join(csv_line([image, *one.values()]) for one in labels)


def _table_line(image: str, labels: list[dict[str, Any]]) -> str:
    from zerokin.commands.predict import printable

    named = [f"{printable(one['label'])} ({one['probability']:.2f})" for one in labels]
    return f"{printable(image)}: {', '.join(named) or '(nothing it is sure of)'}\n"


WRITERS: Mapping[str, Callable[[str, list[dict[str, Any]]], str]] = {
    "json": _json_line,
    "csv": _csv_lines,
    "table": _table_line,
}
