"""Fetching the runtime for browsers: what can go wrong, with an npm of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import InputError
from dragoman.website import runtime


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which alone commands are found; the runtime belongs into another empty one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
    monkeypatch.setattr(runtime, "_FOLDER", tmp_path / "runtime")
    return folder


def _npm(folder: Path, script: str) -> None:
    (folder / "npm").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "npm").chmod(0o755)


def test_missing_runtime_names_the_command_that_fetches_it(commands: Path) -> None:
    with pytest.raises(InputError, match=r"fetch it with `python -m dragoman\.website\.runtime`, which needs npm"):
        runtime.runtime_files()


def test_another_package_than_the_pinned_one_is_refused(commands: Path) -> None:
    _npm(commands, 'echo other > "$4/onnxruntime-web.tgz"')
    with pytest.raises(InputError, match="the package has another SHA-512"):
        runtime.fetch_runtime()
    assert not (commands.parent / "runtime").exists()


def test_what_npm_says_is_told(
    commands: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _npm(commands, "echo npm error network >&2; exit 1")
    assert runtime.main() == 2
    assert f"npm: cannot fetch onnxruntime-web {runtime.VERSION}: npm error network" in capsys.readouterr().err
    monkeypatch.setenv("PATH", str(commands.parent))
    with pytest.raises(InputError, match=r"npm: not found; install Node\.js"):
        runtime.fetch_runtime()
