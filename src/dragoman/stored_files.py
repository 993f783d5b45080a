"""Reading the files of runs, stored corpora and exported folders, which may be damaged, altered, or no files at all.

`open_regular` never waits for a FIFO or a device, and notes what it opens as an input. `read_json` reads one of our
JSON files by its type: every key and value is checked, and the message names the file and the key. A file that
`dump_json` wrote has its own SHA-256 in the entry "digest", computed over the bytes of the file without the digits of
that entry.
"""

from __future__ import annotations

import errno
import hashlib
import json
import mmap
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import msgspec

from dragoman.errors import RunError
from dragoman.inputs import note_input
from dragoman.systems import BINARY, NON_BLOCKING

LARGEST = 1 << 28
"""The most bytes of a JSON file that are read; that of a stored corpus has 1 MB for each 2 GB of ids."""

_KINDS = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class JsonFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What the JSON files of this module have in common."""

    format: int
    """Version of the file; newer and older ones are refused."""
    digest: str | None = None
    """The SHA-256 of the file; None in files that are written without."""


class _Version(msgspec.Struct):
    format: int


class NewerFormat(RunError):
    """A file has a format that a later version of dragoman wrote."""


File = TypeVar("File", bound=JsonFile)
Value = TypeVar("Value")


def open_regular(path: str | Path) -> BinaryIO:
    """Open a file for reading in binary mode, unless it is something else than a regular file.

    Raises:
        OSError: as for `open`; or it is a FIFO, a socket or a device.
    """
    descriptor = os.open(path, os.O_RDONLY | NON_BLOCKING | BINARY)  # a FIFO would wait for its writer
    try:
        _note_regular(path, os.fstat(descriptor))
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def require_regular(path: str | Path) -> None:
    """Check that a path is a regular file, before a library opens it by its name, and note it as an input.

    Raises:
        OSError: it does not exist, or is a folder, a FIFO, a socket or a device.
    """
    _note_regular(path, os.stat(path))


def _note_regular(path: str | Path, status: os.stat_result) -> None:
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    for is_kind, name in _KINDS:
        if is_kind(mode):
            raise OSError(errno.EINVAL, f"it is {name}, not a regular file", str(path))
    note_input(path, status)


def read_regular(path: str | Path) -> bytes:
    """The contents of a regular file.

    Raises:
        OSError: as for `open_regular`.
    """
    with open_regular(path) as file:
        return file.read()


class Stamp(NamedTuple):
    """What changes with a file."""

    inode: int
    modified: int
    """In nanoseconds."""
    size: int


def stamp_of(path: Path) -> Stamp | None:
    """What changes with a file; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return Stamp(status.st_ino, status.st_mtime_ns, status.st_size)


def sha256_of(path: str | Path) -> str:
    """The SHA-256 of a regular file.

    The file is memory-mapped: allocating memory for all of it would take longer than the digest, and reading in blocks
    would wait for other threads after each block.

    Raises:
        OSError: as for `open_regular`.
    """
    with open_regular(path) as file:
        if not os.fstat(file.fileno()).st_size:  # an empty file cannot be mapped
            return hashlib.sha256().hexdigest()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return hashlib.sha256(content).hexdigest()


def require_digest(path: Path, digest: str, stated_in: str, remedy: str) -> None:
    """Compare a file with the SHA-256 that another one states.

    Raises:
        RunError: it was altered, is missing or cannot be read; `remedy` ends the message.
    """
    try:
        actual = sha256_of(path)
    except FileNotFoundError:
        raise RunError(f"{path}: is missing; {remedy}") from None
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}; {remedy}") from None
    if actual != digest:
        raise RunError(f"{path}: is damaged: its SHA-256 differs from that in {stated_in}; {remedy}")


def model_digest(folder: Path) -> str:
    """SHA-256 of the files of a run folder or an exported folder that translations and scores depend on."""
    digest = hashlib.sha256()
    patterns = ("*.safetensors", "*.onnx", "shortlist.npz", "config.yaml", "confidence.json", "text/*")
    for path in sorted(file for pattern in patterns for file in folder.glob(pattern)):
        digest.update(bytes.fromhex(sha256_of(path)))
    return digest.hexdigest()


def decode_json(content: bytes | str, kind: type[Value]) -> Value:
    """The value of JSON text, checked against a type: true is no number, 1.5 no whole number.

    Raises:
        ValueError: it is not JSON, nested too deeply, or not of that type; the message names the key.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        problem, _, key = str(error).partition(" - at `$")
        key = key.removesuffix("`").removeprefix(".")
        problem = problem.replace("`", "")
        raise ValueError(f"{key}: {problem}" if key else problem) from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ValueError(f"not JSON that can be read ({reason})") from None


def dump_json(values: Mapping[str, Any], *, indent: int | None = None) -> str:
    """The text of a JSON file with its own digest; it ends with a line end."""
    entries = {name: value for name, value in values.items() if name != "digest"}
    text = json.dumps({**entries, "digest": ""}, indent=indent) + "\n"  # last, where it is found again
    before, after = text.rsplit('""', 1)
    return f'{before}"{hashlib.sha256(text.encode()).hexdigest()}"{after}'


def read_json(path: Path, kind: type[File], *, newest: int, oldest: int = 1, remedy: str) -> File:
    """Read and verify a JSON file of ours.

    Args:
        newest, oldest: the formats that are read.
        remedy: what the user can do about a damaged file; the end of messages.

    Raises:
        FileNotFoundError: there is no such file.
        NewerFormat: it has a later format.
        RunError: it is damaged, altered, of an earlier format, or no regular file.
    """
    try:
        with open_regular(path) as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}; {remedy}") from None
    try:
        if len(content) > LARGEST:
            raise ValueError(f"it has more than {LARGEST:,} bytes")
        version = decode_json(content, _Version).format
        if version > newest:
            raise NewerFormat(
                f"{path}: format {version} is newer than this version of dragoman reads ({newest}); upgrade dragoman"
            )
        if version < oldest:
            raise RunError(f"{path}: format {version} is from an earlier version of dragoman; {remedy}")
        value = decode_json(content, kind)
        if value.digest is not None and value.digest != _digest(content, value.digest):
            raise ValueError("its digest does not match its contents")
    except ValueError as error:
        raise RunError(f"{path}: is damaged: {error}; {remedy}") from None
    return value


def _digest(content: bytes, stated: str) -> str:
    """The digest of a file whose entry "digest" is `stated`."""
    return hashlib.sha256(content.replace(f'"{stated}"'.encode(), b'""', 1)).hexdigest()
