"""The library of interposer.c in this process: counts, records, kills or fails the file operations of its children.

Needs Linux and a C compiler. `load` compiles the library and starts this program again with it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from campaign.children import Ended, run_command

SOURCE = Path(__file__).with_name("interposer.c")
_PRELOAD = "LD_PRELOAD"


class Mode(IntEnum):
    """What happens at an operation; the numbers of interposer.c."""

    WATCH = 0
    KILL = 1
    """The process is killed before the operation."""
    TEAR = 2
    """The process is killed when half of a write is done."""
    FAIL = 3
    """The operation fails, and no other."""
    FULL = 4
    """The operation fails, and from then on all that take space: the disk or the quota is full."""
    READ_ONLY = 5
    """All operations fail from here on."""
    SHORTEN = 6
    """Half of a write is done, which its result says, as the kernel may do at any time."""


Operation = IntEnum("Operation", "CREATE TRUNCATE WRITE FSYNC RENAME UNLINK MKDIR RMDIR")
"""A kind of operation; the numbers of interposer.c."""


class Fault(NamedTuple):
    """What happens, and at which operation, counted from 1; point 0 is none."""

    mode: Mode = Mode.WATCH
    point: int = 0
    error: int = 0
    """The errno of a failure."""


class Step(NamedTuple):
    """A recorded operation that succeeded."""

    number: int
    """Its number, from 1; numbers of operations that failed are missing."""
    operation: Operation
    path: str
    to: str
    """The second path of a rename."""
    offset: int
    """The place of a WRITE; 2 for a RENAME that exchanges two names."""
    size: int
    """The size of a file after TRUNCATE."""
    data: bytes
    """The bytes of a WRITE."""


class Watched(NamedTuple):
    """A command that ran under the interposer."""

    ended: Ended
    count: int
    """Operations, the failed ones included."""
    operation: str
    """The name and path of the operation at the point; empty if it was not reached."""
    steps: list[Step]


class _Control(ctypes.Structure):
    """The same fields as in interposer.c."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("point", "count")),
        *((name, ctypes.c_int32) for name in ("mode", "error", "reached", "operation")),
        ("path", ctypes.c_char * 4096),
    )


_STEP = struct.Struct("=iiiiqqq")


def load() -> None:
    """Start this program again with the library, once; where that cannot be done, say why."""
    if is_loaded():
        _forget()
    else:
        print(f"{_start_again()}: kills, power-loss and disk are left out", flush=True)


def is_loaded() -> bool:
    """Whether the library is in this process."""
    return hasattr(ctypes.CDLL(None), "chaos_begin")


def _start_again() -> str:
    """Compile the library and execute this program with it; returns only where that is not possible, and why."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        return "numbering operations needs Linux and a C compiler (cc)"
    library = Path(tempfile.mkdtemp(prefix="chaos-interposer-")) / "interposer.so"
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl", "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(library.parent)
        return f"{SOURCE.name} cannot be compiled: {done.stderr.strip()}"
    os.environ[_PRELOAD] = str(library)
    sys.stdout.flush()
    os.execv(sys.executable, sys.orig_argv)


def _forget() -> None:
    """Remove the library's file, and keep it out of other programs; it stays in this process."""
    library = Path(os.environ.pop(_PRELOAD, ""))
    if library.parent.name.startswith("chaos-interposer-"):
        shutil.rmtree(library.parent, ignore_errors=True)


def run_watched(
    arguments: Sequence[str | Path],
    folder: Path,
    fault: Fault | None = None,
    *,
    stdin: bytes = b"",
) -> Watched:
    """Run a command in a child, in `folder`, below which its operations are counted and the fault happens.

    Without a fault its operations are recorded.
    """
    memory = mmap.mmap(-1, ctypes.sizeof(_Control))
    control = _Control.from_buffer(memory)
    control.mode, control.point, control.error = fault or Fault()
    with tempfile.TemporaryFile() as trace:
        begin = _beginner(folder, control, trace.fileno() if fault is None else -1)
        ended = run_command(arguments, stdin=stdin, folder=folder, before=begin)
        trace.seek(0)
        steps = _read_steps(trace.read())
    operation = f"{Operation(control.operation).name} {os.fsdecode(control.path)}" if control.reached else ""
    return Watched(ended, control.count, operation.replace(f"{folder}/", ""), steps)


def _beginner(folder: Path, control: _Control, trace: int) -> Callable[[], None]:
    begin = ctypes.CDLL(None).chaos_begin
    begin.argtypes, begin.restype = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int), None
    root = os.fsencode(os.path.realpath(folder))
    return lambda: begin(root, ctypes.addressof(control), trace)


def _read_steps(trace: bytes) -> list[Step]:
    steps, at = [], 0

    def take(size: int) -> bytes:
        nonlocal at
        at += size
        return trace[at - size : at]

    while at < len(trace):
        operation, first, second, _, number, offset, size = _STEP.unpack(take(_STEP.size))
        path, to = os.fsdecode(take(first)), os.fsdecode(take(second))
        data = take(size if operation == Operation.WRITE else 0)
        steps.append(Step(number, Operation(operation), path, to, offset, size, data))
    return steps
