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
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from campaign import interposer
from campaign.interposer import Operation, Step
from campaign.kills import Course, courses
from campaign.result import Result, Settings
from campaign.scenarios import Broken, Scenario

_EVENTS = "tfevents"
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
            case Operation.ATTRIBUTES | Operation.CLOSE:
                pass
            case _:
                raise NotImplementedError(f"{step.operation.name} in the trace of a command")

    def _synchronise(self, number: int) -> None:
        if number in self.files:
            self.files[number].durable = bytes(self.files[number].now)
        for change in self.changes:
            if any(folder == number for folder, _ in change.entries):
                change.durable = True

    def states(self, draw: random.Random) -> Iterator[dict[str, bytes | None]]:
        """States after a power failure now: path -> contents, None for a folder."""
        pending = [number for number, change in enumerate(self.changes) if not change.durable]
        every, none = set(pending), set[int]()
        last = draw.randint(0, len(pending))
        newest = max((number for number, change in enumerate(self.changes) if change.durable), default=-1)
        in_order = {number for number in pending if number < newest} | set(pending[:last])
        for kept in (none, every, in_order, {number for number in pending if draw.random() < 0.5}):
            yield self._state(kept, None)
            yield self._state(kept, draw)

    def _state(self, kept: set[int], draw: random.Random | None) -> dict[str, bytes | None]:
        """The state in which these pending changes survive; unsynchronised contents as drawn, or lost."""
        entries = dict(self.first)
        for number, change in enumerate(self.changes):
            if change.durable or number in kept:
                entries.update(change.entries)
        inside: dict[int, dict[str, int]] = {}
        for (folder, name), child in entries.items():
            if child is not None:
                inside.setdefault(folder, {})[name] = child
        state: dict[str, bytes | None] = {}

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
    result = Result(
        "power-loss",
        "After a power failure during any command the old result or the new one is there, the next command works and "
        "leaves nothing over, and a resumed training ends bit for bit like one without a failure.",
        "states after a power failure",
    )
    if (reason := interposer.reason_not_loaded()) is not None:
        print(f"power-loss: left out: {reason}")
        return []
    for course in courses(settings):
        for number, state in _drawn(course, settings):
            if settings.is_over():
                return [result]
            _go_on(course.scenario, number, state, course, settings, result)
    return [result]


State = dict[str, bytes | None]


def _drawn(course: Course, settings: Settings) -> Sequence[tuple[int, State]]:
    """The different states of a scenario, each with the number of the operation after which the power failed."""
    draw = random.Random(settings.seed)
    disk = Disk(course.start)
    root = os.path.realpath(course.folder)
    found: dict[bytes, tuple[int, State]] = {}
    for step in course.steps:
        disk.apply(step, root)
        if step.operation not in (Operation.CLOSE, Operation.ATTRIBUTES):
            for state in disk.states(draw):
                found.setdefault(_digest(state), (step.number, state))
    states = list(found.values())
    wanted = settings.trials if settings.seconds is None else settings.trials or 5
    return states if wanted is None or wanted >= len(states) else draw.sample(states, wanted)


def _digest(state: State) -> bytes:
    digest = hashlib.sha256()
    for name, contents in state.items():
        if _EVENTS in name:
            continue  # written by a thread of TensorBoard's, and nothing is promised about it
        digest.update(f"{name}\0{-1 if contents is None else len(contents)}\0".encode())
        digest.update(contents or b"")
    return digest.digest()


def _go_on(scenario: Scenario, number: int, state: State, course: Course, settings: Settings, result: Result) -> None:
    folder = settings.scratch / "trial"
    folder.mkdir()
    for name, contents in state.items():
        if contents is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(contents)
    listing = {name: len(contents) for name, contents in state.items() if contents is not None}
    try:
        scenario.require_usable(folder, course.before, course.after)
        scenario.require_going_on(folder, course.after)
    except Broken as broken:
        step = next(step for step in course.steps if step.number == number)
        result.fail(
            str(broken),
            scenario=scenario.name,
            command=" ".join(scenario.command),
            point=number,
            operation=f"{step.operation.name} {Path(step.path).name}",
            sizes=listing,
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    result.trials += 1
    by_scenario = result.facts.setdefault("trials", {})
    by_scenario[scenario.name] = by_scenario.get(scenario.name, 0) + 1
