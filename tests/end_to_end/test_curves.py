"""`dragoman curves`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dragoman.cli.main import main


def test_curves_of_two_runs_of_one_name(run_folder: Path, tmp_path: Path) -> None:
    other = tmp_path / run_folder.name
    other.mkdir()
    shutil.copy(run_folder / "log.jsonl", other)  # as of a training that is still going on
    picture = tmp_path / "curves.svg"
    runs = [str(run_folder), str(other)]
    assert main(["curves", *runs, "--metric", "chrf", "--x-axis", "minutes", "-o", str(picture)]) == 0
    drawing = picture.read_text(encoding="utf-8")
    assert all(run in drawing for run in runs)


def test_a_folder_that_is_not_a_run_is_one_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["curves", str(tmp_path), "-o", "c.svg"]) == 2
    assert capsys.readouterr().err == (
        f"dragoman: error: {tmp_path}: has no log.jsonl; give a run folder written by `dragoman train`\n"
    )
    assert main(["curves", str(tmp_path / "nothing"), "-o", "c.svg"]) == 2
    assert "nothing: does not exist" in capsys.readouterr().err
