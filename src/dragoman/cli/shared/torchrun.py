"""Commands that torchrun has started, a process for each rank of a machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.errors import ConfigError, DragomanError, OtherRankError


@contextmanager
def told_once_under_torchrun() -> Iterator[None]:
    """A block in which all processes on a machine make the same mistake: the first tells it.

    Raises:
        OtherRankError: in place of an error, on other ranks of this machine than its first.
    """
    try:
        yield
    except DragomanError as error:
        if os.environ.get("WORLD_SIZE", "1") != "1" and os.environ.get("LOCAL_RANK", "0") != "0":
            raise OtherRankError(error.exit_code) from None
        raise


def require_one_process(verb: str) -> None:
    """Refuse a training that cannot be divided among ranks.

    Raises:
        ConfigError: torchrun has started more than one process.
    """
    with told_once_under_torchrun():
        if os.environ.get("WORLD_SIZE", "1") != "1":
            raise ConfigError(f"{verb} trains in one process; start it without torchrun, or unset WORLD_SIZE")
