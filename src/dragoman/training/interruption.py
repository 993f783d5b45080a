"""Stopping on a signal: the first one asks, the second one insists."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType

from dragoman.errors import Interrupted

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """While in its `with` block, a first SIGINT or SIGTERM is noted in `requested`; a second raises Interrupted.

    Only the main thread can have signal handlers; in any other this does nothing. The handlers from before are put
    back at the end of the block.
    """

    def __init__(self) -> None:
        self.requested: str | None = None
        """The name of the signal that came, if one did."""
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.requested is not None:
            raise Interrupted("stopped at once by a second signal; --resume continues from the last saved state")
        self.requested = signal.Signals(number).name
