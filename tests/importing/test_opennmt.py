"""Models of OpenNMT-py: the imported run follows the equations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from dragoman.cli.main import main
from dragoman.runs.opening import Run, open_run
from tests.importing.toolkits import OpenNMT

PAIRS = [("der Hund läuft .", "a b"), ("x", "b"), ("y y unseen der", "b unseen a b a"), (". Hund", "")]
"""Pairs of different lengths in one batch, with unknown words."""


def imported(checkpoint: Path, *arguments: str) -> Run:
    """The run imported from a checkpoint."""
    out = checkpoint.parent / "run"
    assert main(["import", "--from", "opennmt", str(checkpoint), "--out", str(out), *arguments]) == 0
    return open_run(out, device="cpu")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"layers": 2},
        {"rnn": "GRU", "layers": 2},
        {"rnn": "GRU", "attention": "dot", "feed": False},
        {"feed": False, "layers": 2, "both": False},
        {"attention": "mlp"},
        {"attention": "mlp", "rnn": "GRU", "feed": False},
        {"rnn": "RNN", "feed": False, "attention": "dot"},
        {"tied": True},
    ],
    ids=str,
)
def test_scores_follow_the_equations(settings: dict[str, Any], tmp_path: Path) -> None:
    model = OpenNMT(**settings)
    for (source, target), scored in zip(PAIRS, imported(model.save(tmp_path)).scorer().score(PAIRS), strict=True):
        expected = model.log_probabilities(source.split(), target.split())
        np.testing.assert_allclose(scored.token_log_probabilities, expected.numpy(), atol=2e-5)


def test_weights_may_lie_beside_the_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = OpenNMT()
    checkpoint = model.save(tmp_path)
    content = torch.load(checkpoint, weights_only=False)
    torch.save({name: content[name] for name in ("opt", "vocab")}, checkpoint)
    assert main(["import", "--from", "opennmt", str(checkpoint), "--out", str(tmp_path / "run")]) == 2
    beside = checkpoint.with_suffix(".safetensors")
    assert capsys.readouterr().err == (
        f"dragoman: error: {checkpoint}: its weights are in a file of their own, {beside}, which is missing\n"
    )
    save_file(model.state_dict(), beside)
    scored = next(imported(checkpoint).scorer().score(PAIRS))
    expected = model.log_probabilities(PAIRS[0][0].split(), PAIRS[0][1].split())
    np.testing.assert_allclose(scored.token_log_probabilities, expected.numpy(), atol=2e-5)


def test_scores_reported_by_search_follow_the_equations(tmp_path: Path) -> None:
    model = OpenNMT(layers=2)
    best = next(iter(imported(model.save(tmp_path)).translator().translate_lines(["der Hund ."])))[0]
    expected = model.log_probabilities(["der", "Hund", "."], best.tokens).sum()
    assert best.log_probability == pytest.approx(float(expected), abs=1e-4)


def test_the_configuration_describes_the_composition(tmp_path: Path) -> None:
    config = imported(OpenNMT(tied=True).save(tmp_path)).config
    assert not config.model.source_eos
    assert config.text.joint
    assert config.model.embedding.tied == "all"
    assert config.model.bridge.kind == "copy"
    assert config.text.source.segmentation == "whitespace"


def test_a_word_spelled_like_our_padding_keeps_its_place_in_the_softmax(tmp_path: Path) -> None:
    run = imported(OpenNMT().save(tmp_path))
    assert run.target.vocabulary.pieces(range(8)) == [
        *("<pad>", "<unk>", "<s>", "</s>"),
        *("a", "<entry 5>", "b", "averyunlikelytoken0"),
    ]


def test_a_sentencepiece_model_segments(tmp_path: Path, sentencepiece_model: bytes) -> None:
    path = tmp_path / "de.model"
    path.write_bytes(sentencepiece_model)
    checkpoint = OpenNMT().save(tmp_path)
    run = imported(checkpoint, "--source-model", str(path), "--target-model", str(path))
    for side in (run.source, run.target):
        assert side.encode("Hund läuft").pieces[0].startswith("▁")
        assert side.segmentation.join(side.encode("Hund läuft").pieces) == "Hund läuft"


def test_preprocessing_of_opennmt_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    imported(OpenNMT().save(tmp_path, transforms=["onmt_tokenize", "filtertoolong"]))
    assert capsys.readouterr().err.splitlines()[0] == (
        "transforms: onmt_tokenize, filtertoolong: OpenNMT-py preprocesses text itself, dragoman does not"
    )


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("model_task", "lm", "only seq2seq can"),
        ("encoder_type", "transformer", "only brnn or rnn can"),
        ("decoder_type", "transformer", "only rnn can"),
        ("rnn_type", "SRU", "only LSTM or GRU or RNN can"),
        ("global_attention_function", "sparsemax", "only softmax can"),
        ("bridge", True, "only False can"),
        ("copy_attn", True, "only False can"),
        ("coverage_attn", True, "only False can"),
        ("context_gate", "both", "only without it can"),
        ("n_src_feats", 1, "only 0 can"),
        ("lora_layers", ["linear_values"], "only [] can"),
    ],
)
def test_an_unsupported_setting_is_named(
    option: str, value: Any, allowed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = OpenNMT().save(tmp_path, **{option: value})
    assert main(["import", "--from", "opennmt", str(checkpoint), "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err == (
        f"dragoman: error: {checkpoint}: {option}: {value}: cannot be imported, {allowed}\n"
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"opt": None}, "has no opt and vocab; is it a checkpoint of OpenNMT-py 3?"),
        (
            {"vocab": {"src": ["a"], "tgt": ["a"], "decoder_start_token": "</s>"}},
            "decoder_start_token: </s>: only <s> can be imported",
        ),
        ({"vocab": {"src": ["a"], "tgt": ["a"]}}, "vocabulary src: has no <blank>, which the model cannot do without"),
        ({"vocab": {"src": ["a"]}}, "has no opt and vocab; is it a checkpoint of OpenNMT-py 3?"),
        (
            {"model": {}},
            "has no tensor 'encoder.embeddings.make_embedding.emb_luts.0.weight'; it is no recurrent"
            " translation model with attention",
        ),
        ({"generator": {}}, "has no tensor 'generator.weight'; it is no recurrent translation model with attention"),
    ],
)
def test_a_file_that_lacks_a_part_is_refused(
    changes: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = OpenNMT().save(tmp_path)
    content = {**torch.load(checkpoint, weights_only=False), **changes}
    torch.save({name: part for name, part in content.items() if part is not None}, checkpoint)
    assert main(["import", "--from", "opennmt", str(checkpoint), "--out", str(tmp_path / "run")]) == 2
    printed = capsys.readouterr().err
    assert printed == f"dragoman: error: {checkpoint}: {message}\n"
