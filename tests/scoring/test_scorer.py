from __future__ import annotations

import logging
from typing import get_args

import numpy as np
import pytest

from dragoman.config.schema import Combination, SearchConfig
from dragoman.errors import RunError
from dragoman.scoring.given_targets import log_probability
from dragoman.scoring.scorer import CandidateTranslations, Scorer
from dragoman.text.padding import pad
from dragoman.text.segmentation.characters import CharacterSegmentation, WhitespaceSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary
from dragoman.translation import length_batching, source_encoding
from dragoman.translation.ensemble import Ensemble
from dragoman.translation.source_encoding import pad_sources
from dragoman.translation.translator import Translator
from tests.streams import EndlessStream, assert_read_by_windows

SIDE = TextSide(CharacterSegmentation(), Vocabulary([*"abcdefgh", "▁"]))
SIZE = len(SIDE.vocabulary)

PAIRS = [("abc", "ab cd"), ("", "ab"), ("ab", ""), ("", ""), (" h g ", "a\tx"), ("a" * 30, "b"), ("b", "a" * 30)]


@pytest.fixture(params=[True, False], ids=["source-eos", "no-source-eos"])
def engine(request, toy_engine):
    return toy_engine(SIZE, 3, source_eos=request.param)


def by_hand(engine, source, target):
    """The pair alone, through the engine."""
    ids = SIDE.encode(target).ids
    forced = engine.force(*pad_sources(engine, [SIDE.encode(source).ids]), *pad([ids], eos=True))
    return forced.log_probabilities[0].astype(float).sum()


def test_every_pair_is_scored_in_order_blank_sides_too(engine, monkeypatch):
    monkeypatch.setattr(length_batching, "WINDOW_ITEMS", 5)
    pairs = PAIRS * 3
    scored = list(Scorer(engine, SIDE, SIDE).score(pairs))
    assert [one.log_probability for one in scored] == pytest.approx([by_hand(engine, *pair) for pair in pairs])
    for (_, target), one in zip(pairs, scored, strict=True):
        assert len(one.token_log_probabilities) == len(SIDE.encode(target).ids) + 1
        assert one.token_log_probabilities.sum() == pytest.approx(one.log_probability, rel=1e-5)


def test_attention_has_no_padding_and_a_column_for_eos_only_where_it_is_read(engine):
    for (source, target), one in zip(PAIRS, Scorer(engine, SIDE, SIDE).score(PAIRS), strict=True):
        segments = len(SIDE.encode(source).ids)
        assert one.attention.shape == (len(SIDE.encode(target).ids) + 1, segments + engine.source_eos)
        assert (len(one.source_tokens), len(one.target_tokens)) == (segments, len(SIDE.encode(target).ids))


def test_the_score_of_a_translation_equals_what_search_reported(engine):
    lines = ["abc", "de fg", "h", "ggggggg"]
    translator = Translator(engine, SIDE, SIDE, SearchConfig(beam=4, block_unknown=True, max_length_factor=1.5))
    compared = 0
    for translations in translator.translate_lines(lines, n_best=4):
        for translation in translations:
            if SIDE.encode(translation.text).pieces == translation.tokens:  # no blanks dropped at either end
                [scored] = Scorer(engine, SIDE, SIDE).score([(translation.source, translation.text)])
                assert scored.log_probability == pytest.approx(translation.log_probability, abs=1e-9)
                np.testing.assert_array_equal(scored.attention, translation.attention)
                assert scored.alignment == translation.alignment
                compared += 1
    assert compared >= 8


def test_links_are_between_words_of_both_raw_lines(toy_engine):
    class Looker(toy_engine):
        """Looks at the first segment, and from the third step on at the last one."""

        def distribution(self, source, prefix):
            attention = np.zeros(len(source), dtype=np.float32)
            attention[0 if len(prefix) <= 2 + self.attention_shift else len(source) - 1 - self.source_eos] = 1.0
            return super().distribution(source, prefix)[0], attention

    for shift in (0, 1):
        [scored, blank] = Scorer(Looker(SIZE, attention_shift=shift), SIDE, SIDE).score(
            [(" ab  cd", "ef g"), ("", "a")]
        )
        assert scored.alignment == [(0, 0), (1, 1)]
        assert blank.alignment == []


def test_a_model_without_attention_scores_and_aligns_nothing(toy_engine):
    [scored] = Scorer(toy_engine(SIZE, attends=False), SIDE, SIDE).score([("ab", "a")])
    assert scored.log_probability < 0
    assert (scored.attention, scored.alignment) == (None, [])


