"""The operations that the interposer numbers, compared with the system calls that strace sees the same process make.

A call that strace sees and the interposer does not is a point at which nothing is killed and nothing fails: a call that
a library makes without the C library, a copy within the kernel, a store to a mapped file, io_uring, another process.
"""

from __future__ import annotations

import ast
import ctypes
import os
import posixpath
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from campaign import interposer
from campaign.interposer import Operation, Step, Watched, run_watched
from campaign.kills import drawn_scenarios
from campaign.result import Result, Settings

_ON_DESCRIPTOR = {
    **dict.fromkeys(("write", "pwrite64", "writev", "pwritev", "pwritev2"), Operation.WRITE),
    **dict.fromkeys(("fsync", "fdatasync"), Operation.FSYNC),
    "ftruncate": Operation.TRUNCATE,
    **dict.fromkeys(("sendfile", "copy_file_range", "splice", "fallocate", "sync_file_range"), Operation.OPAQUE_WRITE),
}
_ON_PATH = {
    **dict.fromkeys(("mkdir", "mkdirat"), Operation.MKDIR),
    **dict.fromkeys(("unlink", "unlinkat"), Operation.UNLINK),
    "rmdir": Operation.RMDIR,
    **dict.fromkeys(("rename", "renameat", "renameat2"), Operation.RENAME),
    **dict.fromkeys(("link", "linkat"), Operation.LINK),
    **dict.fromkeys(("symlink", "symlinkat"), Operation.SYMLINK),
    "truncate": Operation.TRUNCATE,
}
_OPENING = ("open", "openat", "openat2", "creat")
_UNSEEN = ("mmap", "io_uring_setup")
"""What writes without a call; of mmap, shared maps of files that may be written."""
_TRACED = (*_ON_DESCRIPTOR, *_ON_PATH, *_OPENING, *_UNSEEN)
_TARGET = {"copy_file_range": 2, "splice": 2}
"""The place of the descriptor that is written to; 0 for all others."""
_COMPARED = frozenset(Operation) - {Operation.ATTRIBUTES, Operation.CLOSE}

_PR_SET_PTRACER, _ANY = 0x59616D61, ctypes.c_ulong(-1)


class Change(NamedTuple):
    """A change of a file or a name below the folder."""

    operation: Operation
    path: str
    to: str = ""


def run(settings: Settings) -> list[Result]:
    """Watch every command in both ways."""
    result = Result(
        "calls",
        "Every system call of a command that changes a file, as strace sees it, is numbered by the interposer.",
        "system calls",
    )
    if (reason := interposer.reason_not_loaded() or reason_without_strace()) is not None:
        print(f"calls: left out: {reason}")
        return []
    listed = drawn_scenarios(settings)
    for scenario in listed if settings.trials is None else listed[: settings.trials]:
        if settings.is_over():
            break
        folder = settings.scratch / "trial"
        folder.mkdir()
        scenario.fill(folder)
        watched, calls = compared(scenario.command, folder, settings.scratch / "strace", stdin=scenario.stdin)
        if watched.ended.code:
            raise RuntimeError(f"{scenario.name}: fails under strace: {watched.ended.message}")
        numbered = Counter(changes_of(watched.steps))
        for call in calls:
            result.trials += 1
            if numbered[call] == 0:
                shown = f"{call.operation.name} {call.path} {call.to}".strip().replace(f"{folder}/", "")
                result.fail(f"not numbered: {shown}", scenario=scenario.name, command=" ".join(scenario.command))
            numbered[call] -= 1
        result.facts[scenario.name] = len(calls)
        shutil.rmtree(folder)
    return [result]


