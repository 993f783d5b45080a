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
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, NamedTuple, TextIO, cast, overload

import zstandard

from dragoman.errors import InputError

STANDARD_STREAM = "-"
_DAMAGE = (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)
_BUFFER = 1 << 16  # bytes; what is read ahead of the line asked for
_CHUNK = 1 << 13  # bytes of a .zst file that are decompressed together


def read_lines(path: str | Path, on_undecodable: OnUndecodable | None = None) -> Iterator[str]:
    """Yield the lines of a file, or of standard input for "-", without their line ends.

    A carriage return before the line end and a byte order mark before the first line are dropped; a last line
    without a line end counts.

    Args:
        on_undecodable: called with each line that is not UTF-8, before it is yielded. A private-use character then
            stands for each byte that is not text; see `holds_bytes` and `bytes_shown`.

    Raises:
        InputError: the file is missing, a folder, unreadable, or a damaged archive; it is UTF-16 or UTF-32; or a line
            is not UTF-8, and `on_undecodable` is None.
    """
    name = _name(path)
    try:
        with _open_binary(path) as stream:
            for number, raw in enumerate(stream, 1):
                yield _decode(raw, path, number, on_undecodable)
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
    """The error for a file or folder that does not exist, with the most similar name that does."""
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
    """Decompressed bytes of a .zst file of one or more frames; raises if it is truncated, unlike the library's."""

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
                    raise EOFError("it ends within a frame")
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


class UndecodableLine(NamedTuple):
    """A line that is not UTF-8."""

    path: str | Path
    """As given by the caller."""
    number: int
    """From 1."""
    raw: bytes
    """Without its line end."""
    first: int
    """Position in `raw` of the first byte that is not UTF-8, from 0."""

    @property
    def fault(self) -> str:
        """The first such byte and its position, counted from 1, as text for messages."""
        return f"byte 0x{self.raw[self.first]:02x} at position {self.first + 1}"

    def error(self) -> InputError:
        """The error to raise where the line is needed as text."""
        what = f"{self.fault} is not UTF-8"
        return InputError(f"{_name(self.path)}:{self.number}: {what}; convert the file, for example with iconv")


OnUndecodable = Callable[[UndecodableLine], None]
"""Called with each line that is not UTF-8, before it is yielded."""

_BYTES = 0x10FF00  # and the byte: private characters, which pass through JSON and the columns of a table unchanged
_BYTE = re.compile(f"[{chr(_BYTES + 0x80)}-{chr(_BYTES + 0xFF)}]")
_STAND_INS = {0xDC00 + byte: _BYTES + byte for byte in range(0x80, 0x100)}  # "surrogateescape" has U+DC80 for 0x80


def has_raw_bytes(text: str) -> bool:
    """Whether text of an undecodable line holds private-use characters that stand for bytes."""
    return _BYTE.search(text) is not None


def escape_raw_bytes(text: str) -> str:
    """Such text with its bytes written as \\xe9, for printing."""
    return _BYTE.sub(lambda found: f"\\x{ord(found[0]) - _BYTES:02x}", text)


def _decode(raw: bytes, path: str | Path, number: int, on_undecodable: OnUndecodable | None) -> str:
    """Decode a line; `number` counts from 1."""
    if raw.endswith(b"\n"):
        raw = raw[:-2] if raw.endswith(b"\r\n") else raw[:-1]
    elif raw.endswith(b"\r"):
        raw = raw[:-1]
    if number == 1:
        wide = _wide_encoding(raw)
        if wide is not None:
            # Its name without LE and BE makes iconv look at the byte order mark, and drop it.
            kind = wide.removesuffix("LE").removesuffix("BE")
            raise InputError(
                f"{_name(path)}:1: this is {kind}, not UTF-8; convert the file, for example with "
                f"iconv -f {wide} -t UTF-8"
            )
        raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = UndecodableLine(path, number, raw, error.start)
    if on_undecodable is None:
        raise line.error()
    on_undecodable(line)
    return raw.decode("utf-8", "surrogateescape").translate(_STAND_INS)


def _wide_encoding(raw: bytes) -> str | None:
    """UTF-16 or UTF-32 if the first line of a file is so encoded: by its byte order mark, or the NULs beside ASCII."""
    if raw.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "UTF-32"
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    even, odd = raw[::2].count(0), raw[1::2].count(0)
    if even + odd < max(2, len(raw) / 4):
        return None
    if even and odd:
        return "UTF-32BE" if raw[0] == 0 else "UTF-32LE"
    return "UTF-16BE" if even else "UTF-16LE"


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
