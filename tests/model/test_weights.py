from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load, save_file
from torch import Tensor, nn

from dragoman.errors import RunError
from dragoman.model.weights import (
    ALIGNMENT,
    DIGEST,
    TYPES,
    bytes_of,
    load_weights,
    restore_weights,
    save_weights,
    weights_of,
    write_tensors,
)


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


def test_weights_come_back_as_they_were_saved(tmp_path: Path) -> None:
    model, other = nn.Linear(3, 2), nn.Linear(3, 2)
    save_weights(tmp_path / "w", weights_of(model))
    restore_weights(other, load_weights(tmp_path / "w"), tmp_path / "w")
    assert torch.equal(model.weight, other.weight)


def test_a_matrix_that_serves_twice_is_saved_once(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    save_weights(tmp_path / "w", weights_of(model))
    assert sorted(load_weights(tmp_path / "w")) == ["0.bias", "0.weight", "1.bias"]


@pytest.mark.parametrize("keep", [0, 7, 60])
def test_a_damaged_file_is_named(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "model.safetensors"
    save_weights(path, weights_of(nn.Linear(3, 2)))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(RunError, match=r"model\.safetensors: the weights are damaged .*; restore the file"):
        load_weights(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="gone: cannot read the weights: No such file or directory"):
        load_weights(tmp_path / "gone")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"weight": torch.zeros(2, 3)}, "w: the weights lack 'bias'"),
        ({"weight": torch.zeros(2, 3), "bias": torch.zeros(2), "more": torch.zeros(1)}, "w: the model has no 'more'"),
        ({"weight": torch.zeros(2, 4), "bias": torch.zeros(2)}, r"w: 'weight' is \[2, 4\] where .* make it \[2, 3\]"),
    ],
)
def test_weights_of_another_model_are_refused(weights: dict[str, torch.Tensor], message: str) -> None:
    with pytest.raises(RunError, match=message):
        restore_weights(nn.Linear(3, 2), weights, Path("w"))


def test_every_altered_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_weights(path, weights_of(nn.Linear(3, 2)))
    whole = path.read_bytes()
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(RunError, match="the weights are damaged"):
            load_weights(path)


def test_weights_without_a_digest_are_refused(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(2)}, tmp_path / "w")
    with pytest.raises(RunError, match=r"the weights are damaged \(it has no digest\)"):
        load_weights(tmp_path / "w")
