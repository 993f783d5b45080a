"""The log of corrections: what a kill leaves, damage, and that it can be read as a corpus."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from dragoman.corpora.corpus import read_pairs
from dragoman.errors import RunError
from dragoman.learning.log import Correction, CorrectionLog, folder_beside

ENTRIES = [Correction(source, source.upper(), "base", 3) for source in ("a b", "ü\u2028x", 'q"t')]


def filled(path: Path) -> CorrectionLog:
    log = CorrectionLog(path)
    for entry in ENTRIES:
        log.append(entry)
    return log


def test_what_is_appended_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = filled(path)
    again = CorrectionLog(path)
    assert again.entries == log.entries == ENTRIES
    lines = path.read_bytes().splitlines(keepends=True)
    for count in range(4):
        assert log.digest(count) == again.digest(count) == hashlib.sha256(b"".join(lines[:count])).hexdigest()
    assert [(pair.source, pair.target) for pair in read_pairs([[path]])] == [(e.source, e.target) for e in ENTRIES]


def test_the_beginning_of_a_line_that_a_kill_left_is_no_correction(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "log.jsonl"
    filled(path)
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for cut in (last, last + 1, len(whole) - 1):
        path.write_bytes(whole[:cut])
        log = CorrectionLog(path)
        assert log.entries == ENTRIES[:2]
        said = [f"{path}:3: is not a whole line, so it is no correction"] if cut > last else []
        assert caplog.messages == said
        caplog.clear()
        log.append(ENTRIES[2])
        assert path.read_bytes() == whole


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    filled(path)
    lines = path.read_bytes().splitlines(keepends=True)
    for bad in (b"{}\n", b"\n", lines[1][:-2] + b"\n", lines[1].replace(b'"base"', b'"bass"'),
                lines[1].replace(b"x", b"y"), lines[1].replace(b": 3", b": 2")):  # fmt: skip
        path.write_bytes(lines[0] + bad + lines[2])
        with pytest.raises(RunError, match=r"log.jsonl:2: is damaged"):
            CorrectionLog(path)


def test_a_log_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = filled(path).replace(ENTRIES[1:])
    assert log.entries == CorrectionLog(path).entries == ENTRIES[1:]


def test_lines_without_a_check_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"source": "a", "target": "A", "base": "base", "beside": 3}\n', encoding="utf-8")
    assert CorrectionLog(path).entries == [Correction("a", "A", "base", 3)]


def test_the_log_of_a_run_lies_beside_it_however_its_path_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "RUN" / "text").mkdir(parents=True)
    assert [folder_beside(Path(path)) for path in ("RUN", "RUN/", "RUN/.")] == ["RUN.learned"] * 3
    monkeypatch.chdir(tmp_path / "RUN" / "text")
    assert folder_beside(Path("..")) == str(tmp_path / "RUN.learned")
    monkeypatch.chdir(tmp_path / "RUN")
    assert folder_beside(Path(".")) == str(tmp_path / "RUN.learned")
