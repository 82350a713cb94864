"""A trained feature network in a folder: safetensors for weights, JSON for the rest."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from zerokin._version import __version__
from zerokin.aliases import NETWORK, RECIPE, renamed
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.features.networks import (
    FeatureNetwork,
    HierarchyHead,
    PrototypicalHead,
    SemanticHead,
    create_backbone,
    read_weights,
    save_weights,
)
from zerokin.features.networks.network import Head
from zerokin.features.networks.vector_backbones import input_options
from zerokin.features.networks.weight_files import load_weights
from zerokin.features.training.recipe import Recipe
from zerokin.features.training.records import Epoch
from zerokin.files import read_versioned, refuse_other_folder, replacing_folder
from zerokin.hierarchy import ClassHierarchy

if TYPE_CHECKING:
    from zerokin.features.feature_learner import FeatureLearner

FORMAT, VERSION = "zerokin-features", 1
CONFIG, WEIGHTS, HIERARCHY = "features.json", "network.safetensors", "superclasses.json"
CHAIN = ("hidden", "input_scaling", "auxiliary_heads")
MOST = 1_000_000


def write_features(
    learner: FeatureLearner, folder: str | os.PathLike[str], *, former: Path | None = None
) -> None:
    """Write a fitted learner; an older one in the same folder is replaced as a whole.

    Parameters
    ----------
    learner
        Fitted.
    folder
        Where to write.
    former
        A folder in which a learner may lie whose weights are the same: they are linked then.
    """
    folder = Path(folder)
    refuse_other_folder(folder, CONFIG, "features")
    settings = asdict(learner.settings)
    read = input_options(learner.network_.backbone)
    config = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"zerokin {__version__}",
        "settings": {**settings, "options": {**learner.settings.options, **read}},
        "recipe": learner.recipe.as_dict(),
        "head": _described(learner.network_.head),
        "has_hierarchy": learner.hierarchy_ is not None,
        "classes": learner.classes_,
        "history": [asdict(epoch) for epoch in learner.history_],
    }
    with replacing_folder(folder) as temporary:
        same = None if former is None else former / WEIGHTS
        save_weights(learner.network_, temporary / WEIGHTS, former=same)
        (temporary / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
        if learner.hierarchy_ is not None:
            learner.hierarchy_.save(temporary / HIERARCHY)


def read_features(
    kind: type[FeatureLearner], folder: str | os.PathLike[str], *, device: str | None
) -> FeatureLearner:
    """Read a learner, refusing whatever does not fit together."""
    folder = Path(folder)
    config = read_versioned(
        folder / CONFIG,
        what="feature network",
        made_by="zerokin train",
        kind=FORMAT,
        version=VERSION,
    )
    try:
        settings = renamed(NETWORK, config["settings"])
        recipe = Recipe.from_dict(renamed(RECIPE, config["recipe"]))
        learner = kind(recipe=recipe, device=device, **settings)
        backbone = create_backbone(
            learner.settings.backbone, weights=None, **learner.settings.options
        )
        head = _made(config["head"], backbone.d_f, backbone.channels)
        learner.history_ = [Epoch(**epoch) for epoch in config["history"]]
        has_hierarchy = bool(config["has_hierarchy"])
        # Networks of earlier versions do not tell.
        names = config.get("classes")
        learner.classes_ = None if names is None else [str(name) for name in names]
    except ZerokinError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InvalidInput(
            f"{folder / CONFIG} does not describe a network ({reason}): fit it anew"
        ) from error
    learner.network_ = FeatureNetwork(backbone, head)
    weights = read_weights(folder / WEIGHTS)
    load_weights(learner.network_, weights, name="its network", source=folder / WEIGHTS)
    learner.hierarchy_ = ClassHierarchy.load(folder / HIERARCHY) if has_hierarchy else None
    learner.network_.to(learner.torch_device).eval()
    return learner


def _described(head: Head) -> dict[str, Any]:
    if isinstance(head, PrototypicalHead):
        return {"kind": head.mode, "way": head.way, "shots": head.shots}
    if isinstance(head, SemanticHead):
        sizes = [len(head.get_buffer(f"prototypes_{n}")) for n in range(len(head.projections))]
        return {
            "kind": "semantic",
            "d_z": head.d_z,
            "sizes": sizes,
            "scale": head.scale,
            "maps": head.uses_maps,
            "reconstruction": head.reconstruction,
            "image_hidden": head.image_hidden,
            "chained": head.chained,
            **{name: getattr(head, name) for name in CHAIN},
        }
    return {
        "kind": "hierarchy",
        "sizes": [head.class_head.out_features, *(h.out_features for h in head.layer_heads)],
        "mode": head.mode,
        # Of one label an image, files of earlier versions stay those of the same network.
        **({"sigmoid": True} if head.sigmoid else {}),
        **{name: getattr(head, name) for name in CHAIN},
    }


def _made(about: dict[str, Any], d_f: int, channels: int) -> Head:
    """Make a head whose weights are still to come."""
    if about["kind"] == PrototypicalHead.mode:
        return PrototypicalHead(d_f, way=int(about["way"]), shots=int(about["shots"]))
    seen, *layers = (int(size) for size in about["sizes"])
    for size in (seen, *layers, int(about.get("d_z", 1)), int(about.get("hidden", 1))):
        if not 1 <= size <= MOST:
            raise ValueError(f"a head of size {size}")
    if about["kind"] == "semantic":
        d_z, hidden = int(about["d_z"]), about["image_hidden"]
        if hidden is not None and not 0 <= int(hidden) <= MOST:
            raise ValueError(f"a head with {hidden} hidden units")
        return SemanticHead(
            d_f,
            torch.ones(seen, d_z),
            [torch.ones(size, d_z) for size in layers],
            scale=float(about["scale"]),
            map_channels=channels if about["maps"] else None,
            reconstruction=bool(about["reconstruction"]),
            image_hidden=None if hidden is None else int(hidden),
            # Heads of earlier versions had no chain.
            chained=bool(about.get("chained", False)),
            **(_chain(about) if about.get("chained") else {}),
        )
    if about["kind"] != "hierarchy":
        raise ValueError(f"a head of kind {about['kind']!r}")
    return HierarchyHead(
        d_f,
        seen,
        layers,
        mode=about["mode"],
        sigmoid=bool(about.get("sigmoid", False)),
        **_chain(about),
    )


def _chain(about: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the LSTM chain."""
    return {
        "hidden": int(about["hidden"]),
        "input_scaling": bool(about["input_scaling"]),
        "auxiliary_heads": bool(about["auxiliary_heads"]),
    }
