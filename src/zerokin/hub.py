"""Weight files on this disk, and from the Hugging Face hub where they are not."""

from __future__ import annotations

import os
from pathlib import Path

from zerokin.errors import MissingFile

FOLDER = "ZEROKIN_WEIGHTS"
"""Environment variable that names a folder of weight files, each called as what it is for."""
SUFFIX = ".safetensors"


def own_file(name: str) -> Path | None:
    """Return ``NAME.safetensors`` in the folder that ``ZEROKIN_WEIGHTS`` names; None without it.

    Parameters
    ----------
    name
        Such as ``"dinov2-small"``.
    """
    given = os.environ.get(FOLDER)
    if not given:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise MissingFile(f"{FOLDER} names {folder}, which is no folder: mend or unset it")
    file = folder / f"{name}{SUFFIX}"
    return file if file.is_file() else None


def cached_file(repository: str, file: str) -> Path | None:
    """Return a file of a repository from the hub's cache on this disk; nothing is asked of the hub.

    Examples
    --------
    >>> cached_file("zerokin/never-was", "model.safetensors") is None
    True
    """
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(repository, file)
    return Path(found) if isinstance(found, str) else None


def fetch_file(repository: str, file: str) -> Path:
    """Return a file of a repository: from the cache, or downloaded into it.

    Parameters
    ----------
    repository, file
        Such as ``"timm/resnet50.a1_in1k"`` and ``"model.safetensors"``.
    """
    cached = cached_file(repository, file)
    if cached is not None:
        return cached
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(repository, file))
    # Downloading can fail in as many ways as there are networks and libraries below.
    except Exception as error:
        raise MissingFile(
            f"{file} of {repository} could not be had from the hub ({first_line(error)}): "
            f"check the connection, or give a weight file"
        ) from error


def first_line(error: Exception) -> str:
    """Return the first line of an error, or its kind where it says nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
