"""A recognizer as a bundle: what each file holds, and how it is checked when read."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zerokin._version import __version__
from zerokin.aliases import ReadingSaved
from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.data.classes import BESIDE, ClassTable
from zerokin.errors import InvalidInput, ZerokinError, shown
from zerokin.parameters import is_whole
from zerokin.recognizer.atomic_bundle import (
    is_bundle,
    read_generation,
    undo_generation,
    write_generation,
)
from zerokin.recognizer.confidence.confidence_model import ConfidenceModel
from zerokin.recognizer.former_classifier import is_former_classifier, read_former_classifier
from zerokin.recognizer.generation_files import same_files
from zerokin.recognizer.model_card import filled_in_license, model_card
from zerokin.recognizer.read_back import refuse_difference

if TYPE_CHECKING:
    from zerokin.features.feature_learner import FeatureLearner
    from zerokin.features.network_ensemble import NetworkEnsemble
    from zerokin.recognizer.recognizer import Recognizer

NETWORK, CLASSIFIER, EXAMPLES = "network", "classifier", "examples"
CLASSES, ABOUT, ANSWERS, METRICS = "classes.csv", "about.json", "answers.json", "metrics.json"
CARD, INDEX = "README.md", "index.json"
FIXED_COLUMNS = ("name", "role", "description")
TOLD_ENCODER = re.compile(r"(?:sentences|WordNet's definitions) \((.+)\)", re.DOTALL)


def write_recognizer(recognizer: Recognizer, folder: str | os.PathLike[str]) -> None:
    """Write a bundle, or replace the one that is there."""
    place = str(Path(folder).resolve())
    origin = recognizer._origin
    based_on = origin[1] if origin is not None and origin[0] == place else None
    former = None if based_on is None else Path(folder) / based_on
    generation = write_generation(
        folder,
        lambda root: fill(recognizer, root, former=former),
        check=lambda root: read_back(recognizer, root, former=former),
        based_on=based_on,
    )
    recognizer._origin = (place, generation)


def read_back(recognizer: Recognizer, root: Path, *, former: Path | None = None) -> None:
    """Refuse what was written if it does not open, or answers otherwise than the recognizer."""
    try:
        # A network that was linked is the one that is in memory: reading it would tell nothing.
        learner = recognizer.learner
        if learner and (former is None or not _same_networks(recognizer, root, former)):
            learner = None
        found = read_parts(type(recognizer), root, device="cpu", learner=learner)
        refuse_difference(found, recognizer)
    # Whatever goes wrong here would go wrong for whoever opens the bundle.
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInput(
            f"what was written does not read back as it should ({reason}): nothing is changed"
        ) from error


def network_folders(root: Path, n: int) -> list[Path]:
    """Return where n networks lie: ``network``, ``network-2`` and so on."""
    return [root / (NETWORK if k == 1 else f"{NETWORK}-{k}") for k in range(1, n + 1)]


def _members(recognizer: Recognizer) -> tuple[FeatureLearner, ...]:
    if recognizer.learner is None:
        return ()
    from zerokin.features.network_ensemble import networks_of

    return networks_of(recognizer.learner)


def _same_networks(recognizer: Recognizer, root: Path, former: Path) -> bool:
    n = len(_members(recognizer))
    folders = zip(network_folders(root, n), network_folders(former, n), strict=True)
    return all(same_files(one, other) for one, other in folders)


def fill(recognizer: Recognizer, root: Path, *, former: Path | None = None) -> None:
    """Write everything a recognizer is made of into an empty folder.

    Weights that are the same in the former generation are linked from the start: a change needs no
    room for a second network, not even for a while.
    """
    classes, seen = recognizer.classes, recognizer.seen
    members = _members(recognizer)
    for member, folder in zip(members, network_folders(root, len(members)), strict=True):
        from zerokin.features.serialization import write_features

        write_features(member, folder, former=None if former is None else former / folder.name)
    recognizer.classifier.save(root / CLASSIFIER)
    (root / CLASSES).write_text(classes_csv(classes, seen.tolist()), encoding="utf-8", newline="")
    about = {
        "written_by": f"zerokin {__version__}",
        "semantics_source": classes.semantics_source,
        "text_encoder": classes.text_encoder,
        "has_vectors": classes.vectors is not None and classes.attribute_names is not None,
        "has_descriptions": classes.descriptions is not None,
        "has_network": recognizer.learner is not None,
        **({"networks": len(members)} if len(members) > 1 else {}),
        "about": recognizer.about,
    }
    _write_json(root / ABOUT, about)
    calibrations = recognizer.calibrations
    _write_json(root / ANSWERS, {kind: one.to_dict() for kind, one in calibrations.items()})
    _write_json(root / METRICS, recognizer.metrics)
    _write_examples(recognizer, root / EXAMPLES)
    (root / CARD).write_text(model_card(recognizer), encoding="utf-8")


def read_recognizer(
    kind: type[Recognizer], folder: str | os.PathLike[str], *, device: str | None = None
) -> Recognizer:
    """Read a bundle, refusing whatever is damaged or does not fit together."""
    if is_former_classifier(folder):
        return read_former_classifier(kind, Path(folder))
    with ReadingSaved(kind.__name__, folder):
        recognizer, generation = read_generation(
            folder, lambda root: read_parts(kind, root, device=device)
        )
    recognizer._origin = (str(Path(folder).resolve()), generation)
    return recognizer


def undo_recognizer(
    kind: type[Recognizer], folder: str | os.PathLike[str], *, device: str | None = None
) -> Recognizer:
    """Go back to the bundle before the last change, and read it."""

    def read(root: Path) -> Recognizer:
        recognizer = read_parts(kind, root, device=device)
        recognizer._origin = (str(Path(folder).resolve()), root.name)
        return recognizer

    return undo_generation(folder, read)


def read_parts(
    kind: type[Recognizer],
    root: Path,
    *,
    device: str | None = None,
    learner: FeatureLearner | NetworkEnsemble | None = None,
) -> Recognizer:
    """Read what `fill` wrote; the networks, too, unless they are known already."""
    about = _read_json(root / ABOUT)
    classifier = ZeroShotClassifier.load(root / CLASSIFIER)
    # Bundles of earlier versions, which do not say so, hold a network.
    if learner is None and about.get("has_network") is not False:
        from zerokin.features.feature_learner import FeatureLearner
        from zerokin.features.network_ensemble import MOST, side_by_side

        # Bundles of one network do not say so.
        n = about.get("networks", 1)
        if not is_whole(n) or not 1 <= n <= MOST:
            raise InvalidInput(f"{root / ABOUT}: networks must be a number from 1: got {shown(n)}")
        folders = network_folders(root, n)
        learner = side_by_side([FeatureLearner.load(one, device=device) for one in folders])
    recognizer = kind(
        learner,
        classifier,
        _read_classes(root / CLASSES, about, classifier),
        calibrations=_read_calibrations(root / ANSWERS),
        examples=_read_examples(root / EXAMPLES),
        metrics=_read_json(root / METRICS),
        about=about.get("about") if isinstance(about.get("about"), dict) else {},
    )
    terms = filled_in_license((root / CARD).read_text(encoding="utf-8", errors="replace"))
    if terms is not None:
        recognizer.about["license"] = terms
    _refuse_misfits(recognizer, root)
    return recognizer


def known_classes(folder: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the names of a bundle's classes; none where there is no bundle, or a damaged one."""
    if not is_bundle(folder):
        return ()

    def names(root: Path) -> tuple[str, ...]:
        with (root / CLASSES).open(encoding="utf-8", newline="") as file:
            return tuple(row[0] for row in list(csv.reader(file, strict=True))[1:])

    try:
        return read_generation(folder, names)[0]
    except (ZerokinError, ValueError, IndexError, csv.Error):
        return ()


