"""`dragoman train`, whole: what it writes, what it says, how it goes on."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.config.files import load_config
from dragoman.config.presets import load_preset, preset_names
from dragoman.text.lines import read_lines

from .conftest import SMALL, Corpus

Train = Callable[..., int]
BRIEF = ["training.epochs=2", "training.validation.metric=perplexity"]


def _weights(run: Path) -> bytes:
    return (run / "model.safetensors").read_bytes()


def test_a_run_folder_holds_everything(run_folder: Path) -> None:
    for name in ("config.yaml", "model.safetensors", "log.jsonl", "report.html"):
        assert (run_folder / name).stat().st_size > 0, name
    for name in ("text", "checkpoints", "tensorboard", "data"):
        assert any((run_folder / name).iterdir()), name


def test_it_says_what_it_does_on_standard_error_only(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path / "run", settings=BRIEF) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "pairs: kept 2" in printed.err
    assert "(duplicate " in printed.err
    assert "vocabulary: 11 and 11" in printed.err
    assert "parameters; float32 products on cpu, 1 threads" in printed.err
    assert "finished after update" in printed.err
    assert f"report: {tmp_path / 'run' / 'report.html'}\n" in printed.err


def test_quiet_says_nothing(train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(tmp_path / "run", "--quiet", settings=BRIEF) == 0
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""


def test_a_configuration_file_several_corpora_of_all_kinds_and_a_list_of_what_was_dropped(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text("preset: bahdanau2015\ncleaning: {max_length: 8, max_ratio: 2}\n", encoding="utf-8")
    columns, objects, listing = tmp_path / "a.tsv.gz", tmp_path / "b.jsonl", tmp_path / "dropped.tsv.gz"
    with gzip.open(columns, "wt", encoding="utf-8") as file:
        file.write("a b\tA B\n\tX\na b c d e f\tA B C D E F\na\tAAAA\n")
    objects.write_text('{"source": "a b", "target": "A B"}\n{"source": "f", "target": "F"}\n', encoding="utf-8")
    arguments = ["--train", *map(str, corpus.dev), "--train", str(columns), "--train", str(objects)]
    arguments += ["--dev", *map(str, corpus.dev), "--dev", str(objects)]
    options = ["--dropped", str(listing), "--minutes", "5", "--device", "cpu", "--threads", "1"]
    settings = [*SMALL, "training.epochs=1", "training.validation.metric=perplexity"]
    run = tmp_path / "run"
    assert main(["train", str(config), *arguments, "--out", str(run), *options, "--set", *settings]) == 0
    said = capsys.readouterr().err
    dropped = [line.split("\t") for line in read_lines(listing)]
    reasons = [reason for _, reason, _, _ in dropped]
    assert {"empty side", "too long", "length ratio", "duplicate"} == set(reasons)
    assert f"dropped {len(dropped)} (" in said
    assert ["empty side", "", "X"] in [entry[1:] for entry in dropped]
    assert [f"{objects}:1", "duplicate", "a b", "A B"] in dropped
    saved = load_config(run / "config.yaml")
    assert saved.preset == "bahdanau2015"
    assert saved.cleaning.max_length == 8
    assert saved.training.minutes == 5


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_trains_when_made_small(
    preset: str, train: Train, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(preset_names()) == 23
    sizes = ["model.encoder.size=32"] if load_preset(preset).model.bridge.kind == "copy" else []
    settings = [*sizes, "training.epochs=1", "training.validation.sentences=5", "training.validation.beam=2"]
    run = tmp_path / preset
    assert train(run, "--preset", preset, "--quiet", settings=settings) == 0
    source = str(corpus.test[0])
    capsys.readouterr()
    assert main(["translate", str(run), "-i", source, "--threads", "1"]) == 0
    assert capsys.readouterr().out.count("\n") == 20


def test_subwords_words_and_joint_vocabularies_train(train: Train, tmp_path: Path) -> None:
    for number, settings in enumerate(
        [
            [
                "text.joint=true",
                "text.source.segmentation=bpe",
                "text.source.vocabulary=40",
                "model.embedding.tied=all",
            ],
            ["text.source.segmentation=unigram", "text.source.vocabulary=30", "text.target.segmentation=words"],
            ["text.joint=true", "text.source.segmentation=words", "text.target.language=de"],
        ]
    ):
        run = tmp_path / str(number)
        assert train(run, "--quiet", settings=["training.epochs=1", *settings]) == 0
        assert (
            main(["translate", str(run), "-i", str(run / "config.yaml"), "-o", str(tmp_path / "out"), "--quiet"]) == 0
        )


def test_a_scaled_preset_trains_and_resumes(
    train: Train, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    text = ["--train", *map(str, corpus.train), "--dev", *map(str, corpus.dev)]
    command = ["train", "--preset", "luong2015-reverse", "--scale", "0.01", *text, "--out", str(run), "--threads", "1"]
    settings = ["--set", "training.epochs=1", "training.validation.metric=perplexity"]
    assert main([*command, "--quiet", *settings]) == 0
    model = load_config(run / "config.yaml").model
    assert {model.embedding.source, model.embedding.target, model.encoder.size, model.decoder.size} == {10}
    assert main([*command, "--resume", *settings]) == 0  # the same command: the same sizes
    capsys.readouterr()
    assert main(["train", "--out", str(run), "--resume", "--scale", "0.5"]) == 2
    assert "--scale: a run that is resumed has its sizes already" in capsys.readouterr().err


def test_an_existing_run_is_kept_unless_asked_to_overwrite(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert train(run, "--quiet", settings=BRIEF) == 0
    before = _weights(run)
    assert train(run, settings=BRIEF) == 2
    assert "a run is there already; --resume goes on with it, --overwrite starts anew" in capsys.readouterr().err
    assert _weights(run) == before
    assert train(run, "--quiet", "--overwrite", settings=[*BRIEF, "training.seed=2"]) == 0
    assert _weights(run) != before


def test_a_finished_run_resumed_for_longer_equals_a_long_one(train: Train, tmp_path: Path) -> None:
    straight, resumed = tmp_path / "straight", tmp_path / "resumed"
    assert train(straight, "--quiet", settings=[*BRIEF, "training.epochs=4"]) == 0
    assert train(resumed, "--quiet", settings=BRIEF) == 0
    assert main(["train", "--out", str(resumed), "--resume", "--quiet", "--threads", "1",
                 "--set", "training.epochs=4"]) == 0  # fmt: skip
    assert _weights(resumed) == _weights(straight)
    assert load_config(resumed / "config.yaml").training.epochs == 4


def test_the_same_command_with_resume_goes_on(train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert train(run, "--quiet", settings=BRIEF) == 0
    assert train(run, "--resume", settings=BRIEF) == 0
    assert "the corpus stored in the run is used; --train, --dev, --alignments and --dropped" in capsys.readouterr().err


def test_an_automatic_precision_is_settled_once_and_kept_when_resumed(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    automatic = [*BRIEF, "training.precision=auto"]
    assert train(run, settings=automatic) == 0
    settled = load_config(run / "config.yaml").training.precision
    assert settled in ("fp32", "bf16")
    assert f"training.precision: auto is {settled} here" in capsys.readouterr().err
    assert train(run, "--resume", settings=automatic) == 0
    assert load_config(run / "config.yaml").training.precision == settled


def test_a_resumed_run_cannot_become_another_model(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert train(run, "--quiet", settings=BRIEF) == 0
    assert train(run, "--resume", settings=[*BRIEF, "model.encoder.size=48"]) == 2
    said = capsys.readouterr().err
    assert "--resume: model.encoder.size is 48 here but 24 in the run; a resumed training may change only" in said


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_the_state_and_the_resumed_run_is_as_if_never_stopped(
    sent: signal.Signals, train: Train, corpus: Corpus, tmp_path: Path
) -> None:
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    settings = ["training.epochs=12", "training.validation.metric=perplexity", "training.log_every=1"]
    assert train(straight, "--quiet", settings=settings) == 0
    command = [
        sys.executable,
        "-m",
        "dragoman",
        "train",
        "--preset",
        "demo",
        "--train",
        *map(str, corpus.train),
        "--dev",
    ]
    command += [*map(str, corpus.dev), "--out", str(stopped), "--threads", "1", "--set", *SMALL, *settings]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    _wait_for_lines(stopped / "log.jsonl", 25)
    process.send_signal(sent)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert f"dragoman: {sent.name}: state saved after update" in said
    assert "Traceback" not in said
    assert main(["train", "--out", str(stopped), "--resume", "--quiet", "--threads", "1"]) == 0
    assert _weights(stopped) == _weights(straight)


def _wait_for_lines(path: Path, count: int) -> None:
    patience = time.monotonic() + 60
    while not path.exists() or path.read_text(encoding="utf-8").count("\n") < count:
        assert time.monotonic() < patience
        time.sleep(0.01)


def test_the_log_holds_every_measurement(run_folder: Path) -> None:
    records = [json.loads(line) for line in (run_folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {"train", "validation", "event"} == {record["kind"] for record in records}
    assert {"perplexity", "bleu", "chrf"} <= next(record for record in records if record["kind"] == "validation").keys()


def test_the_report_shows_curves_samples_and_facts(run_folder: Path) -> None:
    page = (run_folder / "report.html").read_text(encoding="utf-8")
    assert "Training of tiny" in page
    assert page.count("<svg") == 3  # loss, perplexity, scores
    assert "Training pairs" in page
    assert "all 300 pairs" in page  # what was looked at
    assert "20 sentences of the dev set" in page
    found = re.search(r'id="texts">(.*?)</script>', page)
    assert found
    sentences = json.loads(found[1])["sentences"]
    assert len(sentences) == 20
    assert all(sentence["t"][0]["a"] for sentence in sentences)
    assert "http://" not in page.replace("http://www.w3.org/", "")
