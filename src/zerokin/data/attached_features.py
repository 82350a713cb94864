"""Features in a file, in place of the pictures that they were extracted from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from zerokin.data.array_features import SUFFIX as ARRAY
from zerokin.data.array_features import ArrayFeatures
from zerokin.data.dataset import Dataset
from zerokin.data.feature_files import FeatureFile
from zerokin.data.native_features import SUFFIX, NativeFeatures
from zerokin.data.picture_stamps import changed_pictures
from zerokin.data.pictures import Pictures
from zerokin.data.provenance import SourceFile
from zerokin.errors import InvalidInput, listing

FILES = (SUFFIX, ARRAY)
"""How the names of such files end."""


def with_features(dataset: Dataset, path: str | Path) -> Dataset:
    """Return a data set with the features of a file.

    Parameters
    ----------
    dataset
        Pictures; or features whose file names its pictures: by any path that ends alike, since
        they may have lain elsewhere and in another format when those features were extracted.
    path
        What `zerokin extract` wrote, which must name the same pictures in the same order; or an
        array that `numpy.save` wrote (``.npy``), which must have a row for each, in that order.
    """
    path = Path(path).expanduser()
    names: Sequence[str] | None = getattr(dataset.inputs, "names", None)
    features = _array(dataset, path, names) if path.suffix == ARRAY else _own(dataset, path, names)
    files = (*dataset.provenance.files, SourceFile.of(features.path))
    return dataset.with_inputs(features, replace(dataset.provenance, files=files))


def _array(dataset: Dataset, path: Path, names: Sequence[str] | None) -> ArrayFeatures:
    features = ArrayFeatures(path, names)
    if len(features) != len(dataset):
        raise InvalidInput(
            f"{path} has {len(features):,} rows, but {dataset.provenance.source} has "
            f"{len(dataset):,} samples: save one row for each, in their order"
        )
    return features


def _own(dataset: Dataset, path: Path, names: Sequence[str] | None) -> NativeFeatures:
    features = NativeFeatures(path)
    source = dataset.provenance.source
    if not names or not any(names):
        what = "no samples" if dataset.inputs is None else "features that name no pictures"
        raise InvalidInput(f"{features.path} cannot be checked: {source} holds {what}")
    _refuse_other_pictures(names, features, source, by_end=isinstance(dataset.inputs, FeatureFile))
    if isinstance(dataset.inputs, Pictures):
        _refuse_changed_pictures(dataset.inputs, features)
    return features


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


def _refuse_changed_pictures(pictures: Pictures, features: NativeFeatures) -> None:
    if features.picture_stamps is None:  # of an earlier version
        return
    changed = changed_pictures(pictures, features.picture_stamps, features.picture_sha256)
    if changed:
        raise InvalidInput(
            f"{len(changed):,} of {len(pictures):,} pictures changed since {features.path} was "
            f"extracted ({listing(changed)}): extract the features again with zerokin extract"
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
