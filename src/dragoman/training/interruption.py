"""Stopping on a signal: the first one after the current update, a second one at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType

from dragoman.errors import Interrupted
from dragoman.systems import ENDING_SIGNALS

SIGNALS = ENDING_SIGNALS


class Interruption:
    """Inside its `with` block, a first SIGINT, SIGTERM or SIGHUP sets `requested`, and a second raises Interrupted.

    Only the main thread can have signal handlers; in any other thread this does nothing. The previous handlers are
    restored at the end of the block. A signal that is ignored, as SIGHUP under nohup, stays ignored.
    """

    def __init__(self) -> None:
        self.requested: str | None = None
        """The name of the signal that was received, if any."""
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            heeded = (number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN)
            self._before = {number: signal.signal(number, self._handle) for number in heeded}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested is not None:
            raise Interrupted("stopped at once by a second signal; --resume continues from the last saved state")
        self.requested = signal.Signals(number).name
