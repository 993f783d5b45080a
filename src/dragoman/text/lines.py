"""Reading lines of files and streams, and writing files atomically.

A line ends at "\\n" and nowhere else: U+2028, U+0085, form feeds and the like occur inside the lines of real
corpora, and a reader that breaks there shifts every later pair. Files are read and written as a stream, so a
corpus larger than memory works. Names ending in .gz, .xz and .zst are compressed; "-" is standard input or output.
Fields of lines that are whole numbers are read by `parse_count`.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TextIO, cast, overload

import zstandard

from dragoman.errors import InputError, nearest, reason_of
from dragoman.inputs import (
    STANDARD_STREAM,
    is_standard_output,
    note_input,
    note_standard_input,
    note_written,
    require_no_input,
)
from dragoman.systems import IS_WINDOWS
from dragoman.text.temporary import create_temporary_file, sync_folder

_DAMAGE = (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)
_BUFFER = 1 << 16  # bytes that are read ahead
_CHUNK = 1 << 9  # bytes of a .zst file that are decompressed together; they may expand to 128 KiB each four

MAX_LINE = 1 << 24
"""The largest number of bytes of a line, its line end included: 16 MiB."""


def read_lines(
    path: str | Path,
    on_undecodable: OnUndecodable | None = None,
    *,
    stream: AbstractContextManager[BinaryIO] | None = None,
    encoding: str | None = None,
) -> Generator[str, None, None]:
    """Yield the lines of a file, or of standard input for "-", without their line ends.

    A carriage return before the line end and a byte order mark before the first line are dropped; a last line
    without a line end counts.

    Args:
        on_undecodable: called with each line that is not UTF-8, before it is yielded. A private-use character then
            stands for each byte that is not text; see `has_raw_bytes` and `escape_raw_bytes`.
        stream: the file, where it is open already; it is closed after its last line.
        encoding: of the file; None for UTF-8. `on_undecodable` is then not called.

    Raises:
        InputError: the file is missing, a folder, unreadable, or a damaged archive; it is UTF-16 or UTF-32, compressed
            under another name, or not in the given encoding; a line is not UTF-8, and `on_undecodable` is None; or a
            line has more than `MAX_LINE` bytes. No more of it is read, so that a gigabyte without line ends, in an
            archive say, does not fill the memory.
    """
    name = shown_name(path)
    with opened(path, stream) as file:
        if encoding is not None:
            yield from _decoded_lines(file, name, encoding)
            return
        for number, raw in enumerate(iter(partial(file.readline, MAX_LINE + 1), b""), 1):
            if len(raw) > MAX_LINE:
                raise _too_long(name, number)
            yield _decode(raw, path, number, on_undecodable)


def _decoded_lines(file: BinaryIO, name: str, encoding: str) -> Iterator[str]:
    """Yield the lines of a file in another encoding than UTF-8."""
    text = io.TextIOWrapper(file, encoding, newline="\n")
    number = 0
    try:
        for line in iter(partial(text.readline, MAX_LINE + 1), ""):
            number += 1
            if len(line) > MAX_LINE:
                raise _too_long(name, number)
            line = line.removesuffix("\n").removesuffix("\r")
            yield line.removeprefix("\ufeff") if number == 1 else line
    except UnicodeError as error:
        what = f"byte 0x{error.object[error.start]:02x}" if isinstance(error, UnicodeDecodeError) else "a character"
        raise InputError(f"{name}: {what} after line {number:,} is not {encoding}; --encoding NAME decides") from None
    finally:
        text.detach()


@contextmanager
def opened(path: str | Path, stream: AbstractContextManager[BinaryIO] | None = None) -> Iterator[BinaryIO]:
    """The decompressed bytes of a file, or of standard input for "-", in a block that reads them.

    Args:
        stream: the file, where it is open already; it is closed at the end of the block.

    Raises:
        InputError: the file is missing, a folder, unreadable, or a damaged archive.
    """
    name = shown_name(path)
    if "\0" in str(path):
        raise not_found(path)
    try:
        with _open_binary(path) if stream is None else stream as file:
            yield file
    except FileNotFoundError:
        raise not_found(path) from None
    except IsADirectoryError:
        raise InputError(f"{name}: is a folder; give a file") from None
    except _DAMAGE as error:
        kind = Path(path).suffix
        raise InputError(f"{name}: damaged, or not a {kind} file at all ({error}); make or fetch it again") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {reason_of(error)}") from None


def not_found(path: str | Path) -> InputError:
    """The error for a file or folder that does not exist, with the most similar name that does."""
    missing = Path(path)
    while not missing.parent.exists():
        missing = missing.parent
    readable = missing.parent.is_dir() and os.access(missing.parent, os.R_OK)
    names = sorted(os.listdir(missing.parent)) if readable else []
    near = nearest(missing.name, names)
    where = "" if missing == Path(path) else f", nor does {missing}"
    hint = f"; did you mean {missing.parent / near[0]}?" if near else ""
    return InputError(f"{path}: does not exist{where}{hint}")


def _too_long(name: str, number: int) -> InputError:
    return InputError(
        f"{name}:{number}: a line of more than {MAX_LINE / 2**20:g} MiB, too long for a line of text; is this a text "
        "file with one sentence per line?"
    )


def shown_name(path: str | Path, stream: str = "standard input") -> str:
    """What messages call a file; "-" is standard input, or another `stream`."""
    return stream if str(path) == STANDARD_STREAM else str(path)


class _ZstandardFile(io.RawIOBase):
    """Decompressed bytes of a .zst file of one or more frames; raises if it is truncated, unlike the library's."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file  # close() closes it
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


