"""The process that learns corrections for the server, at low priority.

It logs a correction as soon as it comes, also while it learns an earlier one, and tells the server its weights whenever
nothing waits. It ends when the server does, however that happens: its input ends. What is logged is then on disk.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, cast

import msgspec

from dragoman.errors import DragomanError
from dragoman.learning.checks import RefusedCorrection
from dragoman.learning.learner import BLOCK, Learner
from dragoman.model.weights import packed_weights, weights_of
from dragoman.serving.learning_messages import Asked, Told
from dragoman.serving.worker import read, write
from dragoman.text.raw_lines import as_read

if TYPE_CHECKING:
    from dragoman.model.devices import DeviceName

THREADS = 1
SECONDS = 2.0
"""How long weights are kept back while more corrections wait."""


def main() -> None:
    """Learn until the server closes the input."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    with suppress(AttributeError, OSError):
        os.nice(19)
    run, folder, device = sys.argv[1:4]
    try:
        with Learner(run, folder, device=cast("DeviceName", device), threads=THREADS, later=True) as learner:
            _Process(learner).run()
    except DragomanError as error:
        _tell(Told(error=str(error)))
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        _tell(Told(error=" ".join([type(error).__name__, *(f"{one.filename}:{one.lineno}" for one in frames)])))


_telling = threading.Lock()


def _tell(told: Told) -> None:
    with _telling, suppress(BrokenPipeError):
        write(sys.stdout.buffer, msgspec.msgpack.encode(told))


class _Process:
    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._changing = threading.Lock()
        """Held while corrections are logged or taken out."""
        self._asked: SimpleQueue[Asked | None] = SimpleQueue()
        """What cannot be done while learning; None for a correction that was logged."""

    def run(self) -> None:
        learner = self._learner
        _tell(Told(entries=self._entries()))
        threading.Thread(target=self._read, daemon=True).start()
        told, since = 0, time.monotonic()
        while True:
            with suppress(Empty):
                while True:
                    asked = self._asked.get(block=told == learner.learnt == len(learner.corrections))
                    if asked is not None and self._undo(asked):
                        told = -1
            learner.learn_next()
            waits = learner.learnt < len(learner.corrections)
            if told != learner.learnt and (not waits or time.monotonic() - since > SECONDS):
                weights = packed_weights(weights_of(learner.run.model()))
                taken_back = [block * BLOCK + place for block in learner.taken_back for place in range(1, BLOCK + 1)]
                _tell(Told(learnt=learner.learnt, taken_back=taken_back, weights=weights))
                told, since = learner.learnt, time.monotonic()

    def _read(self) -> None:
        """Log corrections as they come; end the process when the server has."""
        while (content := read(sys.stdin.buffer)) is not None:
            asked = msgspec.msgpack.decode(content, type=Asked)
            if asked.what == "log":
                self._log(asked)
                self._asked.put(None)
            else:
                self._asked.put(asked)
        os._exit(0)

    def _log(self, asked: Asked) -> None:
        try:
            with self._changing:
                _tell(Told(asked.id, self._learner.log(asked.source, asked.target)))
        except RefusedCorrection as error:
            _tell(Told(asked.id, refusal=str(error)))
        except DragomanError as error:
            _tell(Told(asked.id, error=str(error)))

    def _undo(self, asked: Asked) -> bool:
        """Take corrections out; returns whether there are fewer."""
        meant = [one.source for one in self._learner.corrections[max(asked.number - 1, 0) : asked.number]]
        if asked.what == "undo" and (not meant or (asked.source and [as_read(asked.source)] != meant)):
            _tell(Told(asked.id, missing=f"There is no correction {asked.number}" + " of this text" * bool(meant)))
            return False
        try:
            with self._changing:
                if asked.what == "undo all":
                    self._learner.undo_all()
                else:
                    self._learner.undo(asked.number)
                _tell(Told(asked.id, entries=self._entries()))
            return True
        except DragomanError as error:
            _tell(Told(asked.id, error=str(error)))
            return False

    def _entries(self) -> list[tuple[str, str]]:
        return [(one.source, one.target) for one in self._learner.corrections]
