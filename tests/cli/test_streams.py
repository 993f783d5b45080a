"""Standard streams that are closed, full, broken or of another encoding, and hostile names in messages."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.cli.shared.streams import Warnings
from dragoman.progress import Console

COMMAND = f"{sys.executable} -m dragoman"
ERROR = "dragoman: error: "


def _shell(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
        timeout=60,
    )


def test_a_closed_standard_output_is_an_error(tmp_path: Path) -> None:
    for verb in ("presets", "--help", "--version", "presets --help"):
        done = _shell(f"{COMMAND} {verb} >&-", tmp_path)
        assert done.stderr.decode() == f"{ERROR}standard output: cannot be written: Bad file descriptor\n", verb
        assert done.returncode == 2, verb


def test_a_closed_standard_input_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "links").write_text("0-0\n", encoding="utf-8")
    done = _shell(f"{COMMAND} symmetrize - links <&-", tmp_path)
    assert b"standard input: cannot be read: Bad file descriptor" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert done.stdout == b""
    assert done.returncode == 2


def test_messages_to_a_closed_standard_error_go_nowhere(tmp_path: Path) -> None:
    (tmp_path / "links").write_text("0-0\n", encoding="utf-8")
    for closed in ("2>&-", "<&- 2>&-"):
        done = _shell(f"{COMMAND} symmetrize links nowhere -o out {closed}", tmp_path)
        assert done.returncode == 2
        assert done.stdout == b""
        assert all(path.name == "links" or b"dragoman" not in path.read_bytes() for path in tmp_path.iterdir())


def test_a_full_standard_output_is_an_error(tmp_path: Path) -> None:
    try:
        os.mknod(tmp_path / "full", 0o020666, os.makedev(1, 7))
        (tmp_path / "full").open("wb").close()
    except OSError:
        pytest.skip("making a full device needs root")
    for verb in ("presets", "config standard", "--help", "--version", "train --help"):
        done = _shell(f"{COMMAND} {verb} > full", tmp_path)
        assert done.stderr.decode() == f"{ERROR}standard output: cannot be written: No space left on device\n", verb
        assert done.returncode == 2, verb
    assert _shell(f"{COMMAND} presets xyzzy 2> full", tmp_path).returncode == 2


def test_a_file_name_that_is_not_utf8_is_shown_escaped(tmp_path: Path) -> None:
    done = _shell(f"{COMMAND} describe $'caf\\xe9\\n\\x1b[31m.yaml'", tmp_path)
    assert done.stderr.decode().startswith(rf"{ERROR}caf\xe9\n\x1b[31m.yaml: cannot read the configuration")
    assert done.stderr.count(b"\n") == 1
    assert done.returncode == 2


def test_other_encodings_never_raise(tmp_path: Path) -> None:
    for environment in ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        done = _shell(f"{COMMAND} config bahdanau2015; {COMMAND} presets ü", tmp_path, **environment)
        assert "α".encode() in done.stdout or "§".encode() in done.stdout or done.stdout.decode("utf-8")
        assert done.stderr.count(b"\n") == 1
        assert done.returncode == 2


def test_hostile_words_of_the_command_line_are_shown_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    word = "\x1b]0;x\x07\n\u202e\udcff" + "y" * 5000
    for arguments in (
        [word],
        ["train", f"--{word}"],
        ["translate", "R", "--beam", word],
        ["presets", word],
        ["describe", word],
        ["config", "standard", "--set", f"{word}=1"],
        ["config", "standard", "--set", f"training.seed={word}"],
        ["config", "standard", "--set", word],
        ["translate", word],
        ["symmetrize", word, word],
    ):
        assert main(arguments) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith(ERROR)
        assert printed.err.count("\n") == 1
        assert printed.err[:-1].isprintable(), arguments
        assert len(printed.err) < 2100


def test_warnings_are_one_printable_line(capsys: pytest.CaptureFixture[str]) -> None:
    Warnings().emit(logging.LogRecord("x", logging.WARNING, "", 0, "only %s", ("a\nb\x1b",), None))
    assert capsys.readouterr().err == "dragoman: warning: only a\\nb\\x1b\n"


def test_progress_shows_names_escaped_and_outlives_its_stream() -> None:
    stream = io.StringIO()
    Console(stream=stream).info("report: a\nb\x1b[2J")
    assert stream.getvalue() == "report: a\\nb\\x1b[2J\n"
    reader, writer = os.pipe()
    os.close(reader)
    with io.TextIOWrapper(io.FileIO(writer, "w"), write_through=True) as broken:
        Console(stream=broken).info("nobody reads this")


def test_a_warning_of_a_library_is_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(options: object) -> None:
        warnings.simplefilter("always")
        for file in ("/x/site-packages/torch/nn/rnn.py", "/x/site-packages/six.py", "/x/own.py"):
            warnings.warn_explicit("old\nbuffer", UserWarning, file, 3)

    monkeypatch.setattr("dragoman.cli.presets.run", run)
    before = warnings.showwarning
    assert main(["presets"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"dragoman: warning: {name}: old\\nbuffer" for name in ("torch", "six", "own")]
    assert main(["presets", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert warnings.showwarning is before
