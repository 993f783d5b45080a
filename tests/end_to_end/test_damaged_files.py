"""Damaged or altered files of a run or an exported folder: one line, exit code 2, no waiting."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.stored_files import dump_json

from .conftest import Corpus

Refused = Callable[..., str]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """`refused(*command)`: the message of a command that must end with exit code 2 and nothing on standard output."""

    def run(*command: str | Path) -> str:
        assert main(list(map(str, command))) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        lines = [line for line in printed.err.splitlines() if line.startswith("dragoman: error: ")]
        assert len(lines) == 1, printed.err
        return lines[0].removeprefix("dragoman: error: ")

    return run


@pytest.fixture
def run(run_folder: Path, tmp_path: Path) -> Path:
    """A run that a test may damage."""
    return Path(shutil.copytree(run_folder, tmp_path / "run"))


def test_a_resumed_training_refuses_an_altered_corpus_and_keeps_its_state(run: Path, refused: Refused) -> None:
    path = run / "data" / "train" / "target.ids"
    content = bytearray(path.read_bytes())
    content[100] ^= 0xFF
    path.write_bytes(content)
    before = {file: file.read_bytes() for file in (run / "checkpoints").iterdir()}
    message = refused("train", "--out", run, "--resume", "--quiet", "--set", "training.epochs=99")
    assert message.startswith(f"{path}: is damaged: the SHA-256 of bytes 0 to ")
    assert message.endswith("; take the file from a copy of the run folder, or train again with --overwrite")
    assert {file: file.read_bytes() for file in (run / "checkpoints").iterdir()} == before


@pytest.fixture(scope="module")
def exported(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "light"
    assert main(["export", str(run_folder), "--out", str(folder), "--quiet", "--shortlist", "5"]) == 0
    return folder


RUN_FILES = ("run.json", "config.yaml", "model.safetensors", "text/source.vocabulary", "text/source.segmentation.json")


@pytest.mark.parametrize("name", RUN_FILES)
def test_a_fifo_in_a_run_is_refused_and_never_waited_for(
    run: Path, corpus: Corpus, refused: Refused, name: str
) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    message = refused("translate", run, "-i", corpus.test[0])
    assert name.rpartition("/")[2] in message or str(run) in message


@pytest.mark.parametrize(
    "name", ["checkpoints/latest.safetensors", "data/dev.jsonl", "data/train/meta.json", "log.jsonl"]
)
def test_a_fifo_in_a_run_that_is_resumed_is_refused(run: Path, refused: Refused, name: str) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    message = refused("train", "--out", run, "--resume", "--quiet", "--set", "training.epochs=99")
    assert name.rpartition("/")[2] in message
    assert "it is a FIFO, not a regular file" in message


def test_a_fifo_in_an_exported_folder_is_refused(
    exported: Path, tmp_path: Path, corpus: Corpus, refused: Refused
) -> None:
    for name in (path.relative_to(exported) for path in sorted(exported.rglob("*")) if path.is_file()):
        copy = tmp_path / "copy"
        shutil.copytree(exported, copy)
        (copy / name).unlink()
        os.mkfifo(copy / name)
        message = refused("translate", copy, "-i", corpus.test[0])
        assert message.startswith(f"{copy / name}: cannot be read: it is a FIFO, not a regular file; "), name
        shutil.rmtree(copy)


def test_an_altered_run_json_and_dev_text_are_refused(run: Path, corpus: Corpus, refused: Refused) -> None:
    mark = run / "run.json"
    whole = mark.read_text(encoding="utf-8")
    for text, reason in (
        (whole.replace('"text"', '"texu"'), "Object contains unknown field texu"),
        (whole.replace('"source.vocabulary"', '"../../../etc/passwd"'), "its digest does not match its contents"),
        ("[" * 100_000, "Expected object, got array"),
        (whole.replace('"format": 1', '"format": true'), "format: Expected int, got bool"),
        (whole[:-20], "not JSON that can be read"),
    ):
        mark.write_text(text, encoding="utf-8")
        assert refused("translate", run, "-i", corpus.test[0]).startswith(f"{mark}: is damaged: {reason}"), reason
    mark.write_text(whole, encoding="utf-8")
    dev = run / "data" / "dev.jsonl"
    dev.write_text(dev.read_text(encoding="utf-8").replace("a", "b", 1), encoding="utf-8")
    message = refused("train", "--out", run, "--resume", "--quiet", "--set", "training.epochs=99")
    assert message.startswith(f"{dev}: is damaged: its SHA-256 differs from that in run.json")


def test_an_altered_manifest_is_refused_by_its_key(
    exported: Path, tmp_path: Path, corpus: Corpus, refused: Refused
) -> None:
    copy = Path(shutil.copytree(exported, tmp_path / "copy"))
    path = copy / "manifest.json"
    whole = path.read_text(encoding="utf-8")
    manifest = json.loads(whole)
    (name, facts), *_ = manifest["files"].items()
    for text, reason in (
        (dump_json({**manifest, "format": True}), "format: Expected int, got bool"),
        (dump_json({**manifest, "parameters": -1}), "parameters: Expected int >= 0"),
        (dump_json({**manifest, "files": {f"{name}\0": facts}}), f"files: '{name}\\x00' is not the name of a file"),
        (dump_json({**manifest, "files": {"/etc/passwd": facts}}), "files: '/etc/passwd' is not the name of a file"),
        (dump_json({**manifest, "files": {"text/../../x": facts}}), "files: 'text/../../x' is not the name of a file"),
        ('{"format": 1, "files": ' + '{"a":' * 100_000, ""),
        (whole.replace('"int8": false', '"int8": true '), "its digest does not match its contents"),
    ):
        path.write_text(text, encoding="utf-8")
        assert refused("translate", copy, "-i", corpus.test[0]).startswith(f"{path}: is damaged: {reason}"), reason
