"""`dragoman translate` answers as soon as its input pauses: at a terminal, with a prompt, and in a pipe."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.cli.main import main


def _read_until(descriptor: int, end: bytes) -> bytes:
    """What comes up to and including `end`."""
    seen = b""
    while not seen.endswith(end):
        assert select.select([descriptor], [], [], 60)[0], seen
        seen += os.read(descriptor, 1)
    return seen


def _in_thread(*arguments: str) -> Callable[[], int]:
    """Run a command; the function that is returned waits for its exit code."""
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(main(arguments)), daemon=True)
    thread.start()

    def wait() -> int:
        thread.join(60)
        return codes[0]

    return wait


@contextmanager
def _terminal() -> Iterator[tuple[int, str]]:
    """The keyboard and screen of a terminal on which standard input and standard error are, and its name."""
    screen, line = pty.openpty()
    with (
        open(line, closefd=False) as keyboard,
        open(line, "w") as errors,
        pytest.MonkeyPatch.context() as monkeypatch,
    ):
        monkeypatch.setattr(sys, "stdin", keyboard)
        monkeypatch.setattr(sys, "stderr", errors)
        yield screen, os.ttyname(line)
    os.close(screen)


def test_a_line_in_a_pipe_that_stays_open_is_answered(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (lines, write), (read, answers) = os.pipe(), os.pipe()
    with open(lines) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        wait = _in_thread("translate", str(run_folder), "--device", "cpu", "-o", f"/dev/fd/{answers}")
        os.write(write, b"ab c\n")
        assert _read_until(read, b"\n") == b"AB C\n"
        os.write(write, b"a\n\nfed cba\nb")
        assert _read_until(read, b"CBA\n") == b"A\n\nFED CBA\n"
        os.close(write)
        assert wait() == 0
    os.close(answers)
    assert os.read(read, 100) == b"B\n"
    os.close(read)


def test_fifos_on_both_sides_can_be_opened_before_the_first_line(run_folder: Path, tmp_path: Path) -> None:
    lines, answers = tmp_path / "lines", tmp_path / "answers"
    os.mkfifo(lines)
    os.mkfifo(answers)
    wait = _in_thread("translate", str(run_folder), "--device", "cpu", "-i", str(lines), "-o", str(answers))
    with lines.open("wb", buffering=0) as write, answers.open("rb", buffering=0) as read:
        write.write(b"ab c\n")
        assert _read_until(read.fileno(), b"\n") == b"AB C\n"
        write.close()
        assert wait() == 0
        assert read.read() == b""


def test_at_a_terminal_a_prompt_says_how_to_leave(run_folder: Path) -> None:
    with _terminal() as (screen, name):
        wait = _in_thread("translate", str(run_folder), "--device", "cpu", "-o", name)
        assert _read_until(screen, b"> ") == b"Type a line and press Enter to translate it; Ctrl-D ends.\r\n> "
        os.write(screen, b"ab c\n")
        assert _read_until(screen, b"> ") == b"ab c\r\nAB C\r\n> "
        os.write(screen, b"\4")
        assert wait() == 0
        assert _read_until(screen, b"\n") == b"\r\n"


def test_quiet_shows_no_prompt(run_folder: Path) -> None:
    with _terminal() as (screen, name):
        wait = _in_thread("translate", str(run_folder), "--device", "cpu", "--quiet", "-o", name)
        os.write(screen, b"ab c\n")
        assert _read_until(screen, b"AB C\r\n") == b"ab c\r\nAB C\r\n"
        os.write(screen, b"\4")
        assert wait() == 0


@pytest.mark.slow
def test_control_c_loses_no_answered_line(run_folder: Path, tmp_path: Path) -> None:
    screen, line = pty.openpty()
    with (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "dragoman", "translate", str(run_folder)], stdin=line, stdout=out, stderr=line
        )
        _read_until(screen, b"> ")
        os.write(screen, b"ab c\nde\n")
        _read_until(screen, b"> ")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert _read_until(screen, b"ted\r\n") == b"\r\ndragoman: interrupted\r\n"
    assert (tmp_path / "out").read_text(encoding="utf-8") == "AB C\nDE\n"
    os.close(screen)
    os.close(line)
