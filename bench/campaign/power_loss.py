"""States of the disk after a power failure, built from what commands were seen to write and to synchronise.

The trace of a command (interposer.py) is replayed on a model of a file system, in which

- the contents of a file survive as they were at its last fsync; of what was written later survives nothing, all, the
  first half, or the size alone with zeros in place of the bytes;
- a name that was made, changed or removed survives once its folder was synchronised. Of the later changes either all
  before some moment survive, as on a file system with a journal, or any of them, as POSIX allows; a rename is atomic.

Each state that differs from those before is put on disk, and the command that a user would give next is run on it.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from campaign.interposer import Operation, Step
from campaign.result import Result, Settings
from campaign.scenarios import Course, Trial, try_courses

State = dict[str, bytes | None]
"""Path -> contents, None for a folder."""
ROOT = 0
"""The number of the folder in which the command runs."""


@dataclass
class File:
    """The contents of a file."""

    now: bytearray = field(default_factory=bytearray)
    durable: bytes = b""

    def variants(self) -> list[bytes]:
        """What may be there after a power failure."""
        if self.now == self.durable:
            return [self.durable]
        kept = len(self.durable) if self.now.startswith(self.durable) else 0
        zeros = bytes(self.now[:kept]) + bytes(len(self.now) - kept)
        half = bytes(self.now[: (kept + len(self.now)) // 2])
        return list(dict.fromkeys((self.durable, bytes(self.now), half, zeros)))


Entry = tuple[int, str]
"""A folder's number and a name in it."""


@dataclass
class Change:
    """Changes of names that happen together: entry -> number of a file or folder, or None."""

    entries: dict[Entry, int | None]
    durable: bool = False


class Disk:
    """A model of the folder in which a command runs; files and folders have numbers."""

    def __init__(self, start: Path) -> None:
        self.files: dict[int, File] = {}
        self.folders: set[int] = {ROOT}
        self.first: dict[Entry, int | None] = {}
        self.changes: list[Change] = []
        self._now: dict[Entry, int | None] = {}
        self._next = ROOT + 1
        self._load(start, ROOT)
        self._now = dict(self.first)

    def _load(self, path: Path, number: int) -> None:
        for child in sorted(path.iterdir()):
            made = self._number()
            self.first[number, child.name] = made
            if child.is_dir():
                self.folders.add(made)
                self._load(child, made)
            else:
                contents = child.read_bytes()
                self.files[made] = File(bytearray(contents), contents)

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    def _entry(self, path: str) -> Entry:
        """The entry of a path below the folder, relative to it."""
        *parents, name = [part for part in path.split("/") if part not in ("", ".")]
        folder = ROOT
        for parent in parents:
            found = self._now[folder, parent]
            assert found is not None, path
            folder = found
        return folder, name

    def _at(self, path: str) -> int:
        if not path.strip("/."):
            return ROOT
        found = self._now[self._entry(path)]
        assert found is not None, path
        return found

    def _change(self, entries: dict[Entry, int | None]) -> None:
        self.changes.append(Change(entries))
        self._now.update(entries)

    def apply(self, step: Step, root: str) -> None:
        """Do what a recorded operation did."""
        path, to = (name.removeprefix(root) for name in (step.path, step.to))
        match step.operation:
            case Operation.CREATE:
                number = self._number()
                self.files[number] = File()
                self._change({self._entry(path): number})
            case Operation.MKDIR:
                number = self._number()
                self.folders.add(number)
                self._change({self._entry(path): number})
            case Operation.UNLINK | Operation.RMDIR:
                self._change({self._entry(path): None})
            case Operation.RENAME if step.offset == 2:  # an exchange
                first, second = self._entry(path), self._entry(to)
                self._change({first: self._now[second], second: self._now[first]})
            case Operation.RENAME:
                self._change({self._entry(path): None, self._entry(to): self._at(path)})
            case Operation.TRUNCATE:
                file = self.files[self._at(path)]
                file.now = bytearray(file.now[: step.size].ljust(step.size, b"\0"))
            case Operation.WRITE:
                file = self.files[self._at(path)]
                file.now = bytearray(file.now.ljust(step.offset, b"\0"))
                file.now[step.offset : step.offset + len(step.data)] = step.data
            case Operation.FSYNC:
                self._synchronise(self._at(path))

    def _synchronise(self, number: int) -> None:
        if number in self.files:
            self.files[number].durable = bytes(self.files[number].now)
        for change in self.changes:
            if any(folder == number for folder, _ in change.entries):
                change.durable = True

    def states(self, draw: random.Random) -> Iterator[State]:
        """States after a power failure now."""
        pending = [number for number, change in enumerate(self.changes) if not change.durable]
        every, none = set(pending), set[int]()
        last = draw.randint(0, len(pending))
        newest = max((number for number, change in enumerate(self.changes) if change.durable), default=-1)
        in_order = {number for number in pending if number < newest} | set(pending[:last])
        for kept in (none, every, in_order, {number for number in pending if draw.random() < 0.5}):
            yield self._state(kept, None)
            yield self._state(kept, draw)

    def _state(self, kept: set[int], draw: random.Random | None) -> State:
        """The state in which these pending changes survive; unsynchronised contents as drawn, or lost."""
        entries = dict(self.first)
        for number, change in enumerate(self.changes):
            if change.durable or number in kept:
                entries.update(change.entries)
        inside: dict[int, dict[str, int]] = {}
        for (folder, name), child in entries.items():
            if child is not None:
                inside.setdefault(folder, {})[name] = child
        state: State = {}

        def walk(folder: int, prefix: str, above: frozenset[int]) -> None:
            for name, child in sorted(inside.get(folder, {}).items()):
                if child in self.folders:
                    if child not in above:
                        state[prefix + name] = None
                        walk(child, f"{prefix}{name}/", above | {child})
                else:
                    variants = self.files[child].variants()
                    state[prefix + name] = variants[0] if draw is None else draw.choice(variants)

        walk(ROOT, "", frozenset({ROOT}))
        return state


