"""Weights on disk in the safetensors format, which contains tensors and their names but no code.

The safetensors library reads these files. Its own writer builds the whole file in memory and copies it, which for a
training state (four times the size of the weights) dominated the memory of training. Its writer to a path creates and
renames a file of its own, which only the owner may read. So tensors are written here, one at a time.

The format: the length of the header in 8 bytes; the header, JSON with the type, shape and offsets of every tensor,
padded with spaces to a multiple of 8 bytes; the tensors without gaps. All numbers are little-endian.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from dragoman.errors import RunError
from dragoman.stored_files import open_regular, read_regular
from dragoman.text.lines import replace_file
from dragoman.text.vocabulary import SPECIALS

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
    spans = pairwise(accumulate((tensors[name].nbytes for name in names), initial=0))
    header: dict[str, Any] = {METADATA: dict(metadata or {})}
    for name, span in zip(names, spans, strict=True):
        tensor = tensors[name]
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": span}
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


def parameter_count(model: nn.Module) -> int:
    """The number of parameters; a matrix that is used twice counts once."""
    return sum(parameter.numel() for parameter in model.parameters())


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """All parameters by name, detached; a tied matrix is listed once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def save_weights(path: Path, weights: Mapping[str, Tensor]) -> None:
    """Write weights atomically: a reader sees the old file or the new one.

    Raises:
        InputError: the file cannot be written.
    """
    with replace_file(path, binary=True) as file:
        write_tensors(file, weights)


def load_weights(path: Path) -> dict[str, Tensor]:
    """Read weights onto the CPU.

    Raises:
        RunError: the file is missing, cannot be read, or is damaged.
    """
    try:
        require_intact(path)
        return load(read_regular(path))
    except OSError as error:
        raise RunError(f"{path}: cannot read the weights: {error.strerror}") from None
    except (SafetensorError, ValueError, KeyError) as error:
        raise RunError(
            f"{path}: the weights are damaged ({error}); restore the file, or go on from the last saved "
            "state with `dragoman train --resume`"
        ) from None


def packed_weights(weights: Mapping[str, Tensor]) -> bytes:
    """Weights for another process."""
    return save({name: weight.cpu().contiguous() for name, weight in weights.items()})


def unpacked_weights(content: bytes) -> dict[str, Tensor]:
    """What `packed_weights` was given, on the CPU."""
    return load(content)


def restore_weights(model: nn.Module, weights: Mapping[str, Tensor], path: Path) -> None:
    """Copy weights into a model.

    Raises:
        RunError: they do not fit the model: a name is missing or unknown, or a shape differs.
    """
    parameters = dict(model.named_parameters())
    for name in sorted(parameters.keys() | weights.keys()):
        if name not in weights:
            raise RunError(f"{path}: the weights lack {name!r}; they do not belong to this run's config.yaml")
        if name not in parameters:
            raise RunError(f"{path}: the model has no {name!r}; the weights do not belong to this run's config.yaml")
        if parameters[name].shape != weights[name].shape:
            raise RunError(
                f"{path}: {name!r} is {list(weights[name].shape)} where config.yaml and vocabularies make it "
                f"{list(parameters[name].shape)}; the weights do not belong to this run"
            )
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])


_ROWS_OF_WORDS = {"source.weight": 0, "target.weight": 1, "output.weight": 1, "output.bias": 1}
"""The tensors of a translation model with a row for each word of a vocabulary: 0 of the source, 1 of the target."""


def extended_rows(
    weights: Mapping[str, Tensor], parts: tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]
) -> dict[str, Tensor]:
    """Weights of a translation model whose vocabularies have grown: the row of a new word is the mean of other rows.

    Args:
        weights: by name, as `load_weights` gives them.
        parts: of source and target, for each new word the ids of the words whose mean it takes; none for all words but
            the special ones.
    """
    extended = dict(weights)
    for name, side in _ROWS_OF_WORDS.items():
        if name in weights and parts[side]:
            rows = weights[name]
            every = rows[len(SPECIALS) :].mean(dim=0)
            new = [rows[list(ids)].mean(dim=0) if ids else every for ids in parts[side]]
            extended[name] = torch.cat((rows, torch.stack(new)))  # [V, ...] -> [V + new, ...]
    return extended
