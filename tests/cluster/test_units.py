"""Units: what the lines of the files of each verb become."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from dragoman.cluster.inputs import find_file, find_inputs
from dragoman.cluster.units import (
    Opened,
    Unit,
    lines_of,
    read_hypotheses,
    read_phrase_pairs,
    read_sentence_pairs,
    read_texts,
)
from dragoman.corpora.reading import reading_corpora
from dragoman.errors import InputError
from dragoman.text.lines import write_lines
from tests.cluster.object_storage import object_storage


def _units(read: Callable[[Opened], Iterator[Unit]], *paths: Path) -> list[Unit]:
    with ExitStack() as files:
        inputs = [find_file(str(path)) for path in paths]
        return list(read([(one, files.enter_context(one.open())) for one in inputs]))


def _lines(path: Path, *lines: str) -> Path:
    write_lines(path, lines)
    return path


def test_pairs_of_two_files(tmp_path: Path) -> None:
    source, target = _lines(tmp_path / "s.xz", "a", "b"), _lines(tmp_path / "t", "A", "B")
    assert _units(read_sentence_pairs, source, target) == [Unit(("a", "A")), Unit(("b", "B"))]


def test_pairs_of_files_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.ko").write_bytes("하나\n둘\n".encode("cp949"))
    with reading_corpora(encoding="cp949"):
        units = _units(read_sentence_pairs, tmp_path / "a.ko", _lines(tmp_path / "a.en", "one", "two"))
    assert units == [Unit(("하나", "one")), Unit(("둘", "two"))]


def test_pairs_of_files_of_unequal_length_are_refused(tmp_path: Path) -> None:
    source, target = _lines(tmp_path / "s", "a", "b"), _lines(tmp_path / "t", "A")
    with pytest.raises(InputError, match=r"t: ends after line 1, but .*s goes on"):
        _units(read_sentence_pairs, source, target)
    with pytest.raises(InputError, match=r"t: ends after line 1, but .*s goes on"):
        _units(read_sentence_pairs, target, source)


def test_a_line_that_is_no_pair_has_a_reason(tmp_path: Path) -> None:
    tsv = _lines(tmp_path / "x.tsv.gz", "a\tA", "b", "c\tC")
    reason = "1 tab-separated column; a line must have 2, source and target"
    assert _units(read_sentence_pairs, tsv) == [Unit(("a", "A")), Unit(None, reason), Unit(("c", "C"))]
    jsonl = _lines(tmp_path / "x.jsonl", '{"source": "a", "target": "A"}', "[]")
    first, second = _units(read_sentence_pairs, jsonl)
    assert first.value == ("a", "A")
    assert second.fault == 'a JSON list; a line must be an object with "source" and "target"'


def test_tables_give_pairs_too(tmp_path: Path) -> None:
    path = _lines(tmp_path / "a.csv.gz", "id,en,de", '1,"a, b",A', "2,c,C")
    assert _units(read_sentence_pairs, path) == [Unit(("a, b", "A")), Unit(("c", "C"))]


def test_hypotheses_of_a_sentence_are_a_unit_with_its_source(tmp_path: Path) -> None:
    nbest = _lines(
        tmp_path / "n",
        *("0 ||| a ||| X= 1 ||| 1", "0 ||| b ||| X= 1 ||| 1", "nonsense", "0 ||| c ||| X= 1 ||| 1"),
        "2 ||| d ||| X= 1 ||| 1",
    )
    source = _lines(tmp_path / "s", "null", "eins", "zwei")
    units = _units(read_hypotheses, nbest, source)
    assert [lines_of(unit.value) for unit in units] == [2, 1, 1, 1]
    assert [None if unit.value is None else unit.value[0] for unit in units] == ["null", None, "null", "zwei"]
    assert units[0].value[1:] == ["0 ||| a ||| X= 1 ||| 1", "0 ||| b ||| X= 1 ||| 1"]
    assert "1 of at least 4 fields" in (units[1].fault or "")


def test_lists_without_order_and_sources_that_end_are_refused(tmp_path: Path) -> None:
    source = _lines(tmp_path / "s", "null")
    nbest = _lines(tmp_path / "n", "1 ||| a ||| X= 1 ||| 1")
    with pytest.raises(InputError, match=r"s: ends before sentence 1 \(counted from 0\), which .*n has"):
        _units(read_hypotheses, nbest, source)
    nbest = _lines(tmp_path / "n", "1 ||| a ||| X= 1 ||| 1", "0 ||| a ||| X= 1 ||| 1")
    with pytest.raises(InputError, match="n:2: the id 0 comes after 1"):
        _units(read_hypotheses, nbest)


def test_the_rows_of_a_source_phrase_are_a_unit(tmp_path: Path) -> None:
    table = _lines(tmp_path / "t.gz", "a ||| A ||| 1 2", "a ||| B ||| 1 2", "b ||| C ||| 1", "b ||| D ||| 1 2")
    first, second, third = _units(read_phrase_pairs, table)
    assert first == Unit(["a", "a ||| A ||| 1 2", "a ||| B ||| 1 2"])
    assert second == Unit(None, "1 scores, where the first line has 2")
    assert lines_of(third.value) == 1


def test_patterns_are_sorted_and_those_without_a_file_are_refused(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c[1].txt"):
        (tmp_path / name).write_text("x\n")
    assert [file.name for file in find_inputs([f"{tmp_path}/[ab].txt"])] == ["a.txt", "b.txt"]
    assert [file.name for file in find_inputs([f"{tmp_path}/c[1].txt", f"{tmp_path}/*"])] == [
        "c[1].txt",
        "a.txt",
        "b.txt",
    ]
    with pytest.raises(InputError, match=r"\*.gz: no file matches this pattern"):
        find_inputs([f"{tmp_path}/*.gz"])
    with pytest.raises(InputError, match="does not exist; did you mean"):
        find_inputs([f"{tmp_path}/a.text"])
    with pytest.raises(InputError, match="is a folder; give a pattern"):
        find_inputs([str(tmp_path)])


def test_files_of_another_file_system_are_read_as_local_ones(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra `cluster`)")
    for name in ("a.gz", "b.zst", "c.xz", "d"):
        write_lines(tmp_path / name, [name, "ä"])
    files = find_inputs([f"file://{tmp_path}/*"])
    assert [file.name for file in files] == ["a.gz", "b.zst", "c.xz", "d"]
    for file in files:
        with file.open() as stored:
            assert [unit.value for unit in read_texts(file, stored)] == [file.name, "ä"]
        file.require_unchanged()
    (tmp_path / "d").write_text("more")
    with pytest.raises(InputError, match="has changed while the command ran"):
        files[3].require_unchanged()
    (tmp_path / "d").unlink()
    with pytest.raises(InputError, match="has disappeared while the command ran"):
        files[3].open()
    for wrong, message in (("nowhere://x/y", "cannot be opened"), (f"file://{tmp_path}/x*", "no file matches")):
        with pytest.raises(InputError, match=message):
            find_inputs([wrong])


def test_files_of_object_storage_are_read_as_local_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fs = pytest.importorskip("pyarrow.fs", reason="pyarrow is not installed (extra `cluster`)")
    if not hasattr(fs, "S3FileSystem"):
        pytest.skip("this pyarrow was built without S3")
    with object_storage(monkeypatch) as storage:
        for name in ("a.gz", "b.zst", "c.xz", "d"):
            write_lines(tmp_path / name, [name, "ä"])
            storage.objects[f"texts/in/{name}"] = (tmp_path / name).read_bytes()
        storage.objects["texts/in/deeper/e"] = storage.objects["texts/other"] = b"no\n"
        files = find_inputs(["s3://texts/in/*"])
        assert [file.name for file in files] == ["a.gz", "b.zst", "c.xz", "d"]
        for file in files:
            with file.open() as stored:
                assert [unit.value for unit in read_texts(file, stored)] == [file.name, "ä"]
            file.require_unchanged()
        storage.objects["texts/in/d"] += b"more\n"
        with pytest.raises(InputError, match="s3://texts/in/d: has changed while the command ran"):
            files[3].require_unchanged()
        del storage.objects["texts/in/d"]
        with pytest.raises(InputError, match="s3://texts/in/d: has disappeared while the command ran"):
            files[3].open()
        for wrong, message in (("s3://texts/none", "does not exist"), ("s3://texts/in/x*", "no file matches")):
            with pytest.raises(InputError, match=message):
                find_inputs([wrong])
