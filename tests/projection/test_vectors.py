"""Which vectors stand for words, phrases and sentences."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
import torch

from dragoman.config.building import override
from dragoman.config.presets import load_preset
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import ConfigError, InputError
from dragoman.model.assembly import build
from dragoman.projection.vectors import (
    LabelledText,
    embed_words,
    frequent_words,
    read_lines_and_groups,
    sentence_states,
    summarise_phrases,
)
from dragoman.runs.exported import ExportFolder
from dragoman.runs.layout import RunFolder
from dragoman.runs.opening import Run
from dragoman.text.segmentation.characters import CharacterSegmentation, WhitespaceSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import EOS, Vocabulary

WORDS = ["the", "dog", "cat", "sees", "a"]


def small_run(preset, segmentation=None, pieces=WORDS, *settings):
    torch.manual_seed(1)
    config = override(load_preset(preset), [*settings, "model.initialisation=uniform", "model.init_scale=0.3"])
    side = TextSide(segmentation or WhitespaceSegmentation(), Vocabulary(pieces))
    model = build(config.model, len(side.vocabulary), len(side.vocabulary)).eval()
    return Run(RunFolder(Path("somewhere")), config, side, side, TorchEngine(model), 0)


SMALL = ("model.embedding.source=6", "model.embedding.target=6", "model.encoder.size=7", "model.decoder.size=7")
CHO = ("cho2014", None, WORDS, *SMALL, "model.readout.size=5", "model.readout.rank=4")
SUTSKEVER = ("sutskever2014", None, WORDS, *SMALL)


def lines(*texts):
    return [LabelledText(text) for text in texts]


def test_words_are_rows_of_the_embedding():
    run = small_run(*SUTSKEVER)
    points = embed_words(run, "source", lines("cat", "unheard-of", "", "dog"))
    assert [line.text for line in points.lines] == ["cat", "dog"]
    assert points.left_out == 2
    assert np.array_equal(points.vectors, run.engine.model.source.weight[[6, 5]].detach().numpy())
    target = embed_words(run, "target", lines("cat")).vectors
    assert np.array_equal(target, run.engine.model.target.weight[[6]].detach().numpy())


def test_a_word_of_several_segments_is_their_mean():
    run = small_run("sutskever2014", CharacterSegmentation(), list("dogcat"), *SMALL)
    points = embed_words(run, "source", lines("do?g"))
    table = run.engine.model.source.weight.detach().numpy()
    np.testing.assert_allclose(points.vectors[0], table[4:7].mean(axis=0), rtol=1e-6)


def test_frequent_words_are_entries_of_the_vocabulary():
    run = small_run(*SUTSKEVER)
    words = frequent_words(run, "source", 3)
    assert [line.text for line in words] == ["the", "dog", "cat"]
    assert len(frequent_words(run, "target", 100)) == len(WORDS)
    assert len(embed_words(run, "source", words, entries=True).lines) == 3


def test_phrases_are_the_context_of_cho():
    run = small_run(*CHO)
    model = run.engine.model
    points = summarise_phrases(run, lines("the dog", "a cat sees the dog"))
    ids = np.array([[8, 6, 7, 4, 5, EOS]])
    memory = model.start(ids, np.array([6])).memory
    # The fixed context that a decoder without attention sees at every step is c itself.
    np.testing.assert_allclose(points.vectors[1], memory.vectors[0, 0].detach().numpy(), rtol=1e-5)
    assert np.abs(points.vectors).max() < 1  # tanh


def test_sentences_are_the_states_of_all_layers():
    run = small_run(*SUTSKEVER)
    points = sentence_states(run, lines("the dog sees a cat"))
    assert not run.engine.source_eos
    states = run.engine.model.start(np.array([[4, 5, 7, 8, 6]]), np.array([5])).state
    together = torch.cat([part for layer in states.layers for part in layer], dim=1).detach().numpy()
    assert points.vectors.shape == (1, 4 * 2 * 7)
    np.testing.assert_allclose(points.vectors, together, rtol=1e-5)


@pytest.mark.parametrize("encode", [summarise_phrases, sentence_states])
@pytest.mark.parametrize("settings", [CHO, SUTSKEVER])
def test_a_line_has_the_same_vector_alone_and_among_others(encode, settings):
    run = small_run(*settings)
    given = lines(*[" ".join(WORDS[: 1 + number % 5]) for number in range(70)], "", "  ")
    points = encode(run, given)
    assert points.left_out == 2
    assert points.lines == given[:70]
    for number in (0, 3, 69):
        alone = encode(run, [given[number]]).vectors[0]
        np.testing.assert_allclose(points.vectors[number], alone, rtol=2e-5, atol=1e-8)  # products sum in other orders


@pytest.mark.parametrize("encode", [summarise_phrases, sentence_states])
def test_texts_without_a_known_word_share_a_point_and_are_warned_of(encode, caplog):
    run = small_run(*SUTSKEVER)
    with caplog.at_level(logging.WARNING):
        points = encode(run, lines("Ding sah", "Hund lief", "the dog", "lief dog", ""))
    assert np.array_equal(points.vectors[0], points.vectors[1])
    assert [record.getMessage() for record in caplog.records] == [
        "the model knows no word of 2 of the 5 texts; texts of the same length have the same point"
    ]
    caplog.clear()
    encode(run, lines("the dog", "lief dog"))
    assert not caplog.records


def test_lines_may_carry_a_group():
    assert read_lines_and_groups(["a b\tx", "c"], "f") == [LabelledText("a b", "x"), LabelledText("c")]
    with pytest.raises(InputError, match=r"f:2: 2 tabs; a line is a text, or a text, a tab and its group"):
        read_lines_and_groups(["a", "b\tc\td"], "f")


def test_an_exported_run_has_no_vectors(toy_engine):
    side = TextSide(WhitespaceSegmentation(), Vocabulary(WORDS))
    folder = ExportFolder(Path("somewhere"), int8=False, parameters=0, shortlist=None)
    run = Run(folder, load_preset("demo"), side, side, toy_engine(9), 0)
    with pytest.raises(ConfigError, match="somewhere: is an exported folder without a torch model; give the run"):
        embed_words(run, "source", lines("dog"))
