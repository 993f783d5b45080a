"""The process that learns corrections for the server, at low priority.

It logs a correction as soon as it comes, also while it learns an earlier one, and sends the server its weights whenever
nothing waits. It ends when the server does, however that happens: its input ends. What is logged is then on disk.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import cast

import msgspec

from dragoman.errors import DragomanError
from dragoman.learning.checks import RefusedCorrection
from dragoman.learning.learner import BLOCK, Learner
from dragoman.model.weights import packed_weights, weights_of
from dragoman.serving.learning_messages import LearnerCommand, LearnerReply
from dragoman.serving.worker import fault_of, read, write
from dragoman.systems import ENDING_SIGNALS, DeviceName
from dragoman.text.raw_lines import as_read

THREADS = 1
SECONDS = 2.0
"""How long weights are kept back while more corrections wait."""


def main() -> None:
    """Learn until the server closes the input."""
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    run, folder, device = sys.argv[1:4]
    try:
        with Learner(run, folder, device=cast("DeviceName", device), threads=THREADS, later=True) as learner:
            with suppress(AttributeError, OSError):
                os.nice(19)  # not before, because requests wait for the opening
            _Process(learner).run()
    except DragomanError as error:
        _send(LearnerReply(error=str(error)))
    except Exception as error:
        _send(LearnerReply(error=fault_of(error)))


_sending = threading.Lock()


def _send(reply: LearnerReply) -> None:
    with _sending, suppress(BrokenPipeError):
        write(sys.stdout.buffer, msgspec.msgpack.encode(reply))


class _Process:
    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._changing = threading.Lock()
        """Held while corrections are logged or taken out."""
        self._waiting: SimpleQueue[LearnerCommand | None] = SimpleQueue()
        """What cannot be done while learning; None for a correction that was logged."""

    def run(self) -> None:
        learner = self._learner
        _send(LearnerReply(entries=self._entries()))
        threading.Thread(target=self._read, daemon=True).start()
        sent, since = 0, time.monotonic()
        while True:
            with suppress(Empty):
                while True:
                    command = self._waiting.get(block=sent == learner.learnt == len(learner.corrections))
                    if command is not None and self._undo(command):
                        sent = -1
            learner.learn_next()
            waits = learner.learnt < len(learner.corrections)
            if sent != learner.learnt and (not waits or time.monotonic() - since > SECONDS):
                weights = packed_weights(weights_of(learner.run.model()))
                taken_back = [block * BLOCK + number for block in learner.taken_back for number in range(1, BLOCK + 1)]
                reply = LearnerReply(learnt=learner.learnt, taken_back=taken_back, known=learner.known, weights=weights)
                _send(reply)
                sent, since = learner.learnt, time.monotonic()

    def _read(self) -> None:
        """Log corrections as they come; end the process when the server has."""
        while (content := read(sys.stdin.buffer)) is not None:
            command = msgspec.msgpack.decode(content, type=LearnerCommand)
            if command.what == "log":
                self._log(command)
                self._waiting.put(None)
            else:
                self._waiting.put(command)
        os._exit(0)

    def _log(self, command: LearnerCommand) -> None:
        try:
            with self._changing:
                _send(LearnerReply(command.id, self._learner.log(command.source, command.target)))
        except RefusedCorrection as error:
            _send(LearnerReply(command.id, refusal=str(error)))
        except DragomanError as error:
            _send(LearnerReply(command.id, error=str(error)))

    def _undo(self, command: LearnerCommand) -> bool:
        """Take corrections out; returns whether there are fewer."""
        meant = [one.source for one in self._learner.corrections[max(command.number - 1, 0) : command.number]]
        if command.what == "undo" and (not meant or (command.source and [as_read(command.source)] != meant)):
            _send(
                LearnerReply(
                    command.id, missing=f"There is no correction {command.number}" + " of this text" * bool(meant)
                )
            )
            return False
        try:
            with self._changing:
                if command.what == "undo all":
                    self._learner.undo_all()
                else:
                    self._learner.undo(command.number)
                _send(LearnerReply(command.id, entries=self._entries()))
            return True
        except DragomanError as error:
            _send(LearnerReply(command.id, error=str(error)))
            return False

    def _entries(self) -> list[tuple[str, str]]:
        return [(one.source, one.target) for one in self._learner.corrections]
