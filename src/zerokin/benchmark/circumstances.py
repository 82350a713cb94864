"""Circumstances of a run: versions of the libraries that decide figures, device, data, date."""

from __future__ import annotations

import datetime as dt
import platform
from importlib.metadata import version

from zerokin._version import __version__
from zerokin.compute.machine import own_cores
from zerokin.data.dataset import Dataset

LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch")


def versions() -> dict[str, str]:
    """Return the versions of Python, zerokin and the libraries that decide figures.

    Examples
    --------
    >>> list(versions())
    ['python', 'zerokin', 'numpy', 'scipy', 'scikit-learn', 'torch']
    """
    own = {"python": platform.python_version(), "zerokin": __version__}
    return {**own, **{name: version(name) for name in LIBRARIES}}


def device_name() -> str:
    """Return what runs are computed on here: the GPU, or the kind of processor and its cores."""
    import torch

    if torch.cuda.is_available():
        return str(torch.cuda.get_device_name())
    return f"CPU ({platform.machine()}), {own_cores()} cores"


def data_hashes(dataset: Dataset) -> dict[str, str]:
    """Return the SHA-256 of every file of data that was read, by name."""
    return {file.path.name: file.sha256 for file in dataset.provenance.files}


def today() -> str:
    """Return the date as YYYY-MM-DD."""
    return dt.datetime.now(dt.UTC).date().isoformat()
