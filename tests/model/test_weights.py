from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from dragoman.errors import RunError
from dragoman.model.weights import load_weights, restore_weights, save_weights, weights_of


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