def test_pairs_are_read_a_window_at_a_time(engine, monkeypatch):
    monkeypatch.setattr(length_batching, "WINDOW_ITEMS", 5)
    stream = EndlessStream(("ab", "a"))
    assert_read_by_windows(stream, Scorer(engine, SIDE, SIDE).score(stream), window=5, count=12)


def test_a_side_that_is_too_long_is_truncated_with_one_warning_a_side(engine, caplog, monkeypatch):
    monkeypatch.setattr(source_encoding, "MAX_SEGMENTS", 20)
    with caplog.at_level(logging.WARNING):
        scored = list(Scorer(engine, SIDE, SIDE).score([("ab", "a"), ("a" * 100_000, "b" * 25), ("ab", "b" * 25)]))
    assert scored[1].log_probability == pytest.approx(by_hand(engine, "a" * 20, "b" * 20))
    assert [record.getMessage() for record in caplog.records] == [
        f"{side} has {segments} segments; such a line is truncated to its first 20 (reported once)"
        for side, segments in (("source line 2", 100_000), ("target line 2", 25))
    ]


def test_nan_is_refused(toy_engine):
    engine = toy_engine(SIZE, answer=lambda source, prefix: {5: float("nan")})
    with pytest.raises(RunError, match="log-probabilities that are not numbers"):
        list(Scorer(engine, SIDE, SIDE).score([("a", "a")]))


# Ensembles -----------------------------------------------------------------------------------------------------------

WORDS = TextSide(WhitespaceSegmentation(), Vocabulary(["ab", "c", "d"]))
TARGET = TextSide(WhitespaceSegmentation(), Vocabulary(["x", "y", "z", "w"]))


def members(toy_engine):
    """One reads letters and the end of sentence, the other words and no end."""
    size = len(TARGET.vocabulary)
    return [(toy_engine(size, 1, spread=0.5), SIDE), (toy_engine(size, 2, spread=0.5, source_eos=False), WORDS)]


@pytest.mark.parametrize("combination", get_args(Combination))
def test_an_ensemble_scores_and_aligns_its_translations_as_its_search_did(toy_engine, combination):
    ensemble = Ensemble(members(toy_engine), combination, [1, 3])
    search = SearchConfig(beam=3, block_unknown=True, max_length_factor=1.5, normalisation="none")
    lines = ["ab c d", "c", "d ab ab", "zz c"]
    found = list(Translator.of_ensemble(ensemble, TARGET, search).translate_lines(lines))
    pairs = [(line, best.text) for line, [best] in zip(lines, found, strict=True)]
    for [best], scored in zip(found, Scorer.of_ensemble(ensemble, TARGET).score(pairs), strict=True):
        assert scored.log_probability == pytest.approx(best.log_probability, abs=1e-5)
        np.testing.assert_allclose(scored.attention, best.attention, atol=1e-6)
        assert scored.alignment == best.alignment
        assert scored.source_tokens == best.source.split()


def test_a_pair_is_scored_by_log_probabilities_as_the_weighted_mean_of_its_members(toy_engine):
    pairs = [("ab c", "x y"), ("", "z"), ("d", ""), ("", ""), ("c d ab c", "w w")]
    both = members(toy_engine)
    ensemble = Scorer.of_ensemble(Ensemble(both, "log-probabilities", [1, 3]), TARGET)
    alone = [[scored.log_probability for scored in Scorer(*member, TARGET).score(pairs)] for member in both]
    together = [scored.log_probability for scored in ensemble.score(pairs)]
    assert together == pytest.approx([(one + 3 * two) / 4 for one, two in zip(*alone, strict=True)], abs=1e-5)


def test_links_of_an_ensemble_are_those_of_the_weighted_sum_of_its_members_weights(toy_engine):
    pairs = [("ab c d ab", "x y z w x"), ("c ab", "y")]
    both = members(toy_engine)
    alone = [list(Scorer(*member, TARGET).score(pairs)) for member in both]
    for number, scored in enumerate(Scorer.of_ensemble(Ensemble(both, weights=[1, 3]), TARGET).score(pairs)):
        one, two = (own[number].word_weights.weights for own in alone)
        np.testing.assert_allclose(scored.word_weights.weights, (one + 3 * two) / 4, atol=1e-6)


def test_lists_scored_by_an_ensemble_get_the_scores_of_their_pairs(toy_engine):
    lists = [CandidateTranslations("ab c", ["x y", "z", "x y", ""]), CandidateTranslations("d", ["w w x"])]
    scorer = Scorer.of_ensemble(Ensemble(members(toy_engine)), TARGET)
    for one, scores in zip(lists, scorer.score_lists(lists), strict=True):
        expected = [scored.log_probability for scored in scorer.score((one.source, target) for target in one.targets)]
        assert [log_probability(own) for own in scores] == pytest.approx(expected, abs=1e-5)
