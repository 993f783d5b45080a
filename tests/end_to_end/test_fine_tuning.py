"""`train --from`: a trained model goes on with other text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dragoman
from dragoman.cli.main import main
from dragoman.config.building import override
from dragoman.config.fine_tuning import EPOCHS, RATE, fine_tuning, require_same_model
from dragoman.config.presets import load_preset
from dragoman.config.schema import MixConfig
from dragoman.errors import ConfigError
from dragoman.runs.layout import RunFolder

from .conftest import Corpus

METRIC = "training.validation.metric=perplexity"
SAME_HOWEVER_LONG = ("training.schedule.name=constant", "training.validation.at_least=0")
"""Neither rates nor validations depend on the length of the training."""


@pytest.fixture(scope="module")
def other(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[str]]:
    """Text of another domain, training and dev set: every target has its letters twice."""
    folder = tmp_path_factory.mktemp("other")
    files: list[list[str]] = []
    for name, (source, target) in (("train", corpus.train), ("dev", corpus.dev)):
        doubled = folder / f"{name}.twice"
        doubled.write_text("".join(f"{line} {line}\n" for line in target.read_text().splitlines()))
        files.append([str(source), str(doubled)])
    return files[0], files[1]


def fine_tune(run: Path, other: tuple[list[str], list[str]], out: Path, *more: str, epochs: float = 3) -> int:
    text = ["--train", *other[0], "--dev", *other[1]]
    settings = [METRIC, "training.precision=fp32", f"training.epochs={epochs}", "training.validation.every=19"]
    return main(["train", "--from", str(run), *text, "--out", str(out), "--threads", "1", "--set", *settings, *more])


def validations(run: Path) -> list[dict[str, float]]:
    records = [json.loads(line) for line in RunFolder(run).log.read_text().splitlines()]
    return [record for record in records if record["kind"] == "validation"]


def test_a_model_goes_on_with_other_text(
    run_folder: Path, other: tuple[list[str], list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new"
    assert fine_tune(run_folder, other, out) == 0
    said = capsys.readouterr().err
    assert "unknown segments: 0.0% source, 0.0% target" in said
    measured = validations(out)
    assert measured[0]["update"] == 0
    assert min(record["perplexity"] for record in measured) < 0.5 * measured[0]["perplexity"]
    trained, new = RunFolder(run_folder), RunFolder(out)
    for name in ("source.vocabulary", "target.vocabulary"):
        assert (new.text / name).read_bytes() == (trained.text / name).read_bytes()
    before, after = trained.load_config().training, new.load_config().training
    assert after.optimiser.learning_rate == RATE * before.optimiser.learning_rate
    assert json.loads(new.inspection.read_text())["facts"]["fine-tuned from"] == str(run_folder)


def test_a_vocabulary_grows_with_the_text(
    run_folder: Path, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Letters that the model has never seen, é among them, which begins as what it knows of e."""
    files = {}
    for name, (source, target) in (("train", corpus.train), ("dev", corpus.dev)):
        files[name] = [tmp_path / f"{name}.{ending}" for ending in ("low", "up")]
        for path, given, letters in ((files[name][0], source, "éx"), (files[name][1], target, "ÉX")):
            path.write_text(given.read_text().translate(str.maketrans("eaEA", letters * 2)))
    text = (list(map(str, files["train"])), list(map(str, files["dev"])))
    assert fine_tune(run_folder, text, tmp_path / "plain", epochs=0.1) == 0
    said = capsys.readouterr().err
    assert "the model cannot learn these; --extend-vocabulary adds them" in said
    out = tmp_path / "new"
    learn = ["training.optimiser.learning_rate=0.01", "training.validation.every=57"]
    assert fine_tune(run_folder, text, out, *learn, "--extend-vocabulary", epochs=9) == 0
    said = capsys.readouterr().err
    assert "vocabulary: 2 and 2 new segments" in said
    assert "unknown segments: 0.0% source, 0.0% target" in said
    trained, new = RunFolder(run_folder), RunFolder(out)
    for name in ("source.vocabulary", "target.vocabulary"):
        before, after = ((folder.text / name).read_text().splitlines()[1:] for folder in (trained, new))
        assert after[: len(before)] == before
        assert len(after) == len(before) + 2
    measured = dragoman.measure(dragoman.open_run(out, threads=1), list(dragoman.read_test_set(text[1])))
    assert measured.evaluation.score("exact match") > 50
    assert main(["train", "--out", str(out), "--resume", "--threads", "1", "--set", "training.epochs=9.1"]) == 0
    assert main(["export", str(out), "--out", str(tmp_path / "light"), "--quiet"]) == 0
    exported = dragoman.load(tmp_path / "light").translate("éx")
    assert exported.text == dragoman.load(out).translate("éx").text
    assert fine_tune(run_folder, text, tmp_path / "none", "--resume", "--extend-vocabulary", epochs=0.1) == 0
    words = ["train", "--train", *text[0], "--out", str(tmp_path / "other"), "--extend-vocabulary"]
    assert main(words) == 2
    assert "--extend-vocabulary requires --from RUN" in capsys.readouterr().err


