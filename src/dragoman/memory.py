"""The memory of the machine, refusals of what cannot fit into it, and the reuse of what is freed."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

from dragoman.errors import ConfigError
from dragoman.systems import address_space_limit

_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Files with the limit of a container, by version of the kernel's control groups."""

_NEGLIGIBLE = 1 << 28

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's mallopt: free memory at the end of the heap that goes back to the system, and the size from
which an allocation is a mapping of its own, which goes back as soon as it is freed."""

_LARGEST_MMAP_THRESHOLD = 32 << 20
"""Bytes; glibc refuses more."""


def machine_memory() -> int:
    """Bytes of memory that this process can have: those of the machine, or the limit of a container or shell."""
    limits = [sys.maxsize]
    if hasattr(os, "sysconf"):  # not on Windows, where nothing is refused
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # "max" is no limit
            limits.append(int(path.read_text(encoding="ascii")))
    limits += filter(None, [address_space_limit()])
    return min(limits)


def require_memory(needed: int, what: str, remedy: str, available: int | None = None) -> None:
    """Refuse what needs more memory than there is, before anything is allocated.

    Args:
        needed: bytes, a lower bound.
        what: the subject of the message, such as "a beam of 1,000,000,000".
        available: bytes of the device; None for the memory of the machine.

    Raises:
        ConfigError: it does not fit.
    """
    available = machine_memory() if available is None else available
    if needed > available:
        raise ConfigError(
            f"{what} needs {size_text(needed)} of memory, but there are {size_text(available)} here; {remedy}"
        )


def require_rows(rows: int, vocabulary: int, what: str) -> None:
    """Refuse a search whose rows cannot be scored together: each needs a float32 for every word of the vocabulary.

    Raises:
        ConfigError: they do not fit into the memory of the machine; the message begins with `what`.
    """
    needed = 4 * rows * vocabulary
    if needed > _NEGLIGIBLE:
        require_memory(needed, f"{what} of {rows:,} over {vocabulary:,} words", "lower it")


def keep_freed_memory() -> None:
    """Make the C library keep the memory that this process frees and use it again; nothing where it is not glibc.

    Each update of a training frees tens of megabytes and allocates them again. glibc would return them to the system in
    between, which then hands out new pages, one fault for every 4 kB: some 4,000 in an update of 16 sentences.
    """
    with suppress(OSError, AttributeError, TypeError):  # no C library to open by no name, or without mallopt
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
        library.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


def return_freed_memory() -> None:
    """Return the memory that this process has freed to the system; nothing where the C library is not glibc.

    A validation frees what it needed in pieces that updates cannot use, and the other way round, so that without this
    each validation of a training makes the process larger.
    """
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def size_text(count: int) -> str:
    """Bytes with a unit of powers of 1000: 16.8 GB."""
    value = float(count)
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:,.0f} EB"
