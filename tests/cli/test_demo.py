"""A command that is printed as a hint works in the user's shell as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli.demo import this_command


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An executable `dragoman` in the folder `a folder/bin` of the current one, which is running."""
    path = tmp_path / "a folder" / "bin" / "dragoman"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\necho this one\n", encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path), "demo"])
    return path


def test_the_name_is_enough_where_the_shell_finds_this_program(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(script.parent))
    assert this_command() == "dragoman"


def test_elsewhere_it_is_the_path_quoted_and_from_the_current_folder(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert this_command() == "'a folder/bin/dragoman'"
    monkeypatch.chdir(script.parent)
    assert this_command() == "./dragoman"
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    assert this_command() == f"'{script}'"
    done = subprocess.run(["sh", "-c", this_command()], capture_output=True, text=True, check=True)
    assert done.stdout == "this one\n"


def test_another_program_of_the_name_is_not_taken_for_this_one(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "dragoman"
    other.write_text("#!/bin/sh\n", encoding="utf-8")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert this_command() == "'a folder/bin/dragoman'"


def test_a_module_is_run_by_its_interpreter_unless_its_command_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # a path below the current folder would be shown relative to it
    monkeypatch.setattr(sys, "argv", ["/somewhere/dragoman/__main__.py", "demo"])
    monkeypatch.setenv("PATH", "")
    assert this_command() == f"{sys.executable} -m dragoman"
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert this_command() == "dragoman"
