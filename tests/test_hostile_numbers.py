"""Files of numbers that lie about what they hold are refused."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
import torch

from hostile_files import DEEP, entry, refused, safetensors
from zerokin.data.native_features import NativeFeatures
from zerokin.errors import InvalidInput
from zerokin.features.networks.weight_files import read_weights
from zerokin.features.training.checkpoint import load_checkpoint

LIES = {
    "header of 2^63 bytes": (2**63).to_bytes(8, "little") + b"{}",
    "header of 2^64 - 1 bytes": b"\xff" * 8 + b"{}",
    "overlap": safetensors({"a": entry([4], 0, 16), "b": entry([4], 8, 24)}, bytes(24)),
    "same place": safetensors({"a": entry([4], 0, 16), "b": entry([4], 0, 16)}, bytes(16)),
    "out of range": safetensors({"a": entry([4], 0, 16)}, bytes(8)),
    "backwards": safetensors({"a": entry([4], 16, 0)}, bytes(16)),
    "negative": safetensors({"a": entry([4], -16, 0)}, bytes(16)),
    "shape": safetensors({"a": entry([2**62, 4], 0, 16)}, bytes(16)),
    "unknown type": safetensors({"a": entry([4], 0, 16, "F99")}, bytes(16)),
    "deep": len(DEEP).to_bytes(8, "little") + DEEP.encode(),
    "nothing": b"",
}


@pytest.mark.parametrize("kind", LIES)
def test_a_safetensors_file_that_lies_is_refused(tmp_path, kind):
    path = tmp_path / "x.safetensors"
    path.write_bytes(LIES[kind])
    for read in (read_weights, load_checkpoint, NativeFeatures):
        with pytest.raises(InvalidInput) as error:
            read(path)
        assert "x.safetensors" in refused(error)


def test_a_torch_file_of_the_older_form_is_not_taken_at_its_word(tmp_path):
    """Its reader makes room for as many bytes as a text claims to have, here 2 GiB."""
    path = tmp_path / "x.pth"
    weights = {"weight": torch.ones(3)}
    torch.save(weights, path, _use_new_zipfile_serialization=False)
    assert torch.equal(read_weights(path)["weight"], torch.ones(3))
    content = path.read_bytes()
    claim = b"X\x06\0\0\0weight"
    assert content.count(claim) == 1
    path.write_bytes(content.replace(claim, b"X\xff\xff\xff\x7fweight"))
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not tell how much memory a process has")
    held = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 30), held[1]))
    try:
        with pytest.raises(InvalidInput, match=r"x\.pth") as error:
            read_weights(path)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, held)
    assert not isinstance(error.value.__cause__, MemoryError)
