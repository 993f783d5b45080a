"""What a pool of workers does: it computes the values of shards in some order, and tells when a worker is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from dragoman.cluster.worker import ShardResult


class Lost(NamedTuple):
    """A worker ended while it computed a task: it was killed, its memory was full, its machine is gone."""

    reason: str


class Done(NamedTuple):
    """The end of a task."""

    task: int
    outcome: ShardResult | Lost


class Pool(Protocol):
    """Workers that can be given tasks."""

    def workers(self) -> int:
        """Workers that have opened their models."""

    def has_room(self) -> bool:
        """Whether a task would be computed next, or after the one that its worker computes now."""

    def submit(self, task: int, values: Sequence[Any]) -> None:
        """Give the values of units to a worker; `task` is a number of the caller's."""

    def wait(self, seconds: float) -> list[Done]:
        """The tasks that have ended, after at most so many seconds.

        Raises:
            DragomanError: no worker can be started, or all units of a task fail.
        """
