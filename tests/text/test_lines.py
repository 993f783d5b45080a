from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import random
import stat
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TextIO

import pytest
import zstandard

from dragoman.errors import InputError
from dragoman.text.lines import (
    UndecodableLine,
    escape_raw_bytes,
    has_raw_bytes,
    is_compressed,
    not_found,
    parse_count,
    read_lines,
    replace_file,
    replace_output,
    write_lines,
)

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def zipped(data: bytes) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("text", data)
    return archive.getvalue()


def lines_of(data: bytes, folder: Path) -> list[str]:
    path = folder / "text"
    path.write_bytes(data)
    return list(read_lines(path))


def test_a_name_that_no_file_can_have_does_not_exist() -> None:
    with pytest.raises(InputError, match="does not exist"):
        list(read_lines("a\0b"))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\n\n\nb\n", ["a", "", "", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\nb\r", ["a", "b"]),
        (b"a\rb\r\r\n", ["a\rb\r"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        ("a\u2028b\u0085c\fd\ve\x1cf\n".encode(), ["a\u2028b\u0085c\fd\ve\x1cf"]),
        (b"\0\t \xf0\x9f\x98\x80\n", ["\0\t \U0001f600"]),
    ],
)
def test_a_line_ends_at_a_line_feed_and_nowhere_else(tmp_path: Path, data: bytes, expected: list[str]) -> None:
    assert lines_of(data, tmp_path) == expected


