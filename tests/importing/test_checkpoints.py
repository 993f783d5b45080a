"""Loading a foreign checkpoint runs no code."""

from __future__ import annotations

import os
import pickle
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.cli.main import main
from dragoman.errors import InputError
from dragoman.importing.checkpoints import CheckpointTensors, read_checkpoint
from tests.importing.toolkits import JoeyNMT, OpenNMT


class Evil:
    """Unpickled by a plain reader, it runs a command."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self.command,)


@pytest.fixture
def evil(tmp_path: Path) -> Evil:
    """It makes a file `executed`."""
    return Evil(f"touch {tmp_path / 'executed'}")


@pytest.mark.parametrize("toolkit", ["joeynmt", "opennmt"])
@pytest.mark.parametrize("zipped", [True, False])
def test_a_malicious_pickle_is_refused_and_not_executed(
    toolkit: str, zipped: bool, evil: Evil, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = JoeyNMT().save(tmp_path) if toolkit == "joeynmt" else OpenNMT().save(tmp_path)
    content = {**torch.load(checkpoint, weights_only=False), "more": evil}
    torch.save(content, checkpoint, _use_new_zipfile_serialization=zipped)
    assert main(["import", "--from", toolkit, str(checkpoint), "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err == (
        f"dragoman: error: {checkpoint}: refused: it refers to {os.system.__module__}.system, which is neither a "
        "tensor nor a plain value; loading it could run code\n"
    )
    assert not (tmp_path / "executed").exists()
    assert not (tmp_path / "run").exists()


def test_neither_a_plain_pickle_nor_one_inside_the_options_is_executed(evil: Evil, tmp_path: Path) -> None:
    plain, nested = tmp_path / "plain.pt", tmp_path / "nested.pt"
    plain.write_bytes(pickle.dumps({"model_state": evil}))
    torch.save({"opt": Namespace(rnn_type=evil)}, nested)
    for path in (plain, nested):
        with pytest.raises(InputError, match=rf"^{path}: (refused: it refers to \w+\.system|is no checkpoint)"):
            read_checkpoint(path)
    assert not (tmp_path / "executed").exists()
    torch.load(nested, weights_only=False)
    assert (tmp_path / "executed").exists(), "the file would have done it"


def test_a_class_that_is_not_known_is_named(tmp_path: Path) -> None:
    torch.save({"model_state": Path("x")}, tmp_path / "m.pt")
    with pytest.raises(InputError, match=r"m\.pt: refused: it refers to pathlib\.\w+, which is neither"):
        read_checkpoint(tmp_path / "m.pt")


@pytest.mark.parametrize("content", [b"", b"text", b"\x80\x02garbage", b"PK\x03\x04broken", bytes(1000)])
def test_a_file_that_is_no_checkpoint_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.pt"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_checkpoint(path)
    assert str(caught.value) == f"{path}: is no checkpoint, or damaged"


def test_a_truncated_checkpoint_is_reported_as_damaged(tmp_path: Path) -> None:
    path = OpenNMT().save(tmp_path)
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(InputError) as caught:
        read_checkpoint(path)
    assert str(caught.value) == f"{path}: is no checkpoint, or damaged"


def test_a_missing_file_is_named_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "model.pt").touch()
    with pytest.raises(InputError, match=r"modle\.pt: does not exist"):
        read_checkpoint(tmp_path / "modle.pt")


def test_a_folder_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the checkpoint: Is a directory"):
        read_checkpoint(tmp_path)


def test_a_tensor_alone_is_no_checkpoint(tmp_path: Path) -> None:
    torch.save(torch.zeros(2), tmp_path / "m.pt")
    with pytest.raises(InputError, match="holds Tensor, not a checkpoint of a translation model"):
        read_checkpoint(tmp_path / "m.pt")


def test_half_precision_becomes_single(tmp_path: Path) -> None:
    assert CheckpointTensors({"w": torch.ones(1, dtype=torch.float16)}, tmp_path).take("w").dtype == torch.float32
