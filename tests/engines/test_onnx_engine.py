"""The ONNX engine keeps the promises of engines/protocol.py."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.config.schema import SearchConfig
from dragoman.engines.onnx_engine import OnnxEngine
from dragoman.engines.protocol import EngineStep
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import RunError
from dragoman.export.writing import Graphs, make_graphs
from dragoman.model.translation import TranslationModel
from dragoman.search.beam import beam_search
from dragoman.text.padding import pad
from tests.compositions import small_model

SOURCES = [[4, 9, 12, 5], [6], [11, 10, 9, 8, 7, 6, 5], [13, 13], [5, 9, 9]]

NAMES = ["rnnsearch", "luong", "concat, covered", "groundhog", "rnnencdec", "no attention"]
"""Compositions that differ in what the graphs receive and return."""


def _model(name: str) -> TranslationModel:
    return small_model(name).float()


def _graphs(name: str, *, int8: bool = False) -> Graphs:
    return make_graphs([_model(name)], int8=int8)


@functools.cache
def _engines(name: str) -> tuple[TorchEngine, tuple[OnnxEngine, ...]]:
    """The model in torch, and its graphs with one thread and with two."""
    return TorchEngine(_model(name)), tuple(OnnxEngine(*_graphs(name), threads=threads) for threads in (1, 2))


@pytest.fixture(scope="module", params=NAMES)
def engine(request: pytest.FixtureRequest) -> OnnxEngine:
    return OnnxEngine(*_graphs(request.param), threads=1)


def test_rows_may_be_repeated_reordered_and_dropped(engine: OnnxEngine) -> None:
    """Every row continues as if it were alone, and its attention has the columns of the source."""
    source = pad(SOURCES[:3], eos=engine.source_eos)
    first = engine.step(engine.start(*source), np.arange(3), np.full(3, 2), 4)
    second = engine.step(first.state, np.array([0, 0, 1]), np.array([7, 5, 9]), 4)
    third = engine.step(second.state, np.array([1, 2, 2, 2]), np.array([4, 8, 6, 4]), 17)
    for row, (sentence, prefix) in enumerate([(0, [5, 4]), (1, [9, 8]), (1, [9, 6]), (1, [9, 4])]):
        token = int(third.tokens[row, 1])
        forced = engine.force(*pad([SOURCES[sentence]], eos=engine.source_eos), *pad([[*prefix, token]], eos=True))
        assert third.log_probabilities[row, 1] == pytest.approx(float(forced.log_probabilities[0, 2]), abs=1e-5)
        if third.attention is not None and forced.attention is not None:
            width = forced.attention.shape[2]
            assert third.attention.shape == (4, source[0].shape[1])
            np.testing.assert_allclose(third.attention[row, :width], forced.attention[0, 2], atol=1e-6)
            assert (third.attention[row, width:] == 0).all()


def test_log_probabilities_are_normalised_over_the_vocabulary_and_sorted(engine: OnnxEngine) -> None:
    step = engine.step(engine.start(*pad(SOURCES, eos=engine.source_eos)), np.arange(5), np.full(5, 2), 17)
    np.testing.assert_allclose(np.exp(step.log_probabilities).sum(1), 1, atol=1e-5)
    assert (np.diff(step.log_probabilities) <= 0).all()
    assert (np.sort(step.tokens, axis=1) == np.arange(17)).all()
    assert (step.log_probabilities.dtype, step.tokens.dtype) == (np.float32, np.int64)


def in_order(step: EngineStep) -> NDArray[np.float32]:
    """The log-probabilities of a step with k = V, by word."""
    return np.take_along_axis(step.log_probabilities, np.argsort(step.tokens, axis=1), axis=1)


def test_a_distribution_has_the_words_in_their_order(engine: OnnxEngine) -> None:
    source = pad(SOURCES, eos=engine.source_eos)
    sorted_state, state = engine.start(*source), engine.start(*source)
    for parents, tokens in (([0, 1, 2, 3, 4], [2] * 5), ([0, 0, 1, 4], [5, 7, 4, 9]), ([2, 3, 3], [4, 6, 16])):
        expected = engine.step(sorted_state, np.array(parents), np.array(tokens), 17)
        found = engine.step_all(state, np.array(parents), np.array(tokens))
        assert found.log_probabilities.dtype == np.float32
        np.testing.assert_allclose(found.log_probabilities, in_order(expected), atol=1e-5)
        assert (found.attention is None) == (expected.attention is None)
        if found.attention is not None and expected.attention is not None:
            np.testing.assert_array_equal(found.attention, expected.attention)
        sorted_state, state = expected.state, found.state


def test_targets_of_sources_encoded_once_score_as_with_their_own_sources(engine: OnnxEngine) -> None:
    targets = [[4, 5], [], [7, 7, 7], [4, 5], [16]]
    owners = np.array([0, 0, 2, 2, 4])
    state = engine.start(*pad(SOURCES, eos=engine.source_eos))
    target = pad(targets, eos=True)
    expected = engine.force(*pad([SOURCES[i] for i in owners], eos=engine.source_eos), *target)
    for _ in range(2):  # a state may be scored from again
        shared = engine.force_from(state, owners, *target)
        np.testing.assert_allclose(shared.log_probabilities, expected.log_probabilities, atol=1e-5)
        if shared.attention is not None and expected.attention is not None:
            real = np.arange(target[0].shape[1]) < target[1][:, None]
            np.testing.assert_allclose(shared.attention[real], expected.attention[real], atol=1e-5)


@pytest.mark.parametrize("name", ["rnnsearch", "concat, covered"])
def test_int8_results_do_not_depend_on_the_other_rows(name: str) -> None:
    """With one quantisation scale for a whole batch, as is usual, they would."""
    engine, search = OnnxEngine(*_graphs(name, int8=True), threads=1), SearchConfig(beam=4, max_length_extra=5)
    together = beam_search(engine, *pad(SOURCES, eos=True), search, n_best=3)
    for source, n_best in zip(SOURCES, together, strict=True):
        (alone,) = beam_search(engine, *pad([source], eos=True), search, n_best=3)
        assert [hypothesis.tokens for hypothesis in n_best] == [hypothesis.tokens for hypothesis in alone]
        for one, other in zip(n_best, alone, strict=True):
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)


ids = st.lists(st.integers(4, 16), min_size=1, max_size=9)


@settings(max_examples=25, derandomize=True)
@given(st.sampled_from(sorted(NAMES)), st.lists(ids, min_size=1, max_size=6), st.integers(1, 6), st.data())
def test_any_batch_in_any_order_gives_what_torch_gives(
    name: str, sources: list[list[int]], beam: int, data: st.DataObject
) -> None:
    model, engines = _engines(name)
    order = data.draw(st.permutations(range(len(sources))))
    engine = engines[data.draw(st.sampled_from([0, 1]))]
    search = SearchConfig(beam=beam, max_length_factor=1.0, max_length_extra=4)
    expected = beam_search(model, *pad(sources, eos=model.source_eos), search, n_best=1)
    turned = pad([sources[index] for index in order], eos=model.source_eos)
    for index, (found,) in zip(order, beam_search(engine, *turned, search, n_best=1), strict=True):
        assert found.tokens == expected[index][0].tokens
        assert found.log_probability == pytest.approx(expected[index][0].log_probability, abs=1e-4)


def test_a_graph_that_onnxruntime_cannot_use_is_an_error() -> None:
    graphs = _graphs("groundhog")
    with pytest.raises(RunError, match=r"the step graph: cannot be used: onnxruntime [\d.]+: "):
        OnnxEngine(graphs.encoder, graphs.step[:-50], threads=1)


def test_a_graph_without_our_metadata_is_an_error() -> None:
    graphs = _graphs("groundhog")
    with pytest.raises(RunError, match="the encoder graph: cannot be used: it does not state its vocabulary size;"):
        OnnxEngine(graphs.encoder.replace(b"vocabulary_size", b"vocabulary_sise"), graphs.step, threads=1)


def test_the_library_writes_nothing_to_the_home_of_the_user(tmp_path: Path) -> None:
    unset = ("ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment["HOME"] = str(tmp_path)
    subprocess.run([sys.executable, "-c", "import dragoman.engines.onnx_engine"], env=environment, check=True)
    assert list(tmp_path.rglob("*")) == []
