"""Features in a file, in place of the images that they were extracted from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from zerokin.data.array_features import SUFFIX as ARRAY
from zerokin.data.array_features import ArrayFeatures
from zerokin.data.dataset import Dataset
from zerokin.data.feature_files import FeatureFile
from zerokin.data.image_stamps import changed_images
from zerokin.data.images import Images
from zerokin.data.native_features import SUFFIX, NativeFeatures
from zerokin.data.provenance import SourceFile
from zerokin.errors import InvalidInput, listing

FILES = (SUFFIX, ARRAY)
"""How the names of such files end."""


def feature_file(path: Path) -> FeatureFile:
    """Open a file that `zerokin extract` wrote, or an array that `numpy.save` wrote (``.npy``)."""
    return ArrayFeatures(path) if path.suffix == ARRAY else NativeFeatures(path)


def with_features(dataset: Dataset, path: str | Path) -> Dataset:
    """Return a data set with the features of a file.

    Parameters
    ----------
    dataset
        Images; or features whose file names its images: by any path that ends alike, since
        they may have lain elsewhere and in another format when those features were extracted.
    path
        What `zerokin extract` wrote, which must name the same images in the same order; or an
        array that `numpy.save` wrote (``.npy``), which must have a row for each, in that order.
    """
    path = Path(path).expanduser()
    names: Sequence[str] | None = getattr(dataset.inputs, "names", None)
    features = _array(dataset, path, names) if path.suffix == ARRAY else _own(dataset, path, names)
    files = (*dataset.provenance.files, SourceFile.from_path(features.path))
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
        what = "no samples" if dataset.inputs is None else "features that name no images"
        raise InvalidInput(f"{features.path} cannot be checked: {source} holds {what}")
    _refuse_other_images(names, features, source, by_end=isinstance(dataset.inputs, FeatureFile))
    if isinstance(dataset.inputs, Images):
        _refuse_changed_images(dataset.inputs, features)
    return features


def _refuse_other_images(
    names: Sequence[str], features: NativeFeatures, source: str, *, by_end: bool
) -> None:
    remedy = "extract the features of this data again with zerokin extract"
    for number, (ours, theirs) in enumerate(zip(names, features.names, strict=False), start=1):
        if ours != theirs and not (by_end and end_alike(ours, theirs)):
            raise InvalidInput(
                f"{features.path} is of other images than {source}: sample {number:,} is "
                f"{theirs!r} there, {ours!r} here; {remedy}"
            )
    if len(names) != len(features):
        raise InvalidInput(
            f"{features.path} holds features of {len(features):,} images, {source} has "
            f"{len(names):,}; {remedy}"
        )


def _refuse_changed_images(images: Images, features: NativeFeatures) -> None:
    if features.image_stamps is None:  # of an earlier version
        return
    changed = changed_images(images, features.image_stamps, features.image_sha256)
    if changed:
        raise InvalidInput(
            f"{len(changed):,} of {len(images):,} images changed since {features.path} was "
            f"extracted ({listing(changed)}): extract the features again with zerokin extract"
        )


def end_alike(path: str, name: str) -> bool:
    """Tell whether a path ends in an image's name, whatever the formats of the two.

    Examples
    --------
    >>> end_alike("/their/images/robin/1.jpg", "robin/1.webp")
    True
    """
    plain_path, plain_name = (os.path.splitext(text)[0] for text in (path, name))  # noqa: PTH122
    return f"/{plain_path}".endswith(f"/{plain_name}")
