"""One file from which a training goes on exactly as if it had never stopped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from zerokin.aliases import NETWORK, RECIPE, renamed
from zerokin.errors import InvalidInput
from zerokin.files import replacing
from zerokin.temporaries import remove_leftovers

NAME = "checkpoint.safetensors"
FORMAT = "zerokin-checkpoint-1"

Groups = dict[str, dict[str, Tensor]]

# As earlier versions called groups of tensors, layers and parts of the loss.
OLD_GROUPS = {"optimiser": "optimizer", "average": "ema"}
OLD_LAYERS = {"turns": "rotation_head"}
OLD_LOSSES = {"turns": "rotation"}


def save_checkpoint(
    path: Path, groups: Mapping[str, Mapping[str, Tensor]], state: dict[str, Any]
) -> None:
    """Write tensors in named groups, and everything else as JSON, whole or not at all."""
    tensors = {
        f"{group}/{name}": value.detach().contiguous().cpu()
        for group, members in groups.items()
        for name, value in members.items()
    }
    metadata = {"format": FORMAT, "state": json.dumps(state)}
    with replacing(path) as temporary:
        save_file(tensors, temporary, metadata=metadata)


def load_checkpoint(path: Path) -> tuple[Groups, dict[str, Any]]:
    """Read what `save_checkpoint` wrote."""
    remedy = "remove it to start over"
    groups: Groups = {}
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise InvalidInput(f"{path} is no checkpoint of this version: {remedy}")
            for key in file.keys():  # noqa: SIM118  # not a mapping
                group, _, name = key.partition("/")
                groups.setdefault(group, {})[name] = file.get_tensor(key)
        state = json.loads(metadata["state"])
    except InvalidInput:
        raise
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError, OSError) as error:
        raise InvalidInput(f"{path} cannot be read ({error}): {remedy}") from error
    if not isinstance(state, dict):
        raise InvalidInput(f"{path} is damaged (no state in it): {remedy}")
    return groups, state


def under_new_layers(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a network's tensors, with layers that an earlier version called otherwise renamed."""
    found = {}
    for name, value in tensors.items():
        layer, dot, weight = name.partition(".")
        found[OLD_LAYERS.get(layer, layer) + dot + weight] = value
    return found


def under_new_names(groups: Groups, state: dict[str, Any]) -> tuple[Groups, dict[str, Any]]:
    """Return a checkpoint of an earlier version under the names of this one.

    Examples
    --------
    >>> groups, _ = under_new_names({"average": {"turns.bias": torch.ones(4)}}, {})
    >>> {group: list(members) for group, members in groups.items()}
    {'ema': ['rotation_head.bias']}
    """
    groups = {
        OLD_GROUPS.get(group, group): under_new_layers(members) for group, members in groups.items()
    }
    described, progress = state.get("fingerprint"), state.get("progress")
    if isinstance(described, dict):
        described = renamed({**RECIPE, "pictures": "images"}, described)
        if isinstance(described.get("origin"), str):
            # It ends in how features were read for validation.
            origin = re.split(r"(\w+)", described["origin"])
            described["origin"] = "".join(NETWORK.get(word, word) for word in origin)
        state = {**state, "fingerprint": described}
    if isinstance(progress, dict) and isinstance(progress.get("sums"), dict):
        progress = {**progress, "sums": renamed(OLD_LOSSES, progress["sums"])}
        state = {**state, "progress": progress}
    return groups, state


def tidy(folder: Path, names: Iterable[str]) -> None:
    """Make a training's folder; drop halves of its files from when it was killed.

    Parameters
    ----------
    folder
        Where.
    names
        Files that trainings write with `replacing`.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"cannot write to folder {folder}: {error.strerror}") from error
    for name in names:
        remove_leftovers(folder / name)
        # As earlier versions called them.
        stem, dot, suffix = name.partition(".")
        for half in folder.glob(f".{stem}.*.part{dot}{suffix}"):
            half.unlink(missing_ok=True)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the optimizer's memory, such as momenta, by parameter number and name."""
    memory = optimizer.state_dict()["state"]
    return {
        f"{number}/{name}": torch.as_tensor(value)
        for number, entries in memory.items()
        for name, value in entries.items()
        if value is not None
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Give the optimizer its memory back."""
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    memory: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition("/")
        weight = weights[int(number)]
        # Laid out as its weight is: sums over another layout may be rounded otherwise.
        restored = torch.empty_like(weight).copy_(value) if value.shape == weight.shape else value
        memory.setdefault(int(number), {})[name] = restored.detach()
    whole = optimizer.state_dict()
    optimizer.load_state_dict({**whole, "state": memory})
