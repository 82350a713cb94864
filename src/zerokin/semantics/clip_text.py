"""Class vectors from a CLIP's text tower with prompt templates (Radford et al., ICML 2021)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.hub import first_line
from zerokin.semantics.clip_models import clip_file, create_clip, full_name
from zerokin.semantics.normalize import unit_rows
from zerokin.semantics.sentences import class_texts

DEFAULT_CLIP = "clip-base"
TEMPLATES = (
    "a photo of a {name}.",
    "a photo of the {name}.",
    "a close-up of a {name}.",
    "a {name} seen from afar.",
    "a small photo of a {name}.",
    "a bright photo of a {name}.",
    "a dark photo of a {name}.",
)
BATCH = 256


def class_prompts(
    names: Iterable[str],
    descriptions: Mapping[str, str] | None = None,
    *,
    templates: Sequence[str] = TEMPLATES,
) -> list[list[str]]:
    """Return the prompts of each class: every template with its name, and its description.

    Parameters
    ----------
    names : C names
        As for `class_texts`.
    descriptions
        Text of some or all classes by name; it follows the name in one more prompt.
    templates
        Texts with ``{name}`` in them.

    Examples
    --------
    >>> class_prompts(["zebra"], {"zebra": "striped"}, templates=["a {name}."])
    [['a zebra.', 'zebra: striped']]
    """
    names = list(names)
    told = descriptions or {}
    # The check of names and texts, and how a name reads, are those of sentence encoders.
    class_texts(names, told)
    plain = class_texts(names, template="{name}")
    by_template = [class_texts(names, template=template) for template in templates]
    prompts = [list(texts) for texts in zip(*by_template, strict=True)]
    for own, name, read in zip(prompts, names, plain, strict=True):
        if told.get(name, "").strip():
            own.append(f"{read}: {told[name].strip()}")
    return prompts


def clip_text_vectors(
    prompts: Sequence[Sequence[str]], model: str = DEFAULT_CLIP, *, weights: str | None = None
) -> NDArray[np.float64]:
    """Encode the prompts of each class with a CLIP's text tower, and average them.

    Each prompt's embedding has unit length before the average, and the average after it.

    Parameters
    ----------
    prompts : C lists of texts
        Such as `class_prompts` gives; longer ones than the model reads are cut off.
    model
        ``"clip-base"``, ``"siglip-base"``, or a model of open_clip such as
        ``"open_clip/ViT-B-32.laion2b_s34b_b79k"``.
    weights
        A safetensors file with both towers; by default what ``ZEROKIN_WEIGHTS`` leads to, or the
        hub's.

    Returns
    -------
    (C, d) float64
        One row per class, of unit length.
    """
    if not prompts or not all(prompts):
        raise InvalidInput("clip-text needs at least one prompt for each class")
    tower, _ = open_clip_model(model, weights)
    tokens = _tokens(full_name(model), [text for texts in prompts for text in texts])
    rows = np.concatenate(
        [_encoded(tower, tokens[i : i + BATCH]) for i in range(0, len(tokens), BATCH)]
    )
    ends = np.cumsum([len(texts) for texts in prompts])
    sums = np.add.reduceat(rows, np.r_[0, ends[:-1]], axis=0)
    return unit_rows(sums, [texts[0] for texts in prompts])


def open_clip_model(model: str, weights: str | None = None) -> tuple[Any, str]:
    """Return both towers of a CLIP with its weights, and where these come from, in words.

    Parameters
    ----------
    model, weights
        As for `clip_text_vectors`.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    found = create_clip(full_name(model))
    file, source = clip_file(model, weights)
    if not file.is_file():
        raise InvalidInput(f"no weight file at {file}: give a .safetensors file with both towers")
    try:
        found.load_state_dict(load_file(file))
    except (SafetensorError, RuntimeError, OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InvalidInput(f"{file} does not hold both towers of {model}: {reason}") from error
    return found, source


def _tokens(name: str, texts: list[str]) -> Any:
    import open_clip

    from zerokin.semantics.clip_models import clip_architecture

    try:
        return open_clip.get_tokenizer(clip_architecture(name)[0])(texts)
    # Some tokenizers come from the hub, which can fail in many ways.
    except Exception as error:
        raise InvalidInput(
            f"the tokenizer of {name} could not be had ({first_line(error)}): check the connection"
        ) from error


def _encoded(tower: Any, tokens: Any) -> NDArray[np.float64]:
    import torch

    with torch.inference_mode():
        found: NDArray[np.float64] = tower.encode_text(tokens, normalize=True).double().numpy()
    return found