@pytest.mark.parametrize("suffix", COMPRESS)
def test_lines_written_are_read_back_from_every_kind_of_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    lines = ["one", "", "zwei\u2028", "x" * 100_000, "\0"]
    write_lines(path, lines)
    assert list(read_lines(path)) == lines
    assert is_compressed(path) == bool(suffix)
    assert path.read_bytes().startswith(b"one") == (not suffix)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_an_archive_of_several_parts_is_read_to_its_end(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(COMPRESS[suffix](b"a\nb") + COMPRESS[suffix](b"c\n"))
    assert list(read_lines(path)) == ["a", "bc"]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_reading_a_longer_file_takes_no_more_memory(tmp_path: Path, suffix: str) -> None:
    def peak(count: int) -> int:
        """Largest number of bytes that were allocated at a time while `count` lines were read."""
        path = tmp_path / f"text{suffix}"
        write_lines(path, (f"line {number}" for number in range(count)))
        tracemalloc.start()
        assert sum(1 for _ in read_lines(path)) == count
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(80_000) < peak(20_000) + 200_000


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_line_is_read_up_to_its_limit_and_refused_beyond(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr("dragoman.text.lines.MAX_LINE", 100_000)
    path = tmp_path / f"text{suffix}"
    longest = "x" * 99_999
    path.write_bytes(COMPRESS[suffix](f"a\n{longest}\n\n{longest}\n".encode()))
    assert list(read_lines(path)) == ["a", longest, "", longest]
    for beyond in (f"a\n{longest}y\nb\n", f"a\n{longest}yy"):
        path.write_bytes(COMPRESS[suffix](beyond.encode()))
        lines = read_lines(path)
        assert next(lines) == "a"
        with pytest.raises(InputError, match=f"text{suffix}:2: a line of more than 0.0953674 MiB"):
            next(lines)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_no_more_of_a_line_than_its_limit_is_in_memory(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(COMPRESS[suffix](b"x" * (40 << 20)))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=f"text{suffix}:1: a line of more than 16 MiB"):
            next(read_lines(path))
        assert tracemalloc.get_traced_memory()[1] < 50 << 20  # the line read so far, its parts, what is read ahead
    finally:
        tracemalloc.stop()


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\r\nb\xc3\xa4"), encoding="ascii"))
    assert list(read_lines("-")) == ["a", "bä"]


def test_a_line_of_standard_input_beyond_the_limit_names_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n" + b"x" * (17 << 20) + b"\nb\n")))
    with pytest.raises(InputError, match="standard input:2: a line of more than 16 MiB"):
        list(read_lines("-"))


def test_bytes_that_are_not_utf8_are_named_with_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        lines_of(b"a\nb\xe4c\n", tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/text:2: byte 0xe4 at position 2 is not UTF-8; convert the file, for example with iconv"
    )


def test_a_file_in_utf16_is_recognised(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="text:1: this is UTF-16, not UTF-8; convert the file"):
        lines_of("a\n".encode("utf-16"), tmp_path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("tolerant", [False, True])
def test_wide_characters_are_recognised_and_the_advice_is_right(tmp_path: Path, encoding: str, tolerant: bool) -> None:
    text = "Ein Satz über dies.\nEin zweiter.\n"
    path = tmp_path / "text"
    path.write_bytes(text.encode(encoding))
    with pytest.raises(InputError, match=r"text:1: this is UTF-(16|32), not UTF-8; ") as caught:
        list(read_lines(path, (lambda line: None) if tolerant else None))
    advised = str(caught.value).partition("iconv -f ")[2].partition(" -t UTF-8")[0]
    assert text.encode(encoding).decode(advised) == text


@pytest.mark.parametrize("suffix", COMPRESS)
def test_bad_lines_are_noticed_and_passed_on_where_they_are_tolerated(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(COMPRESS[suffix](b"a\ncaf\xe9 \xc3\xa9\r\nb\n\xff"))
    noticed: list[UndecodableLine] = []
    lines = list(read_lines(path, noticed.append))
    assert noticed == [UndecodableLine(path, 2, b"caf\xe9 \xc3\xa9", 3), UndecodableLine(path, 4, b"\xff", 0)]
    assert [escape_raw_bytes(line) for line in lines] == ["a", "caf\\xe9 é", "b", "\\xff"]
    assert [has_raw_bytes(line) for line in lines] == [False, True, False, True]
    with pytest.raises(InputError) as caught:
        list(read_lines(path))
    assert str(caught.value) == str(noticed[0].error())
    assert noticed[0].fault == "byte 0xe9 at position 4"


def test_whatever_bytes_a_tolerated_line_has_are_shown_as_they_are(tmp_path: Path) -> None:
    draw = random.Random(1)
    lines = [bytes(draw.choices(b"ab \xc3\xa9\xe2\x82\xac\xff\x80", k=12)) for _ in range(500)]
    path = tmp_path / "text"
    path.write_bytes(b"\n".join(lines))
    noticed: list[UndecodableLine] = []
    read = list(read_lines(path, noticed.append))
    assert [escape_raw_bytes(line) for line in read] == [line.decode("utf-8", "backslashreplace") for line in lines]
    assert [line.raw for line in noticed] == [line for line in lines if "\ufffd" in line.decode("utf-8", "replace")]


def test_bad_bytes_on_standard_input_name_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
    with pytest.raises(InputError, match="standard input:1: byte 0xff at position 1"):
        list(read_lines("-"))


@pytest.mark.parametrize(
    ("compress", "said"),
    [
        (gzip.compress, "is no text, but gzip data; decompress it, or let its name end in .gz"),
        (lzma.compress, "is no text, but xz data; decompress it, or let its name end in .xz"),
        (
            zstandard.compress,
            "is no text, but Zstandard data; decompress it, or let its name end in .zst",
        ),
        (bz2.compress, "is no text, but bzip2 data; decompress it"),
        (zipped, "is no text, but ZIP data; decompress it, or save a document as text"),
        (lambda text: b"%PDF-1.4\n" + text, "is no text, but PDF data; save the document as text"),
        (lambda text: b"{\\rtf1 " + text, "is no text, but RTF data; save the document as text"),
    ],
)
def test_other_data_under_the_name_of_text_is_called_what_it_is(
    tmp_path: Path, compress: Callable[[bytes], bytes], said: str
) -> None:
    (tmp_path / "train.en").write_bytes(compress(b"a\n" * 100))
    for on_undecodable in (None, lambda line: None):
        with pytest.raises(InputError) as caught:
            list(read_lines(tmp_path / "train.en", on_undecodable))
        assert str(caught.value) == f"{tmp_path}/train.en: {said}"


def test_a_missing_file_names_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "train.en").touch()
    (tmp_path / "dev.de").touch()
    with pytest.raises(InputError) as caught:
        list(read_lines(tmp_path / "trian.en"))
    assert str(caught.value) == f"{tmp_path}/trian.en: does not exist; did you mean {tmp_path}/train.en?"


def test_a_missing_file_in_an_empty_folder_has_no_suggestion(tmp_path: Path) -> None:
    assert str(not_found(tmp_path / "train.en")) == f"{tmp_path}/train.en: does not exist"


def test_a_file_in_the_place_of_a_folder_is_no_place_to_look(tmp_path: Path) -> None:
    (tmp_path / "corpus").touch()
    assert str(not_found(tmp_path / "corpus" / "train.en")) == f"{tmp_path}/corpus/train.en: does not exist"
    with pytest.raises(InputError, match="cannot be read: Not a directory"):
        list(read_lines(tmp_path / "corpus" / "train.en"))


def test_a_missing_folder_names_the_nearest_folder(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    assert str(not_found(tmp_path / "corpsu" / "train.en")) == (
        f"{tmp_path}/corpsu/train.en: does not exist, nor does {tmp_path}/corpsu; did you mean {tmp_path}/corpus?"
    )


def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; give a file"):
        list(read_lines(tmp_path))


def test_a_file_that_may_not_be_read_gives_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "text")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match="text: cannot be read: Permission denied"):
        list(read_lines(tmp_path / "text"))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("damage", [lambda data: b"plain text\n", lambda data: data[:-9], lambda data: data[:20]])
def test_a_damaged_archive_is_refused(tmp_path: Path, suffix: str, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(damage(COMPRESS[suffix](os.urandom(1000).hex().encode() + b"\n")))
    with pytest.raises(
        InputError, match=rf"text{suffix}: damaged, or not a {suffix} file at all \(.+\); make or fetch"
    ):
        list(read_lines(path))


def test_a_reader_that_stops_early_leaves_no_open_file(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    write_lines(path, ["a", "b"])
    lines = read_lines(path)
    assert next(iter(lines)) == "a"
    del lines  # an open file would be a ResourceWarning, which is an error here


def test_replace_file_replaces_at_the_end_only(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text("old")
    with replace_file(path) as file:
        file.write("new\r\n\u2028")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_bytes() == "new\r\n\u2028".encode()
    with replace_file(path, binary=True) as binary:
        binary.write(b"\xff")
    assert path.read_bytes() == b"\xff"
    assert os.listdir(tmp_path) == ["state"]


def test_replace_file_keeps_the_old_file_when_the_block_fails(tmp_path: Path) -> None:
    def broken() -> Iterator[str]:
        yield "new"
        raise ZeroDivisionError

    path = tmp_path / "state"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replace_file(path) as file:
        file.writelines(broken())
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["state"]


def test_replace_file_writes_through_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "state")
    with replace_file(tmp_path / "link") as file:
        file.write("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "state").read_text() == "new"


@pytest.mark.parametrize("size", [5_000, 5_000_000])  # fails when flushed; fails while being written
def test_the_old_file_survives_a_write_that_fails(
    tmp_path: Path, size: int, full_disk: Callable[[int], AbstractContextManager[None]]
) -> None:
    path = tmp_path / "state"
    path.write_text("old")
    with full_disk(1000), pytest.raises(InputError) as caught, replace_file(path) as file:
        file.writelines("x" * 1000 for _ in range(size // 1000))
    assert str(caught.value) == f"{path}: cannot be written: File too large; the old file is unchanged"
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["state"]


@pytest.mark.parametrize("call", ["os.fsync", "os.replace"])
def test_the_old_file_survives_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "state"
    path.write_text("old")
    monkeypatch.setattr(call, full)
    with (
        pytest.raises(InputError, match="state: cannot be written: No space left on device; the old file is unchanged"),
        replace_file(path, binary=True) as file,
    ):
        file.write(b"new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["state"]


def test_replace_file_in_a_missing_folder_gives_the_reason(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere/state: cannot be written: No such file or directory$"):
        replace_file(tmp_path / "nowhere" / "state").__enter__()


def test_an_error_about_another_file_is_not_blamed_on_the_one_being_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="other"), replace_file(tmp_path / "state"):
        (tmp_path / "other").read_text()
    with pytest.raises(FileNotFoundError, match="other"), replace_output(tmp_path / "state"):
        (tmp_path / "other").read_text()


def test_an_output_goes_to_standard_output_and_leaves_it_open(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with replace_output("-") as file:
        file.write("ä\r\n")
        file.flush()
        assert capfdbinary.readouterr().out == "ä\r\n".encode()
        file.write("b\n")
    print("c")
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == b"b\nc\n"


def device(path: Path, minor: int) -> Path:
    """A device of the kind of /dev/null (3) or /dev/full (7): never the real one, which root could destroy."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        path.open("wb").close()
    except OSError as error:
        pytest.skip(f"no device can be made here: {error.strerror}")
    return path


@pytest.mark.parametrize("count", [1, 100_000])
def test_a_full_device_gives_the_reason(tmp_path: Path, count: int) -> None:
    full = device(tmp_path / "full", 7)
    with pytest.raises(InputError) as caught:
        write_lines(full, ["some text"] * count)
    assert str(caught.value) == f"{full}: cannot be written: No space left on device"


@pytest.mark.parametrize("write", [replace_output, replace_file])
def test_a_device_stays_one(tmp_path: Path, write: Callable[[Path], AbstractContextManager[TextIO]]) -> None:
    null = device(tmp_path / "null", 3)
    with write(null) as file:
        file.write("text")
    assert stat.S_ISCHR(null.stat().st_mode), "a device was replaced by a file"
    assert os.listdir(tmp_path) == ["null"]


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("linked", [False, True])
def test_a_fifo_passes_everything_on_and_its_reader_comes_to_an_end(tmp_path: Path, suffix: str, linked: bool) -> None:
    fifo = tmp_path / f"fifo{suffix}"
    os.mkfifo(fifo)
    name = tmp_path / f"link{suffix}" if linked else fifo
    if linked:
        name.symlink_to(fifo)
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(lambda: list(read_lines(fifo)))
        write_lines(name, ["a", "b"])
        assert reading.result(timeout=20) == ["a", "b"]
    assert stat.S_ISFIFO(fifo.stat().st_mode), "the FIFO was replaced by a file"


def test_a_fifo_gets_a_picture_too(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(fifo.read_bytes)
        with replace_file(fifo, binary=True) as file:
            file.write(b"\xff")
        assert reading.result(timeout=20) == b"\xff"
    assert stat.S_ISFIFO(fifo.stat().st_mode), "the FIFO was replaced by a file"


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
@pytest.mark.parametrize("to", ["a pipe", "a file"])
def test_standard_output_by_any_name_is_written_after_what_is_there(tmp_path: Path, name: str, to: str) -> None:
    program = (
        "import sys; from dragoman.text.lines import write_lines\n"
        "print('first', flush=True); write_lines(sys.argv[1], ['second']); print('third')"
    )
    command = [sys.executable, "-c", program, name]
    if to == "a pipe":
        found = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    else:
        with (tmp_path / "out").open("wb") as out:
            subprocess.run(command, stdout=out, check=True)
        found = (tmp_path / "out").read_bytes()
    assert found == b"first\nsecond\nthird\n"


def test_a_folder_is_no_output(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        write_lines(tmp_path, ["a"])
    assert str(caught.value) == f"{tmp_path}: is a folder; give a file"


def interrupted() -> Iterator[str]:
    yield "new"
    raise KeyboardInterrupt


@pytest.mark.parametrize("suffix", COMPRESS)
def test_an_output_that_fails_is_kept_beside_the_old_one_if_asked(tmp_path: Path, suffix: str) -> None:
    path, kept = tmp_path / f"out.en{suffix}", tmp_path / f"out.en.partial{suffix}"
    path.write_text("old")
    for name in (kept, tmp_path / f"out.en.partial2{suffix}"):
        with pytest.raises(KeyboardInterrupt) as caught:
            write_lines(path, interrupted(), keep_partial=True)
        assert path.read_text() == "old"
        assert list(read_lines(name)) == ["new"]
        assert caught.value.__notes__ == [f"the output so far is in {name}; {path} is unchanged"]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_nothing_is_kept_of_an_output_without_content(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(InputError) as caught, replace_output(tmp_path / f"out{suffix}", keep_partial=True):
        raise InputError("bad input")
    assert not os.listdir(tmp_path)
    assert not hasattr(caught.value, "__notes__")


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o640)
    write_lines(path, ["new"])
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_of_two_outputs_the_one_that_failed_is_named(tmp_path: Path) -> None:
    def write_both(outer: Path, inner: Path) -> None:
        with replace_output(outer) as first, replace_output(inner) as second:
            first.write("x" * 1_000_000)
            second.write("x" * 1_000_000)

    full, out = device(tmp_path / "full", 7), tmp_path / "out"
    for both in ((full, out), (out, full)):
        with pytest.raises(InputError, match=r"full: cannot be written: No space left on device$"):
            write_both(*both)


def test_an_output_in_a_missing_folder_gives_the_reason(tmp_path: Path) -> None:
    for suffix in COMPRESS:
        with pytest.raises(InputError, match="cannot be written: No such file or directory"):
            write_lines(tmp_path / "nowhere" / f"out{suffix}", [])


def test_a_closed_pipe_stays_one() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        write_lines(f"/dev/fd/{writer}", ["a"])
    os.close(writer)


def test_a_failure_of_one_output_names_what_is_kept_of_the_others(tmp_path: Path) -> None:
    def fail(first: Path, second: Path) -> None:
        with replace_file(first, keep_partial=True) as outer, replace_file(second, keep_partial=True) as inner:
            inner.write("kept\n")
            raise OSError(errno.EIO, os.strerror(errno.EIO), outer.buffer.name)

    with pytest.raises(InputError) as caught:
        fail(tmp_path / "a", tmp_path / "b")
    assert f"the output so far is in {tmp_path}/b.partial" in caught.value.__notes__


@pytest.mark.parametrize("suffix", ["gz", "xz", "zst"])
def test_equal_lines_are_equal_compressed_files(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    for second in (1e9, 2e9):
        monkeypatch.setattr("time.time", lambda second=second: second)
        write_lines(tmp_path / f"text.{suffix}", ["ab c", "d"])
        written.append((tmp_path / f"text.{suffix}").read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize(("text", "count"), [("0", 0), ("017", 17), ("9" * 15, 10**15 - 1)])
def test_a_whole_number_is_read(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", " 1", "1_0", "٣", "²", "9" * 16, "9" * 5000])
def test_any_other_text_is_none(text: str) -> None:
    assert parse_count(text) is None
