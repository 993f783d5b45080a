"""What the server knows of a process that learns corrections: the corrections, and which of them are learnt."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from dragoman.errors import DragomanError, RunError
from dragoman.runs.opening import trained_folder
from dragoman.serving.learning_messages import Asked, Told
from dragoman.serving.logs import event
from dragoman.serving.memories import source_side
from dragoman.serving.models import LanguagePair, ServedFolder
from dragoman.serving.refusals import Refusal, invalid
from dragoman.serving.worker import read, write
from dragoman.text.raw_lines import as_read
from dragoman.translation_memory.memory import TranslationMemory

_PROGRAM = (
    "import sys; count = int(sys.argv[1]); sys.path[:] = sys.argv[2 : 2 + count]; del sys.argv[1 : 2 + count]; "
    "from dragoman.serving.learning_process import main; main()"
)
State = Literal["waiting", "learnt", "taken back"]
RETRY_SECONDS = 5.0
"""The time between two starts of a process that ends by itself."""


class LearningModel:
    """A run that is corrected; used from one event loop."""

    def __init__(self, run: Path, memory: TranslationMemory, device: str = "auto") -> None:
        """Start its process, and open its log: the folder RUN.learned. The corrections are put into `memory`.

        Raises:
            RunError: as for `Learner`.
        """
        self._command = [str(run), f"{str(run).rstrip('/')}.learned", device]
        self.memory = memory
        self.corrections: list[tuple[str, str]] = []
        self._generation = 0
        """Counts how often some were taken out; weights that were told before are not those of what is left."""
        self.learnt = 0
        """How many of them, from the first on, the weights know that translate."""
        self.taken_back: Sequence[int] = ()
        self.revision = 0
        """Counts the changes of these weights."""
        self._writing = threading.Lock()
        self._asked: dict[int, tuple[Asked, asyncio.Future[Told]]] = {}
        """What is not answered yet, also where nobody waits for the answer any more."""
        self._count = 0
        self._closed = False
        self._process, entries = self._started()
        self._take(entries)

    def start(self, take_up: Callable[[bytes], Awaitable[None]]) -> asyncio.Task[None]:
        """Listen to the process; `take_up` receives new weights, in the task that is returned."""
        self._loop, self._take_up = asyncio.get_running_loop(), take_up
        self._weights: asyncio.Queue[tuple[int, Told]] = asyncio.Queue()
        threading.Thread(target=self._listen, daemon=True, name="learning").start()
        return asyncio.create_task(self._use_weights())

    def close(self) -> None:
        """End the process."""
        self._closed = True
        self._process.kill()
        self._process.wait()

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
        return (await self._ask(Asked(0, "log", source, target))).number

    async def undo(self, number: int | None, source: str = "") -> None:
        """Take a correction out, or all; with `source` only if it is that of this text.

        Raises:
            Refusal: there is no such correction (404), or the log cannot be written (503).
        """
        await self._ask(Asked(0, "undo all") if number is None else Asked(0, "undo", source, number=number))

    async def _ask(self, asked: Asked) -> Told:
        self._count += 1
        answer: asyncio.Future[Told] = self._loop.create_future()
        self._asked[self._count] = asked, answer
        await asyncio.to_thread(self._write, msgspec.msgpack.encode(asked._replace(id=self._count)))
        told = await answer
        if told.refusal:
            raise invalid(told.refusal)
        if told.missing:
            raise Refusal(404, told.missing)
        if told.error:
            event("correction not logged", level=logging.ERROR, reason=told.error)
            raise Refusal(503, "Corrections cannot be kept at the moment; try again later", retry_after=5)
        return told

    def _write(self, content: bytes) -> None:
        with self._writing, suppress(BrokenPipeError):
            assert self._process.stdin is not None
            write(self._process.stdin, content)

    def _started(self) -> tuple[subprocess.Popen[bytes], list[tuple[str, str]]]:
        """A process that has opened the log, and the corrections there.

        Raises:
            RunError: it cannot.
        """
        command = [sys.executable, "-c", _PROGRAM, str(len(sys.path)), *sys.path, *self._command]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        told = _read(process)
        if told is None or told.entries is None:
            process.kill()
            process.wait()
            raise RunError("the process that learns has ended" if told is None else told.error)
        return process, told.entries

    def _take(self, entries: list[tuple[str, str]]) -> None:
        self.corrections = entries
        self.memory.replace(entries)
        self.learnt = 0
        self._generation += 1

    def _listen(self) -> None:
        """Pass on what the process tells, in a thread; start another when it has ended."""
        while True:
            told = _read(self._process)
            if self._closed:
                return
            if told is None or (told.error and not told.id):
                event("learning ended", level=logging.ERROR, reason=told.error if told else "its process was killed")
                self._call(self._fail)
                self._restart()
            else:
                self._call(self._receive, told)

    def _restart(self) -> None:
        while not self._closed:
            time.sleep(RETRY_SECONDS)
            try:
                self._process.wait()
                self._process, entries = self._started()
                self._call(self._take, entries)
                return
            except (DragomanError, OSError) as error:
                event("learning not started", level=logging.ERROR, reason=str(error))

    def _call(self, function: Callable[..., None], *args: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function, *args)

    def _fail(self) -> None:
        for number in list(self._asked):
            self._receive(Told(number, error="the process that learns has ended"))

    def _receive(self, told: Told) -> None:
        if told.weights:
            self._weights.put_nowait((self._generation, told))
            return
        if told.entries is not None:
            self._take(told.entries)
        asked, answer = self._asked.pop(told.id)
        if told.number:
            self.memory.add(asked.source, asked.target)
        if told.number > len(self.corrections):
            self.corrections.append((as_read(asked.source), as_read(asked.target)))
        if not answer.done():
            answer.set_result(told)

    async def _use_weights(self) -> None:
        while True:
            generation, told = await self._weights.get()
            if generation != self._generation:
                continue
            try:
                await self._take_up(told.weights)
            except DragomanError as error:
                event("weights not taken up", level=logging.ERROR, reason=str(error))
                continue
            self.revision += 1
            if generation == self._generation:
                self.learnt, self.taken_back = told.learnt, told.taken_back
            event("corrections learnt", corrections=told.learnt)


def start_learning(folders: Sequence[ServedFolder], device: str) -> dict[LanguagePair, LearningModel]:
    """The learning models of run folders.

    Raises:
        RunError: one cannot be trained, or as for `LearningModel`.
    """
    found: dict[LanguagePair, LearningModel] = {}
    try:
        for folder in folders:
            trained_folder(folder.path)
            memory = TranslationMemory([], source_side(folder).formed)
            found[folder.pair] = LearningModel(folder.path, memory, device)
    except BaseException:
        for model in found.values():
            model.close()
        raise
    return found


def _read(process: subprocess.Popen[bytes]) -> Told | None:
    assert process.stdout is not None
    content = read(process.stdout)
    return None if content is None else msgspec.msgpack.decode(content, type=Told)
