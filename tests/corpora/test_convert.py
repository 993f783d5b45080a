"""`dragoman convert`: pairs stay what they are in every kind that can hold them; what is lost is said."""

from __future__ import annotations

import json
import operator
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.writing import WRITERS
from dragoman.text.lines import read_lines, write_lines

PAIRS = [('The <b>sea</b> & "more", again;', "바다"), ("", "비"), (" a\u2028b ", "'c'"), ("id", "no")]
READ_BACK = {".tmx": all, ".po": all, ".xlsx": all, ".xliff": operator.itemgetter(1), ".xlf": operator.itemgetter(1)}
"""Which pairs are read again, where units without a source or a translation are none."""

LOST = ["line separators", "empty sources"]


def corpus(folder: Path) -> list[str]:
    files = [folder / "a.en", folder / "a.ko"]
    for file, lines in zip(files, zip(*PAIRS, strict=True), strict=True):
        write_lines(file, lines)
    return [str(file) for file in files]


def pairs_of(*files: str | Path) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs([files])]


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", WRITERS)
def test_pairs_come_back_from_every_kind(
    tmp_path: Path, kind: str, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, back = tmp_path / f"b{kind}{suffix}", [str(tmp_path / "c.en"), str(tmp_path / "c.ko.xz")]
    assert main(["convert", *corpus(tmp_path), str(out)]) == 0
    said = f"{out}: 4 pairs\n"
    if kind == ".po":
        lost = [f"warning: {out}: {what} of 1 side are not kept; they are spaces or left out\n" for what in LOST]
        said = "".join([f"{out}: 3 pairs\n", *lost])
    assert capsys.readouterr().err == said
    expected = [pair for pair in PAIRS if READ_BACK.get(kind, bool)(pair)]
    if kind == ".po":
        expected = [(source.replace("\u2028", " "), target) for source, target in expected]
    assert pairs_of(out) == expected
    assert main(["convert", str(out), *back, "--quiet"]) == 0
    assert pairs_of(*back) == expected
    if kind == ".tmx":
        assert '<tuv xml:lang="ko"><seg>바다</seg></tuv>' in "\n".join(read_lines(out))


def test_what_a_kind_cannot_hold_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"source": "a\tb\nc", "target": "d\x01"}) + "\n", encoding="utf-8")
    out = tmp_path / "b.tsv"
    assert main(["convert", str(path), str(out)]) == 0
    assert capsys.readouterr().err == (
        f"{out}: 1 pair\nwarning: {out}: tabs or line breaks of 1 side are not kept; they are spaces or left out\n"
    )
    assert pairs_of(out) == [("a b c", "d\x01")]
    memory = tmp_path / "b.tmx"
    assert main(["convert", str(path), str(memory), "--languages", "en", "de"]) == 0
    assert "characters that XML does not have of 1 side are not kept" in capsys.readouterr().err


def test_a_catalogue_tells_equal_sources_apart_a_sheet_has_no_formulas_and_a_table_quotes_line_breaks(
    tmp_path: Path,
) -> None:
    pairs = [("=1+1", "@x"), ("a", "b"), ("a", "c"), ("a\rb", "d\\e")]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"source": one, "target": other}) + "\n" for one, other in pairs))
    for name in ("b.po", "b.xlsx", "b.csv"):
        assert main(["convert", str(path), str(tmp_path / name), "--quiet"]) == 0
        assert pairs_of(tmp_path / name) == [*pairs[:3], ("a b", pairs[3][1])]  # of one line


def test_bad_outputs_are_refused_and_nothing_is_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*files: str | Path) -> str:
        assert main(["convert", *map(str, files)]) == 2
        return capsys.readouterr().err.removeprefix("dragoman: error: ").rstrip("\n")

    files = corpus(tmp_path)
    table, memory, sheet = tmp_path / "a.tsv", tmp_path / "a.tmx", tmp_path / "a.ods"
    write_lines(table, ["a\tb"])
    assert said(table, memory) == f"{memory}: such a file names the languages of both sides; give --languages SRC TGT"
    assert said(*files, sheet) == (
        f"{sheet}: is read only; give two files, or one of {', '.join(WRITERS)} (also .gz, .xz, .zst)"
    )
    assert said(table, table) == f"{table}: is both an input and an output, so it would be destroyed; give another file"
    assert said(files[0]).startswith("give a corpus of one file or two, then")
    write_lines(tmp_path / "short.ko", ["x"])
    assert "has 4 lines but" in said(files[0], tmp_path / "short.ko", table)
    assert list(read_lines(table)) == ["a\tb"]
    assert not memory.exists()
    assert not sheet.exists()
