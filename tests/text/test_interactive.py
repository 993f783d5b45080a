"""Lines that arrive over time: what is there is read, and the reader knows when it would have to wait."""

from __future__ import annotations

import gzip
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.errors import InputError
from dragoman.text.interactive import InteractiveLines, open_interactive
from dragoman.text.lines import read_lines


class Pipe:
    """A pipe that is standard input, and its other end."""

    def __init__(self) -> None:
        read, self.end = os.pipe()
        self.stdin = io.TextIOWrapper(io.FileIO(read))
        self.waits = 0

    def write(self, data: bytes) -> None:
        assert os.write(self.end, data) == len(data)

    def close(self) -> None:
        if self.end >= 0:
            os.close(self.end)
        self.end = -1

    def wait(self) -> None:
        self.waits += 1
        self.close()  # whoever waited would wait for ever

    def lines(self) -> InteractiveLines:
        before, sys.stdin = sys.stdin, self.stdin
        try:
            lines = open_interactive("-", self.wait)
        finally:
            sys.stdin = before
        assert lines is not None
        return lines


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close()
    pipe.stdin.close()


def test_input_is_paused_until_a_whole_line_has_come_or_the_end(pipe: Pipe) -> None:
    lines = pipe.lines()
    assert lines.paused()
    pipe.write(b"on")
    assert lines.paused()
    pipe.write(b"e\ntwo\nth")
    assert not lines.paused()
    assert next(lines) == "one"
    assert not lines.paused()
    assert next(lines) == "two"
    assert lines.paused()
    pipe.write(b"ree")
    assert lines.paused()
    pipe.close()
    assert not lines.paused()
    assert next(lines) == "three"
    assert not lines.paused()
    assert list(lines) == []
    assert pipe.waits == 0


def test_the_reader_is_told_before_it_waits(pipe: Pipe) -> None:
    pipe.write(b"one\ntwo\n")
    lines = pipe.lines()
    assert next(lines) == "one"
    assert pipe.waits == 0
    assert list(lines) == ["two"]
    assert pipe.waits == 1
    assert not lines.is_terminal


@settings(max_examples=30)
@given(st.lists(st.text("ab\n\r\n\u2028", max_size=5), max_size=6))
def test_lines_are_those_of_the_same_bytes_in_a_file(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[str]
) -> None:
    file, pipe, found = tmp_path_factory.getbasetemp() / "same_lines", Pipe(), []
    file.write_text("".join(chunks), encoding="utf-8", newline="")
    lines = pipe.lines()
    for chunk in chunks:
        pipe.write(chunk.encode())
        while not lines.paused():
            found.append(next(lines))
    pipe.close()
    found += lines
    pipe.stdin.close()
    assert found == list(read_lines(file))


def test_a_line_longer_than_the_buffer_of_a_pipe_is_read_whole(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    both = os.open(fifo, os.O_RDWR)
    lines = open_interactive(fifo, lambda: None)
    assert lines is not None
    count = 0
    while not lines.paused():
        count += 1
    for _ in range(3):
        os.write(both, b"a" * 60_000)
        lines.paused()
    os.write(both, b"b\n")
    assert next(lines) == "a" * 180_000 + "b"
    os.close(both)
    assert list(lines) == []
    assert count == 0


def test_what_needs_no_waiting_is_not_interactive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, fifo = tmp_path / "file", tmp_path / "fifo.gz"
    file.write_bytes(gzip.compress(b"a\n"))
    os.mkfifo(fifo)
    for path in (file, fifo, tmp_path / "missing", tmp_path, "/dev/null"):
        assert open_interactive(path, lambda: None) is None, path
    with file.open() as regular:
        for stdin in (regular, io.TextIOWrapper(io.BytesIO(b"a\n")), None):
            monkeypatch.setattr(sys, "stdin", stdin)
            assert open_interactive("-", lambda: None) is None, stdin


def test_a_line_that_is_not_utf_8_is_the_error_of_any_input(pipe: Pipe) -> None:
    pipe.write(b"a\n\xff\n")
    lines = pipe.lines()
    assert next(lines) == "a"
    with pytest.raises(InputError, match="standard input:2: byte 0xff at position 1 is not UTF-8"):
        next(lines)
