"""The input files of a command: found by patterns, opened where they lie, and compared with what they were.

A name with "://" (s3://, gs://, hdfs://, file://) is opened by pyarrow, any other by the operating system.
"""

from __future__ import annotations

import fnmatch
import glob
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from dragoman.errors import InputError
from dragoman.inputs import note_input
from dragoman.stored_files import open_regular
from dragoman.text.lines import UndecodableLine, decompressed, not_found, read_lines

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

WILDCARDS = "*?["
_BUFFER = 1 << 20  # bytes that are read ahead from a remote file


@dataclass(frozen=True)
class InputFile:
    """A file as it was when the command began."""

    path: str
    size: int
    """Bytes as stored."""
    modified: int
    """Nanoseconds since 1970; 0 where the file system does not say."""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rstrip("/").rpartition("/")[2]

    def open(self) -> BinaryIO:
        """Open the stored bytes.

        Raises:
            InputError: it cannot be opened, or is no longer the file that it was.
        """
        self.require_unchanged()
        try:
            if not _is_remote(self.path):
                return open_regular(self.path)
            system, place = _file_system(self.path)
            return cast(BinaryIO, io.BufferedReader(system.open_input_file(place), _BUFFER))
        except FileNotFoundError:
            raise InputError(f"{self.path}: has disappeared") from None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror or error}") from None

    def require_unchanged(self) -> None:
        """Refuse a file that is no longer what it was.

        Raises:
            InputError: it has disappeared, or its size or its time of modification has changed.
        """
        try:
            now = find_file(self.path)
        except InputError:
            raise InputError(
                f"{self.path}: has disappeared while the command ran; put it back and give the command again"
            ) from None
        if now != self:
            raise InputError(
                f"{self.path}: has changed while the command ran; give the command again when nobody writes to it"
            )


class Text(NamedTuple):
    """A line of an input file."""

    line: str
    fault: str | None
    """Why it cannot be read; None where it can."""


def read_texts(file: InputFile, stored: BinaryIO) -> Iterator[Text]:
    """The lines of a file that is open; a line that is not UTF-8 is empty and has a fault.

    Raises:
        InputError: as for `read_lines`.
    """
    faults: list[str] = []

    def note(line: UndecodableLine) -> None:
        faults.append(f"{line.fault} is not UTF-8")

    for line in read_lines(file.path, note, stream=decompressed(stored, file.path)):
        yield Text("", faults.pop()) if faults else Text(line, None)


def find_inputs(patterns: Sequence[str]) -> list[InputFile]:
    """The files that the patterns match, in the order of the patterns and sorted within each.

    Raises:
        InputError: a pattern matches no file, or a file cannot be opened.
    """
    return list({file.path: file for pattern in patterns for file in _matching(pattern)}.values())


def find_file(path: str) -> InputFile:
    """A file by its name.

    Raises:
        InputError: there is no such file, or it is a folder.
    """
    if _is_remote(path):
        system, place = _file_system(path)
        try:
            return _remote_file(path, system.get_file_info(place))
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error}") from None
    try:
        stat = os.stat(path)
    except FileNotFoundError:
        raise not_found(path) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if os.path.isdir(path):
        raise InputError(f"{path}: is a folder; give a pattern for its files, such as '{path.rstrip('/')}/*'")
    note_input(path, stat)
    return InputFile(path, stat.st_size, stat.st_mtime_ns)


def _matching(pattern: str) -> list[InputFile]:
    if _is_remote(pattern):
        folder, _, last = pattern.rpartition("/")
        if not any(sign in last for sign in WILDCARDS):
            return [find_file(pattern)]
        files = _remote_files(folder, last)
    else:
        if os.path.exists(pattern) or not any(sign in pattern for sign in WILDCARDS):
            return [find_file(pattern)]
        files = [find_file(path) for path in sorted(glob.glob(pattern)) if not os.path.isdir(path)]
    if not files:
        raise InputError(f"{pattern}: no file matches this pattern")
    return files


def _is_remote(path: str) -> bool:
    return "://" in path


def _file_system(path: str) -> tuple[FileSystem, str]:
    """The file system of a URI, and the path in it.

    Raises:
        InputError: pyarrow knows no such file system, or cannot reach it.
    """
    from pyarrow import fs

    try:
        return fs.FileSystem.from_uri(path)  # type: ignore[no-any-return]
    except (OSError, ValueError, NotImplementedError) as error:
        raise InputError(f"{path}: cannot be opened: {error}") from None


def _remote_files(folder: str, pattern: str) -> list[InputFile]:
    from pyarrow import fs

    system, place = _file_system(folder)
    try:
        found = system.get_file_info(fs.FileSelector(place))
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error}") from None
    names = [info for info in found if fnmatch.fnmatchcase(info.base_name, pattern) and info.is_file]
    return [_remote_file(f"{folder}/{info.base_name}", info) for info in sorted(names, key=lambda info: info.base_name)]


def _remote_file(path: str, info: FileInfo) -> InputFile:
    if not info.is_file:
        raise InputError(f"{path}: {'does not exist' if info.type.name == 'NotFound' else 'is not a file'}")
    return InputFile(path, info.size or 0, info.mtime_ns or 0)
