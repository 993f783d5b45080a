from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from dragoman.errors import DragomanError, InputError, RunError
from dragoman.training.checkpoint import (
    Checkpoint,
    load_checkpoint,
    random_state,
    restore_random_state,
    restore_tensors,
    save_checkpoint,
)

STATE = Checkpoint(
    {"update": 3, "best": 31.5, "position": [1, 2], "reason": None},
    {
        "weights.a": torch.arange(6.0).reshape(2, 3),
        "optimiser.0.step": torch.tensor(3.0),
        "random.cpu": torch.tensor([1, 2, 255], dtype=torch.uint8),
    },
)


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints" / "latest.safetensors"
    save_checkpoint(path, STATE)
    loaded = load_checkpoint(path)
    assert loaded.values == STATE.values
    assert loaded.tensors.keys() == STATE.tensors.keys()
    assert all(torch.equal(loaded.tensors[name], tensor) for name, tensor in STATE.tensors.items())
    assert loaded.part("optimiser").keys() == {"0.step"}


def test_the_state_is_one_plain_safetensors_file(tmp_path: Path) -> None:
    path = tmp_path / "latest.safetensors"
    save_checkpoint(path, STATE)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    with safe_open(path, framework="np") as file:
        assert json.loads(file.metadata()["dragoman"])["values"] == STATE.values


def test_what_a_killed_process_left_behind_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "latest.safetensors"
    (tmp_path / ".latest.safetensors.dragoman-new").write_bytes(b"half a state")
    save_checkpoint(path, STATE)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_on_a_full_disk_the_previous_state_survives(
    tmp_path: Path, full_disk: Callable[..., AbstractContextManager[None]]
) -> None:
    path = tmp_path / "latest.safetensors"
    save_checkpoint(path, STATE)
    before = path.read_bytes()
    larger = Checkpoint({}, {"weights.a": torch.zeros(100_000)})
    with full_disk(free=50_000), pytest.raises(InputError, match=re.escape(f"{path}: cannot be written: ")):
        save_checkpoint(path, larger)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_no_state_to_resume_from(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="there is no training state to resume from; start the run again without"):
        load_checkpoint(tmp_path / "latest.safetensors")


def damaged(path: Path) -> list[bytes]:
    whole = path.read_bytes()
    position = whole.rindex(torch.tensor(5.0).numpy().tobytes())  # a weight
    return [b"", b"nonsense", whole[:-1], whole[: len(whole) // 2], whole[:position] + b"\x01" + whole[position + 1 :]]


@pytest.mark.parametrize("kind", range(5))
def test_a_damaged_state_is_refused(tmp_path: Path, kind: int) -> None:
    path = tmp_path / "latest.safetensors"
    save_checkpoint(path, STATE)
    path.write_bytes(damaged(path)[kind])
    with pytest.raises(RunError, match=re.escape(f"{path}: the training state is damaged (")) as caught:
        load_checkpoint(path)
    assert "train again with --overwrite" in str(caught.value)


def test_another_safetensors_file_is_no_training_state(tmp_path: Path) -> None:
    path = tmp_path / "latest.safetensors"
    save_file({"a": torch.zeros(2)}, path)
    with pytest.raises(RunError, match="the training state is damaged"):
        load_checkpoint(path)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (99, "training state format 99 is newer .* upgrade dragoman"),
        (1, "training state format 1 is of an older version of dragoman, .*; finish the training with that version"),
    ],
)
def test_another_format_is_refused(tmp_path: Path, version: int, message: str) -> None:
    path = tmp_path / "latest.safetensors"
    save_file(
        {"weights.a": torch.zeros(2)},
        path,
        metadata={"dragoman": json.dumps({"format": version, "digest": "", "values": {}})},
    )
    with pytest.raises(RunError, match=message):
        load_checkpoint(path)


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ({"a": torch.zeros(2)}, "'b' is no tensor there and [3] in the configured model"),
        ({"a": torch.zeros(2), "b": torch.zeros(4)}, "'b' is [4] there and [3] in the configured model"),
        ({"a": torch.zeros(2), "b": torch.zeros(3), "c": torch.zeros(1)}, "'c' is [1] there and no tensor in the"),
    ],
)
def test_tensors_of_another_model_are_refused(saved: dict[str, torch.Tensor], message: str) -> None:
    with pytest.raises(DragomanError, match=re.escape(message)):
        restore_tensors({"a": torch.zeros(2), "b": torch.zeros(3)}, saved, Path("latest.safetensors"))


def test_random_numbers_go_on_where_they_stopped() -> None:
    state = random_state(torch.device("cpu"))
    drawn = torch.rand(3)
    restore_random_state(state, torch.device("cpu"))
    assert torch.equal(torch.rand(3), drawn)


def test_every_altered_byte_of_the_header_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "latest.safetensors"
    save_checkpoint(path, STATE)
    whole = path.read_bytes()
    for position in range(8 + int.from_bytes(whole[:8], "little")):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(RunError, match="training state"):
            load_checkpoint(path)
