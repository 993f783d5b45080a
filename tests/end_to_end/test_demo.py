"""The demonstration: what it says agrees with its report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dragoman.cli.demo import _ability
from dragoman.cli.main import main
from dragoman.errors import Interrupted
from dragoman.workflows import demo_corpus


def test_the_demo_explains_itself_and_agrees_with_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_corpus, "TRAIN", 300)
    monkeypatch.setattr(demo_corpus, "HELD_OUT", 15)
    monkeypatch.setattr(demo_corpus, "FAMILIAR", 0)
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    assert main(["demo", "--out", str(tmp_path / "run"), "--minutes", "0.02", "--threads", "1"]) == 0
    printed, said = capsys.readouterr()
    assert "demo: German to English (de to en); --from and --to choose others" in said
    assert "each word of the translation < the word of the source" in printed.replace("\n", " ")
    overlap = re.search("^test set: (none of its source lines is in the training text; .*)$", printed, re.MULTILINE)
    assert overlap is not None
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert f"of the test set; {overlap[1]}" in page
    assert "The training was too short: the model has not yet learnt what is in its corpus: dates, " in printed
    assert "It cannot translate anything else" in printed
    assert _ability(90.0) == "The model translates what is in its corpus"


def test_a_demo_that_is_interrupted_names_the_command_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise Interrupted("SIGINT: state saved after update 7; --resume continues from there")

    monkeypatch.setattr("dragoman.workflows.demo.demonstrate", interrupted)
    assert main(["demo", "--out", str(tmp_path / "my run")]) == 130
    said = capsys.readouterr().err
    assert re.search(f"after update 7; `.* train --out '{tmp_path}/my run' --resume` continues from there$", said, re.M)
