"""Lines of any file or stream, and files that are replaced whole or not at all.

A line ends at "\\n" and nowhere else: U+2028, U+0085, form feeds and the like occur inside the lines of real
corpora, and a reader that breaks there shifts every later pair. Files are read and written as a stream, so a
corpus larger than memory works. Names ending in .gz, .xz and .zst are compressed; "-" is standard input or output.
"""

from __future__ import annotations

import difflib
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, TextIO, cast, overload

import zstandard

from dragoman.errors import InputError

STANDARD_STREAM = "-"
_DAMAGE = (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)
_BUFFER = 1 << 16  # bytes; what is read ahead of the line asked for
_CHUNK = 1 << 13  # bytes of a .zst file that are decompressed together


def read_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a file, or of standard input for "-", without their line ends.

    A carriage return before the line end and a byte order mark before the first line are dropped; a last line
    without a line end counts.

    Raises:
        InputError: the file is missing, a folder, unreadable, or a damaged archive; or a line is not UTF-8.
    """
    name = _name(path)
    try:
        with _open_binary(path) as stream:
            for number, raw in enumerate(stream, 1):
                yield _decode(raw, name, number)
    except FileNotFoundError:
        raise not_found(path) from None
    except IsADirectoryError:
        raise InputError(f"{name}: is a folder; give a file") from None
    except _DAMAGE as error:
        kind = Path(path).suffix
        raise InputError(f"{name}: damaged, or not a {kind} file at all ({error}); make or fetch it again") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}") from None


def not_found(path: str | Path) -> InputError:
    """The error for a file or folder that does not exist, naming the nearest thing that does."""
    missing = Path(path)
    while not missing.parent.exists():
        missing = missing.parent
    readable = missing.parent.is_dir() and os.access(missing.parent, os.R_OK)
    names = sorted(os.listdir(missing.parent)) if readable else []
    nearest = difflib.get_close_matches(missing.name, names, n=1)
    where = "" if missing == Path(path) else f", nor does {missing}"
    hint = f"; did you mean {missing.parent / nearest[0]}?" if nearest else ""
    return InputError(f"{path}: does not exist{where}{hint}")


def _name(path: str | Path, stream: str = "standard input") -> str:
    return stream if str(path) == STANDARD_STREAM else str(path)


class _ZstandardFile(io.RawIOBase):
    """Decompressed bytes of a .zst file of one or more frames; unlike the library's reader, notices a cut end."""

    def __init__(self, path: str | Path) -> None:
        self._file = open(path, "rb")  # noqa: SIM115  close() closes it
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._compressed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            compressed = self._compressed or self._file.read(_CHUNK)
            if not compressed:
                if self._frame is not None:
                    raise EOFError("it ends in mid-frame")
                return 0
            if self._frame is None:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._ready = memoryview(self._frame.decompress(compressed))
            self._compressed = b""
            if self._frame.eof:
                self._compressed, self._frame = self._frame.unused_data, None
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


_READERS: dict[str, Callable[[str | Path], Any]] = {".gz": gzip.open, ".xz": lzma.open, ".zst": _ZstandardFile}


def _open_binary(path: str | Path) -> AbstractContextManager[BinaryIO]:
    if str(path) == STANDARD_STREAM:
        return nullcontext(sys.stdin.buffer)
    decompress = _READERS.get(Path(path).suffix)
    return open(path, "rb", _BUFFER) if decompress is None else io.BufferedReader(decompress(path), _BUFFER)


def _decode(raw: bytes, name: str, number: int) -> str:
    """One line as text; `number` counts from 1."""
    if raw.endswith(b"\n"):
        raw = raw[:-2] if raw.endswith(b"\r\n") else raw[:-1]
    elif raw.endswith(b"\r"):
        raw = raw[:-1]
    if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
        raw = raw[3:]
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        what = f"byte 0x{raw[error.start]:02x} at position {error.start + 1} is not UTF-8"
        if number == 1 and raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
            what = "this is UTF-16, not UTF-8"
        raise InputError(f"{name}:{number}: {what}; convert the file, for example with iconv") from None


