"""`dragoman convert`: pairs stay what they are in every kind that can hold them; what is lost is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.text.corpus import read_pairs
from dragoman.text.corpus_writing import WRITERS
from dragoman.text.lines import read_lines, write_lines

PAIRS = [('The <b>sea</b> & "more", again;', "바다"), ("", "비"), (" a\u2028b ", "'c'"), ("id", "no")]


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
    assert capsys.readouterr().err == f"{out}: 4 pairs\n"
    expected = [pair for pair in PAIRS if all(pair)] if kind == ".tmx" else PAIRS
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
        f"{out}: 1 pairs\nwarning: {out}: tabs or line breaks of 1 sides are not kept; they are spaces or left out\n"
    )
    assert pairs_of(out) == [("a b c", "d\x01")]
    memory = tmp_path / "b.tmx"
    assert main(["convert", str(path), str(memory), "--languages", "en", "de"]) == 0
    assert "characters that XML does not have of 1 sides are not kept" in capsys.readouterr().err


def test_bad_outputs_are_refused_and_nothing_is_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*files: str | Path) -> str:
        assert main(["convert", *map(str, files)]) == 2
        return capsys.readouterr().err.removeprefix("dragoman: error: ").rstrip("\n")

    files = corpus(tmp_path)
    table, memory, sheet = tmp_path / "a.tsv", tmp_path / "a.tmx", tmp_path / "a.xlsx"
    write_lines(table, ["a\tb"])
    assert said(table, memory) == f"{memory}: a .tmx file names the languages of both sides; give --languages SRC TGT"
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
