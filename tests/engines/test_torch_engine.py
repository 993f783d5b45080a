"""The torch engine against the model's own forced decoding, for some compositions of parts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.config.schema import SearchConfig
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import ConfigError
from dragoman.runs.opening import open_run
from dragoman.search.beam import beam_search
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.padding import pad
from tests.compositions import small_model

SOURCES = [[4, 9, 12, 5], [6], [11, 10, 9, 8, 7, 6, 5], [13, 13], [5, 9, 9]]


@pytest.fixture(params=["rnnsearch", "luong", "no attention"])
def engine(request: pytest.FixtureRequest) -> TorchEngine:
    return TorchEngine(small_model(request.param))


def test_beam_finds_the_same_alone_and_in_any_batch_in_any_order(engine: TorchEngine) -> None:
    together = _search(engine, SOURCES)
    turned = _search(engine, SOURCES[::-1])[::-1]
    for source, ours, others in zip(SOURCES, together, turned, strict=True):
        (alone,) = _search(engine, [source])
        for n_best in (ours, others):
            assert [hypothesis.tokens for hypothesis in n_best] == [hypothesis.tokens for hypothesis in alone]
            for hypothesis, expected in zip(n_best, alone, strict=True):
                assert hypothesis.log_probability == pytest.approx(expected.log_probability, abs=1e-5)
                _assert_same_attention(hypothesis, expected, len(source) + engine.source_eos)


def test_the_reported_log_probability_is_the_one_forced_decoding_gives(engine: TorchEngine) -> None:
    for source, n_best in zip(SOURCES, _search(engine, SOURCES), strict=True):
        for hypothesis in n_best:
            sources, targets = pad([source], eos=engine.source_eos), pad([hypothesis.tokens[:-1]], eos=True)
            forced = engine.force(*sources, *targets)
            assert hypothesis.log_probability == pytest.approx(float(forced.log_probabilities.sum()), abs=1e-5)
            if forced.attention is not None and hypothesis.attention is not None:
                width = forced.attention.shape[2]
                np.testing.assert_allclose(hypothesis.attention[:, :width], forced.attention[0], atol=1e-6)


def test_beam_of_one_takes_the_most_probable_word_at_every_step(engine: TorchEngine) -> None:
    for source, (hypothesis,) in zip(SOURCES, _search(engine, SOURCES, beam=1), strict=True):
        for length in range(1, len(hypothesis.tokens)):
            if hypothesis.tokens[length - 1] == 3:
                break
            prefix = hypothesis.tokens[: length - 1]
            sources = pad([source] * 17, eos=engine.source_eos)
            targets = pad([[*prefix, word] for word in range(17)], eos=True)
            scores = engine.force(*sources, *targets).log_probabilities[:, length - 1]
            allowed = [word for word in range(17) if word not in (0, 2)]  # padding and begin are never chosen
            assert hypothesis.tokens[length - 1] == max(allowed, key=lambda word: scores[word])


def test_rows_may_be_repeated_reordered_and_dropped(engine: TorchEngine) -> None:
    """Every row continues as if it were alone."""
    source = pad(SOURCES[:3], eos=engine.source_eos)
    state = engine.start(*source)
    first = engine.step(state, np.arange(3), np.full(3, 2), 4)
    second = engine.step(first.state, np.array([0, 0, 2]), np.array([7, 5, 9]), 4)
    third = engine.step(second.state, np.array([1, 2, 2, 2]), np.array([4, 8, 6, 4]), 17)
    for row, (sentence, prefix) in enumerate([(0, [5, 4]), (2, [9, 8]), (2, [9, 6]), (2, [9, 4])]):
        token = int(third.tokens[row, 1])
        target = pad([[*prefix, token]], eos=True)
        forced = engine.force(*pad([SOURCES[sentence]], eos=engine.source_eos), *target)
        assert third.log_probabilities[row, 1] == pytest.approx(float(forced.log_probabilities[0, 2]), abs=1e-6)


def test_log_probabilities_are_normalised_over_the_vocabulary_and_sorted(engine: TorchEngine) -> None:
    step = engine.step(engine.start(*pad(SOURCES, eos=engine.source_eos)), np.arange(5), np.full(5, 2), 17)
    np.testing.assert_allclose(np.exp(step.log_probabilities).sum(1), 1, atol=1e-6)
    assert (np.diff(step.log_probabilities) <= 0).all()


def _search(engine: TorchEngine, sources: list[list[int]], beam: int = 4) -> list[list[Hypothesis]]:
    padded = pad(sources, eos=engine.source_eos)
    return beam_search(
        engine, *padded, SearchConfig(beam=beam, max_length_factor=1.0, max_length_extra=5), n_best=min(beam, 3)
    )


def _assert_same_attention(one: Hypothesis, other: Hypothesis, columns: int) -> None:
    assert (one.attention is None) == (other.attention is None)
    if one.attention is not None and other.attention is not None:
        np.testing.assert_allclose(one.attention[:, :columns], other.attention[:, :columns], atol=1e-6)
        assert (one.attention[:, columns:] == 0).all()


def test_threads_are_those_of_the_process_while_the_engine_computes() -> None:
    before = torch.get_num_threads()
    with TorchEngine(small_model("rnnsearch")).threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
    with pytest.raises(ConfigError, match=r"^threads is 0, but must be a whole number from 1 to 1,024$"):
        open_run("nowhere", threads=0)