def classes_csv(classes: ClassTable, seen: list[bool]) -> str:
    """Return a class table as text, every number with as many digits as bring it back exactly.

    Examples
    --------
    >>> table = ClassTable(("okapi",), np.array([[0.5, 1.0]]), attribute_names=("hooves", "neck"))
    >>> print(classes_csv(table, [False]), end="")
    name,role,description,hooves,neck
    okapi,unseen,,0.5,1.0
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    with_numbers = classes.attribute_names is not None and classes.vectors is not None
    writer.writerow([*FIXED_COLUMNS, *(classes.attribute_names or () if with_numbers else ())])
    for i, name in enumerate(classes.names):
        row = [name, "seen" if seen[i] else "unseen"]
        row.append(classes.descriptions[i] if classes.descriptions else "")
        if with_numbers:
            row += [repr(float(value)) for value in classes.vectors[i]]  # type: ignore[index]
        writer.writerow(row)
    return text.getvalue()


def _read_classes(
    path: Path, about: Mapping[str, Any], classifier: ZeroShotClassifier
) -> ClassTable:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file, strict=True)
        names = tuple(row[0] for row in rows)
        attributes = tuple(header[len(FIXED_COLUMNS) :])
        vectors = classifier.semantics_
        alone = [name for name, one in classifier._shots.items() if one.projected is None]
        if alone:  # nothing is said of them: what was read off their shots is the classifier's
            vectors = np.where(np.isin(classifier.classes_, alone)[:, None], 0.0, vectors)
        if about["has_vectors"]:
            numbers = [[float(value) for value in row[len(FIXED_COLUMNS) :]] for row in rows]
            vectors = np.array(numbers, dtype=np.float64)
        seen = [position for position, row in enumerate(rows) if row[1] == "seen"]
        if seen != classifier.seen_.tolist():
            raise ValueError("its roles are not those of the classifier")
        if vectors.shape != classifier.semantics_.shape:
            raise ValueError(f"its vectors have shape {vectors.shape}")
        return ClassTable(
            names=names,
            vectors=vectors,
            semantics_source=str(about["semantics_source"]),
            text_encoder=read_text_encoder(about),
            attribute_names=attributes if about["has_vectors"] else None,
            descriptions=tuple(row[2] for row in rows) if about["has_descriptions"] else None,
        )
    except (OSError, ValueError, KeyError, IndexError, csv.Error) as error:
        raise InvalidInput(f"{path} does not hold the bundle's classes ({error})") from error


def read_text_encoder(about: Mapping[str, Any]) -> str | None:
    """Return the sentence encoder that a bundle notes; earlier ones told it within their source.

    Examples
    --------
    >>> read_text_encoder({"text_encoder": "minilm"})
    'minilm'
    >>> read_text_encoder({"semantics_source": "sentences (minilm)"})
    'minilm'
    """
    if "text_encoder" in about:
        noted = about["text_encoder"]
        if noted is not None and not isinstance(noted, str):
            raise ValueError(f"text_encoder is {noted!r}")
        return noted
    source = str(about["semantics_source"])
    # A text says nothing of what stands beside its vector.
    found = None if BESIDE in source else TOLD_ENCODER.fullmatch(source)
    return found[1] if found else None


def _read_calibrations(path: Path) -> dict[str, ConfidenceModel]:
    try:
        return {kind: ConfidenceModel.from_dict(one) for kind, one in _read_json(path).items()}
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


def _write_examples(recognizer: Recognizer, folder: Path) -> None:
    """Write example images under numbers: names of classes may hold anything."""
    folder.mkdir()
    index: dict[str, list[str]] = {}
    number = 0
    for name in recognizer.classes.names:
        for jpeg in recognizer.examples(name):
            number += 1
            index.setdefault(name, []).append(f"{number:05}.jpg")
            (folder / f"{number:05}.jpg").write_bytes(jpeg)
    _write_json(folder / INDEX, index)


def _read_examples(folder: Path) -> dict[str, tuple[bytes, ...]]:
    index = _read_json(folder / INDEX)
    known = {path.name: path for path in folder.iterdir()}
    try:
        return {
            name: tuple(known[file].read_bytes() for file in files) for name, files in index.items()
        }
    except (KeyError, TypeError, OSError) as error:
        raise InvalidInput(
            f"{folder / INDEX} names an image that is not there ({error})"
        ) from error


def _refuse_misfits(recognizer: Recognizer, root: Path) -> None:
    members = _members(recognizer)
    if members:
        from zerokin.features.network_ensemble import joint_width

        given = joint_width(members)
        taken = recognizer.classifier.n_features_in_
        if given != taken:
            raise InvalidInput(
                f"{root}: the network{'s give' if members[1:] else ' gives'} {given} features, but "
                f"the classifier takes {taken}"
            )
    tree = recognizer.hierarchy
    layers = 1 if tree is None else tree.n_layers + 1
    for kind, calibration in recognizer.calibrations.items():
        if len(calibration.risk_maps) != layers:
            raise InvalidInput(
                f"{root / ANSWERS}: {kind} has {len(calibration.risk_maps)} risk maps, but there "
                f"are {layers} layers of classes and superclasses"
            )


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _finite(text: str) -> float:
    """Read a number; one that could not be written again is refused."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(
            path.read_text(encoding="utf-8"), parse_float=_finite, parse_constant=_finite
        )
    except FileNotFoundError as error:
        raise InvalidInput(f"{path} is missing: copy the bundle again, or fit it anew") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise InvalidInput(f"{path} must hold an object")
    return content
