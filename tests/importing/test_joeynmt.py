"""Models of JoeyNMT: the imported run follows the equations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from dragoman.cli.main import main
from dragoman.runs.opening import Run, open_run
from tests.importing.toolkits import WORDS, JoeyNMT

PAIRS = [("der Hund läuft .", "a b"), ("x", "c"), ("y y unseen der", "b unseen a c a"), (". Hund", "")]
"""Pairs of different lengths in one batch, with unknown words."""


def imported(checkpoint: Path, *arguments: str) -> Run:
    """The run imported from a checkpoint."""
    out = checkpoint.parent / "run"
    assert main(["import", "--from", "joeynmt", str(checkpoint), "--out", str(out), *arguments]) == 0
    return open_run(out, device="cpu")


def assert_same_scores(run: Run, model: JoeyNMT) -> None:
    """Assert equal log-probabilities of all pairs."""
    for (source, target), scored in zip(PAIRS, run.scorer().score(PAIRS), strict=True):
        expected = model.log_probabilities(source.split(), target.split())
        np.testing.assert_allclose(scored.token_log_probabilities, expected.numpy(), atol=2e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"rnn": "lstm", "layers": 2, "attention": "luong", "feed": True},
        {"rnn": "lstm"},
        {"rnn": "gru", "layers": 2, "feed": True, "initial": "zero"},
        {"rnn": "lstm", "layers": 2, "initial": "last", "size": 6},
        {"rnn": "gru", "initial": "last", "size": 3},
        {"scale": True, "attention": "luong"},
        {"tied": True, "feed": True},
        {"tied": True, "scale": True},
        {"shared": True},
        {"shared": True, "tied": True, "size": 4},
    ],
    ids=str,
)
def test_scores_follow_the_equations(settings: dict[str, Any], tmp_path: Path) -> None:
    model = JoeyNMT(**settings)
    assert_same_scores(imported(model.save(tmp_path)), model)


def test_scores_reported_by_search_follow_the_equations(tmp_path: Path) -> None:
    model = JoeyNMT(rnn="lstm", layers=2, feed=True, attention="luong")
    best = next(iter(imported(model.save(tmp_path)).translator().translate_lines(["der Hund ."])))[0]
    expected = model.log_probabilities(["der", "Hund", "."], best.tokens).sum()
    assert best.log_probability == pytest.approx(float(expected), abs=1e-4)


def test_a_fully_tied_matrix_stays_tied(tmp_path: Path) -> None:
    run = imported(JoeyNMT(shared=True, tied=True, size=4).save(tmp_path))
    assert run.config.text.joint
    assert run.config.model.embedding.tied == "all"
    assert run.engine.model.source.weight is run.engine.model.output.weight


def test_the_configuration_describes_the_composition(tmp_path: Path) -> None:
    config = imported(JoeyNMT(tied=True, rnn="lstm").save(tmp_path)).config
    assert config.model.source_eos
    assert config.model.embedding.tied == "output"
    assert (config.model.bridge.kind, config.model.bridge.cell_state) == ("tanh-last", "hidden")
    assert (config.model.decoder.order, config.model.readout.kind) == ("update-then-look", "attentional")
    assert (config.text.source.segmentation, config.text.source.language) == ("whitespace", "de")


@pytest.mark.parametrize(
    ("testing", "expected"),
    [
        (
            {},
            {
                "beam": 1,
                "normalisation": "none",
                "max_length_factor": 1.5,
                "max_length_extra": 1,
                "block_unknown": False,
            },
        ),
        ({"beam_size": 3, "beam_alpha": 1}, {"beam": 3, "normalisation": "gnmt", "alpha": 1.0}),
        ({"alpha": 0.5}, {"normalisation": "gnmt", "alpha": 0.5}),
        ({"max_output_length": 40, "generate_unk": False}, {"max_length_extra": 40, "block_unknown": True}),
    ],
)
def test_search_settings_are_imported(testing: dict[str, Any], expected: dict[str, Any], tmp_path: Path) -> None:
    checkpoint = JoeyNMT().save(tmp_path, testing=testing)
    search = imported(checkpoint).config.search.values()
    assert {key: search[key] for key in expected} == expected


def test_a_setting_of_the_wrong_type_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = JoeyNMT().save(tmp_path, testing={"beam_size": "five"})
    assert main(["import", "--from", "joeynmt", str(checkpoint), "--out", str(tmp_path / "run")]) == 2
    path = tmp_path / "config.yaml"
    assert capsys.readouterr().err == f"dragoman: error: {path}: testing.beam_size: five: is not a number\n"


def test_vocabulary_and_configuration_may_lie_elsewhere(tmp_path: Path) -> None:
    model = JoeyNMT()
    checkpoint = model.save(tmp_path / "model")
    for name in ("config.yaml", "src_vocab.txt", "trg_vocab.txt"):
        (tmp_path / "model" / name).rename(tmp_path / name)
    files = [str(tmp_path / name) for name in ("config.yaml", "src_vocab.txt", "trg_vocab.txt")]
    assert_same_scores(imported(checkpoint, "--config", files[0], "--vocabulary", *files[1:]), model)


def test_a_vocabulary_without_the_special_symbols_has_them_in_front(tmp_path: Path) -> None:
    model = JoeyNMT()
    checkpoint = model.save(tmp_path)
    (tmp_path / "src_vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    assert_same_scores(imported(checkpoint), model)


def test_characters_are_segmented_as_characters(tmp_path: Path) -> None:
    data = {"src": {"lang": "de", "level": "char"}, "trg": {"lang": "en", "level": "word"}}
    run = imported(JoeyNMT().save(tmp_path, data=data))
    assert run.source.encode("x y").pieces == ["x", "▁", "y"]
    assert run.target.encode("x y").pieces == ["x", "y"]


def test_a_sentencepiece_model_beside_the_checkpoint_is_used(tmp_path: Path, sentencepiece_model: bytes) -> None:
    side = {
        "lang": "de",
        "level": "bpe",
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": "a/sp.model"},
    }
    checkpoint = JoeyNMT().save(tmp_path, data={"src": side})
    (tmp_path / "sp.model").write_bytes(sentencepiece_model)
    assert imported(checkpoint).source.encode("Hund läuft").pieces[0].startswith("▁")


def test_preprocessing_of_joeynmt_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    side = {"lang": "de", "level": "bpe", "lowercase": True, "tokenizer_type": "subword-nmt"}
    imported(JoeyNMT().save(tmp_path, data={"src": side}))
    assert capsys.readouterr().err.splitlines()[0] == (
        "data.src: JoeyNMT preprocesses text itself, dragoman does not: lowercase: True; tokenizer_type: subword-nmt"
    )


@pytest.mark.parametrize(
    ("part", "key", "value", "message"),
    [
        ("encoder", "type", "transformer", "model.encoder.type: transformer: only recurrent models can be imported"),
        ("decoder", "activation", "relu", "model.decoder.activation: relu: only tanh can be imported"),
    ],
)
def test_an_unsupported_setting_is_named(
    part: str, key: str, value: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = JoeyNMT().save(tmp_path)
    path = tmp_path / "config.yaml"
    config = yaml.safe_load(path.read_text())
    config["model"][part][key] = value
    path.write_text(yaml.safe_dump(config))
    assert main(["import", "--from", "joeynmt", str(checkpoint), "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err == f"dragoman: error: {path}: {message}\n"
    assert not (tmp_path / "run").exists()


def test_an_unused_tensor_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = JoeyNMT()
    model.decoder.gate = torch.nn.Linear(2, 2, bias=False)
    checkpoint = model.save(tmp_path)
    assert main(["import", "--from", "joeynmt", str(checkpoint), "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err == (
        f"dragoman: error: {checkpoint}: has parameters that cannot be imported: decoder.gate.weight\n"
    )


@pytest.mark.parametrize("name", ["config.yaml", "src_vocab.txt", "trg_vocab.txt"])
def test_a_missing_file_is_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = JoeyNMT().save(tmp_path)
    (tmp_path / name).unlink()
    assert main(["import", "--from", "joeynmt", str(checkpoint), "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err.startswith(f"dragoman: error: {tmp_path / name}: cannot read ")


def test_a_mistyped_checkpoint_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--from", "joeynmt", str(tmp_path / "bset.ckpt"), "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err.startswith(f"dragoman: error: {tmp_path / 'bset.ckpt'}: does not exist")


def test_vocabularies_of_another_model_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = JoeyNMT().save(tmp_path)
    with (tmp_path / "src_vocab.txt").open("a") as file:
        file.write("one more\n")
    assert main(["import", "--from", "joeynmt", str(checkpoint), "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err == (
        f"dragoman: error: {tmp_path / 'src_vocab.txt'}: has 12 entries, but the model has 11; "
        "it belongs to another model\n"
    )