def reason_without_strace() -> str | None:
    """Why processes cannot be observed here; None if they can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else f"strace cannot observe a process here: {tried.stderr.strip()}"


def compared(arguments: Iterable[str], folder: Path, log: Path, *, stdin: bytes = b"") -> tuple[Watched, list[Change]]:
    """Run a command in `folder` under the interposer and strace; gives what each saw."""
    existing = {str(path) for path in folder.resolve().rglob("*")}
    ends, held = os.pipe()
    try:
        watched = run_watched(
            list(arguments), folder, record=True, stdin=stdin, seconds=600, before=_attaching(log, held)
        )
    finally:
        os.close(held)
    os.read(ends, 1)  # ends with strace, which holds the other end
    os.close(ends)
    return watched, list(changes_in(log.read_text("utf-8", "backslashreplace"), folder.resolve(), existing))


def _attaching(log: Path, held: int) -> Callable[[], None]:
    """A function that lets strace observe the process that calls it; `held` is closed when strace ends."""
    command = ["strace", "-f", "-y", "-s", "0", "-e", f"trace={','.join(_TRACED)}", "-o", str(log), "-p"]

    def attach() -> None:
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _ANY, 0, 0, 0)
        said = os.pipe()  # not closed here: strace goes on to write there
        subprocess.Popen([*command, str(os.getpid())], stderr=said[1], pass_fds=(held,))
        first = os.read(said[0], 4096)
        if b"attached" not in first:
            raise RuntimeError(first.decode())

    return attach


def changes_of(steps: Iterable[Step]) -> Iterator[Change]:
    """What the interposer has recorded."""
    for step in steps:
        if step.operation in _COMPARED:
            yield Change(step.operation, step.path, step.to)


# The lines of strace --------------------------------------------------------------------------------------------------

_CALL = re.compile(r"(\d+) +(\w+)\((.*)\) += (\S+)(.*)")
_DESCRIPTOR = re.compile(r"(?:AT_FDCWD|\d+)<((?:[^>\\]|\\.)*)>")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def changes_in(log: str, folder: Path, existing: set[str]) -> Iterator[Change]:
    """The changes below `folder` in the log of strace; `existing` are the paths there at the beginning."""
    existing = set(existing)
    for name, arguments, result in _calls(log):
        for change in _changes(name, arguments, result, str(folder), existing):
            if any(path == str(folder) or path.startswith(f"{folder}/") for path in (change.path, change.to)):
                _follow(change, existing, exchange="RENAME_EXCHANGE" in arguments)
                yield change


def _calls(log: str) -> Iterator[tuple[str, str, str]]:
    """Name, arguments and result of each call that succeeded; lines that another thread has interrupted are joined."""
    begun: dict[str, str] = {}
    for line in log.splitlines():
        process = line.partition(" ")[0]
        if line.endswith(" <unfinished ...>"):
            begun[process] = line.removesuffix(" <unfinished ...>")
            continue
        resumed = re.match(r"\d+ +<\.\.\. \w+ resumed>", line)
        if resumed:
            line = begun.pop(process) + line[resumed.end() :]
        found = _CALL.fullmatch(line)
        if found and not found[4].startswith(("-1", "?")):
            yield found[2], found[3], found[4] + found[5]


def _changes(name: str, arguments: str, result: str, folder: str, existing: set[str]) -> Iterator[Change]:
    if name == "io_uring_setup":
        yield Change(Operation.OPAQUE_WRITE, folder)
    elif name == "mmap":
        found = _DESCRIPTOR.search(arguments)
        if found and "MAP_SHARED" in arguments and "PROT_WRITE" in arguments:
            yield Change(Operation.OPAQUE_WRITE, _plain(found[1]))
    elif name in _ON_DESCRIPTOR:
        found = _DESCRIPTOR.findall(arguments)
        yield Change(_ON_DESCRIPTOR[name], _plain(found[1] if name in _TARGET else found[0]))
    else:
        paths = _paths(arguments, folder)
        if name not in _OPENING:
            operation = Operation.RMDIR if "AT_REMOVEDIR" in arguments else _ON_PATH[name]
            made = paths[-1:] if operation == Operation.SYMLINK else paths
            yield Change(operation, *made)
        elif paths[0] not in existing and ("O_CREAT" in arguments or name == "creat") and "O_TMPFILE" not in arguments:
            yield Change(Operation.CREATE, paths[0])
        elif paths[0] in existing and ("O_TRUNC" in arguments or name == "creat"):
            yield Change(Operation.TRUNCATE, paths[0])


def _paths(arguments: str, folder: str) -> list[str]:
    """The absolute paths of a call: each relative one is below the descriptor before it, or the folder."""
    paths, base, at = [], folder, 0
    while at < len(arguments):
        if found := _DESCRIPTOR.match(arguments, at):
            base, at = _plain(found[1]), found.end()
        elif found := _STRING.match(arguments, at):
            paths.append(posixpath.join(base, _plain(found[1])))
            base, at = folder, found.end()
        else:
            at += 1
    return paths


def _plain(text: str) -> str:
    """A path without the escapes of strace."""
    return os.fsdecode(ast.literal_eval(f'b"{text}"'))


def _follow(change: Change, existing: set[str], *, exchange: bool) -> None:
    """Keep the set of existing paths up to date."""
    match change.operation:
        case Operation.CREATE | Operation.MKDIR | Operation.SYMLINK:
            existing.add(change.path)
        case Operation.LINK:
            existing.add(change.to)
        case Operation.UNLINK | Operation.RMDIR:
            existing.discard(change.path)
        case Operation.RENAME:
            moved, replaced = (_below(path, existing) for path in (change.path, change.to))
            existing -= moved | replaced
            existing |= {change.to + path[len(change.path) :] for path in moved}
            if exchange:
                existing |= {change.path + path[len(change.to) :] for path in replaced}


def _below(top: str, paths: Iterable[str]) -> set[str]:
    return {path for path in paths if path == top or path.startswith(f"{top}/")}
