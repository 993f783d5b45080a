"""Input files: found by patterns, opened where they lie, and compared with what they were.

A name with "://" (s3://, gs://, hdfs://, file://) is opened by pyarrow, any other by the operating system.
"""

from __future__ import annotations

import fnmatch
import glob
import io
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, cast

from msgspec import Struct

from dragoman.errors import InputError, reason_of
from dragoman.inputs import note_input_at
from dragoman.stored_files import open_regular
from dragoman.text.lines import not_found

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

_BUFFER = 1 << 20  # bytes that are read ahead from a remote file


class InputFile(Struct, frozen=True):
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
            system, path = _file_system(self.path)
            return cast(BinaryIO, io.BufferedReader(system.open_input_file(path), _BUFFER))
        except FileNotFoundError:
            raise InputError(f"{self.path}: has disappeared") from None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {reason_of(error)}") from None

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


@dataclass(frozen=True)
class Inputs:
    """The input files of one output file."""

    files: Sequence[InputFile]

    @property
    def name(self) -> str:
        """The name of the output file: that of the first input."""
        return self.files[0].name

    @property
    def bytes(self) -> int:
        """The size of the first file, by which progress is measured."""
        return self.files[0].size


def find_inputs(patterns: Sequence[str]) -> list[InputFile]:
    """Find the files that the patterns match, in the order of the patterns and sorted within each.

    Raises:
        InputError: a pattern matches no file, or a file cannot be opened.
    """
    return list({file.path: file for pattern in patterns for file in _matching(pattern)}.values())


def find_file(path: str) -> InputFile:
    """Find a file by its name.

    Raises:
        InputError: there is no such file, or it is a folder.
    """
    try:
        if _is_remote(path):
            system, inner = _file_system(path)
            return _remote_file(path, system.get_file_info(inner))
        status = os.stat(path)
    except FileNotFoundError:
        raise not_found(path) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {reason_of(error)}") from None
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{path}: is a folder; give a pattern for its files, such as '{path.rstrip('/')}/*'")
    note_input_at(path)
    return InputFile(path, status.st_size, status.st_mtime_ns)


def _matching(pattern: str) -> list[InputFile]:
    remote = _is_remote(pattern)
    folder, _, last = pattern.rpartition("/")
    if not set("*?[").intersection(last if remote else pattern) or (not remote and os.path.exists(pattern)):
        return [find_file(pattern)]
    if remote:
        files = _remote_files(folder, last)
    else:
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

    system, inner = _file_system(folder)
    try:
        entries = system.get_file_info(fs.FileSelector(inner))
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error}") from None
    files = {entry.base_name: entry for entry in entries if entry.is_file}
    return [_remote_file(f"{folder}/{name}", files[name]) for name in sorted(fnmatch.filter(files, pattern))]


def _remote_file(path: str, info: FileInfo) -> InputFile:
    if not info.is_file:
        raise InputError(f"{path}: {'does not exist' if info.type.name == 'NotFound' else 'is not a file'}")
    return InputFile(path, info.size or 0, info.mtime_ns or 0)
