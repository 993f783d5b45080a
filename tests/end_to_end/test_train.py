"""`dragoman train`, whole: what it writes, what it says, how it goes on."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

import dragoman
from dragoman.cli.main import main
from dragoman.config.building import override
from dragoman.config.files import load_config
from dragoman.config.presets import load_preset, preset_names
from dragoman.progress import Console
from dragoman.text.lines import read_lines, write_lines
from dragoman.workflows import training

from .conftest import SMALL, Corpus

Train = Callable[..., int]
BRIEF = ["training.epochs=0.5", "training.validation.metric=perplexity"]

THROUGH_THE_COMMAND = ("cho2014", "sutskever2014", "bahdanau2015", "luong2015-local-p-general")
"""A fixed context, no attention, and both orders of the decoder."""


@pytest.fixture(scope="module")
def finished(train: Train, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run. Tests must not change it."""
    folder = tmp_path_factory.mktemp("runs") / "finished"
    assert train(folder, "--quiet", settings=BRIEF) == 0
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A short run that may be changed."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


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
    assert "parameters; float32 products on cpu, 1 thread\n" in printed.err
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
def test_every_preset_made_small_trains_for_two_updates(
    preset: str, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(preset_names()) == 24
    files = []
    for path in corpus.train:
        files.append(tmp_path / path.name)
        write_lines(files[-1], list(read_lines(path))[:32])
    monkeypatch.setattr(training, "write_run_report", lambda *_: None)  # it is the same for all
    settings = [*_small(preset), "training.epochs=1", "training.validation.sentences=2", "training.validation.beam=2"]
    config = override(load_preset(preset), [*settings, "cleaning.duplicates=keep"])
    result = training.train(config, [files], [files], tmp_path / "run", device="cpu", console=Console(quiet=True))
    assert result.result.update == 2
    assert result.folder.weights.is_file()


@pytest.mark.parametrize("preset", THROUGH_THE_COMMAND)
def test_a_preset_made_small_trains_and_translates(
    preset: str, train: Train, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["training.epochs=0.1", "training.validation.sentences=5", "training.validation.beam=2"]
    folder = tmp_path / preset
    assert train(folder, "--preset", preset, "--quiet", settings=[*_small(preset), *settings]) == 0
    capsys.readouterr()
    assert main(["translate", str(folder), "-i", str(corpus.test[0]), "--threads", "1"]) == 0
    assert capsys.readouterr().out.count("\n") == 20


def _small(preset: str) -> list[str]:
    """Settings that make a preset small; where the decoder takes over the encoder's states they are of one size."""
    copied = load_preset(preset).model.bridge.kind == "copy"
    return [*SMALL, "model.encoder.size=32"] if copied else list(SMALL)


def test_subwords_words_and_joint_vocabularies_train(train: Train, tmp_path: Path) -> None:
    for number, settings in enumerate(
        [
            [
                "text.joint=true",
                "text.source.segmentation=bpe",
                "text.target.segmentation=bpe",
                "text.source.vocabulary=40",
                "model.embedding.tied=all",
            ],
            ["text.source.segmentation=unigram", "text.source.vocabulary=30", "text.target.segmentation=words"],
            [
                "text.joint=true",
                "text.source.segmentation=words",
                "text.target.segmentation=words",
                "text.target.language=de",
            ],
        ]
    ):
        folder, text, out = tmp_path / str(number), tmp_path / "text", tmp_path / "out"
        assert train(folder, "--quiet", "--updates", "2", settings=settings) == 0, settings
        write_lines(text, list(read_lines(folder / "config.yaml"))[:10])
        assert main(["translate", str(folder), "-i", str(text), "-o", str(out), "--quiet"]) == 0, settings


def test_a_scaled_preset_trains_and_resumes(
    train: Train, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    text = ["--train", *map(str, corpus.train), "--dev", *map(str, corpus.dev)]
    command = ["train", "--preset", "luong2015-reverse", "--scale", "0.01", *text, "--out", str(run), "--threads", "1"]
    settings = ["--updates", "2", "--set", "training.validation.metric=perplexity"]
    assert main([*command, "--quiet", *settings]) == 0
    model = load_config(run / "config.yaml").model
    log = [json.loads(line) for line in read_lines(run / "log.jsonl")]
    assert [record["update"] for record in log if record["kind"] == "validation"][-1] == 2
    assert {model.embedding.source, model.embedding.target, model.encoder.size, model.decoder.size} == {10}
    assert main([*command, "--resume", *settings]) == 0  # the same command: the same sizes
    capsys.readouterr()
    assert main(["train", "--out", str(run), "--resume", "--scale", "0.5"]) == 2
    assert "--scale cannot change the sizes of an existing run" in capsys.readouterr().err


def test_a_scaled_window_follows_the_sentences_and_is_kept_when_resuming(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    text = ["--train", *map(str, corpus.train), "--dev", *map(str, corpus.dev)]
    command = ["train", "--preset", "luong2015-local-m-dot", "--scale", "0.01", *text, "--out", str(run)]
    settings = ["--threads", "1", "--updates", "2", "--set", "training.validation.metric=perplexity"]
    settings += ["cleaning.duplicates=keep", "model.attention.window=60"]
    assert main([*command, *settings]) == 0
    lengths = [len(line.split()) for line in read_lines(corpus.train[0])]
    mean = sum(lengths) / len(lengths)
    expected = round(60 * mean / 25.8)
    assert 3 < expected < 10
    assert f"model.attention.window: {expected} (60 for 25.8 source segments a line, here {mean:.1f})" in (
        capsys.readouterr().err
    )
    attention = load_config(run / "config.yaml").model.attention
    assert (attention.window, attention.reference_length) == (expected, None)
    assert main([*command, *settings, "--resume"]) == 0  # the same command: the same window
    assert load_config(run / "config.yaml").model.attention == attention


def test_an_existing_run_is_kept_unless_asked_to_overwrite(
    train: Train, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _weights(run)
    assert train(run, settings=BRIEF) == 2
    assert "a run is there already; --resume goes on with it, --overwrite starts anew" in capsys.readouterr().err
    assert _weights(run) == before
    assert train(run, "--quiet", "--overwrite", settings=[*BRIEF, "training.seed=2"]) == 0
    assert _weights(run) != before


def test_columns_of_languages_are_read_in_the_order_of_the_configuration(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "train.csv"
    write_lines(table, ["en,de", "a,b"])
    command = ["train", "--preset", "demo", "--train", str(table), "--dev", str(table), "--out", str(run)]
    assert main([*command, "--set", "text.source.language=de", "text.target.language=en"]) == 2  # a run is there
    assert f"{table}: source de, target en" in capsys.readouterr().err


def test_a_finished_run_resumed_for_longer_equals_a_long_one(train: Train, run: Path, tmp_path: Path) -> None:
    straight = tmp_path / "straight"
    assert train(straight, "--quiet", settings=[*BRIEF, "training.epochs=1.5"]) == 0
    torch.set_num_threads(2)  # as in a process that was not given --threads
    assert main(["train", "--out", str(run), "--resume", "--quiet", "--set", "training.epochs=1.5"]) == 0
    assert torch.get_num_threads() == 1
    assert _weights(run) == _weights(straight)
    assert load_config(run / "config.yaml").training.epochs == 1.5


def test_the_same_command_with_resume_goes_on(train: Train, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(run, "--resume", settings=BRIEF) == 0
    assert (
        "--resume uses the corpus stored in the run; --train, --dev, --alignments and --dropped"
        in capsys.readouterr().err
    )


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


def test_a_resumed_run_cannot_become_another_model(train: Train, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(run, "--resume", settings=[*BRIEF, "model.encoder.size=48"]) == 2
    said = capsys.readouterr().err
    assert "--resume: model.encoder.size is 48 here but 24 in the run; a resumed training may change only" in said


@pytest.mark.slow
def test_a_signal_saves_the_state_and_the_resumed_run_is_as_if_never_stopped(
    train: Train, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another process by SIGINT, and this one by SIGTERM."""
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    settings = ["training.epochs=3", "training.validation.metric=perplexity", "training.log_every=1"]
    assert train(straight, "--quiet", settings=settings) == 0
    command = [sys.executable, "-m", "dragoman", "train", "--preset", "demo", "--train", *map(str, corpus.train)]
    command += ["--dev", *map(str, corpus.dev), "--out", str(stopped), "--threads", "1", "--set", *SMALL, *settings]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    _wait_for_lines(stopped / "log.jsonl", 10)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130, said
    assert "dragoman: SIGINT: state saved after update" in said
    assert "Traceback" not in said
    resume = ["train", "--out", str(stopped), "--resume", "--threads", "1"]
    with ThreadPoolExecutor(1) as beside:
        beside.submit(_send_after, stopped / "log.jsonl", _lines(stopped / "log.jsonl") + 8)
        assert main(resume) == 130
    assert "dragoman: SIGTERM: state saved after update" in capsys.readouterr().err
    assert main([*resume, "--quiet"]) == 0
    assert _weights(stopped) == _weights(straight)


def _lines(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def _send_after(path: Path, lines: int) -> None:
    _wait_for_lines(path, lines)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGTERM)


def _wait_for_lines(path: Path, count: int) -> None:
    patience = time.monotonic() + 600  # a busy machine is no failure
    while not path.exists() or _lines(path) < count:
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


UNGUARDED = """
import sys
from pathlib import Path

import dragoman
from dragoman.data import segmenting

print("the script runs")
segmenting.PATIENCE, segmenting.CHUNK, segmenting._cores = 0.0, 20, lambda: 2
source, target, dev_source, dev_target, out = map(Path, sys.argv[1:6])
config = dragoman.override(dragoman.load_preset("demo"), sys.argv[6:])
dragoman.train(config, [(source, target)], [(dev_source, dev_target)], out, overwrite=True)
print("the script ends", "with the compiler of torch" if "torch._dynamo" in sys.modules else "", flush=True)
"""


@pytest.mark.slow
def test_a_script_without_a_guard_trains_once_and_does_not_import_the_compiler_of_torch(
    tmp_path: Path, corpus: Corpus
) -> None:
    script, out = tmp_path / "script.py", tmp_path / "run"
    script.write_text(UNGUARDED)
    settings = [*SMALL, "training.epochs=0.1", "training.validation.metric=perplexity"]
    command = [sys.executable, script, *corpus.train, *corpus.dev, out, *settings]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the script runs\nthe script ends \n"
    assert "the processes that" not in done.stderr
    assert list(dragoman.load(out).translate_lines(["ab", "c"]))


def test_references_that_bleu_takes_for_words_are_told_once_and_before_training(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = corpus.dev[0].read_text(encoding="utf-8").splitlines()
    kana = str.maketrans({chr(ord("a") + number): chr(0x3042 + 2 * number) for number in range(26)} | {" ": ""})
    for name, lines in (("t.src", source), ("t.tgt", [f"{line * 3}".translate(kana) for line in source])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    text = ["t.src", "t.tgt"]
    files = [str(tmp_path / name) for name in text]
    command = ["train", "--preset", "demo", "--train", *files, "--dev", *files, "--out", str(tmp_path / "run")]
    settings = [
        *SMALL,
        "training.epochs=1",
        "text.source.segmentation=characters",
        "text.target.segmentation=characters",
    ]
    assert main([*command, "--threads", "1", "--set", *settings]) == 0
    printed = capsys.readouterr().err
    warning = "the references have no spaces between words, so BLEU with tokenizer 13a takes whole lines for words"
    assert printed.count(warning) == 1
    assert printed.index(warning) < printed.index("finished after update")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--set", "training.epoch=3"], "--set training.epoch=3: unknown key 'training.epoch' (did you mean"),
        (["--set", "training.epochs=many"], "--set: training.epochs: expected a number, not 'many'"),
        (["--dev", "nowhere.de", "nowhere.en"], "nowhere.de: does not exist"),
    ],
)
def test_mistakes_are_told_before_the_text_is_read(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    assert main(["train", "--train", *map(str, corpus.train), "--out", str(tmp_path / "new"), *more]) == 2
    assert capsys.readouterr().err.startswith(f"dragoman: error: {message}")


def test_references_too_short_for_bleu_are_told_before_training(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warning = "warning: no reference has four tokens, and BLEU counts 4-grams"
    for metric, count in (("bleu", 1), ("chrf", 0)):
        settings = [*BRIEF, f"training.validation.metric={metric}"]
        assert train(tmp_path / metric, settings=settings) == 0
        printed = capsys.readouterr().err
        assert printed.count(warning) == count
    assert "finished after update" in printed


def test_languages_come_from_the_file_names_and_stay_when_resumed(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for name, paths in (("train", corpus.train), ("dev", corpus.dev)):
        files[name] = [str(tmp_path / f"{name}.{code}") for code in ("no", "en")]
        for old, new in zip(paths, files[name], strict=True):
            Path(new).write_bytes(old.read_bytes())
    command = ["train", "--preset", "demo", "--train", *files["train"], "--dev", *files["dev"], "--threads", "1"]
    command += ["--out", str(tmp_path / "run"), "--set", *SMALL, "training.epochs=0.1"]
    command += ["training.validation.metric=perplexity"]
    assert main(command) == 0
    assert "languages: no to en, from the file names\n" in capsys.readouterr().err
    text = load_config(tmp_path / "run" / "config.yaml").text
    assert (text.source.language, text.target.language) == ("no", "en")
    assert load_config(tmp_path / "run" / "config.yaml").training.validation.tokenizer == "13a"
    assert main([*command, "--resume"]) == 0
    assert main([*command, "--resume", "--languages", "no", "eng"]) == 0
    assert main([*command, "--resume", "--languages", "de", "en"]) == 2
    assert "text.source.language is de here but no in the run" in capsys.readouterr().err
    assert main([*command, "--languages", "Norwegian", "en"]) == 2
    assert "'Norwegian' is not a language code; give one of ISO 639, such as de" in capsys.readouterr().err
