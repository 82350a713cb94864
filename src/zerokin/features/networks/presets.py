"""Backbones by short names: architecture, weights, image size, pooling, license and pretraining."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from zerokin.data.resizing import ResizeMode
from zerokin.features.networks.backbone import IMAGENET, Normalization
from zerokin.features.networks.packaged_weights import is_packaged
from zerokin.features.networks.timm_backbones import EFFICIENTNET_LITE, Pooling
from zerokin.features.networks.vector_backbones import VECTOR
from zerokin.hub import cached_file, own_file
from zerokin.semantics.clip_models import CLIPS, OPEN_CLIP, WEIGHTS_FILE

IMAGENET_1K = "ImageNet-1k, 1.28 million labeled images of 1,000 classes"
LVD = (
    "LVD-142M, 142 million unlabeled images gathered by likeness to curated data sets, which may "
    "include CUB's: keep results apart from those of ImageNet-1k weights"
)
PAIRS = (
    "which may show any test class by name: keep results apart from those of ImageNet-1k weights"
)


@dataclass(frozen=True)
class Preset:
    """A backbone that is ready to use.

    Parameters
    ----------
    model
        Its name in timm, or in open_clip after ``open_clip/``; weights come after the point.
    weights
        ``"packaged"`` (extra ``pretrained``) or ``"hub"``.
    hub
        Where its published weights lie: repository and file on the Hugging Face hub.
    megabytes
        What the weights take.
    image_size, resize_mode, tta_flip
        How images are shown; see `NetworkSettings`.
    pooling
        Of a transformer, see `Pooling`; None for the model's own.
    normalization
        What the model expects.
    license
        Of the weights.
    pretraining
        What they were pretrained on, and what follows for results.
    """

    model: str
    weights: Literal["packaged", "hub"]
    hub: tuple[str, str]
    megabytes: int
    image_size: int
    normalization: Normalization
    license: str
    pretraining: str
    pooling: Pooling | None = None
    resize_mode: ResizeMode = "whole"
    tta_flip: bool = True

    @property
    def options(self) -> dict[str, Any]:
        """What `create_backbone` takes beside name and weights.

        Position embeddings of a transformer are interpolated for the size of each image.
        """
        if self.pooling is None:
            return {}
        return {
            "input_size": self.image_size,
            "pooling": self.pooling,
            "dynamic_img_size": True,
        }


def _lite(number: int, megabytes: int, image_size: int) -> Preset:
    model = f"tf_efficientnet_lite{number}"
    return Preset(
        model,
        "packaged",
        (f"timm/{model}.in1k", WEIGHTS_FILE["timm"]),
        megabytes,
        image_size,
        EFFICIENTNET_LITE,
        license="Apache-2.0",
        pretraining=IMAGENET_1K,
    )


def _dinov2(size: str, megabytes: int) -> Preset:
    model = f"vit_{size}_patch14_dinov2.lvd142m"
    return Preset(
        model,
        "hub",
        (f"timm/{model}", WEIGHTS_FILE["timm"]),
        megabytes,
        224,
        IMAGENET,
        license="Apache-2.0",
        pretraining=LVD,
        pooling="cls+mean",
    )


def _clip(name: str, resize_mode: ResizeMode) -> Preset:
    known = CLIPS[name]
    return Preset(
        f"{OPEN_CLIP}{known.model}.{known.tag}",
        "hub",
        (known.repository, WEIGHTS_FILE["open_clip"]),
        known.megabytes,
        224,
        Normalization(known.mean, known.std),
        license=known.license,
        pretraining=f"{known.pretraining}, {PAIRS}",
        resize_mode=resize_mode,
    )


PRESETS: Mapping[str, Preset] = {
    "lite0": _lite(0, 19, 224),
    "lite1": _lite(1, 22, 240),
    "lite2": _lite(2, 24, 260),
    "dinov2-small": _dinov2("small", 88),
    "dinov2-base": _dinov2("base", 346),
    "clip-base": _clip("clip-base", "center"),
    "siglip-base": _clip("siglip-base", "whole"),
}

BEST_FIRST = ("dinov2-base", "dinov2-small", "lite2", "lite1", "lite0")
"""What is taken without a choice, if its weights are at hand: by what their authors report.

CLIP's are taken by name alone: nothing was measured with them here.
"""


def preset_of(backbone: str) -> Preset | None:
    """Return the preset whose model a backbone is, under either name; None for other backbones.

    Examples
    --------
    >>> preset_of("tf_efficientnet_lite0") is PRESETS["lite0"] is preset_of("lite0")
    True
    """
    models = {preset.model: preset for preset in PRESETS.values()}
    return PRESETS.get(backbone) or models.get(backbone)


def weights_at_hand(name: str) -> str | None:
    """Return where the weights of a preset are on this disk; None if they would be downloaded.

    Parameters
    ----------
    name
        Of `PRESETS`.

    Returns
    -------
    str or None
        A file that ``ZEROKIN_WEIGHTS`` leads to, ``"packaged"``, or ``"hub"`` for what its cache
        holds.
    """
    preset = PRESETS[name]
    own = own_file(name)
    if own is not None:
        return str(own)
    if preset.weights == "packaged":
        return "packaged" if is_packaged(preset.model) else None
    return "hub" if cached_file(*preset.hub) else None


def best_at_hand() -> str:
    """Return the best preset whose weights are at hand; ``"lite0"`` if none are."""
    return next((name for name in BEST_FIRST if weights_at_hand(name)), "lite0")


def describe_best(name: str) -> str:
    """Say which preset was taken, and what weights that are not at hand would bring.

    Examples
    --------
    >>> describe_best("dinov2-base")
    "network: dinov2-base (LVD-142M, ...)"
    """
    where = weights_at_hand(name)
    said = f"network: {name} ({PRESETS[name].pretraining})"
    if where not in (None, "packaged", "hub"):
        said += f", weights {Path(str(where)).name}"
    better = [one for one in BEST_FIRST[: BEST_FIRST.index(name)] if not weights_at_hand(one)]
    if not better:
        return said
    other = PRESETS[better[-1]]
    how = (
        f"downloads {other.megabytes} MB"
        if other.weights == "hub"
        else "needs pip install 'zerokin[pretrained]'"
    )
    return f"{said}; ranked above it by its authors' report: --backbone {better[-1]} {how}"


def expand_preset(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a network with those of a preset, where the backbone is the name of one.

    What is given counts. Afterwards nothing depends on the table of presets any more, so that
    what was saved stays what it was.

    Parameters
    ----------
    settings
        Of `NetworkSettings`, by name.

    Examples
    --------
    >>> expand_preset({"backbone": "lite1", "weights": None})["backbone"]
    'tf_efficientnet_lite1'
    """
    name = settings.get("backbone")
    if isinstance(name, str) and name in VECTOR:  # nobody publishes weights of these
        return {"weights": None, **settings}
    if not isinstance(name, str) or name not in PRESETS:
        return dict(settings)
    preset, given = PRESETS[name], dict(settings)
    size = {"input_size": given["image_size"]} if preset.options and given.get("image_size") else {}
    options = {**preset.options, **size, **(given.get("options") or {})}
    weights = given["weights"] if "weights" in given else weights_at_hand(name) or preset.weights
    shown = {"resize_mode": preset.resize_mode, "tta_flip": preset.tta_flip}
    return {**shown, **given, "backbone": preset.model, "weights": weights, "options": options}
