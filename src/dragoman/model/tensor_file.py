"""Writing tensors to an open file in the safetensors format, one tensor at a time.

The safetensors library reads these files. Its own writer builds the whole file in memory and copies it, which for a
training state (four times the size of the weights) dominated the memory of training. Its writer to a path creates and
renames a file of its own, which only the owner may read.

The format: the length of the header in 8 bytes; the header, JSON with the type, shape and offsets of every tensor,
padded with spaces to a multiple of 8 bytes; the tensors without gaps. All numbers are little-endian.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterable, Mapping
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor

from dragoman.stored_files import open_regular

METADATA = "__metadata__"
"""The header entry for text metadata."""
DIGEST = "sha256"
"""The metadata entry with the digest of the rest of the file."""
_CHUNK = 1 << 20
ALIGNMENT = 8
"""The first tensor starts at a multiple of this number of bytes."""
TYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.uint8: "U8",
}
"""The types of weights and training states, with their safetensors names."""


def write_tensors(file: BinaryIO, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors and text metadata; extra memory is used only for a tensor that is not on the CPU or not contiguous.

    Raises:
        OSError: the file cannot be written.
    """
    # Wide types first, so that each tensor starts at a multiple of its item size.
    names = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    places = pairwise(accumulate((tensors[name].nbytes for name in names), initial=0))
    header: dict[str, Any] = {METADATA: dict(metadata or {})}
    for name, place in zip(names, places, strict=True):
        tensor = tensors[name]
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": place}
    header[METADATA][DIGEST] = _digest(header, (bytes_of(tensors[name]) for name in names))
    text = _dump(header)
    text += b" " * (-len(text) % ALIGNMENT)
    file.write(struct.pack("<Q", len(text)))
    file.write(text)
    for name in names:
        file.write(bytes_of(tensors[name]))


def require_intact(path: Path) -> None:
    """Compare a file that `write_tensors` wrote with its digest.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is damaged or truncated, or has no digest.
    """
    with open_regular(path) as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 0 < length <= os.fstat(file.fileno()).st_size - 8:
            raise ValueError("it is truncated or not a safetensors file")
        try:
            header = json.loads(file.read(length))
        except RecursionError:
            raise ValueError("its header is nested too deeply") from None
        metadata = header.get(METADATA) if isinstance(header, dict) else None
        expected = metadata.pop(DIGEST, None) if isinstance(metadata, dict) else None
        if expected is None:
            raise ValueError("it has no digest")
        if _digest(header, iter(lambda: file.read(_CHUNK), b"")) != expected:
            raise ValueError("its digest does not match its contents")


def _digest(header: Mapping[str, Any], tensors: Iterable[bytes | memoryview]) -> str:
    digest = hashlib.sha256(_dump(header))
    for part in tensors:
        digest.update(part)
    return digest.hexdigest()


def _dump(header: Mapping[str, Any]) -> bytes:
    return json.dumps(header, separators=(",", ":")).encode()


def bytes_of(tensor: Tensor) -> memoryview:
    """The bytes of a tensor, without a copy if it is contiguous on the CPU."""
    whole = tensor.detach().cpu().contiguous()
    return whole.reshape(-1).view(torch.uint8).numpy().data
