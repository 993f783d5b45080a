"""`dragoman tree`."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import dragoman
from dragoman.cli.main import main

ONE_THREAD = ["--threads", "1", "--device", "cpu"]


def test_a_tree_as_text_picture_and_page(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tree", str(run_folder), "--text", "ab c", "--beam", "2", *ONE_THREAD]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("step 1\n")
    assert "* finished" in printed
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"ab c\nnot looked at\n")))
    page = tmp_path / "tree.html"
    assert main(["tree", str(run_folder), "-o", str(page), "--pruned", "0", *ONE_THREAD]) == 0
    assert '<h1 dir="auto">ab c</h1>' in page.read_text(encoding="utf-8")
    lines = tmp_path / "lines"
    lines.write_text("ab c\nnot looked at\n", encoding="utf-8")
    assert main(["tree", str(run_folder), "-i", str(lines), "-o", str(tmp_path / "t.svg"), *ONE_THREAD]) == 0
    assert (tmp_path / "t.svg").read_text(encoding="utf-8").startswith("<svg")


def test_the_tree_is_that_of_a_translator_with_protected_items(
    train: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    settings = ["text.protected=[url]", "training.validation.metric=perplexity"]
    assert train(run, "--quiet", "--updates", "2", settings=settings) == 0
    for line in ("ab c", "ab http://a.b/c d"):  # after two updates any symbol is as probable as another
        assert main(["tree", str(run), "--text", line, "--pruned", "50", *ONE_THREAD]) == 0
        shown = [row.split("  ")[-1].split() for row in capsys.readouterr().out.splitlines() if row.startswith("* ")]
        assert tuple(shown[-1]) == (*dragoman.load(run).translate(line).tokens, "</s>")[: len(shown[-1])]


def test_an_empty_line_has_no_tree(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line in ("  ", "\x07"):
        assert main(["tree", str(run_folder), "--text", line, *ONE_THREAD]) == 2
        assert "no text to translate; give a sentence with --text" in capsys.readouterr().err


def test_letters_without_a_font_are_warned_of_where_a_browser_draws_them(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["tree", str(run_folder), "--text", "ab \U000e0fff", "--device", "cpu", "--threads", "1", "-o"]
    warning = "dragoman: warning: no font of this system has \\U000e0fff; a browser draws them as boxes"
    for name, count in (("t.html", 1), ("t.svg", 0), ("t.txt", 0)):  # only a page shows the source
        assert main([*command, str(tmp_path / name)]) == 0
        assert capsys.readouterr().err.count(warning) == count, name
    monkeypatch.setitem(sys.modules, "dragoman.report.fonts", None)  # as where matplotlib is not installed
    assert main([*command, str(tmp_path / "t.html")]) == 0
    assert capsys.readouterr().err == ""