_READERS: dict[str, Callable[[BinaryIO], Any]] = {".gz": gzip.open, ".xz": lzma.open, ".zst": _ZstandardFile}


def _open_binary(path: str | Path) -> AbstractContextManager[BinaryIO]:
    if str(path) == STANDARD_STREAM:
        note_standard_input()
        with suppress(OSError, ValueError):  # it is closed, or has no file descriptor
            note_input(path, os.fstat(sys.stdin.buffer.fileno()))
        return nullcontext(sys.stdin.buffer)
    file = open(path, "rb", _BUFFER)  # noqa: SIM115
    try:
        note_input(path, os.fstat(file.fileno()))
    except BaseException:
        file.close()
        raise
    return decompressed(file, path)


@contextmanager
def decompressed(file: BinaryIO, path: str | Path) -> Iterator[BinaryIO]:
    """The contents of an open file, decompressed according to the suffix of `path`; closes the file at the end."""
    with file:
        decompress = _READERS.get(Path(path).suffix)
        if decompress is None:
            yield file
        else:
            with io.BufferedReader(decompress(file), _BUFFER) as content:
                yield content


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

    def korean(self) -> str | None:
        """The beginning of the line as cp949, if that is Korean: other text is hardly Hangul of KS X 1001 by chance."""
        try:
            text = self.raw.decode("cp949")
        except UnicodeDecodeError:
            return None
        beyond = len(re.sub(r"[\x00-\x7f]", "", text))
        hangul = len(_FREQUENT_HANGUL.findall(self.raw))
        return text[:20].strip() if hangul >= 3 and hangul >= 0.9 * beyond else None

    def error(self, option: str = "") -> InputError:
        """The error to raise where the line is needed as text.

        Args:
            option: begins the advice for text in Korean, such as "give --encoding cp949, or ".
        """
        what, korean = f"{shown_name(self.path)}:{self.number}: {self.fault} is not UTF-8", self.korean()
        if korean is None:
            return InputError(f"{what}; convert the file, for example with iconv")
        how = f"{option}convert the file: iconv -f CP949 -t UTF-8 OLD > NEW"
        return InputError(f"{what}; it reads as Korean in cp949 ({korean}); {how}")


_FREQUENT_HANGUL = re.compile(rb"[\xb0-\xc8][\xa1-\xfe]")
"""The 2,350 syllables of KS X 1001 in EUC-KR and cp949."""

