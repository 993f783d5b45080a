from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load
from torch import Tensor

from dragoman.model.tensor_file import ALIGNMENT, DIGEST, TYPES, bytes_of, write_tensors


def written(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    file = io.BytesIO()
    write_tensors(file, tensors, metadata)
    return file.getvalue()


def of_all_kinds() -> dict[str, Tensor]:
    numbers = torch.arange(12.0).reshape(3, 4)
    return {
        **{f"type {number}": numbers.to(of_type) for number, of_type in enumerate(TYPES)},
        "one byte": torch.tensor([7], dtype=torch.uint8),
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 3),
        "turned": numbers.t(),
        "part": numbers[:, 1:3],
        "Zähler": torch.tensor([1, -1]),
        "learnt": torch.nn.Parameter(torch.tensor([0.5])),
    }


def test_the_library_reads_every_kind_of_tensor() -> None:
    tensors = of_all_kinds()
    found = load(written(tensors))
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor), name


def test_the_library_reads_the_texts_beside_them(tmp_path: Path) -> None:
    texts = {"dragoman": '{"a": "b"}', "language": "žemaičių"}
    path = tmp_path / "tensors"
    path.write_bytes(written({"a": torch.zeros(2)}, texts))
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    assert len(metadata.pop(DIGEST)) == 64
    assert metadata == texts


def test_every_tensor_begins_at_a_multiple_of_its_width() -> None:
    tensors = of_all_kinds()
    file = written(tensors)
    length = int.from_bytes(file[:8], "little")
    header = json.loads(file[8 : 8 + length])
    assert length % ALIGNMENT == 0
    for name, tensor in tensors.items():
        start, end = header[name]["data_offsets"]
        assert start % tensor.element_size() == 0
        assert end - start == tensor.nbytes


class Nowhere(io.BytesIO):
    """Takes everything and keeps nothing."""

    def write(self, numbers: bytes | memoryview) -> int:  # type: ignore[override]
        return len(numbers)


def test_nothing_large_is_copied() -> None:
    tensor = torch.zeros(1_000_000)
    assert np.frombuffer(bytes_of(tensor), "float32").ctypes.data == tensor.data_ptr()
    tracemalloc.start()
    write_tensors(Nowhere(), {"a": tensor, "b": tensor})
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < tensor.nbytes / 10


def test_a_type_that_nothing_here_has_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        written({"complex": torch.zeros(1, dtype=torch.complex64)})
