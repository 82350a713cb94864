"""A tiny CLIP of open_clip with random weights, from a configuration of our own."""

from __future__ import annotations

import json
from functools import cache

import pytest

NAME = "open_clip/tiny-clip"
SIDE, WIDTH = 32, 24
CONFIG = {
    "embed_dim": WIDTH,
    "vision_cfg": {"image_size": SIDE, "layers": 2, "width": 64, "patch_size": 8},
    "text_cfg": {
        "context_length": 77,
        "vocab_size": 49408,
        "width": 32,
        "heads": 2,
        "layers": 2,
    },
}


def add_tiny_clip(folder):
    """Make open_clip know the model, and return it with the file of its weights."""
    open_clip = pytest.importorskip("open_clip")
    import torch
    from safetensors.torch import save_file

    config = folder / "tiny-clip.json"
    config.write_text(json.dumps(CONFIG), encoding="utf-8")
    open_clip.add_model_config(config)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = open_clip.create_model("tiny-clip", pretrained=None).eval()
    file = folder / "tiny-clip.safetensors"
    save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, file)
    return model, file


@cache
def tokenizer():
    import open_clip

    return open_clip.get_tokenizer("tiny-clip")