OnUndecodable = Callable[[UndecodableLine], None]
"""Called with each line that is not UTF-8, before it is yielded."""

_BYTES = 0x10FF00  # and the byte: private characters, which pass through JSON and the columns of a table unchanged
_BYTE = re.compile(f"[{chr(_BYTES + 0x80)}-{chr(_BYTES + 0xFF)}]")
_STAND_INS = {0xDC00 + byte: _BYTES + byte for byte in range(0x80, 0x100)}  # "surrogateescape" has U+DC80 for 0x80


def has_raw_bytes(text: str) -> bool:
    """Whether the text of an undecodable line has private-use characters in place of bytes."""
    return _BYTE.search(text) is not None


def escape_raw_bytes(text: str) -> str:
    """The text of an undecodable line with its bytes written as \\xe9, for printing."""
    return _BYTE.sub(lambda match: f"\\x{ord(match[0]) - _BYTES:02x}", text)


_PACKED = re.compile(
    rb"(?P<gzip>\x1f\x8b)|(?P<xz>\xfd7zXZ\0)|(?P<Zstandard>\(\xb5/\xfd)|(?P<bzip2>BZh[1-9]1AY&SY)|(?P<ZIP>PK\x03\x04)"
    rb"|(?P<PDF>%PDF-)|(?P<RTF>\{\\rtf)"
)
"""Compressed data, archives and documents by their first bytes."""
_PACKED_ADVICE = {
    "gzip": "decompress it, or let its name end in .gz",
    "xz": "decompress it, or let its name end in .xz",
    "Zstandard": "decompress it, or let its name end in .zst",
    "bzip2": "decompress it",
    "ZIP": "decompress it, or save a document as text",
    "PDF": "save the document as text",
    "RTF": "save the document as text",
}


