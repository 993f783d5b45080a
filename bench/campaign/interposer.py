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
_PATH_LENGTH = 4096


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


class Operation(IntEnum):
    """A kind of operation; the numbers of interposer.c."""

    CREATE = 1
    TRUNCATE = 2
    WRITE = 3
    FSYNC = 4
    RENAME = 5
    UNLINK = 6
    MKDIR = 7
    RMDIR = 8
    LINK = 9
    SYMLINK = 10
    ATTRIBUTES = 11
    CLOSE = 12
    OPAQUE_WRITE = 13


class Fault(NamedTuple):
    """What happens, and at which operation, counted from 1; point 0 is none."""

    mode: Mode = Mode.WATCH
    point: int = 0
    error: int = 0
    """The errno of a failure."""


NONE = Fault()


class Step(NamedTuple):
    """A recorded operation that succeeded."""

    number: int
    """Its number, from 1; numbers of operations that failed are missing."""
    operation: Operation
    path: str
    to: str
    """The second path of a rename or link."""
    inode: int
    offset: int
    size: int
    """The size of a file after TRUNCATE."""
    data: bytes
    """The bytes of a WRITE."""


class Watched(NamedTuple):
    """A command that ran under the interposer."""

    ended: Ended
    count: int
    """Operations, the failed ones included."""
    reached: bool
    """Whether the point was reached."""
    operation: str
    """The name and path of the operation at the point."""
    steps: list[Step]


class _Control(ctypes.Structure):
    """The same fields as in interposer.c."""

    _fields_ = (
        ("point", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("mode", ctypes.c_int32),
        ("error", ctypes.c_int32),
        ("reached", ctypes.c_int32),
        ("operation", ctypes.c_int32),
        ("path", ctypes.c_char * _PATH_LENGTH),
    )


_STEP = struct.Struct("=iiiiqqqq")


_reason: str | None = "it was not asked for"


def load() -> None:
    """Start this program again with the library, once; `reason_not_loaded` says whether that could be done."""
    global _reason
    if hasattr(ctypes.CDLL(None), "chaos_begin"):
        _reason = None
        _forget()
    else:
        _reason = _start_again()


def reason_not_loaded() -> str | None:
    """Why the library is not in this process; None where it is."""
    return _reason


def _start_again() -> str:
    """Compile the library and execute this program with it; returns only where that is not possible, and why."""
    if not sys.platform.startswith("linux"):
        return "kill points and disk faults need Linux"
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return "kill points and disk faults need a C compiler (cc)"
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
    fault: Fault = NONE,
    *,
    record: bool = False,
    stdin: bytes = b"",
    seconds: float = 120,
    before: Callable[[], object] = lambda: None,
) -> Watched:
    """Run a command in a child, in `folder`, below which its operations are counted and the fault happens.

    `before` is called in the child first; its operations are not counted.
    """
    memory = mmap.mmap(-1, ctypes.sizeof(_Control))
    control = _Control.from_buffer(memory)
    control.mode, control.point, control.error = fault.mode, fault.point, fault.error
    with tempfile.TemporaryFile() as trace:
        begin = _beginner(folder, control, trace.fileno() if record else -1)

        def prepare() -> None:
            before()
            begin()

        ended = run_command(arguments, stdin=stdin, folder=folder, before=prepare, seconds=seconds)
        trace.seek(0)
        steps = _read_steps(trace.read())
    operation = f"{Operation(control.operation).name} {os.fsdecode(control.path)}" if control.reached else ""
    operation = operation.replace(f"{folder}/", "")
    return Watched(ended, control.count, bool(control.reached), operation, steps)


def _beginner(folder: Path, control: _Control, trace: int) -> Callable[[], None]:
    begin = ctypes.CDLL(None).chaos_begin
    begin.argtypes, begin.restype = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int), None
    root = os.fsencode(os.path.realpath(folder))

    def call() -> None:
        begin(root, ctypes.addressof(control), trace)

    return call


def _read_steps(trace: bytes) -> list[Step]:
    steps, at = [], 0
    while at < len(trace):
        operation, first, second, _, number, inode, offset, size = _STEP.unpack_from(trace, at)
        at += _STEP.size
        path, to = trace[at : at + first], trace[at + first : at + first + second]
        at += first + second
        length = size if operation == Operation.WRITE else 0
        data = trace[at : at + length]
        at += length
        steps.append(Step(number, Operation(operation), os.fsdecode(path), os.fsdecode(to), inode, offset, size, data))
    return steps
