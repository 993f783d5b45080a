"""Children of the campaign: their codes, signals, permissions and FIFOs."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from campaign.children import run_function
from campaign.options import _special_files, obey_permissions


def test_a_child_gives_its_code_and_what_it_printed() -> None:
    def function() -> int:
        print(sys.stdin.readline().upper(), end="")
        print("said", file=sys.stderr)
        return 3

    assert tuple(run_function(function, stdin=b"ab\n")) == (3, b"AB\n", b"said\n")


def test_an_exception_is_a_traceback_and_code_1() -> None:
    ended = run_function(lambda: 1 // 0)
    assert ended.code == 1
    assert "ZeroDivisionError" in ended.message


def test_a_child_is_stopped_by_the_signal_that_is_asked_for() -> None:
    def heed() -> int:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
        signal.pause()
        return 0

    assert run_function(heed, seconds=0.2, stop=signal.SIGTERM).code == 7
    assert run_function(heed, seconds=0.01).code == -signal.SIGKILL


def test_unreadable_files_are_unreadable_to_root_too_and_a_fifo_ends(tmp_path: Path) -> None:
    def read() -> int:
        try:
            (tmp_path / "unreadable").read_bytes()
        except PermissionError:
            return len((tmp_path / "fifo").read_bytes())
        return 1

    with _special_files(tmp_path, serve=True):
        assert run_function(read, before=obey_permissions, seconds=30).code in (0, 9)  # 0: it came as the lines ended