def _decode(raw: bytes, path: str | Path, number: int, on_undecodable: OnUndecodable | None) -> str:
    """Decode a line; `number` counts from 1."""
    if raw.endswith(b"\n"):
        raw = raw[:-2] if raw.endswith(b"\r\n") else raw[:-1]
    elif raw.endswith(b"\r"):
        raw = raw[:-1]
    if number == 1:
        packed = _PACKED.match(raw)
        if packed is not None:
            kind = str(packed.lastgroup)
            raise InputError(f"{shown_name(path)}: is no text, but {kind} data; {_PACKED_ADVICE[kind]}")
        wide = wide_encoding(raw)
        if wide is not None:
            # Its name without LE and BE makes iconv look at the byte order mark, and drop it.
            kind = wide.removesuffix("LE").removesuffix("BE")
            raise InputError(
                f"{shown_name(path)}:1: this is {kind}, not UTF-8; convert the file, for example with "
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


def wide_encoding(raw: bytes) -> str | None:
    """Return UTF-16 or UTF-32 if a first line is encoded so, by its byte order mark or the NULs of ASCII; else None."""
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
def replace_file(
    path: str | Path, *, binary: Literal[False] = False, keep_partial: bool = False, edits: bool = False
) -> AbstractContextManager[TextIO]: ...
@overload
def replace_file(
    path: str | Path, *, binary: Literal[True], keep_partial: bool = False, edits: bool = False
) -> AbstractContextManager[BinaryIO]: ...
def replace_file(
    path: str | Path, *, binary: bool = False, keep_partial: bool = False, edits: bool = False
) -> AbstractContextManager[Any]:
    """Open a file for atomic writing: it replaces `path` at the end of a successful `with` block.

    Output is written to a temporary file in the same folder, synchronised to disk and renamed to `path`. If the block
    fails, the disk is full or the power fails, the old file is unchanged. A symbolic link is kept and its target
    replaced, with the permissions of the old file.

    Only a regular file is replaced. A FIFO, a device, and standard output under any name are written directly.

    Args:
        keep_partial: name the temporary file NAME.partial (NAME.partial2 and so on if that exists), and keep it if the
            block fails; the error gets a note that names it.
        edits: the file may be one that the command has read; any other of these is refused (see `inputs`).

    Raises:
        ConfigError: the command reads this file; nothing is replaced.
        InputError: the path is a folder, its folder does not exist or is not writable, or the disk is full.
        BrokenPipeError: the reader of a pipe has closed it, which is no mistake of the user.
    """
    file = _output(path, keep_partial=keep_partial, edits=edits)
    return file if binary else _as_text(file)


@contextmanager
def replace_output(path: str | Path, *, keep_partial: bool = False) -> Iterator[TextIO]:
    """Like `replace_file` for a text file, compressed according to its name.

    Raises:
        ConfigError, InputError, BrokenPipeError: as for `replace_file`.
    """
    with _output(path, keep_partial=keep_partial) as file, _as_text(_compressed(file, path)) as text:
        yield text


@contextmanager
def _as_text(binary: AbstractContextManager[BinaryIO]) -> Iterator[TextIO]:
    """Write UTF-8 text to a binary file."""
    with binary as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
        try:
            yield text
            text.flush()
        finally:
            with suppress(OSError, ValueError):  # a failed write has already raised its error
                text.detach()


def _compressed(file: BinaryIO, path: str | Path) -> AbstractContextManager[BinaryIO]:
    """A writer to `file` that compresses according to the suffix of `path`."""
    compress = _WRITERS.get(Path(path).suffix)
    return nullcontext(file) if compress is None else cast(AbstractContextManager[BinaryIO], compress(file))


@contextmanager
def _output(path: str | Path, *, keep_partial: bool, edits: bool = False) -> Iterator[BinaryIO]:
    """The binary file of `replace_file`."""
    name = shown_name(path, "standard output")
    if is_standard_output(path):
        with _naming(name, None):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
    elif _is_written_through(path):
        with _naming(name, path), _opened(path, "wb") as file:  # opening a FIFO waits for its reader
            yield file
            file.flush()
    else:
        with _replacing(Path(os.path.realpath(path)), name, keep_partial=keep_partial, edits=edits) as file:
            yield file


def _is_written_through(path: str | Path) -> bool:
    """Whether `path` exists and is not a regular file but, for example, a FIFO or a device.

    Raises:
        InputError: the path is a folder.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    if stat.S_ISDIR(mode):
        raise InputError(f"{path}: is a folder; give a file")
    return not stat.S_ISREG(mode)


class _NamedFile(io.FileIO):
    """A file that puts its name into the errors of failed writes, to distinguish several outputs."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = self.name
            raise


def _opened(path: str | Path, mode: Literal["wb", "xb"]) -> BinaryIO:
    return cast(BinaryIO, io.BufferedWriter(_NamedFile(str(path), mode), _BUFFER))


@contextmanager
def _naming(name: str, file: str | Path | None, hint: str = "") -> Iterator[None]:
    """Turn a failed write to `file` into an InputError that names the output; other OSErrors pass unchanged."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename != (None if file is None else str(file)):
            raise
        raise _unwritable(name, error, hint) from error


def _unwritable(name: str, error: OSError, hint: str = "") -> InputError:
    unwritable = InputError(f"{name}: cannot be written: {error.strerror}{hint}")
    for note in getattr(error, "__notes__", ()):  # other outputs that the failure has ended
        unwritable.add_note(note)
    return unwritable


@contextmanager
def _replacing(final: Path, name: str, *, keep_partial: bool, edits: bool) -> Iterator[BinaryIO]:
    """Write to a temporary file that replaces the regular file `final`, or a name that is free, on success.

    `edits`: as for `replace_file`.
    """
    if not edits:
        require_no_input(final, name)
    old = os.stat(final) if os.path.exists(final) else None
    unchanged = "" if old is None or keep_partial else "; the old file is unchanged"
    try:
        file = _open_partial(final) if keep_partial else _open_temporary(final)
    except OSError as error:
        raise _unwritable(name, error) from error
    beside = Path(file.name)
    try:
        with _naming(name, beside, unchanged):
            yield file
            file.flush()
        if not edits:
            require_no_input(final, name)  # again: it may have been read, or linked, in the meantime
        try:
            _put_in_place(file, final, old)
        except OSError as error:
            raise _unwritable(name, error, unchanged) from error
    except BaseException as error:
        with suppress(OSError, ValueError):  # fails again on a full disk; closed where that has to come first
            file.flush()
        _keep_or_remove(beside, name, error, keep=keep_partial, unchanged=old is not None)
        raise
    else:
        try:
            sync_folder(final.parent)
        except OSError as error:
            raise _unwritable(name, error) from error
    finally:
        with suppress(OSError):  # closing flushes again, and fails again on a full disk; the file is synchronised
            file.close()


def _open_temporary(final: Path) -> BinaryIO:
    descriptor, path = create_temporary_file(final)
    return io.BufferedWriter(_NamedFile(str(path), "wb", opener=lambda *_: descriptor), _BUFFER)


def _open_partial(final: Path) -> BinaryIO:
    """Open NAME.partial, with the same compression suffix; an existing partial file is not overwritten."""
    ending = final.suffix if is_compressed(final) else ""
    number = 1
    while True:
        path = final.with_name(f"{final.name.removesuffix(ending)}.partial{'' if number == 1 else number}{ending}")
        try:
            return _opened(path, "xb")
        except FileExistsError:
            number += 1


def _put_in_place(file: BinaryIO, final: Path, old: os.stat_result | None) -> None:
    """Synchronise the file to disk and rename it, with owner and permissions of the old one where permitted."""
    os.fsync(file.fileno())
    if old is not None:
        with suppress(OSError, AttributeError):  # not on Windows
            os.fchown(file.fileno(), old.st_uid, old.st_gid)
        with suppress(OSError, AttributeError):
            os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
    note_written(os.fstat(file.fileno()))
    if IS_WINDOWS:
        file.close()  # an open file has no new name there; elsewhere its lock shows that its process runs
    os.replace(file.name, final)


def _keep_or_remove(beside: Path, name: str, error: BaseException, *, keep: bool, unchanged: bool) -> None:
    """After a failure, keep the temporary file and add a note to the error, or remove it; an empty one is removed."""
    with suppress(OSError):
        if keep and beside.stat().st_size and _has_content(beside):
            before = f"; {name} is unchanged" if unchanged else ""
            error.add_note(f"the output so far is in {beside}{before}")
        else:
            beside.unlink()


def _has_content(path: Path) -> bool:
    """Whether a file has a byte when it is decompressed: an archive of nothing is no empty file."""
    try:
        with decompressed(open(path, "rb"), path) as content:
            return bool(content.read(1))
    except (EOFError, OSError, lzma.LZMAError, zstandard.ZstdError):
        return True  # the disk was full before the archive had its end


_WRITERS: dict[str, Callable[[BinaryIO], Any]] = {
    # Level 6, the default of the gzip program: on a phrase table 4% more bytes than Python's 9 in a sixth of the time.
    # No time of writing in the header, so that equal lines are equal files.
    ".gz": partial(gzip.GzipFile, "", "wb", 6, mtime=0),
    ".xz": partial(lzma.open, mode="wb"),
    ".zst": partial(zstandard.open, mode="wb"),
}


def write_lines(path: str | Path, lines: Iterable[str], *, keep_partial: bool = False) -> None:
    """Write lines with `replace_output`, each followed by a line end; no line may contain one."""
    with replace_output(path, keep_partial=keep_partial) as file:
        for line in lines:
            assert "\n" not in line
            file.write(line + "\n")


def is_compressed(path: str | Path) -> bool:
    """Whether a file name has a compression suffix."""
    return Path(path).suffix in _READERS


_COUNT = re.compile("[0-9]{1,15}")  # Python converts no more than 4,300 digits, and a float holds 15 exactly


def parse_count(text: str) -> int | None:
    """A whole number of at most 15 digits, 0 to 9; None for any other text."""
    return int(text) if _COUNT.fullmatch(text) else None
