"""Extracted features in place of the pictures that they were extracted from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from zerokin.data.dataset import Dataset
from zerokin.data.feature_files import FeatureFile
from zerokin.data.native_features import NativeFeatures
from zerokin.data.provenance import SourceFile
from zerokin.errors import InvalidInput


def with_features(dataset: Dataset, path: str | Path) -> Dataset:
    """Return a data set with the features of a file that `zerokin extract` wrote.

    Parameters
    ----------
    dataset
        Pictures; or features whose file names its pictures: by any path that ends alike, since
        they may have lain elsewhere and in another format when those features were extracted.
    path
        The feature file. It must name the same pictures in the same order.
    """
    features = NativeFeatures(Path(path).expanduser())
    source = dataset.provenance.source
    names: Sequence[str] | None = getattr(dataset.inputs, "names", None)
    if not names or not any(names):
        what = "no samples" if dataset.inputs is None else "features that name no pictures"
        raise InvalidInput(f"{features.path} cannot be checked: {source} holds {what}")
    _refuse_other_pictures(names, features, source, by_end=isinstance(dataset.inputs, FeatureFile))
    files = (*dataset.provenance.files, SourceFile.of(features.path))
    return dataset.with_inputs(features, replace(dataset.provenance, files=files))


def _refuse_other_pictures(
    names: Sequence[str], features: NativeFeatures, source: str, *, by_end: bool
) -> None:
    remedy = "extract the features of this data again with zerokin extract"
    for number, (ours, theirs) in enumerate(zip(names, features.names, strict=False), start=1):
        if ours != theirs and not (by_end and _end_alike(ours, theirs)):
            raise InvalidInput(
                f"{features.path} is of other pictures than {source}: sample {number:,} is "
                f"{theirs!r} there, {ours!r} here; {remedy}"
            )
    if len(names) != len(features):
        raise InvalidInput(
            f"{features.path} holds features of {len(features):,} pictures, {source} has "
            f"{len(names):,}; {remedy}"
        )


def _end_alike(path: str, name: str) -> bool:
    """Tell whether a path ends in a picture's name, whatever the formats of the two.

    Examples
    --------
    >>> _end_alike("/their/images/robin/1.jpg", "robin/1.webp")
    True
    """
    plain_path, plain_name = (os.path.splitext(text)[0] for text in (path, name))  # noqa: PTH122
    return f"/{plain_path}".endswith(f"/{plain_name}")
