"""A pool of workers in this process, for tests of everything but Ray."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dragoman.cluster.verbs import Computed
from dragoman.cluster.worker import Done, Lost, ShardResult, compute_shard

ROOM = 4


class LocalPool:
    """Computes the newest task first, so that shards end in another order than they were given."""

    def __init__(
        self,
        compute: Callable[[Sequence[Any]], ShardResult],
        *,
        deadly: Sequence[str] = (),
        before: Callable[[int], None] = lambda computed: None,
    ) -> None:
        """Values in `deadly` end the worker that computes them; `before` is called with the tasks computed so far."""
        self.computed: list[list[Any]] = []
        self._compute, self._deadly, self._before = compute, deadly, before
        self._tasks: list[tuple[int, list[Any]]] = []

    def workers(self) -> int:
        return 1

    def has_room(self) -> bool:
        return len(self._tasks) < ROOM

    def submit(self, task: int, values: Sequence[Any]) -> None:
        self._tasks.append((task, list(values)))

    def wait(self, seconds: float) -> list[Done]:
        task, values = self._tasks.pop()
        self._before(len(self.computed))
        if any(value in self._deadly for value in values):
            return [Done(task, Lost("killed"))]
        self.computed.append(values)
        return [Done(task, self._compute(values))]


def upper_case(lines: Sequence[str]) -> ShardResult:
    """A worker that writes lines in upper case, and fails for those that have a question mark."""

    def compute(values: Sequence[str]) -> list[Computed]:
        if any("?" in line for line in values):
            raise ValueError("a question")
        return [Computed([line.upper()]) for line in values]

    return compute_shard(compute, lines)
