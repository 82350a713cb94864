"""Files made to do harm, and how to tell that they did none."""

from __future__ import annotations

import io
import json
import resource
import shutil
import struct
import sys
import tarfile
import zlib
from pathlib import Path

BUNDLE = Path(__file__).parent / "data" / "bundle-1"

DEEP = "[" * 100_000 + "]" * 100_000


def encoded(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def png_chunk(kind, content):
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )


def png(width, height, *, color=2, chunks=(), data=b""):
    head = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    parts = (b"IHDR", head), *chunks, (b"IDAT", zlib.compress(data)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(*part) for part in parts)


def peak():
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def refused(error):
    line = str(error.value)
    assert len(line.splitlines()) == 1
    assert len(line) <= 2100
    return line


def write_tar(path, *members):
    with tarfile.open(path, "w") as tar:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, "/etc/passwd", len(content)
            tar.addfile(info, io.BytesIO(content))


def laughs(levels=30):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines) + f"\nlast: *a{levels - 1}\n"


def safetensors(header, values=b""):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + values


def entry(shape, start, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def copied_bundle(folder):
    """Copy the stored bundle and give its root and the folder of its one generation."""
    shutil.copytree(BUNDLE, folder)
    return folder, next(path for path in folder.iterdir() if path.is_dir())


def copied_classifier(folder):
    root = next(path for path in BUNDLE.iterdir() if path.is_dir())
    shutil.copytree(root / "classifier", folder)
    return folder
