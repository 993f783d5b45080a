"""What is whole in a journal is read again, whatever ended the process that wrote it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from dragoman.errors import InputError
from dragoman.text.journal import Journal

ENTRIES = [b"first", b"", b"third\n" * 100, bytes(20)]
IDENTITY = {"model": "a", "columns": [1, 2]}


def read(path: Path, identity: dict[str, object] = IDENTITY) -> list[bytes]:
    with Journal(path, identity) as journal:
        return list(journal)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A whole journal."""
    made = tmp_path / "journal"
    with Journal(made, IDENTITY) as journal:
        assert list(journal) == []
        assert not made.exists()
        for entry in ENTRIES:
            journal.append(entry)
    return made


def test_entries_are_read_in_their_order_and_more_are_appended(path: Path) -> None:
    assert read(path) == ENTRIES
    with Journal(path, IDENTITY) as journal:
        places = [journal.start, *(journal.end for _ in journal)]
        assert [journal.at(place) for place in places] == [*ENTRIES, None]
        journal.append(b"more")
        assert journal.at(places[-1]) == b"more"
        journal.end = places[1]
        journal.append(b"other")
    assert read(path) == [ENTRIES[0], b"other"]


def test_the_first_entry_that_is_not_whole_ends_the_journal(path: Path) -> None:
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        found = read(path)
        assert found == ENTRIES[: len(found)]
        assert length > start or not found
        path.write_bytes(whole[:length] + bytes(len(whole) - length))  # the size reached the disk, the end did not
        if length >= start:
            assert read(path) == (ENTRIES if path.read_bytes() == whole else found)
    for place in range(start, len(whole) - len(ENTRIES[-1])):
        damaged = bytearray(whole)
        damaged[place] ^= 0x40
        path.write_bytes(damaged)
        found = read(path)
        assert found == ENTRIES[: len(found)]
        assert len(found) < len(ENTRIES)
        with Journal(path, IDENTITY) as journal:
            count = len(list(journal))
            journal.append(b"again")
        assert read(path) == [*ENTRIES[:count], b"again"]


def test_entries_of_something_else_are_dropped_when_there_are_new_ones(path: Path) -> None:
    before = path.read_bytes()
    other: dict[str, object] = {"model": "b"}
    assert read(path, other) == []
    assert path.read_bytes() == before
    with Journal(path, other) as journal:
        journal.append(b"new")
    assert (read(path, other), read(path)) == ([b"new"], [])


def test_a_file_that_is_no_journal_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("mine\n")
    with pytest.raises(InputError, match=f"^{path}: is not a journal of dragoman, .*; move the file, or give another"):
        Journal(path, IDENTITY)
    assert path.read_text() == "mine\n"
    with pytest.raises(InputError, match=f"^{tmp_path}: cannot be read: Is a directory$"):
        Journal(tmp_path, IDENTITY)


def test_the_first_line_is_on_disk_before_the_file_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, contents, replace = tmp_path / "journal", [], os.replace

    def watched(old: str, new: Path) -> None:
        contents.append(Path(old).read_bytes())
        replace(old, new)

    monkeypatch.setattr(os, "replace", watched)
    with Journal(path, IDENTITY) as journal:
        journal.append(b"entry")
        assert [path.read_bytes()[: journal.start]] == contents


def test_a_full_disk_is_told_and_loses_no_whole_entry(
    path: Path, full_disk: Callable[[int], AbstractContextManager[None]]
) -> None:
    with Journal(path, IDENTITY) as journal:
        assert len(list(journal)) == len(ENTRIES)
        message = f"^{path}: cannot be written: File too large; make room and give the"
        with full_disk(path.stat().st_size + 100), pytest.raises(InputError, match=message):
            journal.append(bytes(1000))
        assert path.stat().st_size > journal.end
    assert read(path)[: len(ENTRIES)] == ENTRIES
    with Journal(path, IDENTITY) as journal:
        journal.remove()
        journal.remove()
    assert not path.exists()
