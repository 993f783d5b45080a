"""What operating systems differ in: locks of files, flags for opening them, signals, limits, processors, memory.

Windows has neither `fcntl` nor `resource`. Where something is missing, the rest works without it. What cannot fit into
the memory of the machine is refused, and memory that is freed is used again.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from dragoman.errors import ConfigError

DeviceName = Literal["auto", "cpu", "cuda"]
"""Where a model runs; auto: the GPU if there is one."""

MAX_THREADS = 1024
"""The largest number of CPU threads that a user may give."""

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]
try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]

IS_WINDOWS = sys.platform == "win32"
BINARY: int = getattr(os, "O_BINARY", 0)
NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
NON_BLOCKING: int = getattr(os, "O_NONBLOCK", 0)
"""Flags of `os.open`, 0 where they are missing."""

ENDING_SIGNALS = tuple(
    signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in signal.Signals.__members__
)
"""Signals that ask a process to end."""

_LOCKED_BYTE = 1 << 40
"""What Windows locks: a byte behind the contents, because nobody else could read a locked byte."""


def lock(descriptor: int) -> None:
    """Lock an open file without waiting; the system releases the lock when the process ends or closes the file.

    Raises:
        BlockingIOError: another process holds the lock.
        OSError: the system or the file system has no locks.
    """
    if sys.platform == "win32":
        import msvcrt

        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, error.strerror) from None
        finally:
            os.lseek(descriptor, position, os.SEEK_SET)
    elif fcntl is None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def address_space_limit() -> int | None:
    """Bytes of address space that this process may have (ulimit -v); None without a limit."""
    if resource is None:
        return None
    limit: int = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def raise_open_files_limit(wanted: int) -> int:
    """Let this process open as many files as are wanted, or as many as it may, and return how many."""
    if resource is None:
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return wanted if soft == resource.RLIM_INFINITY else soft


_CPUINFO = Path("/proc/cpuinfo")
"""Linux's description of the processors."""

_FEATURES = (
    *("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8"),
    *("asimd", "asimddp", "bf16", "i8mm", "sve"),  # ARM
)
"""Instructions that make products of float32, bfloat16 or int8 matrices faster."""


class Processor(NamedTuple):
    """The processor of the machine."""

    name: str
    features: tuple[str, ...]
    """Its instructions for products of matrices, as Linux names them; empty where the system does not list them."""


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> Processor:
    """The name and the features of the processor."""
    described = Processor("", ())
    with suppress(OSError):  # only Linux has the file
        described = described_processor(_CPUINFO.read_text(encoding="utf-8", errors="replace"))
    return described._replace(name=described.name or platform.processor() or platform.machine())


def described_processor(described: str) -> Processor:
    """The first processor in the text of Linux's /proc/cpuinfo; an empty name where it gives none.

    Virtual machines often name the series alone ("AMD EPYC"), whose processors differ in speed by factors; family and
    model are added to a name without a number.
    """
    first = described.partition("\n\n")[0]
    known = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
    name = known.get("model name", "")
    if name and not any(character.isdigit() for character in name) and {"cpu family", "model"} <= known.keys():
        name = f"{name} (family {known['cpu family']}, model {known['model']})"
    flags = known.get("flags", known.get("Features", "")).split()
    return Processor(name, tuple(feature for feature in _FEATURES if feature in flags))


_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Files with the limit of a container, by version of the kernel's control groups."""

_NEGLIGIBLE = 1 << 28
_WORD_BYTES = 60
"""Bytes that a row of a search takes for each word of the vocabulary, as measured."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's mallopt: free memory at the end of the heap that goes back to the system, and the size from
which an allocation is a mapping of its own, which goes back as soon as it is freed."""

_LARGEST_MMAP_THRESHOLD = 32 << 20
"""Bytes; glibc refuses more."""


def machine_memory() -> int:
    """Bytes of memory that this process can have: the memory of the machine, or the limit of a container or shell."""
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
    """Refuse a search whose rows cannot be scored together.

    Samples, and a beam at the longest length, have all words of each row in order: scores, ids and their sums.

    Raises:
        ConfigError: they do not fit into the memory of the machine; the message begins with `what`.
    """
    needed = _WORD_BYTES * rows * vocabulary
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
