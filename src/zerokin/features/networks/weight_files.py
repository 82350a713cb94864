"""Weights in files: safetensors, or a torch state dict that holds tensors and nothing else."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from zerokin.errors import InvalidInput, listing
from zerokin.files import existing, replacing

# What wrappers put before a parameter's name: parallel training, compilation, our own modules.
WRAPPERS = ("module.", "_orig_mod.", "backbone.", "model.")


def read_weights(path: str | Path) -> dict[str, Tensor]:
    """Return the tensors of a weight file by name.

    Files that end in ``.safetensors`` are read as such; all others are torch files, of which only
    tensors are read. Nothing in a file can make code run.

    Parameters
    ----------
    path
        The file.
    """
    file = existing(path, "weight file", "give a .safetensors file or a torch state dict")
    if not file.is_file():
        raise InvalidInput(f"{file} is a folder: give the weight file in it")
    try:
        if file.suffix == ".safetensors":
            return dict(load_file(file))
        content = _loaded(file)
    except pickle.UnpicklingError as error:
        raise InvalidInput(
            f"{file} is damaged, or holds Python objects besides tensors, which are never "
            f"unpickled: save its state dict as .safetensors"
        ) from error
    except Exception as error:
        # A damaged file can fail anywhere inside torch's and safetensors' readers.
        kind = "safetensors" if file.suffix == ".safetensors" else "torch weight"
        first = str(error).strip().splitlines()[0] if str(error).strip() else "it ends too soon"
        raise InvalidInput(f"{file} is damaged or no {kind} file: {first}") from error
    return _tensors(content, file)


class _Bounded(io.FileIO):
    """A file that is asked for more than it holds makes no room for more."""

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, os.fstat(self.fileno()).st_size - self.tell())
        return super().read(left if size is None or size < 0 else min(size, left))


def _loaded(path: Path) -> object:
    with path.open("rb") as beginning:
        is_zip = beginning.read(2) == b"PK"
    if is_zip:
        return torch.load(path, map_location="cpu", weights_only=True)
    # The older form is one stream, whose reader takes every length in it at its word.
    with _Bounded(path) as file:
        return torch.load(file, map_location="cpu", weights_only=True)


def save_weights(model: nn.Module, path: str | Path, *, former: Path | None = None) -> None:
    """Write the weights of a module as safetensors; the file is there whole or not at all.

    Parameters
    ----------
    model
        Any torch module.
    path
        The file, which ends in ``.safetensors``.
    former
        A file that may hold the same weights already: then ``path`` becomes a link to it, and no
        room is taken for a second copy.
    """
    if Path(path).suffix != ".safetensors":
        raise InvalidInput(f"weights are saved as .safetensors: got {path}")
    tensors = {key: value.detach().cpu().contiguous() for key, value in model.state_dict().items()}
    with replacing(path) as temporary:
        if former is not None and _holds(former, tensors):
            with suppress(OSError):  # a file system without links gets a copy
                os.link(former, temporary)
                return
        save_file(tensors, temporary)


def _holds(path: Path, tensors: Mapping[str, Tensor]) -> bool:
    """Tell whether a file holds these tensors and no others, reading one at a time."""
    try:
        with safe_open(path, framework="pt") as file:
            return set(file.keys()) == set(tensors) and all(
                _same(file.get_tensor(name), tensor) for name, tensor in tensors.items()
            )
    except (OSError, SafetensorError):
        return False


def _same(one: Tensor, other: Tensor) -> bool:
    return one.dtype == other.dtype and torch.equal(one, other)


def load_weights(
    model: nn.Module,
    weights: Mapping[str, Tensor],
    *,
    name: str,
    source: object,
    ignored: tuple[str, ...] = (),
) -> None:
    """Load weights into a model, all or none.

    Parameters
    ----------
    model
        Where to.
    weights
        Tensors by parameter name; names may carry the prefixes that wrappers add.
    name
        What the model is called, for messages.
    source
        Where the weights come from, for messages.
    ignored
        Entries whose names start with one of these may be left over: the classifier, which the
        model does not have.
    """
    wanted = model.state_dict()
    found = unwrapped(weights, wanted)
    # Batch norm's counter came late to torch: older files lack it, and it changes no output.
    missing = [k for k in wanted if k not in found and not k.endswith("num_batches_tracked")]
    extra = [k for k in found if k not in wanted and not k.startswith(ignored)]
    reason = ""
    if missing:
        reason = (
            f"it lacks {len(missing):,} of {len(wanted):,} tensors ({listing(missing, most=2)})"
        )
    elif extra:
        reason = f"it holds {len(extra):,} unknown tensors ({listing(extra, most=2)})"
    for key, tensor in wanted.items():
        if not reason and key in found and found[key].shape != tensor.shape:
            shapes = f"{tuple(found[key].shape)} there, {tuple(tensor.shape)} here"
            reason = f"{key} is {shapes}"
        if not reason and key in found and not bool(found[key].isfinite().all()):
            reason = f"{key} holds a number that is not finite"
    if reason:
        raise InvalidInput(f"{source} does not fit {name}: {reason}")
    model.load_state_dict({k: found.get(k, tensor) for k, tensor in wanted.items()})


def _tensors(content: object, file: Path) -> dict[str, Tensor]:
    for key in ("state_dict", "model"):
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
    if not isinstance(content, Mapping) or not content:
        raise InvalidInput(f"{file} holds no state dict: save model.state_dict() in it")
    strange = [key for key, value in content.items() if not isinstance(value, Tensor)]
    if strange:
        raise InvalidInput(
            f"{file} holds no state dict: {listing(strange, most=3)} "
            f"{'is' if len(strange) == 1 else 'are'} no tensor"
        )
    return {str(key): value for key, value in content.items()}


def unwrapped(weights: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return weights by the names the model has, whatever wrapped the model that was saved.

    A whole network's file also holds a head: once a prefix marks the backbone, only that counts.
    """
    found = dict(weights)
    while not found.keys() & wanted.keys():
        prefix = next((w for w in WRAPPERS if any(k.startswith(w) for k in found)), None)
        if prefix is None:
            return dict(weights)
        found = {k.removeprefix(prefix): v for k, v in found.items() if k.startswith(prefix)}
    return found