def run(settings: Settings) -> list[Result]:
    """Go on from every state that a power failure may leave."""
    promise = (
        "After a power failure during any command the old result or the new one is there, the next command works and "
        "leaves nothing over, and a resumed training ends bit for bit like one without a failure."
    )
    result = Result("power-loss", promise, "states after a power failure")
    return try_courses(result, settings, partial(_states, settings), _go_on)


def _states(settings: Settings, course: Course) -> list[tuple[Step, State]]:
    """The different states of a scenario, each with the operation after which the power failed."""
    draw = random.Random(settings.seed)
    disk = Disk(course.start)
    root = os.path.realpath(course.folder)
    found: dict[bytes, tuple[Step, State]] = {}
    for step in course.steps:
        disk.apply(step, root)
        for state in disk.states(draw):
            found.setdefault(_digest(state), (step, state))
    return list(found.values())


def _digest(state: State) -> bytes:
    digest = hashlib.sha256()
    for name, contents in state.items():
        if "tfevents" in name:
            continue  # written by a thread of TensorBoard's, and nothing is promised about it
        digest.update(f"{name}\0{-1 if contents is None else len(contents)}\0".encode())
        digest.update(contents or b"")
    return digest.digest()


def _go_on(course: Course, drawn: tuple[Step, State], folder: Path, trial: Trial) -> str:
    (step, state), scenario = drawn, course.scenario
    for name, contents in state.items():
        if contents is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(contents)
    trial.update(point=step.number, operation=f"{step.operation.name} {Path(step.path).name}")
    trial["sizes"] = {name: len(contents) for name, contents in state.items() if contents is not None}
    scenario.require_usable(folder, course.before, course.after)
    scenario.require_going_on(folder, course.after)
    return scenario.name
