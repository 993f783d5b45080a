"""Damaged or altered files of a run or an exported folder: one line, exit code 2, no waiting."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.cli.main import main

Refused = Callable[..., str]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """`refused(*command)`: the message of a command that must end with exit code 2 and nothing on standard output."""

    def run(*command: str | Path) -> str:
        assert main(list(map(str, command))) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        lines = [line for line in printed.err.splitlines() if line.startswith("dragoman: error: ")]
        assert len(lines) == 1, printed.err
        return lines[0].removeprefix("dragoman: error: ")

    return run


@pytest.fixture
def run(run_folder: Path, tmp_path: Path) -> Path:
    """A run that a test may damage."""
    return Path(shutil.copytree(run_folder, tmp_path / "run"))


def test_a_resumed_training_refuses_an_altered_corpus_and_keeps_its_state(run: Path, refused: Refused) -> None:
    path = run / "data" / "train" / "target.ids"
    content = bytearray(path.read_bytes())
    content[100] ^= 0xFF
    path.write_bytes(content)
    before = {file: file.read_bytes() for file in (run / "checkpoints").iterdir()}
    message = refused("train", "--out", run, "--resume", "--quiet", "--set", "training.epochs=99")
    assert message.startswith(f"{path}: is damaged: the SHA-256 of bytes 0 to ")
    assert message.endswith("; take the file from a copy of the run folder, or train again with --overwrite")
    assert {file: file.read_bytes() for file in (run / "checkpoints").iterdir()} == before
