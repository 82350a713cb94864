"""Image towers of CLIP (Radford et al., ICML 2021) from open_clip: embeddings as features."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from zerokin.features.networks.backbone import Backbone, BackboneOutput, Normalization
from zerokin.semantics.clip_models import clip_architecture, create_clip


class ClipBackbone(Backbone):
    """An image tower: its embedding, which is also its one map of 1 × 1."""

    def _extract(self, x: Tensor, *_shares: Tensor) -> BackboneOutput:
        embedding: Tensor = self.model(x)
        return BackboneOutput(embedding[:, :, None, None], embedding)


def clip_backbone(name: str) -> ClipBackbone:
    """Return the image tower of a CLIP with random weights.

    Parameters
    ----------
    name
        Such as ``"open_clip/ViT-B-16.laion2b_s34b_b88k"``; the weights that it names say how
        images are normalized.
    """
    tower: Any = create_clip(name).visual
    import open_clip

    architecture, tag = clip_architecture(name)
    d_f = int(open_clip.get_model_config(architecture)["embed_dim"])
    said = open_clip.get_pretrained_cfg(architecture, tag) if tag else {}
    usual = open_clip.transform.PreprocessCfg()
    size = tower.image_size
    return ClipBackbone(
        name,
        tower,
        channels=d_f,
        d_f=d_f,
        input_size=int(size[0] if isinstance(size, tuple | list) else size),
        normalization=Normalization(
            tuple(said.get("mean") or usual.mean), tuple(said.get("std") or usual.std)
        ),
    )