@overload
def replace_file(path: str | Path, *, binary: Literal[False] = False) -> AbstractContextManager[TextIO]: ...
@overload
def replace_file(path: str | Path, *, binary: Literal[True]) -> AbstractContextManager[BinaryIO]: ...
def replace_file(path: str | Path, *, binary: bool = False) -> AbstractContextManager[Any]:
    """Give an open file that takes the place of `path` at the end of a successful `with` block.

    Until then everything goes to a file beside it, which reaches the disk before it is renamed. When the block
    fails, when the disk is full or the power goes, the old file is as it was. A symbolic link stays one.

    Raises:
        InputError: the folder is missing or may not be written to, or the disk is full.
    """
    return _replacing(Path(os.path.realpath(path)), name=str(path), binary=binary)


@contextmanager
def _replacing(path: Path, name: str, *, binary: bool) -> Iterator[IO[Any]]:
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    file: IO[Any] | None = None
    try:
        file = beside.open("wb") if binary else beside.open("w", encoding="utf-8", newline="\n")
        yield file
        file.flush()
        os.fsync(file.fileno())
        file.close()
        os.replace(beside, path)
        _sync_folder(path.parent)
    except BaseException as error:
        if file is not None:
            with suppress(OSError):  # closing flushes again, and fails again on a full disk
                file.close()
        with suppress(OSError):
            beside.unlink()
        # An OSError that names some other file is not about ours.
        if isinstance(error, OSError) and error.filename in (None, str(beside)):
            kept = "; the old file is unchanged" if path.exists() else ""
            raise InputError(f"{name}: cannot be written: {error.strerror}{kept}") from error
        raise


def _sync_folder(folder: Path) -> None:
    """Make a rename in the folder survive a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def open_output(path: str | Path) -> Iterator[TextIO]:
    """Give a text stream to a file (compressed if its name says so), or to standard output for "-".

    What is written is there for a reader at once, unlike with `replace_file`. A closed pipe stays a
    BrokenPipeError, because the reader has simply had enough.

    Raises:
        InputError: the file cannot be opened or written, for example because the disk is full.
    """
    name = _name(path, "standard output")
    try:
        with _create_binary(path) as raw:
            text = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
            try:
                yield text
                text.flush()
            finally:
                with suppress(OSError, ValueError):  # after a failed write there is an error to report already
                    text.detach()
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename not in (None, str(path)):
            raise
        raise InputError(f"{name}: cannot be written: {error.strerror}") from error


@contextmanager
def replace_output(path: str | Path) -> Iterator[TextIO]:
    """Like `open_output`, but a file takes the place of `path` only at the end of a successful `with` block.

    Raises:
        InputError: the file cannot be opened or written, for example because the disk is full.
    """
    if str(path) == STANDARD_STREAM:
        with open_output(path) as text:
            yield text
        return
    final = Path(os.path.realpath(path))
    if not final.parent.is_dir():
        raise not_found(final.parent)
    beside = final.with_name(f".{final.stem}.{os.getpid()}.new{final.suffix}")  # its ending says how to compress
    try:
        with open_output(beside) as text:
            yield text
        os.replace(beside, final)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def _create_binary(path: str | Path) -> AbstractContextManager[BinaryIO]:
    if str(path) == STANDARD_STREAM:
        return nullcontext(sys.stdout.buffer)
    compress = _WRITERS.get(Path(path).suffix)
    return open(path, "wb") if compress is None else cast(BinaryIO, compress(path, "wb"))


_WRITERS: dict[str, Callable[[str | Path, str], Any]] = {
    # The level of the program gzip: of a phrase table a sixth of the time that Python's 9 takes, and 4% more bytes.
    ".gz": partial(gzip.open, compresslevel=6),
    ".xz": lzma.open,
    ".zst": zstandard.open,
}


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Write each line and a line end, as `open_output` does; no line holds a line end itself."""
    with open_output(path) as file:
        for line in lines:
            assert "\n" not in line
            file.write(line + "\n")


def is_compressed(path: str | Path) -> bool:
    """Whether the name of a file says that it is compressed."""
    return Path(path).suffix in _READERS
