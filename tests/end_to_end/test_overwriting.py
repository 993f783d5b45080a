"""Commands that write folders, with `--overwrite` or not, lose no training text, no notes and no old run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.config.files import load_config
from dragoman.errors import InputError
from dragoman.text.locks import lock_beside
from tests.importing.toolkits import OpenNMT

from .conftest import SMALL, Corpus

Train = Callable[..., int]
Printed = pytest.CaptureFixture[str]
BRIEF = ["training.epochs=0.2", "training.validation.metric=perplexity"]


def tree(path: Path) -> dict[str, bytes]:
    """The contents of all files below a folder, by path."""
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.fixture
def run(run_folder: Path, tmp_path: Path) -> Path:
    """A copy of a finished run."""
    return shutil.copytree(run_folder, tmp_path / "run")


@pytest.fixture
def project(corpus: Corpus, tmp_path: Path) -> Path:
    """A folder of the user that contains names of a run."""
    path = tmp_path / "project"
    (path / "text").mkdir(parents=True)
    (path / "data").mkdir()
    (path / "text" / "notes.txt").write_text("thesis")
    (path / "config.yaml").write_text("training:\n  epochs: 1\n")
    for file in (*corpus.train, *corpus.dev):
        shutil.copy(file, path / "data")
    return path


@pytest.mark.parametrize("config", ["training:\n  epochs: 1\n", "db: mine\n", None])
def test_a_folder_that_is_not_a_run_is_not_overwritten(
    config: str | None, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    (project / "config.yaml").unlink() if config is None else (project / "config.yaml").write_text(config)
    before = tree(project)
    monkeypatch.chdir(project)
    first = ["config.yaml"] if config and "db" not in config else []
    text = ["--train", "data/train.low", "data/train.up", "--dev", "data/dev.low", "data/dev.up"]
    assert main(["train", *first, *text, "--out", ".", "--overwrite"]) == 2
    assert (
        "but no valid run.json, the mark of a dragoman run, so it is left unchanged; give another path"
        in capsys.readouterr().err
    )
    assert main(["lm", "train", "--train", "data/train.up", "--dev", "data/dev.up", "--out", ".", "--overwrite"]) == 2
    assert main(["demo", "--out", ".", "--overwrite"]) == 2
    checkpoint = OpenNMT().save(project.parent / "checkpoint")
    assert main(["import", "--from", "opennmt", str(checkpoint), "--out", ".", "--overwrite"]) == 2
    assert tree(project) == before


def test_the_training_text_inside_a_run_is_not_overwritten(
    run: Path, corpus: Corpus, train: Train, capsys: Printed
) -> None:
    shutil.copy(run / "data" / "dev.jsonl", run.parent / "copy.jsonl")
    before = tree(run)
    text = ["--train", str(run / "data" / "dev.jsonl"), "--dev", str(run.parent / "copy.jsonl")]
    assert main(["train", *text, "--out", str(run), "--overwrite"]) == 2
    assert "data/dev.jsonl: is an input, and --overwrite would remove it" in capsys.readouterr().err
    text = ["--train", *map(str, corpus.train), "--dev", *map(str, corpus.dev)]
    assert main(["train", str(run / "config.yaml"), *text, "--out", str(run), "--overwrite"]) == 2
    assert "config.yaml: is an input, and --overwrite would remove it" in capsys.readouterr().err
    assert train(run, "--overwrite", "--dropped", str(run / "text" / "dropped.tsv")) == 2
    assert "dropped.tsv: is among the files of the run" in capsys.readouterr().err
    shutil.copy(corpus.train[0], run / "data")
    assert train(run, "--overwrite") == 2
    assert f"not {run / 'data' / corpus.train[0].name}, which dragoman did not write" in capsys.readouterr().err
    (run / "data" / corpus.train[0].name).unlink()
    assert tree(run) == before


def test_other_files_in_a_run_folder_are_kept(run: Path, train: Train, capsys: Printed) -> None:
    (run / "notes.txt").write_text("mine")
    words = ["--overwrite", "--quiet", "--dropped", str(run / "dropped.tsv")]
    assert train(run, *words, settings=[*BRIEF, "training.seed=5"]) == 0
    assert capsys.readouterr().err == ""
    assert (run / "notes.txt").read_text() == "mine"
    assert (run / "dropped.tsv").stat().st_size
    assert load_config(run / "config.yaml").training.seed == 5
    assert not [name for name in os.listdir(run) if name.startswith(".")]
    assert len(os.listdir(run / "tensorboard")) == 1, "the measurements of the old run were removed"
    assert (run / "tensorboard" / os.listdir(run / "tensorboard")[0]).stat().st_size > 200
    records = (run / "log.jsonl").read_text().splitlines()
    assert "finished" in records[-1]
    assert sum('"finished"' in record for record in records) == 1
    assert main(["train", "--out", str(run), "--resume", "--quiet", "--set", "training.epochs=0.4"]) == 0


def test_bad_training_text_leaves_the_old_run_unchanged(run: Path, corpus: Corpus, capsys: Printed) -> None:
    short, before = run.parent / "short", tree(run)
    short.write_text("A\n")
    text = ["--train", str(corpus.train[0]), str(short), "--dev", *map(str, corpus.dev)]
    assert main(["train", *text, "--out", str(run), "--overwrite", "--set", *SMALL]) == 2
    assert "line k of one must be" in capsys.readouterr().err
    assert tree(run) == before


SLOW = """
import sys, time
from dragoman.workflows import training
from dragoman.cli.main import main

