"""The ONNX graphs of every composition and preset against the model they were made from."""

from __future__ import annotations

from itertools import chain

import numpy as np
import onnx
import pytest
import torch

from dragoman.config.building import override
from dragoman.config.presets import load_preset, preset_names
from dragoman.config.scaling import scale
from dragoman.config.schema import SearchConfig
from dragoman.engines.onnx_engine import OnnxEngine
from dragoman.engines.protocol import Engine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.export.writing import make_graphs
from dragoman.model.assembly import build
from dragoman.model.translation import TranslationModel
from dragoman.search.beam import beam_search
from dragoman.text.padding import pad
from tests.compositions import (
    COMPOSITIONS,
    PAIRS,
    VOCABULARY,
    model_config,
    random_model,
    small_model,
    small_preset,
)

SOURCES = [source for source, _ in PAIRS]
TARGETS = [target for _, target in PAIRS]


def _model(name: str) -> TranslationModel:
    if name in COMPOSITIONS:
        return small_model(name).float()
    return random_model(small_preset(name).model).float()


@pytest.mark.parametrize("name", [*COMPOSITIONS, *preset_names()])
def test_graphs_score_align_and_translate_as_the_model_does(name: str) -> None:
    model = _model(name)
    ours, theirs = OnnxEngine(*make_graphs([model]), threads=1), TorchEngine(model)
    assert (ours.vocabulary_size, ours.source_vocabulary_size) == (VOCABULARY, VOCABULARY)
    assert (ours.source_eos, ours.attention_shift) == (theirs.source_eos, theirs.attention_shift)
    search = SearchConfig(beam=3, max_length_factor=1.0, max_length_extra=3)
    for order in ([0, 1, 2, 3], [2, 1], [1], [3, 3, 0, 1, 2, 0]):
        sources, targets = [SOURCES[i] for i in order], [TARGETS[i] for i in order]
        _assert_same_scores(ours, theirs, sources, targets)
        source = pad(sources, eos=model.source_eos)
        found, expected = (beam_search(engine, *source, search, n_best=3) for engine in (ours, theirs))
        assert [[h.tokens for h in n_best] for n_best in found] == [[h.tokens for h in n_best] for n_best in expected]
        for one, other in zip(chain(*found), chain(*expected), strict=True):
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)
            assert (one.attention is None) == (other.attention is None)
            if one.attention is not None:
                np.testing.assert_allclose(one.attention, other.attention, atol=1e-5)


@pytest.mark.parametrize("name", preset_names())
def test_scaled_presets_score_long_sentences_as_the_model_does(name: str) -> None:
    """With the windows and slots of the preset, and sentences that are longer than them."""
    settings = [
        "model.initialisation=uniform",
        "model.init_scale=0.3",
    ]  # a predicted centre must not stand on the brink of a word
    config = override(scale(load_preset(name), 1 / 64), settings)
    torch.manual_seed(4)
    model = build(config.model, 50, 60).eval()
    ours, theirs = OnnxEngine(*make_graphs([model]), threads=1), TorchEngine(model)
    draw = np.random.default_rng(5)
    sources, targets = ([draw.integers(4, 50, n).tolist() for n in lengths] for lengths in ((55, 1, 31), (3, 40, 12)))
    _assert_same_scores(ours, theirs, sources, targets)


def _assert_same_scores(ours: Engine, theirs: Engine, sources: list[list[int]], targets: list[list[int]]) -> None:
    source, target = pad(sources, eos=theirs.source_eos), pad(targets, eos=True)
    found, expected = (engine.force(*source, *target) for engine in (ours, theirs))
    np.testing.assert_allclose(found.log_probabilities, expected.log_probabilities, atol=1e-5)
    assert (found.attention is None) == (expected.attention is None)
    if found.attention is not None and expected.attention is not None:
        real = np.arange(target[0].shape[1]) < target[1][:, None]
        np.testing.assert_allclose(found.attention[real], expected.attention[real], atol=1e-5)
        padding = np.arange(source[0].shape[1]) >= source[1][:, None]
        assert (found.attention.transpose(0, 2, 1)[padding] == 0).all()


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_graphs_are_as_the_standard_has_them(name: str) -> None:
    """Types and shapes included, for readers other than onnxruntime."""
    for graph in make_graphs([_model(name)]):
        onnx.checker.check_model(onnx.load_from_string(graph), full_check=True)


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_int8_is_near_the_model_whatever_it_is_made_of(name: str) -> None:
    """Encoders included, which are then loops of our own; log-probabilities here differ by more than 1."""
    model = _model(name)
    source, target = pad(SOURCES, eos=model.source_eos), pad(TARGETS, eos=True)
    rounded, exact = OnnxEngine(*make_graphs([model], int8=True), threads=1), TorchEngine(model)
    found, expected = (engine.force(*source, *target) for engine in (rounded, exact))
    assert 0 < np.abs(found.log_probabilities - expected.log_probabilities).max() < 0.05
    if found.attention is not None and expected.attention is not None:
        real = np.arange(target[0].shape[1]) < target[1][:, None]
        np.testing.assert_allclose(found.attention[real], expected.attention[real], atol=0.03)


def test_int8_is_near_the_model_and_much_smaller() -> None:
    config = scale(load_preset("standard"), 1 / 8)
    torch.manual_seed(4)
    model = build(config.model, 300, 3000).eval()
    exact, rounded = (make_graphs([model], int8=int8) for int8 in (False, True))
    assert len(rounded.step) < 0.6 * len(exact.step)  # of the tied matrix there are two forms in int8
    source, target = pad(SOURCES, eos=model.source_eos), pad(TARGETS, eos=True)
    ours, theirs = OnnxEngine(*rounded, threads=1), TorchEngine(model)
    found, expected = (engine.force(*source, *target).log_probabilities for engine in (ours, theirs))
    difference = np.abs(found - expected).max()
    assert 0 < difference < 0.05


def test_a_tied_matrix_stands_in_the_step_graph_once() -> None:
    sizes = [
        len(make_graphs([random_model(model_config(settings)).float()]).step)
        for settings in ([], ["embedding.tied=output"])
    ]
    assert sizes[0] - sizes[1] == pytest.approx(4 * VOCABULARY * 5, abs=60)
