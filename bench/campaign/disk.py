"""A disk that is full, over its quota, read-only or faulty, at every operation that changes a file."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from campaign.children import Ended
from campaign.interposer import Fault, Mode, Operation, run_watched
from campaign.result import Result, Settings
from campaign.scenarios import Broken, Course, Training, Trial, try_courses

KINDS = (
    ("the disk is full", Mode.FULL, errno.ENOSPC),
    ("the quota is used up", Mode.FULL, errno.EDQUOT),
    ("an input/output error", Mode.FAIL, errno.EIO),
    ("the disk becomes read-only", Mode.READ_ONLY, errno.EROFS),
    ("a write is done in part", Mode.SHORTEN, 0),
)


def run(settings: Settings) -> list[Result]:
    """Let every operation of every command fail."""
    promise = (
        "A command on a disk that is full, over its quota, faulty or read-only says so in one line that names the "
        "file, with exit code 2; old results stay, nothing unfinished stays without being named, and afterwards the "
        "next command works and a resumed training ends bit for bit like one without a fault."
    )
    return try_courses(Result("disk", promise, "faults of the disk"), settings, _faults, _fail)


def _faults(course: Course) -> list[tuple[str, Fault]]:
    return [
        (kind, Fault(mode, step.number, error))
        for step in course.steps
        for kind, mode, error in KINDS
        if mode != Mode.SHORTEN or (step.operation == Operation.WRITE and len(step.data) > 1)
    ]


def _fail(course: Course, drawn: tuple[str, Fault], folder: Path, trial: Trial) -> str:
    course.fill(folder)
    (kind, fault), scenario = drawn, course.scenario
    trial.update(kind=kind, point=fault.point, mode=fault.mode.name, error=errno.errorcode.get(fault.error, ""))
    watched = run_watched(scenario.command, folder, fault, stdin=scenario.stdin)
    message = watched.ended.message
    trial.update(operation=watched.operation, message=message[-300:])
    _require_reported(watched.ended, fault)
    if watched.ended.code:
        _require_named(course, folder, message, watched.operation if fault.mode == Mode.FAIL else None)
    scenario.require_usable(folder, course.before, course.after)
    if watched.operation.startswith(("UNLINK", "RMDIR")):
        pass  # what could not be removed is there until the next command
    elif watched.ended.code == 0:
        scenario.require_equal(folder, course.after, partial=False)
    elif not isinstance(scenario, Training) and fault.mode != Mode.READ_ONLY:
        scenario.require_no_rest(folder, {**course.before, **course.after}, message)  # one of several may be complete
    scenario.require_going_on(folder, course.after)
    return kind


def _require_reported(ended: Ended, fault: Fault) -> None:
    """One line on standard error that names a file and the reason, and exit code 2; or success despite the fault."""
    if ended.code == 0:
        return
    lines = [line for line in ended.message.splitlines() if line.startswith("dragoman: error: ")]
    if ended.code != 2 or len(lines) != 1:
        raise Broken(f"exit code {ended.code}, {len(lines)} lines of error: {ended.message[-500:]}")
    if os.strerror(fault.error) not in lines[0]:
        raise Broken(f"the message does not say {os.strerror(fault.error)!r}: {lines[0]}")


_TEMPORARY = (
    (re.compile(r"(^|/)\.([^/]+)\.dragoman-[^/]+/(new|old)(?=/|$)"), r"\1\2"),
    (re.compile(r"(^|/)\.([^/]+)\.dragoman(-[^/]+|\.lock)$"), r"\1\2"),
    (re.compile(r"\.partial\d*(?=\.|$)"), ""),
)
"""Names of temporary files, and what the places of their contents are called."""


def _require_named(course: Course, folder: Path, message: str, operation: str | None) -> None:
    """The error begins with the name of a file or folder that a user knows, by the place where it is to be.

    `operation` is the only one that failed: its file is the one that is named, or is in the folder that is named.
    """
    line = next(line for line in message.splitlines() if line.startswith("dragoman: error: "))
    named = line.removeprefix("dragoman: error: ").partition(": ")[0].removeprefix(f"{folder}/")
    if named not in course.scenario.names(course.before, course.after):
        raise Broken(f"the message names {named!r}, not a file or folder that the command reads or writes")
    if operation is None:
        return
    path = operation.partition(" ")[2].removeprefix(str(folder)).removeprefix("/")
    for pattern, place in _TEMPORARY:
        path = pattern.sub(place, path)
    if not f"{path}/".startswith(f"{named}/") and not named.startswith(f"{path}/") and path:
        raise Broken(f"the message names {named!r}, but {path!r} could not be written")
