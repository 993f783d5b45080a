"""`dragoman inspect`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.corpora.pair_files import KINDS

from .conftest import Corpus


def test_inspect_prints_figures_and_advice(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", *map(str, corpus.train), "--dev", *map(str, corpus.dev)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.startswith("300 pairs")
    assert "repeated pair: " in printed.out
    assert "dev: 20 pairs" in printed.out
    assert "- 300 pairs are few" in printed.out


def test_inspect_as_json_with_a_listing(corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listing = tmp_path / "listing.tsv"
    more = ["--test", *map(str, corpus.test), "--test", *map(str, corpus.dev), "--subwords", "40", "--examples", "1"]
    assert main(["inspect", *map(str, corpus.train), *more, "--json", "--listing", str(listing), "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["held_out"]) == ["test 1", "test 2"]
    assert found["subwords"]["pairs"] == 300
    repeated = next(finding for finding in found["findings"] if finding["kind"] == "repeated pair")
    assert len(repeated["examples"]) == 1
    lines = listing.read_text(encoding="utf-8").splitlines()
    assert sum("\trepeated pair\t" in line for line in lines) == repeated["pairs"]
    assert all(line.count("\t") == 5 for line in lines)


def test_wrong_files_are_one_clear_line(corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str) -> str:
        assert main(["inspect", *arguments]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        return printed.err.removeprefix("dragoman: error: ").rstrip("\n")

    source, target = map(str, corpus.train)
    assert said(source) == (
        f"{source}: a corpus in one file is {', '.join(KINDS)}, or an inflection table (.trn, .dev, .tst); also .gz, "
        ".xz, .zst; or give two files, source and target"
    )
    assert said(source, "-") == "-: is no regular file; the corpus is read twice, so give a file"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert said(source, str(pipe)) == f"{pipe}: is no regular file; the corpus is read twice, so give a file"
    assert said(source, target, "--listing", source) == (
        f"{source}: is both an input and an output, so it would be destroyed; give another file"
    )
    assert "does not exist" in said(source, str(tmp_path / "nothing"))
    listing = tmp_path / "listing"
    bad = tmp_path / "bad"
    bad.write_bytes(b"\xff\n" * 300)
    assert said(source, str(bad), "--listing", str(listing)).startswith(
        f"{bad}:1: byte 0xff at position 1 is not UTF-8"
    )
    assert not listing.exists()
