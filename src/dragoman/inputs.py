"""The files that a command reads, and the refusal to write onto them.

A command never replaces a file that it reads, whatever the two are called: the same name, another path, a symbolic
link or a hard link. Nobody has to compare names for that. Whatever opens a file for reading notes it here by device
and inode (`note_input`), whatever replaces a file asks here first (`require_no_input`), and tests/test_inputs.py
refuses code that opens files in another way. The options that name output files are known here before the command
begins, so that it ends at the moment when it opens one of them for reading, before hours of work.

What may be replaced although it was read:

- The files of a folder that the command holds the write lock of (`owning`): a training reads and replaces the states
  and the configuration of its run, `cluster` the records of its outputs. A file that was also read under a name
  outside of that folder is not replaced.
- What the command has written itself, and what it has read only to see whether it may replace it (`unnoted`).
- The file that a command is there to change: `smt tune` without `--output` puts the weights into the moses.ini of the
  system (`replace_file(..., edits=True)`).

A folder of a model may get new files, such as pictures, and a new report.html; its other files count as read, all of
them, when the model is opened. `--overwrite` replaces an older run or exported folder only if no input lies in it.
Files that are appended to (log.jsonl, the scores of `phrase-table`) have names and heads of their own, and a file
without them is refused.

Only a command is watched. A program in Python that calls the functions of the package decides itself in which order it
reads and writes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dragoman.errors import ConfigError, InputError

STANDARD_STREAM = "-"
"""The name that stands for standard input or output."""

_Identity = tuple[int, int]


class _Command:
    """What a command reads and writes."""

    def __init__(self, outputs: Sequence[str]) -> None:
        self.outputs = outputs
        """The files that its options name, whether they exist or not."""
        self.inputs: dict[_Identity, set[str]] = {}
        """The files that it has read, with the real paths under which it opened them."""
        self.written: set[_Identity] = set()
        """The files that it has put into their places."""
        self.owned: list[str] = []
        """The real paths of folders whose lock it holds."""
        self.reads_standard_input = False
        self.pipes: set[_Identity] = set()
        """The pipes that it has opened for reading."""


_command: _Command | None = None


@contextmanager
def inputs_protected(outputs: Sequence[str]) -> Iterator[None]:
    """A block in which a command runs that is to write the given files.

    Raises:
        ConfigError: two outputs are the same file; or, from what the block calls, an output is an input.
        InputError: the folder of an output does not exist, which hours of work would come before.
    """
    global _command
    paths: list[str] = []
    for name in outputs:
        path = STANDARD_STREAM if is_standard_output(name) else os.path.realpath(name)
        if path in paths:
            raise ConfigError(f"{name}: is given for two outputs; each needs a file of its own")
        if path != STANDARD_STREAM and not os.path.isdir(os.path.dirname(path)):
            raise InputError(f"{name}: cannot be written: No such file or directory")
        paths.append(path)
    outer, _command = _command, _Command(outputs)
    try:
        yield
    finally:
        _command = outer


def note_input(path: str | Path, status: os.stat_result) -> None:
    """Note a file that has been opened for reading; only regular files can be lost, only pipes are read once.

    Raises:
        ConfigError: it is an output of the command, or a pipe that another input of the command reads.
    """
    if _command is not None and stat.S_ISFIFO(status.st_mode):
        if _identity(status) in _command.pipes:
            raise ConfigError(f"{path}: is a pipe that is read twice; give a file for all but one of the inputs")
        _command.pipes.add(_identity(status))
    if _command is None or not stat.S_ISREG(status.st_mode) or _identity(status) in _command.written:
        return
    for output in _command.outputs:
        if _refers_to(output, status):
            raise _destroyed(output)
    name = str(path)
    _command.inputs.setdefault(_identity(status), set()).add(
        name if name == STANDARD_STREAM else os.path.realpath(name)
    )


def note_standard_input() -> None:
    """Note that standard input is opened, whose lines are those of one input.

    Raises:
        ConfigError: another input of the command reads it.
    """
    if _command is None:
        return
    if _command.reads_standard_input:
        raise ConfigError("standard input is read twice; give a file for all but one of the inputs")
    _command.reads_standard_input = True


def note_input_at(path: str | Path) -> None:
    """Note a file that a library opens by its name, or that is read later; one that does not exist is ignored.

    Raises:
        ConfigError: it is an output of the command.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # whoever opens it says why it cannot be read
        return
    if not stat.S_ISFIFO(status.st_mode):  # a pipe is noted when it is read
        note_input(path, status)


def noted_inputs() -> list[Path]:
    """The real paths of the files that the command has read so far."""
    read = () if _command is None else _command.inputs.values()
    return [Path(path) for paths in read for path in sorted(paths) if path != STANDARD_STREAM]


def require_no_input(path: str | Path, name: str | None = None) -> None:
    """Refuse to replace a file that the command reads.

    Args:
        name: the output as the user gave it.

    Raises:
        ConfigError: it is an input.
    """
    if _command is None:
        return
    try:
        status = os.stat(path)
    except OSError:
        return
    read = () if _identity(status) in _command.written else _command.inputs.get(_identity(status), ())
    # A number of a file that has been removed is given to another file.
    present = {one for one in read if one == STANDARD_STREAM or _refers_to(one, status)}
    owned = any(_lies_in(folder, os.path.realpath(path), *present) for folder in _command.owned)
    if present and not owned:
        raise _destroyed(str(path) if name is None else name)


def require_no_input_in(folder: Path) -> None:
    """Refuse to replace a folder that has a file that the command reads.

    Raises:
        ConfigError: there is one.
    """
    if _command is None:
        return
    for parent, _, names in os.walk(folder):
        for name in names:
            require_no_input(os.path.join(parent, name))


def note_written(status: os.stat_result) -> None:
    """Note a file that the command has put into its place, which it may replace again."""
    if _command is not None:
        _command.written.add(_identity(status))


@contextmanager
def unnoted() -> Iterator[None]:
    """A block, or as a decorator a function, that looks at what is to be replaced: what it reads is no input."""
    global _command
    outer, _command = _command, None
    try:
        yield
    finally:
        _command = outer


@contextmanager
def owning(folder: Path) -> Iterator[None]:
    """A block in which the command holds the lock of a folder: it may replace there what it has read there."""
    if _command is None:
        yield
        return
    command, path = _command, os.path.realpath(folder)
    command.owned.append(path)
    try:
        yield
    finally:
        command.owned.remove(path)


def is_standard_output(path: str | Path) -> bool:
    """Whether a name, such as "-" or /dev/stdout, refers to the file, pipe or terminal of standard output."""
    if str(path) == STANDARD_STREAM:
        return True
    return _refers_to(STANDARD_STREAM, os.stat(path)) if os.path.exists(path) else False


def _identity(status: os.stat_result) -> _Identity:
    return status.st_dev, status.st_ino


def _refers_to(name: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(1) if name == STANDARD_STREAM else os.stat(name), status)
    except OSError:
        return False


def _lies_in(folder: str, *paths: str) -> bool:
    return all(path != STANDARD_STREAM and os.path.commonpath((folder, path)) == folder for path in paths)


def _destroyed(name: str) -> ConfigError:
    shown = "standard output" if name == STANDARD_STREAM else name
    return ConfigError(f"{shown}: is both an input and an output, so it would be destroyed; give another file")
