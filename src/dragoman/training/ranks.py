"""The ranks of a training: the processes that compute its updates together, and what they tell each other.

Rank 0 leads: it alone reads the text, keeps the clock, validates and writes. The others compute their part of every
update. Tensors are summed and broadcast by torch.distributed; everything else is JSON in the store that torchrun
provides, a small server of keys and values.

An error on one rank ends all: it is put into the store before the connections are closed, and the other ranks find it
there when their connections break. The first rank that fails tells why; the others end with the same exit code and
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
from typing import Any

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


class Ranks:
    """All ranks as one of them sees them; a context manager that ends all of them if its block fails on one."""

    def __init__(
        self,
        rank: int = 0,
        size: int = 1,
        store: Store | None = None,
        limit: timedelta = timedelta.max,
    ) -> None:
        """
        Args:
            store: None for a training of one process.
            limit: how long a rank waits for the others.
        """
        self.rank, self.size = rank, size
        self._store, self._limit = store, limit
        self._group: dist.ProcessGroup | None = None

    @property
    def leads(self) -> bool:
        """Whether this is rank 0."""
        return self.rank == 0

    @property
    def store(self) -> Store:
        """The key-value store through which the ranks agree; a lone rank has none."""
        assert self._store is not None, "there are other ranks"
        return self._store

    def __enter__(self) -> Ranks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End this rank.

        Raises:
            OtherRankError: in place of the error of the block, where another rank has told its own first.
        """
        if self._store is None:
            return
        code, said = _exit_code(error), True
        try:
            if error is not None and not isinstance(error, OtherRankError):
                said = self._store.add("tellers", 1) == 1
                if said:
                    self._store.set(_FAILED, json.dumps(code))
        except RuntimeError:
            said = self.leads  # the store has gone with rank 0
        self._leave()
        if isinstance(error, OtherRankError) or not said:
            with suppress(KeyboardInterrupt):
                time.sleep(LINGER)
        if not said:
            raise OtherRankError(code) from None

    def _leave(self) -> None:
        """Close the connections; rank 0 waits a little for the others, because the store may end with it."""
        if self._group is not None:
            dist.destroy_process_group(self._group)
            self._group = None  # what holds the group keeps its connections open, and the others wait for this rank
        with suppress(RuntimeError):
            left = self.store.add(_LEFT, 1)
            until = time.monotonic() + GRACE
            while self.leads and left < self.size and time.monotonic() < until:
                time.sleep(0.02)
                left = self.store.add(_LEFT, 0)

    def connect(self, backend: str) -> None:
        """Connect all ranks to each other; before that they have the store alone.

        Args:
            backend: of torch.distributed, such as "gloo".

        Raises:
            OtherRankError, TrainingError: as for `sum`.
        """
        self.tell("name", self.name())
        for rank in range(self.size):
            self.hear("name", rank)  # torch waits for all without naming those that do not come
        try:
            if dist.is_initialized():  # by Ray Train, with a time limit of its own
                self._group = dist.new_group(backend=backend, timeout=self._limit)
            else:
                store = PrefixStore("group", self.store)
                dist.init_process_group(backend, store=store, rank=self.rank, world_size=self.size, timeout=self._limit)
                self._group = dist.group.WORLD
        except RuntimeError as error:
            self._require_no_failure("connecting the ranks")
            reason = str(error).partition("\n")[0]
            raise TrainingError(
                f"{self.name()} cannot connect to the other ranks ({reason}); if the machines have several networks, "
                "name the right one with GLOO_SOCKET_IFNAME"
            ) from error

    # Tensors ---------------------------------------------------------------------------------------------------------

    def sum(self, tensor: Tensor, what: str) -> None:
        """Replace the tensor by the sum of those of all ranks, the same bits on each of them.

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

    def _together(self, operation: Callable[[], object], what: str) -> None:
        began = time.monotonic()
        try:
            operation()
        except RuntimeError as error:
            waited = time.monotonic() - began
            raise self._loss(what, timed_out=waited >= 0.9 * self._limit.total_seconds()) from error

    # Values ----------------------------------------------------------------------------------------------------------

    def tell(self, name: str, value: object) -> None:
        """Give a value, anything that JSON can hold, to all ranks under a name that this rank uses once."""
        if self.size == 1:
            return
        self._store_call(lambda: self.store.set(_key(name, self.rank), json.dumps(value)), name)

    def hear(self, name: str, rank: int = 0, *, limited: bool = True) -> Any:
        """The value that a rank tells; waits for it, with `limited` not for ever.

        Raises: as for `sum`.
        """
        until = time.monotonic() + self._limit.total_seconds() if limited else math.inf
        pause = 0.01
        while not self._store_call(lambda: self.store.check([_key(name, rank)]), name):
            self._require_no_failure(name)
            if time.monotonic() > until:
                raise TrainingError(
                    f"rank {rank} does not answer: it has not reached '{name}' within {self._minutes()}; see whether "
                    "it was started, and can reach this machine"
                )
            time.sleep(pause)
            pause = min(0.3, 1.5 * pause)
        return json.loads(self._store_call(lambda: self.store.get(_key(name, rank)), name))

    def require_same(self, name: str, facts: Mapping[str, object], remedy: str) -> None:
        """Refuse a rank whose facts are not those of rank 0; rank 0 waits until all have compared.

        Args:
            name: of this comparison; used once.
            remedy: the end of the message: what to do.

        Raises:
            ConfigError: a fact differs; the message names the rank and both values.
            OtherRankError, TrainingError: as for `sum`.
        """
        if self.leads:
            self.tell(name, facts)
            for rank in range(1, self.size):
                self.hear(f"{name} compared", rank)
        else:
            self.require_told(name, facts, remedy)
            self.tell(f"{name} compared", None)

    def require_told(self, name: str, facts: Mapping[str, object], remedy: str) -> None:
        """Compare facts with those that rank 0 tells under this name; it does not wait for that.

        Raises: as for `require_same`.
        """
        theirs, ours = self.hear(name), json.loads(json.dumps(facts))
        for key in [*theirs, *(key for key in ours if key not in theirs)]:
            here, there = ours.get(key), theirs.get(key)
            if here != there:
                raise ConfigError(f"{self.name()}: {key} is {here} here and {there} on rank 0; {remedy}")

    def name(self) -> str:
        """This rank in words."""
        return f"rank {self.rank} (process {os.getpid()} on {socket.gethostname()})"

    # Failures --------------------------------------------------------------------------------------------------------

    def _store_call(self, call: Callable[[], Any], what: str) -> Any:
        try:
            return call()
        except RuntimeError as error:
            raise TrainingError(
                f"rank 0 or the torchrun beside it has ended ({what}); the training goes on from its last saved state "
                "with --resume"
            ) from error

    def _require_no_failure(self, what: str) -> None:
        """Raise OtherRankError if another rank has failed."""
        if self._store_call(lambda: self.store.check([_FAILED]), what):
            raise OtherRankError(json.loads(self.store.get(_FAILED)))

    def _loss(self, what: str, *, timed_out: bool) -> DragomanError:
        """The error after a connection has broken or timed out: who failed, or does not answer."""
        missing = list(range(self.size))
        try:
            self.tell("waits", timed_out)
            until = time.monotonic() + (GRACE if timed_out else BUSY)
            while time.monotonic() < until:
                self._require_no_failure(what)
                missing = [rank for rank in range(self.size) if not self.store.check([_key("waits", rank)])]
                if not missing:
                    break
                time.sleep(0.05)
            waiting = [rank for rank in range(self.size) if rank not in missing]
            timed_out = any(json.loads(self.store.get(_key("waits", rank))) for rank in waiting)
            names = [f"rank {rank}{self._place_of(rank)}" for rank in missing]
        except DragomanError as error:
            return error
        except RuntimeError:
            return TrainingError(
                f"{what}: rank 0 or the torchrun beside it has ended; the training goes on from its last saved state "
                "with --resume"
            )
        if not names:
            return TrainingError(f"{what}: the connection between the ranks was lost; --resume goes on")
        answer = f"has not answered for {self._minutes()}" if timed_out else "has ended without a message"
        return TrainingError(
            f"{what}: {' and '.join(names)} {answer}; the training goes on from its last saved state with --resume"
        )

    def _place_of(self, rank: int) -> str:
        key = _key("name", rank)
        if not self.store.check([key]):
            return ""
        name: str = json.loads(self.store.get(key))
        return name.removeprefix(f"rank {rank}")

    def _minutes(self) -> str:
        seconds = self._limit.total_seconds()
        return f"{seconds:g} seconds" if seconds < 120 else f"{seconds / 60:g} minutes"


ALONE = Ranks()
"""A training of one process."""


def _key(name: str, rank: int) -> str:
    return f"{name}/{rank}"


def _exit_code(error: BaseException | None) -> int:
    if isinstance(error, DragomanError):
        return error.exit_code
    return 130 if isinstance(error, KeyboardInterrupt) else 1
