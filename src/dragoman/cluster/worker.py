"""The worker: the models of a verb in one process and one thread, called with the values of one shard after another.

It is plain Python, so that any scheduler can run it:

    worker = ShardWorker("translate", {"runs": ["LIGHT"]})
    worker(["ein Haus", "zwei Häuser"]).lines
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dragoman
from dragoman.cluster.verbs import VERBS, Compute, Computed, Models
from dragoman.errors import DragomanError, RunError
from dragoman.stored_files import model_digest

ALL_FAIL = 20
"""Units of a shard that are not a mistake of single lines when all of them fail."""


@dataclass(frozen=True)
class ShardResult:
    """The lines of a shard, or of a part of it."""

    units: list[list[str]]
    """The output lines of each unit; empty where it failed."""
    failed: dict[int, str] = field(default_factory=dict)
    """Units that failed, from 0, with the reason."""
    unfinished: int = 0
    """Translations that were truncated at the longest length."""
    warnings: list[str] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """The output lines of all units."""
        return [line for unit in self.units for line in unit]


class ShardWorker:
    """Computes shards of one verb; the models are opened once, for one thread of the CPU."""

    def __init__(self, verb: str, models: Models, options: Mapping[str, Any] | None = None) -> None:
        """Open the models; they and the options are those that the functions of `cluster.verbs` name.

        An option that is left out has the default of the command.

        Raises:
            RunError: a folder does not exist, lacks a part, or is damaged.
            ConfigError: a value of an option is wrong, or models do not fit together.
        """
        self._compute = VERBS[verb].open(models, {**VERBS[verb].defaults, **(options or {})})

    def __call__(self, values: Sequence[Any]) -> ShardResult:
        """The results of the values of units, in their order.

        A unit that fails has no lines, and its reason is in `failed`.

        Raises:
            RunError: all units fail, at least `ALL_FAIL` of them.
        """
        return compute_shard(self._compute, values)


def compute_shard(compute: Compute, values: Sequence[Any]) -> ShardResult:
    """Compute the units together; one by one if that fails, so that only those fail that must.

    Raises:
        RunError: all units fail, at least `ALL_FAIL` of them.
    """
    failed: dict[int, str] = {}
    with _collected_warnings() as warnings:
        try:
            found = compute(values)
        except Exception as error:
            found = _one_by_one(compute, values, failed) if len(values) > 1 else [Computed([])]
            failed = failed or ({0: _reason(error)} if len(values) == 1 else {})
    if len(failed) == len(values) >= ALL_FAIL:
        raise RunError(f"all {len(values)} lines fail, the first with: {failed[0]}")
    return ShardResult([one.lines for one in found], failed, sum(one.unfinished for one in found), warnings)


def _one_by_one(compute: Compute, values: Sequence[Any], failed: dict[int, str]) -> list[Computed]:
    found = []
    for number, value in enumerate(values):
        try:
            found += compute([value])
        except Exception as error:
            failed[number] = _reason(error)
            found.append(Computed([]))
    return found


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, DragomanError) else f"{type(error).__name__}: {error}"


@contextmanager
def _collected_warnings() -> Iterator[list[str]]:
    """The warnings of a block, which otherwise would be printed in another process."""
    found: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.getMessage())

    collector, root = Collector(logging.WARNING), logging.getLogger("dragoman")
    propagates, root.propagate = root.propagate, False
    root.addHandler(collector)
    try:
        yield found
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
        """What outputs depend on besides their inputs: verb, options, version, and the files of the models.

        Raises:
            RunError: a folder of a model does not exist or cannot be read.
        """
        return {
            "verb": self.verb,
            "models": {use: [_digest(name) for name in names] for use, names in self.models.items()},
            "options": dict(self.options),
            "version": dragoman.__version__,
        }

    def opener(self) -> Callable[[], Callable[[Sequence[Any]], ShardResult]]:
        """A function that opens a worker, on another machine say, where the models must be the same.

        Raises (when called):
            RunError: the folders of the models, or dragoman itself, differ from those here.
        """
        return _Opener(self, self.identity())


@dataclass(frozen=True)
class _Opener:
    plan: WorkerPlan
    identity: Mapping[str, Any]

    def __call__(self) -> ShardWorker:
        mine = self.plan.identity()
        for use, names in self.plan.models.items():
            for name, digest, wanted in zip(names, mine["models"][use], self.identity["models"][use], strict=True):
                if digest != wanted:
                    raise RunError(f"{name}: is another model on the machine of a worker; copy the folder again")
        if mine["version"] != self.identity["version"]:
            raise RunError(
                f"a worker has dragoman {mine['version']}, the command {self.identity['version']}; install the same"
            )
        return ShardWorker(self.plan.verb, self.plan.models, self.plan.options)


def _digest(folder: str) -> str:
    if not Path(folder).is_dir():
        raise RunError(f"{folder}: does not exist; workers open the folders of models under the same path")
    try:
        return model_digest(Path(folder))
    except OSError as error:
        raise RunError(f"{folder}: cannot be read: {error.strerror}") from None
