"""Children of the campaign: their codes and signals."""

from __future__ import annotations

import signal
import sys

from campaign.children import run_function


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
