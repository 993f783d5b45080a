"""Joining the other ranks of a training that torchrun started.

torchrun sets in the environment of each process: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, and
TORCHELASTIC_RESTART_COUNT and TORCHELASTIC_USE_AGENT_STORE, which other launchers leave out. Nothing else is read.
Without WORLD_SIZE, or with 1, a training has one process.
"""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore
from torch.distributed.distributed_c10d import _get_default_store

from dragoman.errors import ConfigError, TrainingError, reason_of
from dragoman.training.ranks import ALONE, Ranks

MINUTES = 30.0
"""How long ranks wait for each other by default, in minutes."""

_joined: list[Ranks] = []
"""The ranks of this process while it is in a block of `joined_ranks`; torch has one group a process, too."""


class _RankEnvironment(NamedTuple):
    """What torchrun says about this process in its environment."""

    rank: int
    size: int
    local_rank: int
    address: str
    port: int

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> _RankEnvironment | None:
        """None for a training of one process.

        Raises:
            ConfigError: a variable is missing or is not a number.
        """
        if (size := environment.get("WORLD_SIZE", "1")) == "1":
            return None
        for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT", "MASTER_ADDR"):
            value = environment.get(name)
            if value is None:
                raise ConfigError(
                    f"WORLD_SIZE is {size} in the environment, but {name} is missing; start the ranks with torchrun, "
                    "or unset WORLD_SIZE for a training of one process"
                )
            if name != "MASTER_ADDR" and not (value.isascii() and value.isdigit()):
                raise ConfigError(
                    f"{name}: {value!r} in the environment is not a number; start the ranks with torchrun"
                )
        rank, local_rank, port = (int(environment[name]) for name in ("RANK", "LOCAL_RANK", "MASTER_PORT"))
        if rank >= int(size):
            raise ConfigError(f"RANK: {rank}, but WORLD_SIZE is {size}; ranks count from 0. Start them with torchrun")
        return cls(rank, int(size), local_rank, environment["MASTER_ADDR"], port)


@contextmanager
def joined_ranks(
    minutes: float = MINUTES, *, gpu: bool = False, facts: Mapping[str, object] | None = None, remedy: str = ""
) -> Iterator[Ranks]:
    """Join the other ranks; inside another such block, gives the ranks of that one.

    Args:
        minutes: how long ranks wait for each other.
        gpu: whether the model is on GPUs, one for each LOCAL_RANK.
        facts: what must be the same on all ranks, besides the code; `remedy` is what to do where they differ.

    Raises:
        ConfigError: the environment is incomplete, MASTER_PORT is used by another program, or a fact differs.
        TrainingError: nobody answers at MASTER_ADDR, or a rank does not come.
        OtherRankError: another rank has failed, and has printed why.
    """
    if _joined:
        yield _joined[-1]
        return
    own = _RankEnvironment.of(os.environ)
    if own is None:
        yield ALONE
        return
    limit = timedelta(minutes=minutes)
    store = _open_store(own, limit)
    with Ranks(own.rank, own.size, store, limit) as ranks:
        ranks.connect(_backend(own, gpu=gpu))
        ranks.require_same(_code(), "install the same versions on all machines")
        ranks.require_same(facts or {}, remedy)
        _joined.append(ranks)
        try:
            yield ranks
        finally:
            _joined.pop()


def _code() -> dict[str, str]:
    """The code that computes updates: two versions of it may round differently, or not understand each other."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return {"dragoman (SHA-256 of its files)": digest.hexdigest()[:16], "torch": str(torch.__version__)}


def _backend(own: _RankEnvironment, *, gpu: bool) -> str:
    if not gpu:
        return "gloo"
    torch.cuda.set_device(own.local_rank % torch.cuda.device_count())
    return "cpu:gloo,cuda:nccl"


def _open_store(own: _RankEnvironment, limit: timedelta) -> Store:
    """Connect to the store at MASTER_ADDR; rank 0 opens it where nobody has yet."""
    # torchrun keeps its store when it starts the ranks again: what those before have said there, such as addresses that
    # nobody listens at any more, must not be heard again.
    attempt = f"dragoman/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
    if dist.is_initialized():
        return PrefixStore(attempt, _get_default_store())
    hosts = own.rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    at = f"MASTER_ADDR {own.address}, MASTER_PORT {own.port}"

    def connect() -> TCPStore:
        return TCPStore(own.address, own.port, own.size, hosts, limit, wait_for_workers=False)

    try:
        if hosts:
            return PrefixStore(attempt, connect())
        _await_listener(own.address, own.port, limit.total_seconds())
        return PrefixStore(attempt, _within(limit, connect))
    except (OSError, RuntimeError, ValueError) as error:  # torch's network errors are RuntimeErrors
        if hosts:
            raise ConfigError(
                f"{at}: rank 0 cannot listen there ({_reason(error)}); another program may use the port: give "
                "torchrun another --master-port"
            ) from None
        raise TrainingError(
            f"{at}: no rank 0 answers there ({_reason(error)}); see whether it was started, and whether a firewall is "
            "between the machines"
        ) from None


def _within(limit: timedelta, connect: Callable[[], TCPStore]) -> TCPStore:
    """Connect in a thread of its own: torch waits for ever for a program that listens there and does not answer.

    Raises:
        OSError: no answer came in time.
    """
    answer: Future[TCPStore] = Future()

    def wait() -> None:
        try:
            answer.set_result(connect())
        except Exception as error:
            answer.set_exception(error)

    threading.Thread(target=wait, daemon=True).start()
    try:
        return answer.result(limit.total_seconds())
    except TimeoutError:
        raise TimeoutError(errno.ETIMEDOUT, "what listens there is no rank 0") from None


def _await_listener(address: str, port: int, seconds: float) -> None:
    """Wait until a program listens there; unlike torch, which prints warnings and heeds no signal while it waits.

    Raises:
        OSError: none does in this time.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            with socket.create_connection((address, port), max(0.1, min(5.0, seconds))):
                return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def _reason(error: Exception) -> str:
    """The operating system's reason, also out of a message of torch."""
    text = reason_of(error)
    return "address already in use" if "EADDRINUSE" in text else text.partition("\n")[0][:200]
