"""What a user can get wrong, each with one clear line, exit code 2, and nothing lost."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import dragoman
from dragoman.cli.main import main
from dragoman.config.schema import FORMAT, SearchConfig, SideConfig
from dragoman.errors import abridged
from dragoman.text.segmentation import Segmentation
from dragoman.workflows import training_text
from dragoman.workflows.training import resume_training

from .conftest import SMALL, Corpus

Said = Callable[[], str]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """What the last command said: one line, no traceback, nothing on standard output."""

    def read() -> str:
        printed = capsys.readouterr()
        assert printed.out == ""
        lines = [line for line in printed.err.splitlines() if line.startswith("dragoman: error: ")]
        assert len(lines) == 1, printed.err
        assert "Traceback" not in printed.err
        return lines[0].removeprefix("dragoman: error: ")

    return read


@pytest.fixture
def copy_of_run(run_folder: Path, tmp_path: Path) -> Path:
    """A run that a test may damage."""
    return Path(shutil.copytree(run_folder, tmp_path / "run"))


def _train(corpus: Corpus, out: Path, *more: str, **files: tuple[Path, ...]) -> int:
    parts = {"train": corpus.train, "dev": corpus.dev, **files}
    text = [word for name, paths in parts.items() for word in (f"--{name}", *map(str, paths))]
    return main(["train", *text, "--out", str(out), "--quiet", "--set", *SMALL, "training.epochs=1", *more])


def _file(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_missing_file_is_answered_with_the_nearest_existing_one(corpus: Corpus, tmp_path: Path, said: Said) -> None:
    wrong = corpus.train[0].with_name("trian.low")
    assert _train(corpus, tmp_path / "run", train=(wrong, corpus.train[1])) == 2
    assert said() == f"{wrong}: does not exist; did you mean {corpus.train[0]}?"
    assert not (tmp_path / "run").exists()


def _append(path: Path) -> None:
    with path.open("a") as file:
        file.write("more\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_append, "has changed while it was read; give the command again when nobody writes to it"),
        (Path.unlink, "has disappeared while it was read; put it back and give the command again"),
    ],
)
def test_text_that_changes_while_a_training_reads_it_is_refused(
    corpus: Corpus,
    tmp_path: Path,
    said: Said,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
    message: str,
) -> None:
    """The text is read for the vocabularies, and again to be stored; between the two another program writes to it."""
    files = [Path(shutil.copy(path, tmp_path)) for path in corpus.train]
    train_segmentation = training_text.train_segmentation

    def change_then_train(side: SideConfig, lines: Iterable[str], *, case_marks: bool) -> Segmentation:
        found = train_segmentation(side, lines, case_marks=case_marks)
        if files[0].exists():
            change(files[0])
        return found

    monkeypatch.setattr(training_text, "train_segmentation", change_then_train)
    assert _train(corpus, tmp_path / "run", train=(files[0], files[1])) == 2
    assert said() == f"{files[0]}: {message}"
    assert not (tmp_path / "run").exists()


def test_a_folder_is_no_corpus(corpus: Corpus, tmp_path: Path, said: Said) -> None:
    assert _train(corpus, tmp_path / "run", train=(tmp_path, corpus.train[1])) == 2
    assert said() == f"{tmp_path}: is not a file; training reads its text more than once, so give a file"


def test_a_file_that_may_not_be_read(run_folder: Path, tmp_path: Path, said: Said) -> None:
    locked = _file(tmp_path / "locked", b"ab\n")
    locked.chmod(0)
    if locked.stat().st_uid == 0:
        # Whoever runs as root may read everything; a name that is too long cannot be opened by root either.
        locked = tmp_path / ("x" * 300)
    assert main(["translate", str(run_folder), "-i", str(locked)]) == 2
    assert f"{abridged(f'{locked}:')} cannot be read: " in said()


def test_unequal_line_counts_name_both_counts(corpus: Corpus, tmp_path: Path, said: Said) -> None:
    short = _file(tmp_path / "short", b"A\nB\n")
    assert _train(corpus, tmp_path / "run", train=(corpus.train[0], short)) == 2
    assert said().startswith(f"{corpus.train[0]} has 300 lines but {short} has 2; line k of one must be")
    assert not (tmp_path / "run").exists()  # nothing that the corrected command would have to overwrite


def test_invalid_utf8_names_file_and_line(corpus: Corpus, tmp_path: Path, said: Said) -> None:
    latin = _file(tmp_path / "latin", b"ab\nk\xe4se\n")
    assert _train(corpus, tmp_path / "run", dev=(latin, latin)) == 2
    assert said().startswith(f"{latin}:2: byte 0xe4 at position 2 is not UTF-8")


def test_a_damaged_archive_is_named(run_folder: Path, tmp_path: Path, said: Said) -> None:
    damaged = _file(tmp_path / "in.gz", b"not gzip")
    assert main(["translate", str(run_folder), "-i", str(damaged)]) == 2
    assert said().startswith(f"{damaged}: damaged, or not a .gz file at all")


def test_an_empty_corpus_and_an_empty_dev_set(corpus: Corpus, tmp_path: Path, said: Said) -> None:
    empty, blank = _file(tmp_path / "empty", b""), _file(tmp_path / "blank", b"\n\n")
    assert _train(corpus, tmp_path / "a", train=(empty, empty)) == 2
    assert f"{empty} and {empty}: no lines in it; a corpus needs at least one pair" in said()
    assert _train(corpus, tmp_path / "b", dev=(empty, empty)) == 2
    assert f"{empty} and {empty}: no lines in it" in said()
    assert _train(corpus, tmp_path / "c", dev=(blank, blank)) == 2
    assert f"the dev set ({blank} {blank}) has no pair with text on both sides" in said()
    assert _train(corpus, tmp_path / "d", train=(blank, blank)) == 2
    assert "no training pair is left after cleaning (2 empty side)" in said()


def test_missing_corpora_are_asked_for(corpus: Corpus, tmp_path: Path, said: Said) -> None:
    assert main(["train", "--out", str(tmp_path / "run"), "--dev", *map(str, corpus.dev)]) == 2
    assert said().startswith("--train is required: give the source and the target file")
    assert main(["train", "--out", "r", "--dev", "a", "b", "--train", "a", "b", "c"]) == 2
    assert said().startswith("--train: expected one or two files (source and target), not 3: a b c; repeat --train")
    assert _train(corpus, tmp_path / "run", train=(corpus.train[0],)) == 2
    assert "a corpus in one file is .csv, .tsv, .jsonl" in said()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model.encoder.sizes=5", "unknown key 'model.encoder.sizes' (did you mean model.encoder.size?)"),
        ("model.encoder.size=big", "model.encoder.size: expected a whole number, not 'big'"),
        ("model.encoder.size=0", "model.encoder.size: expected a whole number >= 1, not 0"),
        ("model.encoder.cell=gruu", "not 'gruu' (did you mean gru?)"),
        ("training.epochs", "--set training.epochs: write key=value"),
    ],
)
def test_a_wrong_setting_is_named(setting: str, message: str, corpus: Corpus, tmp_path: Path, said: Said) -> None:
    assert _train(corpus, tmp_path / "run", "--set", setting) == 2
    assert message in said()
    assert not (tmp_path / "run").exists()


def test_a_configuration_made_in_python_is_checked_before_training(corpus: Corpus, tmp_path: Path) -> None:
    config = dragoman.Config(search=SearchConfig(beam=0))
    message = r"^config: search\.beam: expected a whole number >= 1, not 0$"
    with pytest.raises(dragoman.DragomanError, match=message):
        dragoman.train(config, [corpus.train], [corpus.dev], tmp_path / "run")
    with pytest.raises(dragoman.DragomanError, match=message):
        resume_training(tmp_path / "run", config)
    assert not (tmp_path / "run").exists()


def test_a_wrong_configuration_file_is_named(corpus: Corpus, tmp_path: Path, said: Said) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text("training:\n  epoch: 5\n", encoding="utf-8")
    assert main(["train", str(config), "--out", "r", "--train", "a", "b", "--dev", "a", "b"]) == 2
    assert said() == f"{config}: unknown key 'training.epoch' (did you mean training.epochs?)"
    config.write_text("training: [\n", encoding="utf-8")
    assert main(["train", str(config), "--out", "r", "--train", "a", "b", "--dev", "a", "b"]) == 2
    assert said().startswith(f"{config}, line ")
    assert main(["train", str(tmp_path / "none.yaml"), "--out", "r", "--train", "a", "b", "--dev", "a", "b"]) == 2
    assert said().startswith(f"{tmp_path / 'none.yaml'}: cannot read the configuration")


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("config.yaml", "not a run folder: it has no config.yaml"),
        ("text", "has no text/, the segmentations and vocabularies that its weights belong to"),
        ("text/target.vocabulary", "target.vocabulary"),
        ("text/source.segmentation.json", "source.segmentation.json: missing; the run folder is not complete"),
        ("model.safetensors", "has no model.safetensors: training has not reached its first validation"),
    ],
)
def test_a_run_that_lacks_a_part(part: str, message: str, copy_of_run: Path, corpus: Corpus, said: Said) -> None:
    path = copy_of_run / part
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert main(["translate", str(copy_of_run), "-i", str(corpus.test[0])]) == 2
    assert message in said()


def test_a_run_that_does_not_exist(run_folder: Path, said: Said) -> None:
    assert main(["translate", str(run_folder.with_name("tinny"))]) == 2
    message = said()
    assert "does not exist" in message
    assert f"did you mean {run_folder}?" in message


def test_a_run_of_a_newer_format(copy_of_run: Path, said: Said) -> None:
    config = copy_of_run / "config.yaml"
    config.write_text(
        config.read_text(encoding="utf-8").replace(f"format: {FORMAT}", "format: 99", 1), encoding="utf-8"
    )
    for verb in (["translate", str(copy_of_run)], ["train", "--resume", "--out", str(copy_of_run)]):
        assert main(verb) == 2
        assert f"format 99 is newer than this version of dragoman reads ({FORMAT}); upgrade dragoman" in said()


def test_damaged_weights(copy_of_run: Path, corpus: Corpus, said: Said) -> None:
    weights = copy_of_run / "model.safetensors"
    whole = weights.read_bytes()
    for damage in (b"", b"nonsense", whole[: len(whole) // 2]):
        weights.write_bytes(damage)
        assert main(["translate", str(copy_of_run), "-i", str(corpus.test[0])]) == 2
        assert said().startswith(f"{weights}: the weights are damaged")


def test_weights_of_another_model(copy_of_run: Path, corpus: Corpus, said: Said) -> None:
    config = copy_of_run / "config.yaml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("size: 24", "size: 25", 1), encoding="utf-8")
    assert main(["score", str(copy_of_run), *map(str, corpus.test)]) == 2
    assert "the weights do not belong to this run" in said()


def test_a_damaged_training_state(copy_of_run: Path, said: Said) -> None:
    (state,) = (copy_of_run / "checkpoints").iterdir()
    state.write_bytes(state.read_bytes()[:-100])
    assert main(["train", "--out", str(copy_of_run), "--resume", "--quiet"]) == 2
    assert said().startswith(f"{state}: the training state is damaged")


def test_resuming_what_is_no_run(tmp_path: Path, said: Said) -> None:
    assert main(["train", "--out", str(tmp_path / "none"), "--resume"]) == 2
    assert said() == f"{tmp_path / 'none'}: does not exist"


def test_a_run_whose_path_is_a_file(corpus: Corpus, said: Said) -> None:
    assert _train(corpus, corpus.dev[0]) == 2
    assert said() == f"{corpus.dev[0]}: is a file, or lies under one; give the path of a folder"


def test_a_gpu_that_is_not_there(run_folder: Path, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(["translate", str(run_folder), "--device", "cuda"]) == 2
    assert said().startswith("--device cuda: no CUDA device is available here")


@pytest.mark.slow
def test_a_disk_that_fills_up_while_saving_keeps_the_last_state(copy_of_run: Path, corpus: Corpus) -> None:
    before = {path: path.read_bytes() for path in (copy_of_run / "checkpoints").iterdir()}
    weights = (copy_of_run / "model.safetensors").read_bytes()

    def limit_file_size() -> None:
        # A write beyond the limit fails as on a full disk (Python ignores the signal that comes with it).
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    command = [sys.executable, "-m", "dragoman", "train", "--out", str(copy_of_run), "--resume", "--threads", "1"]
    done = subprocess.run(
        [*command, "--set", "training.epochs=22"],
        preexec_fn=limit_file_size, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    error = done.stderr.splitlines()[-1]
    assert error.startswith("dragoman: error: ")
    assert "cannot be written: File too large" in error
    assert "Traceback" not in done.stderr
    assert {path: path.read_bytes() for path in (copy_of_run / "checkpoints").iterdir()} == before
    assert (copy_of_run / "model.safetensors").read_bytes() == weights


def test_align_without_attention_is_refused(corpus: Corpus, tmp_path: Path, said: Said) -> None:
    settings = ["model.decoder.context=none", "model.bridge.kind=tanh-last"]
    assert _train(corpus, tmp_path / "run", "--set", *settings) == 0
    assert main(["align", str(tmp_path / "run"), *map(str, corpus.test)]) == 2
    assert said() == f"the model of {tmp_path / 'run'} has no attention, so it cannot align"
    assert main(["translate", str(tmp_path / "run"), "--alignments", str(tmp_path / "a")]) == 2
    assert said() == f"--alignments requires attention, and the model of {tmp_path / 'run'} has none"