def slow(*arguments, **options):
    print("preparing", flush=True)
    time.sleep(60)

training.store_pairs = slow
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("number", "first"),
    [(signal.SIGINT, False), (signal.SIGTERM, True), (signal.SIGKILL, False), (signal.SIGKILL, True)],
)
def test_a_signal_while_preparing_leaves_the_old_run_unchanged(
    number: int, first: bool, run: Path, corpus: Corpus, tmp_path: Path, capsys: Printed
) -> None:
    out = tmp_path / "first" if first else run
    before = tree(run)
    text = ["--train", *map(str, corpus.train), "--dev", *map(str, corpus.dev)]
    words = ["train", "--preset", "demo", *text, "--out", str(out), "--overwrite", "--set", *SMALL, *BRIEF]
    command = [sys.executable, "-c", SLOW, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"preparing\n"
        if not first:
            assert main(["translate", str(run), "-i", str(corpus.test[0])]) == 0, "the older run can be used meanwhile"
        process.send_signal(number)
        process.communicate(timeout=60)
        assert process.returncode == (-9 if number == signal.SIGKILL else 130)
    if number == signal.SIGKILL:
        assert main([*words, "--quiet", "--threads", "1"]) == 0, "the same command can be run again"
        assert not [name for name in os.listdir(out) if name.startswith(".")]
    else:
        assert tree(run) == before
        assert out.exists() is not first


def test_a_signal_after_the_first_state_leaves_the_new_run(run: Path, corpus: Corpus) -> None:
    before = (run / "config.yaml").read_text()
    text = ["--train", *map(str, corpus.train), "--dev", *map(str, corpus.dev)]
    words = ["train", "--preset", "demo", *text, "--out", str(run), "--overwrite", "--set", *SMALL]
    words += ["training.epochs=100000", "training.validation.metric=perplexity", "training.seed=5"]
    with subprocess.Popen([sys.executable, "-m", "dragoman", *words], stderr=subprocess.PIPE) as process:
        for _ in range(600):
            if (run / "config.yaml").read_text() != before:
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[1].decode()
        assert process.returncode == 130
    assert "SIGTERM: state saved after update" in said
    assert load_config(run / "config.yaml").training.seed == 5
    assert not [name for name in os.listdir(run) if name.startswith(".")]
    words = ["train", "--out", str(run), "--resume", "--quiet", "--set", "training.epochs=0.1"]
    assert main(words) == 0


def test_a_failed_import_leaves_the_old_run_unchanged(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    checkpoint, before = OpenNMT().save(tmp_path / "checkpoint"), tree(run)

    def full(*_: object) -> None:
        raise InputError("the disk is full")

    monkeypatch.setattr("dragoman.importing.imported_model.save_weights", full)
    words = ["import", "--from", "opennmt", str(checkpoint), "--out", str(run), "--overwrite"]
    assert main(words) == 2
    assert tree(run) == before
    monkeypatch.undo()
    inside = run / "report.html"
    shutil.copy(checkpoint, inside)
    assert main([*words[:3], str(inside), *words[4:]]) == 2
    assert "report.html: is an input, and --overwrite would remove it" in capsys.readouterr().err
    assert main(words) == 0
    assert not (run / "log.jsonl").exists(), "parts of the old run remain"


def test_the_demo_does_not_write_over_a_corpus(tmp_path: Path, capsys: Printed) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "test.fr").write_text("mine\n")
    assert main(["demo", "--to", "fr", "--out", str(tmp_path), "--overwrite"]) == 2
    expected = (
        f"dragoman: error: {corpus / 'test.fr'}: is there already with other text; move it, or give another folder"
    )
    assert capsys.readouterr().err.splitlines()[-1] == expected
    assert tree(tmp_path) == {"corpus/test.fr": b"mine\n"}


@pytest.mark.parametrize("manifest", ["{}", '{"format": 1, "files": {}, "int8": false, "parameters": 1}'])
def test_a_folder_with_a_foreign_manifest_is_not_overwritten(
    manifest: str, run_folder: Path, tmp_path: Path, capsys: Printed
) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    (tmp_path / "thesis.tex").write_text("mine")
    before = tree(tmp_path)
    assert main(["export", str(run_folder), "--out", str(tmp_path), "--overwrite"]) == 2
    assert capsys.readouterr().err == (
        f"dragoman: error: {tmp_path}: holds other files; give the path of a new folder\n"
    )
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["notes.txt", "text/notes.txt", "mine/notes.txt"])
def test_notes_in_an_exported_folder_are_kept(name: str, run_folder: Path, tmp_path: Path, capsys: Printed) -> None:
    out = tmp_path / "light"
    words = ["export", str(run_folder), "--out", str(out), "--quiet"]
    assert main(words) == 0
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).write_text("mine")
    before = tree(tmp_path)
    assert main([*words, "--overwrite"]) == 2
    named = out / ("mine" if name.startswith("mine") else name)
    assert f"{out}: --overwrite replaces the exported folder, but {named} is no part of it" in capsys.readouterr().err
    assert tree(tmp_path) == before


