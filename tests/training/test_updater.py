from __future__ import annotations

import signal
import threading

import pytest

from dragoman.errors import Interrupted
from dragoman.training.updater import Interruption


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_first_signal_is_noted_and_a_second_one_interrupts(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with Interruption() as interruption:
        assert interruption.requested is None
        signal.raise_signal(number)
        assert interruption.requested == number.name
        with pytest.raises(Interrupted, match="stopped at once by a second signal; --resume continues from the last"):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_handlers_are_put_back_after_an_error() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ZeroDivisionError), Interruption():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGTERM) is before


def test_outside_the_main_thread_handlers_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work() -> None:
        with Interruption():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interruption() as interruption:
            signal.raise_signal(signal.SIGHUP)
            assert interruption.requested is None
    finally:
        signal.signal(signal.SIGHUP, before)
