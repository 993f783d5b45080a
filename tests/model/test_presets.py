"""Every preset, its parts as they are and its sizes small: a sentence has one loss and one set of translations."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from dragoman.config.building import override
from dragoman.config.presets import load_preset, preset_names
from dragoman.config.schema import SearchConfig
from dragoman.engines.torch_engine import TorchEngine
from dragoman.model.translation import TranslationModel
from dragoman.search.beam import beam_search
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.padding import pad
from tests.compositions import PAIRS, VOCABULARY, make_batch, random_model, small_preset

every_preset = pytest.mark.parametrize("name", preset_names())

SOURCES = [source for source, _ in PAIRS]


@every_preset
def test_a_sentence_has_the_same_loss_alone_and_in_any_batch(name: str) -> None:
    model = _model(name)
    alone = [model.loss(make_batch(model, [pair])).nll.item() for pair in PAIRS]
    for pairs in (PAIRS, PAIRS[::-1], PAIRS[1:3]):
        expected = [alone[PAIRS.index(pair)] for pair in pairs]
        rows = -model.force(make_batch(model, pairs)).log_probabilities.sum(1)
        np.testing.assert_allclose(rows.numpy(), expected, atol=1e-10)
        assert model.loss(make_batch(model, pairs)).nll.item() == pytest.approx(sum(expected), abs=1e-9)


@every_preset
def test_a_sentence_has_the_same_translations_alone_and_in_any_batch(name: str) -> None:
    model, search = _model(name), _search(name)
    alone = [_translate(model, [source], search)[0] for source in SOURCES]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0]):
        together = _translate(model, [SOURCES[index] for index in order], search)
        for index, found in zip(order, together, strict=True):
            assert [h.tokens for h in found] == [h.tokens for h in alone[index]]
            for ours, expected in zip(found, alone[index], strict=True):
                assert ours.log_probability == pytest.approx(expected.log_probability, abs=1e-5)


@every_preset
def test_the_loss_of_a_translation_is_the_sum_of_the_log_probabilities_that_search_added_up(name: str) -> None:
    model, search = _model(name), _search(name)
    checked = 0
    for source, n_best in zip(SOURCES, _translate(model, SOURCES, search), strict=True):
        for hypothesis in n_best:
            words = list(hypothesis.tokens[:-1])
            loss = model.loss(make_batch(model, [(source, words)])).nll.item()
            assert hypothesis.log_probability == pytest.approx(-loss, abs=1e-5)
            checked += len(words)
    assert checked >= sum(len(source) for source in SOURCES)  # with several hypotheses for each


def test_the_decoder_of_sutskever_begins_from_hidden_state_and_memory_of_every_layer() -> None:
    """8000 numbers at full size."""
    small, full = small_preset("sutskever2014").model.decoder, load_preset("sutskever2014").model.decoder
    state = _model("sutskever2014").start(*pad(SOURCES)).state
    numbers = sum(part.shape[1] for layer in state.layers for part in layer)
    assert numbers == 2 * small.layers * small.size
    assert 2 * full.layers * full.size == 8000


@functools.cache
def _model(name: str) -> TranslationModel:
    return random_model(small_preset(name).model)


def _search(name: str) -> SearchConfig:
    """The preset's own, with fewer hypotheses, neither long nor empty."""
    limits = [
        "search.beam=3",
        "search.min_length_factor=0.8",
        "search.max_length_factor=1",
        "search.max_length_extra=3",
    ]
    return override(small_preset(name), limits).search


def _translate(model: TranslationModel, sources: list[list[int]], search: SearchConfig) -> list[list[Hypothesis]]:
    engine = TorchEngine(model)
    assert engine.vocabulary_size == VOCABULARY
    return beam_search(engine, *pad(sources, eos=model.source_eos), search, n_best=3)
