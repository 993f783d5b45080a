"""What the server knows of a process that learns corrections: the corrections, and which of them are learnt."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from dragoman.errors import DragomanError, RunError
from dragoman.learning.log import folder_beside
from dragoman.runs.opening import trained_folder
from dragoman.serving.learning_messages import LearnerCommand, LearnerReply
from dragoman.serving.logs import event
from dragoman.serving.memories import source_side
from dragoman.serving.models import LanguagePair, ServedFolder
from dragoman.serving.responses import Refusal, invalid
from dragoman.serving.worker import read, write
from dragoman.text.raw_lines import as_read
from dragoman.translation_memory.memory import TranslationMemory

_PROGRAM = (
    "import sys; count = int(sys.argv[1]); sys.path[:] = sys.argv[2 : 2 + count]; del sys.argv[1 : 2 + count]; "
    "from dragoman.serving.learning_process import main; main()"
)
State = Literal["waiting", "learnt", "taken back"]
_ENDED = "the process that learns has ended"
RETRY_SECONDS = 5.0
"""The time between two starts of a process that ends by itself."""
CLOSING_SECONDS = 5.0
"""The time that a process is waited for that starts while the server ends."""


class LearningModel:
    """A run that is corrected; used from one event loop."""

    def __init__(self, run: Path, memory: TranslationMemory, device: str = "auto") -> None:
        """Start its process, and open its log: the folder RUN.learned. The corrections are put into `memory`.

        Raises:
            RunError: as for `Learner`.
        """
        self._command = [str(run), folder_beside(run), device]
        self.memory = memory
        self.corrections: list[tuple[str, str]] = []
        self._generation = 0
        """Counts how often some were taken out; weights that were sent before know them still."""
        self.learnt = 0
        """How many of them, from the first on, the weights know that translate."""
        self.taken_back: Sequence[int] = ()
        self.revision = 0
        """Counts the changes of these weights."""
        self._writing = threading.Lock()
        self._unanswered: dict[int, tuple[LearnerCommand, asyncio.Future[LearnerReply]]] = {}
        """Commands by their ids, also where nobody waits for the answer any more."""
        self._count = 0
        self._closed = threading.Event()
        self._listener = threading.Thread(target=self._listen, daemon=True, name="learning")
        self._process, entries = self._started()
        self._take(entries)

    def start(self, take_up: Callable[[bytes, Sequence[str]], Awaitable[None]]) -> asyncio.Task[None]:
        """Listen to the process; `take_up` receives new weights and texts, in the task that is returned."""
        self._loop, self._take_up = asyncio.get_running_loop(), take_up
        self._weights: asyncio.Queue[tuple[int, LearnerReply]] = asyncio.Queue()
        self._listener.start()
        return asyncio.create_task(self._use_weights())

    def close(self) -> None:
        """End the process."""
        self._closed.set()
        self._process.kill()
        if self._listener.is_alive():
            self._listener.join(CLOSING_SECONDS)
        else:
            self._end_process()

    @property
    def waiting(self) -> int:
        """Corrections that are not learnt yet."""
        return max(len(self.corrections) - self.learnt, 0)

    def state(self, number: int) -> State:
        """What has become of a correction, counted from 1."""
        if number > self.learnt:
            return "waiting"
        return "taken back" if number in self.taken_back else "learnt"

    async def log(self, source: str, target: str) -> int:
        """Log a correction; it is on disk, and in the memory, when its number is returned.

        Raises:
            Refusal: it is refused (400), or cannot be logged (503).
        """
        return (await self._ask(LearnerCommand(0, "log", source, target))).number

    async def undo(self, number: int | None, source: str = "") -> None:
        """Take a correction out, or all; with `source` only if it is that of this text.

        Raises:
            Refusal: there is no such correction (404), or the log cannot be written (503).
        """
        await self._ask(
            LearnerCommand(0, "undo all") if number is None else LearnerCommand(0, "undo", source, number=number)
        )

    async def _ask(self, command: LearnerCommand) -> LearnerReply:
        self._count += 1
        number = self._count
        answer: asyncio.Future[LearnerReply] = self._loop.create_future()
        self._unanswered[number] = command, answer
        is_sent = await asyncio.to_thread(self._write, msgspec.msgpack.encode(command._replace(id=number)))
        if not is_sent and number in self._unanswered:
            self._receive(LearnerReply(number, error=_ENDED))
        reply = await answer
        if reply.refusal:
            raise invalid(reply.refusal)
        if reply.missing:
            raise Refusal(404, reply.missing)
        if reply.error:
            event("correction not logged", level=logging.ERROR, reason=reply.error)
            raise Refusal(503, "Corrections cannot be kept at the moment; try again later", retry_after=5)
        return reply

    def _write(self, content: bytes) -> bool:
        """Send something to the process; returns whether there is one."""
        with self._writing, suppress(BrokenPipeError, ValueError):  # ended, and its pipe closed
            assert self._process.stdin is not None
            write(self._process.stdin, content)
            return True
        return False

    def _started(self) -> tuple[subprocess.Popen[bytes], list[tuple[str, str]]]:
        """A process that has opened the log, and the corrections there.

        Raises:
            RunError: it cannot.
        """
        command = [sys.executable, "-c", _PROGRAM, str(len(sys.path)), *sys.path, *self._command]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        reply = _read(process)
        if reply is None or reply.entries is None:
            process.kill()
            process.wait()
            raise RunError(_ENDED if reply is None else reply.error)
        return process, reply.entries

    def _take(self, entries: list[tuple[str, str]]) -> None:
        self.corrections = entries
        self.memory.replace(entries)
        self.learnt = 0
        self._generation += 1

    def _listen(self) -> None:
        """Pass on what the process sends, in a thread; start another when it has ended."""
        while not self._closed.is_set():
            reply = _read(self._process)
            if self._closed.is_set():
                break
            if reply is None or (reply.error and not reply.id):
                event("learning ended", level=logging.ERROR, reason=reply.error if reply else "its process was killed")
                self._call(self._fail)
                self._restart()
            else:
                self._call(self._receive, reply)
        self._end_process()

    def _restart(self) -> None:
        self._end_process()
        while not self._closed.wait(RETRY_SECONDS):
            try:
                self._process, entries = self._started()
                self._call(self._take, entries)
                return
            except (DragomanError, OSError) as error:
                event("learning not started", level=logging.ERROR, reason=str(error))

    def _end_process(self) -> None:
        with self._writing, suppress(BrokenPipeError), self._process:  # which closes the pipes
            self._process.kill()

    def _call(self, function: Callable[..., None], *args: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function, *args)

    def _fail(self) -> None:
        for number in list(self._unanswered):
            self._receive(LearnerReply(number, error=_ENDED))

    def _receive(self, reply: LearnerReply) -> None:
        if reply.weights:
            self._weights.put_nowait((self._generation, reply))
            return
        if reply.entries is not None:
            self._take(reply.entries)
        command, answer = self._unanswered.pop(reply.id)
        if reply.number:
            self.memory.add(command.source, command.target)
        if reply.number > len(self.corrections):
            self.corrections.append((as_read(command.source), as_read(command.target)))
        if not answer.done():
            answer.set_result(reply)

    async def _use_weights(self) -> None:
        while True:
            generation, reply = await self._weights.get()
            if generation != self._generation:
                continue
            try:
                await self._take_up(reply.weights, reply.known)
            except DragomanError as error:
                event("weights not taken up", level=logging.ERROR, reason=str(error))
                continue
            self.revision += 1
            if generation == self._generation:
                self.learnt, self.taken_back = reply.learnt, reply.taken_back
            event("corrections learnt", corrections=reply.learnt)


def start_learning(folders: Sequence[ServedFolder], device: str) -> dict[LanguagePair, LearningModel]:
    """The learning models of run folders.

    Raises:
        RunError: one cannot be trained, or as for `LearningModel`.
    """
    models: dict[LanguagePair, LearningModel] = {}
    try:
        for folder in folders:
            trained_folder(folder.path)
            memory = TranslationMemory([], source_side(folder).formed)
            models[folder.pair] = LearningModel(folder.path, memory, device)
    except BaseException:
        for model in models.values():
            model.close()
        raise
    return models


def _read(process: subprocess.Popen[bytes]) -> LearnerReply | None:
    assert process.stdout is not None
    content = read(process.stdout)
    return None if content is None else msgspec.msgpack.decode(content, type=LearnerReply)
