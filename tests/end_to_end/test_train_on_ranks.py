"""`dragoman train` on two ranks: one prepares, prints and writes, and a mistake is told once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.training.log import read_log
from tests.end_to_end.conftest import SMALL, Corpus
from tests.training.rank_process import RankProcesses

pytestmark = pytest.mark.processes

Train = Callable[..., int]
BRIEF = ("training.updates=6", "training.log_every=2", "training.validation.metric=perplexity")


def messages(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.startswith("dragoman:")]


def test_two_ranks_train_a_run_and_go_on_with_it_and_only_the_first_prints(
    ranks: RankProcesses, corpus: Corpus, tmp_path: Path
) -> None:
    text = ["--train", *map(str, corpus.train), "--dev", *map(str, corpus.dev)]
    words = ["train", "--preset", "demo", *text, "--out", "RUN", "--resume", "--threads", "1"]
    folders = [str(tmp_path)] * 2
    for updates in (6, 8):
        changes = ["--set", *SMALL, *BRIEF, f"training.updates={updates}"]
        first, second = ranks(2, "command", folders, *words, *changes)
        assert (first["value"], second["value"]) == (0, 0), first["said"]
        assert "ranks: 2 processes" in first["said"]
        assert not messages(second["said"])
    records = [record["update"] for record in read_log(tmp_path / "RUN" / "log.jsonl") if record["kind"] == "train"]
    assert records == [2, 4, 6, 8]
    assert (tmp_path / "RUN" / "report.html").exists()
    assert main(["score", str(tmp_path / "RUN"), *map(str, corpus.test), "--quiet"]) == 0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            [["--updates", "5"], ["--updates", "6"]],
            "the option updates is 6 here and 5 on rank 0; start all",
        ),
        ([["--dev", "none.x", "none.y"]] * 2, "none.x: does not exist"),
        ([["--set", "training.sed=1"]] * 2, "unknown key 'training.sed'"),
        ([["--updats", "5"]] * 2, "unknown option --updats"),
        ([["--updates", "none"]] * 2, "argument --updates"),
    ],
)
def test_a_mistake_is_told_once(
    ranks: RankProcesses, corpus: Corpus, tmp_path: Path, more: list[list[str]], message: str
) -> None:
    words = ["train", "--preset", "demo", "--train", *map(str, corpus.train), "--out", "RUN"]
    answers = ranks(2, "command", [str(tmp_path)] * 2, *words, more=more)
    assert [answer["value"] for answer in answers] == [2, 2]
    (said,) = (line for answer in answers for line in messages(answer["said"]))
    assert message in said
    assert not list(tmp_path.iterdir())


def test_a_language_model_trains_in_one_process(ranks: RankProcesses, tmp_path: Path) -> None:
    answers = ranks(2, "command", [str(tmp_path)] * 2, "lm", "train", "--train", "none.txt", "--out", "LM")
    assert [answer["value"] for answer in answers] == [2, 2]
    (said,) = (line for answer in answers for line in messages(answer["said"]))
    assert "lm train trains in one process; start it without torchrun" in said


def test_a_rank_needs_the_text_of_the_first_one(
    ranks: RankProcesses, train: Train, corpus: Corpus, tmp_path: Path
) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    assert train(folders[0] / "RUN", "--quiet", settings=BRIEF) == 0
    turned = ["--train", *map(str, corpus.dev)]
    assert train(folders[1] / "RUN", "--quiet", *turned, settings=BRIEF) == 0
    words = ["train", "--out", "RUN", "--resume", "--updates", "8"]
    answers = ranks(2, "command", [*map(str, folders)], *words)
    assert [answer["value"] for answer in answers] == [2, 2]
    (said,) = (line for answer in answers for line in messages(answer["said"]))
    assert said.startswith("dragoman: error: rank 1 (process ")
    assert "the stored text (SHA-256 of data/train/meta.json) is " in said

    shutil.rmtree(folders[1] / "RUN")
    answers = ranks(2, "command", [*map(str, folders)], *words)
    (said,) = (line for answer in answers for line in messages(answer["said"]))
    assert "RUN: does not exist" in said
    assert "every rank needs the folder of the run, or a copy of it" in said

    shutil.copytree(folders[0] / "RUN", folders[1] / "RUN")
    before = (folders[1] / "RUN" / "log.jsonl").read_bytes()
    assert [answer["value"] for answer in ranks(2, "command", [*map(str, folders)], *words)] == [0, 0]
    assert read_log(folders[0] / "RUN" / "log.jsonl")[-1]["update"] == 8
    assert (folders[1] / "RUN" / "log.jsonl").read_bytes() == before


def test_resuming_begins_a_run_where_there_is_none(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path / "RUN", "--resume", settings=BRIEF) == 0
    assert "--resume: " in (said := capsys.readouterr().err)
    assert "has no run yet, so that a new one begins" in said
    assert main(["train", "--out", str(tmp_path / "NONE"), "--resume"]) == 2
