"""The programs of docs/learn run, and print tables of the same columns as their pages show."""

from __future__ import annotations

import importlib
import itertools
import sys
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.workflows import training

pytestmark = pytest.mark.docs

PAGES = Path(__file__).parents[2] / "docs" / "learn"
QUICK: dict[str, dict[str, Any]] = {
    "beam_size": {"updates": 3, "beams": (1,)},
    "bleu_variants": {"updates": 3},
    "uniform_attention": {"steps": (3,)},
    "alignment_error": {"updates": 3, "models": ("as in Bahdanau et al.",)},
    "deep_models": {"updates": 3, "laws": ("lecun",), "biases": (1,)},
    "reversal": {"updates": 3, "orders": ("same",)},
    "corpus_size": {"updates": 3, "sizes": (100,)},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs write, so that they share corpora and models."""
    return tmp_path_factory.mktemp("learn")


def test_every_program_is_tried() -> None:
    assert sorted(QUICK) == sorted(path.stem for path in (PAGES / "programs").glob("*.py") if path.stem != "small")


@pytest.mark.parametrize("name", QUICK)
def test_it_prints_the_columns_of_its_page(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(PAGES / "programs"))
    # Models that have learnt nothing write long lines: a few of the test set do, and reports are no part of the pages.
    read, count = dragoman.read_test_set, None if name == "alignment_error" else 25  # gold alignments are of all lines
    monkeypatch.setattr(dragoman, "read_test_set", lambda files: itertools.islice(read(files), count))
    monkeypatch.setattr(training, "write_run_report", lambda *_: None)
    program = importlib.import_module(name)
    try:
        program.main(**QUICK[name])
    finally:
        for module in (name, "small"):
            sys.modules.pop(module, None)

    head, *rows = capsys.readouterr().out.splitlines()
    columns = [word for word in head.split("  ") if word.strip()]
    page = (PAGES / f"{name.replace('_', '-')}.md").read_text(encoding="utf-8")
    block = page.split(f"python docs/learn/programs/{name}.py\n```", 1)[1].split("```text\n", 1)[1].split("\n```")[0]
    assert [word.strip() for word in columns] == [w.strip() for w in block.splitlines()[0].split("  ") if w.strip()]
    assert rows
