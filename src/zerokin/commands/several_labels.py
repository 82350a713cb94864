"""``fit`` and ``predict`` where samples have several labels: the data, or the model, says so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zerokin.commands.arguments import out
from zerokin.errors import InvalidInput

if TYPE_CHECKING:
    from zerokin.data.multi_label import MultiLabelDataset
    from zerokin.recognizer.image_answer import UnreadableImage
    from zerokin.recognizer.label_answer import LabelAnswer

BLOCK = 256
COLUMNS = ("image", "label", "role", "probability", "region", "box")


def refuse_options(given: Mapping[str, Any], why: str) -> None:
    """Refuse options that were typed and mean nothing here."""
    for name, value in given.items():
        if value not in (None, False):
            raise InvalidInput(f"{name} {why}: leave it out")


def fit_labels(
    dataset: MultiLabelDataset,
    folder: Path,
    *,
    learner: Any = None,
    regions: int | None = None,
    tune: bool,
    seed: int,
) -> None:
    """Fit a `MultiLabelZeroShotClassifier` to features, or to images, and write its folder."""
    from zerokin.classifiers.multi_label.serialization import CONFIG
    from zerokin.files import refuse_other_folder

    refuse_other_folder(folder, CONFIG, "a classifier of several labels")
    if dataset.kind == "features":
        from zerokin.selection.multi_label.fitting import fit_label_classifier

        model, chosen = fit_label_classifier(dataset, tune=tune, random_state=seed)
        save = model.save
    else:
        from zerokin.features.region_reader import REGIONS
        from zerokin.recognizer.label_recognizer import fit_label_recognizer

        recognizer, chosen = fit_label_recognizer(
            dataset,
            learner,
            regions=REGIONS if regions is None else regions,
            tune=tune,
            random_state=seed,
        )
        model, save = recognizer.classifier, recognizer.save
    if chosen is not None:
        best = chosen.best
        out.print(
            f"validation classes: mAP among them {best.score('pure'):.1f} %, mean of mAP and F1@3 "
            f"over all {best.score('generalized'):.1f} % ({chosen.n_compared} settings compared)",
            soft_wrap=True,
        )
    out.print(f"labels are given from a probability of {model.calibration_.threshold:.3f} on")
    save(folder)
    out.print(f"{len(dataset.seen)} seen and {len(dataset.unseen)} unseen classes")
    out.print(f"wrote {folder}", soft_wrap=True)


def predicts_labels(folder: Path) -> bool:
    """Tell whether a folder holds a classifier of several labels."""
    from zerokin.classifiers.multi_label.serialization import is_multi_label

    return is_multi_label(folder)


def reads_images(folder: Path) -> bool:
    """Tell whether a classifier of several labels has a network beside it."""
    from zerokin.recognizer.label_recognizer import READER

    return (folder / READER).is_dir()


def label_lines(
    answers: Iterable[LabelAnswer | UnreadableImage], form: str
) -> Iterator[tuple[LabelAnswer | UnreadableImage, str]]:
    """Yield every answer with its output: its labels, their probabilities, and where they are."""
    heading = ",".join(COLUMNS) + "\n" if form == "csv" else ""
    for answer in answers:
        yield answer, heading + WRITERS[form](answer)
        heading = ""


def answers_of_features(
    folder: Path, given: Any, *, candidates: Any, k: int | None
) -> Iterator[LabelAnswer]:
    """Yield the answers for rows of features."""
    from zerokin.recognizer.label_recognizer import LabelRecognizer

    recognizer = LabelRecognizer.load(folder)
    names = getattr(given, "names", None)
    rows = given.open() if hasattr(given, "open") else given
    for start in range(0, len(rows), BLOCK):
        block = np.asarray(rows[start : start + BLOCK])
        called = [names[at] if names else str(at) for at in range(start, start + len(block))]
        yield from recognizer.answer(block, called, candidates, k)


def _json_line(answer: LabelAnswer | UnreadableImage) -> str:
    return json.dumps(answer.to_dict(), ensure_ascii=False) + "\n"


def _csv_lines(answer: LabelAnswer | UnreadableImage) -> str:
    from zerokin.report.answers_csv import csv_line

    if not hasattr(answer, "labels"):
        return ""  # said on standard error
    lines = []
    for one in answer.labels:
        box = "" if one.box is None else " ".join(f"{side:.4f}" for side in one.box)
        values = [answer.image, one.label, one.role, one.probability, one.region, box]
        lines.append(csv_line(values))
    return "".join(lines)


def _table_line(answer: LabelAnswer | UnreadableImage) -> str:
    from zerokin.commands.predict import printable

    if not hasattr(answer, "labels"):
        return f"{printable(answer.image)}: (unreadable)\n"
    named = [f"{printable(one.label)} ({one.probability:.2f})" for one in answer.labels]
    return f"{printable(answer.image)}: {', '.join(named) or '(nothing it is sure of)'}\n"


WRITERS: Mapping[str, Callable[[Any], str]] = {
    "json": _json_line,
    "csv": _csv_lines,
    "table": _table_line,
}