def test_a_stopped_fine_tuning_resumes_exactly_also_by_the_command_that_began_it(
    run_folder: Path, other: tuple[list[str], list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert fine_tune(run_folder, other, whole, *SAME_HOWEVER_LONG, epochs=0.5) == 0
    assert fine_tune(run_folder, other, stopped, *SAME_HOWEVER_LONG, "--resume", epochs=0.2) == 0
    assert main(["train", "--out", str(stopped), "--resume", "--threads", "1", "--set", "training.epochs=0.3"]) == 0
    assert "--from is ignored" not in capsys.readouterr().err
    assert fine_tune(run_folder, other, stopped, *SAME_HOWEVER_LONG, "--resume", epochs=0.5) == 0
    assert "--resume goes on with the weights and the configuration of the run; --from is ignored" in (
        capsys.readouterr().err
    )
    assert RunFolder(whole).weights.read_bytes() == RunFolder(stopped).weights.read_bytes()


def test_the_trained_weights_are_kept_if_nothing_is_better(
    run_folder: Path, other: tuple[list[str], list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harmful = ["training.optimiser.learning_rate=0.5", "training.optimiser.max_gradient_norm=null"]
    assert fine_tune(run_folder, other, tmp_path / "new", *harmful, epochs=0.2) == 0
    assert "after update 0" in capsys.readouterr().err
    assert RunFolder(tmp_path / "new").weights.read_bytes() == RunFolder(run_folder).weights.read_bytes()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["model.encoder.size=8"], "model.encoder.size: is 8 here but 24 in the trained model"),
        (["text.source.vocabulary=99"], "text.source.vocabulary: is 99 here but"),
        ([METRIC, "--preset", "standard"], "--preset cannot be combined with --from"),
        ([METRIC, "--scale", "0.5"], "--scale cannot be combined with --from"),
    ],
)
def test_another_model_is_refused(
    run_folder: Path,
    other: tuple[list[str], list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    more: list[str],
    message: str,
) -> None:
    assert fine_tune(run_folder, other, tmp_path / "new", *more) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_what_is_no_trained_model_is_refused(
    run_folder: Path, other: tuple[list[str], list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fine_tune(tmp_path / "none", other, tmp_path / "new") == 2
    assert "none: does not exist" in capsys.readouterr().err
    assert main(["export", str(run_folder), "--out", str(tmp_path / "exported")]) == 0
    assert fine_tune(tmp_path / "exported", other, tmp_path / "new") == 2
    assert "cannot be trained; give the run it was exported from" in capsys.readouterr().err
    assert fine_tune(run_folder, other, run_folder, "--overwrite") == 2
    assert "model.safetensors" in capsys.readouterr().err


def test_what_a_fine_tuning_may_change() -> None:
    trained = override(
        load_preset("standard"), ["training.minutes=20", "training.updates=9", "training.mix.weights=[2, 1]"]
    )
    config = fine_tuning(trained)
    assert trained.training.validation.tolerance
    assert trained.training.optimiser.weight_decay_epochs
    assert (config.training.validation.tolerance, config.training.optimiser.weight_decay_epochs) == (0, None)
    assert config.training.mix == MixConfig(), "the corpora are others"
    assert (config.training.epochs, config.training.minutes, config.training.updates) == (EPOCHS, None, None)
    require_same_model(
        trained, override(config, ["model.dropout.embedding=0", "search.beam=2", "cleaning.max_ratio=3"])
    )
    with pytest.raises(ConfigError, match=r"text\.joint: is False here but True"):
        require_same_model(trained, override(config, ["text.joint=false", "model.embedding.tied=none"]))
