"""The ranks of a training: the processes that compute its updates together, and what they exchange.

Rank 0 leads: it alone reads the text, keeps the clock, validates and writes. The others compute their part of every
update. Tensors and values go through the collectives of torch.distributed. What may take any time, such as preparing
the run, is waited for in its store, a small server of keys and values.

An error on one rank ends all: it is put into the store before the connections are closed, and the other ranks find it
there when their connections break. The first rank that fails prints why; the others end with the same exit code and
print nothing. A rank that is killed or hangs puts nothing there: then the ranks that wait name it.
"""

from __future__ import annotations

import json
import math
import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import Any, TypeVar

import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import PrefixStore, Store  # torch.distributed has them, but not for type checkers

from dragoman.errors import ConfigError, DragomanError, OtherRankError, TrainingError

GRACE = 3.0
"""Seconds in which ranks that wait for each other find out which ones still answer."""
BUSY = 10.0
"""The same seconds when a connection breaks: a rank that computes its part of the update notices it afterwards."""
LINGER = 1.0
"""Seconds that other ranks outlive one that failed, which has a message to print: when the first one ends, torchrun
kills the others."""
_FAILED, _LEFT = "failed", "left"

Value = TypeVar("Value")


class Ranks:
    """All ranks as one of them sees them; a context manager that ends all of them if its block fails on one."""

    def __init__(
        self, rank: int = 0, size: int = 1, store: Store | None = None, limit: timedelta = timedelta.max
    ) -> None:
        """
        Args:
            store: None for a training of one process.
            limit: how long a rank waits for the others.
        """
        self.rank, self.size = rank, size
        self._store, self._limit = store, limit
        self._group: dist.ProcessGroup | None = None
        self._names: list[str] = []

    @property
    def leads(self) -> bool:
        """Whether this is rank 0."""
        return self.rank == 0

    def name(self) -> str:
        """This rank in words."""
        return f"rank {self.rank} (process {os.getpid()} on {socket.gethostname()})"

    def __enter__(self) -> Ranks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End this rank.

        Raises:
            OtherRankError: in place of the error of the block, where another rank failed first.
        """
        if self._store is None:
            return
        failure = first = [self.rank, _exit_code(error)]
        if error is not None and not isinstance(error, OtherRankError):
            with suppress(RuntimeError):  # the store has gone with rank 0
                first = json.loads(self._store.compare_set(_FAILED, "", json.dumps(failure)))
        self._leave(self._store)
        if isinstance(error, OtherRankError) or first != failure:
            with suppress(KeyboardInterrupt):
                time.sleep(LINGER)
        if first != failure:
            raise OtherRankError(first[1]) from None

    def _leave(self, store: Store) -> None:
        """Close the connections; rank 0 waits a little for the others, because the store may end with it."""
        if self._group is not None:
            dist.destroy_process_group(self._group)
            self._group = None  # what holds the group keeps its connections open, and the others wait for this rank
        with suppress(RuntimeError):
            left = store.add(_LEFT, 1)
            until = time.monotonic() + GRACE
            while self.leads and left < self.size and time.monotonic() < until:
                time.sleep(0.02)
                left = store.add(_LEFT, 0)

    def connect(self, backend: str) -> None:
        """Connect all ranks to each other; before that they have the store alone.

        Args:
            backend: of torch.distributed, such as "gloo".

        Raises:
            OtherRankError, TrainingError: as for `sum`.
        """
        self.publish(f"name/{self.rank}", self.name())
        for rank in range(self.size):  # torch waits for all without naming those that do not come
            self._names.append(self.wait_for(f"name/{rank}", rank))
        try:
            if dist.is_initialized():  # by Ray Train, with a time limit of its own
                self._group = dist.new_group(backend=backend, timeout=self._limit)
            else:
                assert self._store is not None, "there are other ranks"
                store = PrefixStore("group", self._store)
                dist.init_process_group(backend, store=store, rank=self.rank, world_size=self.size, timeout=self._limit)
                self._group = dist.group.WORLD
        except RuntimeError as error:
            self._require_no_failure("connecting the ranks")
            reason = str(error).partition("\n")[0]
            raise TrainingError(
                f"{self.name()} cannot connect to the other ranks ({reason}); if the machines have several networks, "
                "name the right one with GLOO_SOCKET_IFNAME"
            ) from error

    # Collectives -----------------------------------------------------------------------------------------------------

    def sum(self, tensor: Tensor, what: str) -> None:
        """Replace the tensor by the sum of the tensors of all ranks, with the same bits on each rank.

        Args:
            what: what the ranks are doing, for the message about one that does not answer: "update 7".

        Raises:
            OtherRankError: another rank has failed.
            TrainingError: a rank has ended without a message, or does not answer within the limit.
        """
        self._together(lambda: dist.all_reduce(tensor, group=self._group), what)

    def broadcast(self, tensor: Tensor, what: str) -> None:
        """Replace the tensor by that of rank 0. Raises as for `sum`."""
        self._together(lambda: dist.broadcast(tensor, 0, group=self._group), what)

    def share(self, value: Any, what: str) -> Any:
        """The value of rank 0, of any type; the values of other ranks are ignored. Raises as for `sum`."""
        values = [value]
        if self.size > 1:
            self._together(lambda: dist.broadcast_object_list(values, 0, group=self._group), what)
        return values[0]

    def require_same(self, facts: Mapping[str, object], remedy: str) -> None:
        """Refuse ranks whose facts are not those of rank 0.

        Args:
            remedy: the end of the message: what to do.

        Raises:
            ConfigError: a fact of this rank differs; the message names the rank and both values.
            OtherRankError, TrainingError: one of another rank differs; as for `sum`.
        """
        gathered: list[Any] = [None] * self.size
        self._together(lambda: dist.all_gather_object(gathered, facts, group=self._group), "comparing the ranks")
        self.require_equal(gathered[0], facts, remedy)
        if any(theirs != facts for theirs in gathered):
            raise OtherRankError(ConfigError.exit_code)

    def require_equal(self, theirs: Mapping[str, object], ours: Mapping[str, object], remedy: str) -> None:
        """Compare facts of this rank with `theirs`, the facts of rank 0. Raises ConfigError as `require_same`."""
        for key in [*theirs, *(key for key in ours if key not in theirs)]:
            here, there = ours.get(key), theirs.get(key)
            if here != there:
                raise ConfigError(f"{self.name()}: {key} is {here} here and {there} on rank 0; {remedy}")

    def _together(self, operation: Callable[[], object], what: str) -> None:
        began = time.monotonic()
        try:
            operation()
        except RuntimeError as error:
            waited = time.monotonic() - began
            raise self._loss(what, timed_out=waited >= 0.9 * self._limit.total_seconds()) from error

    # The store -------------------------------------------------------------------------------------------------------

    def publish(self, name: str, value: object) -> None:
        """Give a value, anything that JSON can hold, to the ranks that wait for this name, which is used once."""
        if self.size > 1:
            self._stored(lambda store: store.set(name, json.dumps(value)), name)

    def wait_for(self, name: str, rank: int | None = None) -> Any:
        """Wait for a published value, for ever unless a rank is given that must publish it within the limit.

        Raises: as for `sum`.
        """
        until = math.inf if rank is None else time.monotonic() + self._limit.total_seconds()
        pause = 0.01
        while not self._stored(lambda store: store.check([name]), name):
            self._require_no_failure(name)
            if time.monotonic() > until:
                raise TrainingError(
                    f"rank {rank} does not answer: it has not come within {self._minutes()}; see whether it was "
                    "started, and can reach this machine"
                )
            time.sleep(pause)
            pause = min(0.3, 1.5 * pause)
        return json.loads(self._stored(lambda store: store.get(name), name))

    def _stored(self, call: Callable[[Store], Value], what: str) -> Value:
        assert self._store is not None, "there are other ranks"
        try:
            return call(self._store)
        except RuntimeError as error:
            raise TrainingError(
                f"{what}: rank 0 or the torchrun beside it has ended; the training goes on from its last saved state "
                "with --resume"
            ) from error

    # Failures --------------------------------------------------------------------------------------------------------

    def _require_no_failure(self, what: str) -> None:
        """Raise OtherRankError if another rank has failed."""
        if self._stored(lambda store: store.check([_FAILED]), what):
            raise OtherRankError(json.loads(self._stored(lambda store: store.get(_FAILED), what))[1])

    def _loss(self, what: str, *, timed_out: bool) -> DragomanError:
        """The error after a connection has broken or timed out: who failed, or does not answer."""
        waiting: list[int] = []
        try:
            self.publish(f"waits/{self.rank}", timed_out)
            until = time.monotonic() + (GRACE if timed_out else BUSY)
            while len(waiting) < self.size and time.monotonic() < until:
                time.sleep(0.05)
                self._require_no_failure(what)
                waiting = [rank for rank in range(self.size) if self._waits(rank, what)]
            timed_out = any(self.wait_for(f"waits/{rank}") for rank in waiting)
        except DragomanError as error:
            return error
        missing = [name for rank, name in enumerate(self._names) if rank not in waiting]
        if not missing:
            return TrainingError(f"{what}: the connection between the ranks was lost; --resume goes on")
        answer = f"has not answered for {self._minutes()}" if timed_out else "has ended without a message"
        return TrainingError(
            f"{what}: {' and '.join(missing)} {answer}; the training goes on from its last saved state with --resume"
        )

    def _waits(self, rank: int, what: str) -> bool:
        return self._stored(lambda store: store.check([f"waits/{rank}"]), what)

    def _minutes(self) -> str:
        seconds = self._limit.total_seconds()
        return f"{seconds:g} seconds" if seconds < 120 else f"{seconds / 60:g} minutes"


ALONE = Ranks()
"""A training of one process."""


def _exit_code(error: BaseException | None) -> int:
    if isinstance(error, DragomanError):
        return error.exit_code
    return 130 if isinstance(error, KeyboardInterrupt) else 1
