"""What is said of a line depends on the line and the model: not on its neighbours, their order, windows, batches,
threads or the engine; and memory does not depend on how many lines there are."""

from __future__ import annotations

import functools
import itertools
import tracemalloc
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.config.building import override
from dragoman.config.schema import Config, SearchConfig
from dragoman.engines.onnx_engine import OnnxEngine
from dragoman.engines.protocol import Engine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.export.writing import make_graphs
from dragoman.model.assembly import build
from dragoman.scoring import scorer
from dragoman.scoring.scorer import Scorer
from dragoman.text.segmentation.characters import CharacterSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary
from dragoman.translation import length_batching, translator
from dragoman.translation.translator import Translator

SIDE = TextSide(CharacterSegmentation(), Vocabulary([*"abcdefgh", "▁"]))
SIZES = ("embedding.source=5", "embedding.target=5", "encoder.size=4", "decoder.size=6", "readout.size=5")
CHOSEN = [f"model.{setting}" for setting in (*SIZES, "attention.size=4", "initialisation=uniform", "init_scale=1.2")]

lines = st.lists(st.text("abcdefgh \tx\u2028\U0001f600", max_size=12), min_size=1, max_size=8)


@functools.cache
def engines() -> dict[str, Engine]:
    """One model in every engine."""
    torch.manual_seed(9)
    model = build(override(Config(), CHOSEN).model, len(SIDE.vocabulary), len(SIDE.vocabulary)).eval()
    graphs = make_graphs([model])
    exported = {f"onnx, {threads} threads": OnnxEngine(*graphs, threads=threads) for threads in (1, 2)}
    return {"torch, 1 threads": TorchEngine(model), "torch, 2 threads": TorchEngine(model), **exported}


@contextmanager
def surroundings(data: st.DataObject) -> Iterator[Engine]:
    """An engine, and limits of windows and batches, all of them drawn."""
    name = data.draw(st.sampled_from(sorted(engines())))
    before = torch.get_num_threads()
    torch.set_num_threads(int(name.split()[1]))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(length_batching, "WINDOW_ITEMS", data.draw(st.integers(1, 9)))
            patch.setattr(length_batching, "BATCH_SEGMENTS", data.draw(st.integers(1, 60)))
            many = data.draw(st.integers(1, 4))
            patch.setattr(length_batching, "MIN_BATCH_ITEMS", many)
            patch.setattr(translator, "MAX_ROWS", data.draw(st.integers(1, 20)))
            patch.setattr(scorer, "MAX_PAIRS", data.draw(st.integers(1, 9)))
            yield engines()[name]
    finally:  # drawing may raise, too
        torch.set_num_threads(before)


def alone() -> Engine:
    return engines()["torch, 1 threads"]


@settings(max_examples=20, derandomize=True)
@given(lines, st.integers(1, 5), st.data())
def test_a_translation_does_not_depend_on_neighbours_order_batches_threads_or_engine(texts, beam, data):
    search = SearchConfig(beam=beam, max_length_factor=1.0, max_length_extra=4)
    order = data.draw(st.permutations(texts))
    with surroundings(data) as engine:
        found = list(Translator(engine, SIDE, SIDE, search).translate_lines(order, min(beam, 2)))
    assert len(found) == len(order)
    for line, n_best in zip(order, found, strict=True):
        [expected] = Translator(alone(), SIDE, SIDE, search).translate_lines([line], min(beam, 2))
        assert [translation.text for translation in n_best] == [translation.text for translation in expected]
        assert [translation.source for translation in n_best] == [line] * len(n_best)
        for one, other in zip(n_best, expected, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4)


@settings(max_examples=20, derandomize=True)
@given(lines, lines, st.data())
def test_a_score_does_not_depend_on_neighbours_order_batches_threads_or_engine(sources, targets, data):
    pairs = data.draw(st.permutations(list(zip(itertools.cycle(sources), targets))))
    with surroundings(data) as engine:
        found = [scored.log_probability for scored in Scorer(engine, SIDE, SIDE).score(pairs)]
    for pair, score in zip(pairs, found, strict=True):
        [expected] = Scorer(alone(), SIDE, SIDE).score([pair])
        assert score == pytest.approx(expected.log_probability, abs=1e-4)


def consume(items, count):
    for _ in itertools.islice(items, count):
        pass


@pytest.mark.parametrize("verb", ["translate", "score"])
def test_an_endless_input_takes_no_more_memory_than_a_short_one(verb, monkeypatch, toy_engine):
    monkeypatch.setattr(length_batching, "WINDOW_ITEMS", 10)
    engine = toy_engine(len(SIDE.vocabulary), 3)
    engine.steps = deque(maxlen=0)  # the toy remembers what it was asked
    endless = itertools.cycle(["abc", "d ef", "", "gggg h", "x"])
    if verb == "translate":
        answers = Translator(engine, SIDE, SIDE, SearchConfig(beam=2, max_length_factor=1.0)).translate_lines(endless)
    else:
        answers = Scorer(engine, SIDE, SIDE).score((line, line) for line in endless)
    consume(answers, 40)  # fills caches
    tracemalloc.start()
    peaks = []
    for count in (100, 400):
        tracemalloc.reset_peak()
        consume(answers, count)
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    # Bytes for each answer more: one weighs a thousand, and numpy keeps some small blocks of each size it meets.
    assert (peaks[1] - peaks[0]) / 300 < 100
