from __future__ import annotations

import threading

import numpy as np
import pytest

from dragoman.engines.onnx_engine import OnnxEngine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.export.writing import make_graphs
from dragoman.scoring import given_targets, scorer
from dragoman.scoring.given_targets import log_probability, mean_log_probability
from dragoman.scoring.scorer import CandidateTranslations, Scorer
from dragoman.text.segmentation.characters import CharacterSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary
from tests.compositions import COMPOSITIONS, VOCABULARY, small_model
from tests.streams import EndlessStream, assert_read_by_windows

SIDE = TextSide(CharacterSegmentation(), Vocabulary([*"abcdefghijkl", "▁"][: VOCABULARY - 4]))
LISTS = [
    CandidateTranslations("abc", ["ab cd", "b", "ab cd", "", "kk lz"]),
    CandidateTranslations("", ["a"]),
    CandidateTranslations("h g", []),
    CandidateTranslations("c" * 9, ["ab", "cd", "ef g", "ab cd"]),
    CandidateTranslations("ab cd e", ["ab cd", "l"]),
]


def expected(engine):
    """Every pair alone, by forced decoding."""
    return [
        [next(Scorer(engine, SIDE, SIDE).score([(source, target)])).log_probability for target in targets]
        for source, targets in LISTS
    ]


def found(scores):
    return [[log_probability(one) for one in group] for group in scores]


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_sources_encoded_once_give_what_each_pair_gives_alone(name, monkeypatch):
    engine = TorchEngine(small_model(name))
    alone = expected(engine)
    for rows in (2, 3, 128):
        monkeypatch.setattr(given_targets, "MAX_TARGETS", rows)
        for ours, theirs in zip(found(Scorer(engine, SIDE, SIDE).score_lists(LISTS)), alone, strict=True):
            assert ours == pytest.approx(theirs, abs=1e-5), rows


def test_each_source_is_encoded_once_and_each_distinct_translation_scored_once(monkeypatch):
    engine = TorchEngine(small_model("rnnsearch"))
    encoded, scored = [], []
    start, force_from = engine.start, engine.force_from

    def counting_start(source, lengths):
        encoded.append(len(source))
        return start(source, lengths)

    def counting_force(state, owners, target, lengths):
        scored.append(len(target))
        return force_from(state, owners, target, lengths)

    monkeypatch.setattr(engine, "start", counting_start)
    monkeypatch.setattr(engine, "force_from", counting_force)
    monkeypatch.setattr(engine, "force", None)
    monkeypatch.setattr(given_targets, "MAX_TARGETS", 2)
    list(Scorer(engine, SIDE, SIDE).score_lists(LISTS))
    assert sum(encoded) == len(LISTS)
    assert sum(scored) == sum(len(set(targets)) for _, targets in LISTS)


def test_a_source_with_many_translations_does_not_widen_the_layout_of_those_with_few(monkeypatch):
    engine = TorchEngine(small_model("rnnsearch"))
    batches = []
    force_from = engine.force_from

    def counting(state, owners, target, lengths):
        batches.append(np.unique(owners, return_counts=True)[1].tolist())
        return force_from(state, owners, target, lengths)

    monkeypatch.setattr(engine, "force_from", counting)
    many = CandidateTranslations("ab cd", [f"{one} {other}" for one in "abcde" for other in "abcde"])
    few = [CandidateTranslations("a b", [letter]) for letter in "abcdefgh"]
    asked = [*few[:4], many, *few[4:]]
    scores = found(Scorer(engine, SIDE, SIDE).score_lists(asked))
    assert batches == [[1] * 8, [25]]
    for one, group in zip(asked, scores, strict=True):
        assert group == pytest.approx(found(Scorer(engine, SIDE, SIDE).score_lists([one]))[0], abs=1e-5)


def test_shared_prefixes_are_stepped_and_normalised_once(monkeypatch):
    model = small_model("rnnsearch")
    stepped, looked_through = [], []
    advance, of_words = model.advance, model.output.word_log_probabilities

    def counting_steps(words, state, prepared):
        stepped.append(len(words))
        return advance(words, state, prepared)

    def counting_readouts(readout, words, rows):
        looked_through.append(len(readout))
        return of_words(readout, words, rows)

    monkeypatch.setattr(model, "advance", counting_steps)
    monkeypatch.setattr(model.output, "word_log_probabilities", counting_readouts)
    for one in LISTS:
        list(Scorer(TorchEngine(model), SIDE, SIDE).score_lists([one]))
    prefixes = {(source, text[:end]) for source, texts in LISTS for text in texts for end in range(len(text) + 1)}
    assert sum(stepped) == sum(looked_through) == len(prefixes)


@pytest.mark.parametrize("rows", [1, 4])
def test_few_rows_of_the_vocabulary_at_a_time_change_nothing(monkeypatch, rows):
    engine = TorchEngine(small_model("rnnsearch"))
    whole = expected(engine)
    monkeypatch.setattr("dragoman.model.fast.output_layer.ROWS", rows)
    for scores in (found(Scorer(engine, SIDE, SIDE).score_lists(LISTS)), expected(engine)):
        for ours, theirs in zip(scores, whole, strict=True):
            assert ours == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("source_eos", [True, False])
def test_an_engine_without_shared_sources_gives_the_same_scores(toy_engine, source_eos, monkeypatch):
    monkeypatch.setattr(scorer, "WINDOW_TARGETS", 4)
    engine = toy_engine(len(SIDE.vocabulary), source_eos=source_eos)
    assert found(Scorer(engine, SIDE, SIDE).score_lists(LISTS)) == expected(engine)


def test_batches_are_divided_among_threads_and_scores_do_not_depend_on_their_number(monkeypatch):
    monkeypatch.setattr(given_targets, "MIN_TARGETS", 2)
    graphs = make_graphs([small_model("rnnsearch").float()])
    alone = found(Scorer(OnnxEngine(*graphs, threads=1), SIDE, SIDE).score_lists(LISTS))
    engine = OnnxEngine(*graphs, threads=3)
    batches, threads = [], set()
    force_from = engine.force_from

    def watching(state, owners, target, lengths):
        batches.append(len(owners))
        threads.add(threading.get_ident())
        return force_from(state, owners, target, lengths)

    monkeypatch.setattr(engine, "force_from", watching)
    scores = found(Scorer(engine, SIDE, SIDE).score_lists(LISTS))
    assert max(batches) == 4  # ten distinct translations for three threads
    assert threading.get_ident() not in threads
    for ours, theirs in zip(scores, alone, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


def test_pairs_get_the_same_scores(toy_engine):
    engine = toy_engine(len(SIDE.vocabulary))
    pairs = [(source, target) for source, targets in LISTS for target in targets]
    scores = [scored.log_probability for scored in Scorer(engine, SIDE, SIDE).score(pairs)]
    assert scores == [one for group in expected(engine) for one in group]


def test_lists_are_read_a_window_at_a_time(toy_engine, monkeypatch):
    monkeypatch.setattr(scorer, "WINDOW_TARGETS", 6)
    stream = EndlessStream(CandidateTranslations("a", ["b", "c"]))
    assert_read_by_windows(
        stream, Scorer(toy_engine(len(SIDE.vocabulary)), SIDE, SIDE).score_lists(stream), window=2, count=9
    )


def test_the_mean_counts_eos():
    assert mean_log_probability(np.array([-1, -2, -6], np.float32)) == -3
