"""CLIP models of open_clip: image and text towers that share one space of embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from zerokin.errors import InvalidInput, MissingExtra, did_you_mean
from zerokin.hub import fetch_file, own_file

OPEN_CLIP = "open_clip/"
"""Before the names of open_clip's models."""
WEIGHTS_FILE = {"timm": "model.safetensors", "open_clip": "open_clip_model.safetensors"}
"""What the file with the weights is called in repositories of either library."""

Triple = tuple[float, float, float]
OPENAI_MEAN: Triple = (0.48145466, 0.4578275, 0.40821073)
OPENAI_STD: Triple = (0.26862954, 0.26130258, 0.27577711)


@dataclass(frozen=True)
class ClipModel:
    """A CLIP with published weights.

    Parameters
    ----------
    model, tag
        Names of architecture and weights in open_clip.
    repository
        Where the weights lie on the Hugging Face hub.
    megabytes
        What they take.
    license
        Of the weights.
    pretraining
        What they learned from.
    mean, std
        Normalization of images.
    """

    model: str
    tag: str
    repository: str
    megabytes: int
    license: str
    pretraining: str
    mean: Triple = OPENAI_MEAN
    std: Triple = OPENAI_STD


CLIPS: Mapping[str, ClipModel] = {
    "clip-base": ClipModel(
        "ViT-B-16",
        "laion2b_s34b_b88k",
        "laion/CLIP-ViT-B-16-laion2B-s34B-b88K",
        599,
        license="MIT",
        pretraining="LAION-2B, 2 billion images of the web with their texts",
    ),
    "siglip-base": ClipModel(
        "ViT-B-16-SigLIP",
        "webli",
        "timm/ViT-B-16-SigLIP",
        813,
        license="Apache-2.0",
        pretraining="WebLI, 10 billion images of the web with their texts",
        mean=(0.5, 0.5, 0.5),
        std=(0.5, 0.5, 0.5),
    ),
}


def clip_architecture(name: str) -> tuple[str, str | None]:
    """Return the names of architecture and weights in ``open_clip/ARCHITECTURE.WEIGHTS``.

    Examples
    --------
    >>> clip_architecture("open_clip/ViT-B-16.laion2b_s34b_b88k")
    ('ViT-B-16', 'laion2b_s34b_b88k')
    """
    architecture, _, tag = name.removeprefix(OPEN_CLIP).partition(".")
    return architecture, tag or None


def check_clip(name: str) -> None:
    """Refuse a CLIP that open_clip does not know, or that cannot be had without open_clip."""
    if find_spec("open_clip") is None:
        raise MissingExtra(f"the CLIP model {name}", "clip")
    import open_clip

    architecture, tag = clip_architecture(name)
    known = open_clip.list_models()
    if architecture not in known:
        raise InvalidInput(
            f"unknown CLIP model {architecture!r}{did_you_mean(architecture, known)} (known: "
            f"{', '.join(CLIPS)} and the {len(known)} of open_clip.list_models())"
        )
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    if tag and tag not in tags:
        raise InvalidInput(
            f"open_clip has no weights of {architecture} called {tag!r}{did_you_mean(tag, tags)}"
        )


def create_clip(name: str) -> Any:
    """Return both towers of a CLIP with random weights, in evaluation mode.

    Parameters
    ----------
    name
        Such as ``"open_clip/ViT-B-16.laion2b_s34b_b88k"``.
    """
    check_clip(name)
    import open_clip

    # Whatever it says while it makes a model concerns nobody.
    return open_clip.create_model(clip_architecture(name)[0], pretrained=None).eval()


def clip_file(name: str, weights: str | None = None) -> tuple[Path, str]:
    """Return the file that holds both towers of a CLIP, and where it comes from, in words.

    Parameters
    ----------
    name
        Of `CLIPS`, or in open_clip after ``open_clip/``.
    weights
        A file; None or ``"hub"``: what ``ZEROKIN_WEIGHTS`` leads to, otherwise the hub's.
    """
    own = own_file(name) if weights is None else None
    if own is not None:
        weights = str(own)
    if weights not in (None, "hub"):
        return Path(str(weights)), f"file {Path(str(weights)).name}"
    return fetch_file(clip_repository(name), WEIGHTS_FILE["open_clip"]), "hub"


def clip_repository(name: str) -> str:
    """Return where open_clip's weights of a CLIP lie on the Hugging Face hub."""
    if name in CLIPS:
        return CLIPS[name].repository
    check_clip(name)
    import open_clip

    architecture, tag = clip_architecture(name)
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    if tag is None:
        raise InvalidInput(
            f"{name} does not say which weights: give a file, or one of "
            f"{', '.join(f'{OPEN_CLIP}{architecture}.{one}' for one in tags[:3]) or 'CLIPS'}"
        )
    found = open_clip.get_pretrained_cfg(architecture, tag).get("hf_hub", "").rstrip("/")
    if not found:
        raise InvalidInput(f"the hub has no weights of {name}: give a weight file")
    return str(found)


def full_name(name: str) -> str:
    """Return the name of a CLIP in open_clip, with its weights.

    Examples
    --------
    >>> full_name("siglip-base")
    'open_clip/ViT-B-16-SigLIP.webli'
    """
    known = CLIPS.get(name)
    return name if known is None else f"{OPEN_CLIP}{known.model}.{known.tag}"
