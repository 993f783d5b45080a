"""`dragoman check` on a model that has learnt to copy, and on the same model with parts disconnected."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.model.weights import load_weights, save_weights

from .conftest import Corpus

ONE_THREAD = ["--threads", "1", "--device", "cpu"]


@pytest.fixture
def verdicts(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, str]]:
    """The verdicts of `dragoman check --json` by the name of the check."""

    def ask(*words: str | Path) -> dict[str, str]:
        capsys.readouterr()
        assert main(["check", *map(str, words), "--json", *ONE_THREAD]) == 0
        found = json.loads(capsys.readouterr().out)
        return {check["name"]: check["verdict"] for check in found["checks"]}

    return ask


def _with_zeros(run_folder: Path, copy: Path, name: str) -> Path:
    """The run with one of its tensors zero."""
    shutil.copytree(run_folder, copy)
    weights = load_weights(copy / "model.safetensors")
    weights[name].zero_()
    save_weights(copy / "model.safetensors", weights)
    return copy


def test_a_model_that_has_learnt_its_task_passes(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(run_folder), *ONE_THREAD]) == 0
    first, *rows = capsys.readouterr().out.splitlines()
    assert first == "20 pairs"
    assert len(rows) == 5
    for row, question in zip(
        rows, ("the loss depend", "the order", "padding", "the annotations", "uniform"), strict=True
    ):
        assert question in row
        assert "?  " in row
        assert row.partition("?")[2].split()[0] == "yes", row


def test_a_disconnected_part_changes_the_verdicts(
    run_folder: Path, corpus: Corpus, tmp_path: Path, verdicts: Callable[..., dict[str, str]]
) -> None:
    assert set(verdicts(run_folder, *corpus.test, "--sentences", "10").values()) == {"yes"}
    encoder = verdicts(_with_zeros(run_folder, tmp_path / "encoder", "source.weight"))
    assert (encoder["order"], encoder["padding"]) == ("no", "yes")  # the loss depends on the length of the source still
    attention = verdicts(_with_zeros(run_folder, tmp_path / "attention", "decoder.attention.score.v"))
    assert (attention["gradient"], attention["uniform"]) == ("no", "no")


def test_an_exported_model_is_checked_on_given_pairs(
    run_folder: Path, corpus: Corpus, tmp_path: Path, verdicts, capsys: pytest.CaptureFixture[str]
) -> None:
    exported = tmp_path / "exported"
    assert main(["export", str(run_folder), "--out", str(exported), "--quiet"]) == 0
    found = verdicts(exported, *corpus.test)
    assert found.pop("gradient") == "-"
    assert set(found.values()) == {"yes"}
    assert main(["check", str(exported)]) == 2
    assert f"{exported}: has no dev set; give pairs: dragoman check {exported} SRC TGT" in capsys.readouterr().err


def test_what_cannot_be_checked_is_one_line(
    run_folder: Path, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.tsv"
    empty.write_text("", encoding="utf-8")
    files = [str(path) for path in corpus.test]
    for words, message in (
        ([*files, files[0]], "3 files are given; give two (source and target), or one with both sides"),
        ([str(empty)], "no lines in it; a corpus needs at least one pair"),
        ([str(tmp_path / "none.tsv")], "none.tsv: does not exist"),
        (["--sentences", "0"], "--sentences"),
    ):
        assert main(["check", str(run_folder), *words]) == 2
        printed = capsys.readouterr().err
        assert message in printed
        assert printed.count("\n") == 1, printed