def test_computed_scores_do_not_replace_a_foreign_file(run_folder: Path, tmp_path: Path, capsys: Printed) -> None:
    table, scores = tmp_path / "table", tmp_path / "out.scores"
    table.write_text("ab ||| AB ||| 0.5 1 1 1 |||\n")
    scores.write_text("mine\n")
    words = ["phrase-table", str(table), "--model", str(run_folder), "--output", str(tmp_path / "out")]
    assert main(words) == 2
    assert f"{scores}: is not a journal of dragoman" in capsys.readouterr().err
    assert scores.read_text() == "mine\n"


def test_a_run_that_is_being_written_can_be_read_but_not_written(run: Path, corpus: Corpus, capsys: Printed) -> None:
    before = tree(run)
    text = ["--train", *map(str, corpus.train), "--dev", *map(str, corpus.dev)]
    with lock_beside(run, "run"):
        for words in (["--resume"], [*text, "--overwrite", "--set", *SMALL]):
            assert main(["train", "--out", str(run), *words]) == 2
            assert "is writing to this run; wait until it has ended" in capsys.readouterr().err
        assert main(["translate", str(run), "-i", str(corpus.test[0])]) == 0
    assert tree(run) == before


def test_resuming_removes_what_a_killed_process_did_not_finish(run: Path) -> None:
    unfinished = [run / ".model.safetensors.dragoman-new2", run / "checkpoints" / ".latest.safetensors.dragoman-new"]
    foreign = run / ".notes.dragoman-new"
    for path in (*unfinished, foreign):
        path.write_bytes(b"half")
    assert main(["train", "--out", str(run), "--resume", "--quiet"]) == 0
    assert not any(path.exists() for path in unfinished)
    assert foreign.exists()
