"""The worker: the models of a verb in one process and one thread, called with the values of one shard after another.

It is plain Python, so that any scheduler can run it:

    worker = ShardWorker("translate", {"runs": ["LIGHT"]})
    worker(["ein Haus", "zwei Häuser"]).lines

`WorkerPool` is what the coordinator needs of a scheduler.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import dragoman
from dragoman.cluster.verbs import VERBS, Compute, Computed, Models
from dragoman.errors import DragomanError, RunError
from dragoman.stored_files import model_digest

ALL_FAIL = 20
"""Units of a shard that are not a mistake of single lines when all of them fail."""


@dataclass(frozen=True)
class ShardResult:
    """The results of the units of a shard, or of a part of it."""

    units: list[Computed]
    warnings: list[str] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """The output lines of all units; units that failed have empty lines."""
        return [line for unit in self.units for line in unit.lines]


class ShardWorker:
    """Computes shards of one verb; the models are opened once, for one thread of the CPU."""

    def __init__(self, verb: str, models: Models, options: Mapping[str, Any] | None = None) -> None:
        """Open the models; they and the options are those that the functions of `cluster.verbs` name.

        An option that is left out has the default of the command.

        Raises:
            RunError: a folder does not exist, lacks a part, or is damaged.
            ConfigError: a value of an option is wrong, or models do not fit together.
        """
        self._compute = VERBS[verb].open(models, options_of(verb, options or {}))

    def __call__(self, values: Sequence[Any]) -> ShardResult:
        """Compute the values of units, in their order.

        Raises:
            RunError: all units fail, at least `ALL_FAIL` of them.
        """
        return compute_shard(self._compute, values)


def options_of(verb: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Complete the options of a worker: given ones that are not None replace the defaults of the verb."""
    return {**VERBS[verb].defaults, **{name: value for name, value in given.items() if value is not None}}


def compute_shard(compute: Compute, values: Sequence[Any]) -> ShardResult:
    """Compute the units together, or one by one if that fails: then the other units have their results.

    Raises:
        RunError: all units fail, at least `ALL_FAIL` of them.
    """
    with _collected_warnings() as warnings:
        try:
            units = compute(values)
        except Exception:
            units = []
            for value in values:
                try:
                    units += compute([value])
                except Exception as error:
                    reason = str(error) if isinstance(error, DragomanError) else f"{type(error).__name__}: {error}"
                    units.append(Computed.failure(value, reason))
    if len(units) >= ALL_FAIL and all(unit.failed is not None for unit in units):
        raise RunError(f"all {len(units)} lines fail, the first with: {units[0].failed}")
    return ShardResult(units, warnings)


@contextmanager
def _collected_warnings() -> Iterator[list[str]]:
    """The warnings of a block, which otherwise would be printed in another process."""
    messages: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    collector, root = Collector(logging.WARNING), logging.getLogger("dragoman")
    propagates, root.propagate = root.propagate, False
    root.addHandler(collector)
    try:
        yield messages
    finally:
        root.removeHandler(collector)
        root.propagate = propagates


@dataclass(frozen=True)
class WorkerPlan:
    """What a worker is made of; small enough to be sent to another machine, where the folders of models are, too."""

    verb: str
    models: Models
    options: Mapping[str, Any]

    def identity(self) -> dict[str, Any]:
        """Describe what outputs depend on besides their inputs: verb, options, version, and the files of the models.

        Raises:
            RunError: a folder of a model does not exist or cannot be read.
        """
        return {
            "verb": self.verb,
            "models": {use: [_digest(name) for name in names] for use, names in self.models.items()},
            "options": options_of(self.verb, self.options),
            "version": dragoman.__version__,
        }

    def opener(self) -> Callable[[], ShardWorker]:
        """Make a function that opens a worker, on another machine say, where the models must be the same.

        Raises (when called):
            RunError: the folders of the models, or dragoman itself, differ from those here.
        """
        return partial(_open_worker, self, self.identity())


def _open_worker(plan: WorkerPlan, identity: Mapping[str, Any]) -> ShardWorker:
    mine = plan.identity()
    for use, names in plan.models.items():
        for name, digest, wanted in zip(names, mine["models"][use], identity["models"][use], strict=True):
            if digest != wanted:
                raise RunError(f"{name}: is another model on the machine of a worker; copy the folder again")
    if mine["version"] != identity["version"]:
        raise RunError(f"a worker has dragoman {mine['version']}, the command {identity['version']}; install the same")
    return ShardWorker(plan.verb, plan.models, plan.options)


def _digest(folder: str) -> str:
    if not Path(folder).is_dir():
        raise RunError(f"{folder}: does not exist; workers open the folders of models under the same path")
    try:
        return model_digest(Path(folder))
    except OSError as error:
        raise RunError(f"{folder}: cannot be read: {error.strerror}") from None


class Lost(NamedTuple):
    """A worker ended while it computed a task: it was killed, its memory was full, its machine is gone."""

    reason: str


class Done(NamedTuple):
    """The end of a task."""

    task: int
    outcome: ShardResult | Lost


class WorkerPool(Protocol):
    """Workers that compute tasks."""

    def workers(self) -> int:
        """Count the workers that have opened their models."""

    def has_room(self) -> bool:
        """Whether a worker waits for a task."""

    def submit(self, task: int, values: Sequence[Any]) -> None:
        """Give the values of units to a worker; `task` is a number of the caller's."""

    def wait(self, seconds: float) -> list[Done]:
        """Wait so many seconds at most for a task to end; return those that have.

        Raises:
            DragomanError: no worker can be started, or all units of a task fail.
        """
