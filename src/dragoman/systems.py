"""What operating systems differ in: locks of files, flags for opening them, signals, limits, processors.

Windows has neither `fcntl` nor `resource`. Where something is missing, the rest works without it.
"""

from __future__ import annotations

import errno
import os
import platform
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

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

        place = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, error.strerror) from None
        finally:
            os.lseek(descriptor, place, os.SEEK_SET)
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
    found = Processor("", ())
    with suppress(OSError):  # only Linux has the file
        found = described_processor(_CPUINFO.read_text(encoding="utf-8", errors="replace"))
    return found._replace(name=found.name or platform.processor() or platform.machine())


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
