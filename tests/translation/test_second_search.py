from __future__ import annotations

import logging

import pytest

from dragoman.config.schema import SearchConfig
from dragoman.errors import OptionError
from dragoman.text.segmentation.characters import CharacterSegmentation, WhitespaceSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import EOS, Vocabulary
from dragoman.translation.prepared_lines import TextConstraints
from dragoman.translation.second_search import repetition_orders
from dragoman.translation.translator import Translator
from dragoman.workflows.translation import count_empty, warn_of_empty, warn_of_searched_again

WORDS = ["dog", "cat", "sun", "loop", "endless"]
SIDE = TextSide(WhitespaceSegmentation(), Vocabulary(WORDS))
SIZE = len(SIDE.vocabulary)
DOG, CAT, SUN, LOOP, ENDLESS = SIDE.vocabulary.ids(WORDS)
SEARCH = SearchConfig(beam=2, normalisation="none", search_again=True, max_length_factor=1, max_length_extra=7)


def answer(source, prefix):
    """Copies "dog" and "cat"; after "loop" says "dog" five times, after "endless" all words in turn and on."""
    place = len(prefix) - 1
    if source[0] == LOOP:
        return {DOG: 0.8, EOS: 0.2} if place < 5 else {EOS: 1.0}
    if source[0] == ENDLESS:
        return {(DOG, CAT, SUN)[place % 3]: 0.9, EOS: 0.1}
    return {source[min(place, len(source) - 1)]: 1.0}


@pytest.fixture
def translator(toy_engine):
    return Translator(toy_engine(SIZE, answer=answer), SIDE, SIDE, SEARCH)


@pytest.fixture
def once(translator):
    return translator.with_options(search_again=False)


def texts(found):
    return [best.text for best in found]


LINES = ["cat", "loop", "", "dog dog dog", "endless", "dog"]


def test_what_loops_or_is_truncated_is_searched_again_and_nothing_else(translator, once):
    before, after = once.translate(LINES, beam=1), translator.translate(LINES, beam=1)
    assert texts(before) == ["cat", "dog dog dog dog dog", "", "dog dog dog", "dog cat sun dog cat sun dog cat", "dog"]
    assert not any(best.searched_again for best in before)
    assert [best.searched_again for best in after] == [False, True, False, False, True, False]
    assert texts(after) == ["cat", "dog dog", "", "dog dog dog", "dog cat sun dog cat", "dog"]
    assert all(best.finished for best in after)


def test_a_line_has_the_same_translation_alone_and_in_any_batch(translator):
    together = translator.translate(LINES * 20)
    for line, found in zip(LINES * 20, together, strict=True):
        alone = translator.translate(line)
        assert (alone.text, alone.score, alone.searched_again) == (found.text, found.score, found.searched_again)


def test_the_best_of_a_list_decides_and_the_whole_list_is_of_one_search(translator):
    [n_best] = translator.translate_lines(["loop"], n_best=2)
    assert all(each.searched_again for each in n_best)
    assert "dog dog dog dog dog" not in texts(n_best)


def test_a_loop_that_no_search_ends_is_kept(translator):
    best = translator.translate("loop", prefix="dog dog dog dog")
    assert best.text.startswith("dog dog dog dog")
    assert best.searched_again


def test_constraints_hold_in_every_search(translator):
    [[best]] = translator.translate_lines(["loop"], constraints=[TextConstraints(phrases=["sun"])])
    assert "sun" in best.text.split()
    assert best.searched_again


def test_the_coverage_penalty_is_for_models_with_attention_only(toy_engine):
    found = [
        Translator(toy_engine(SIZE, answer=answer, attends=attends), SIDE, SIDE, SEARCH).translate(
            "loop cat sun cat", beam=1
        )
        for attends in (True, False)
    ]
    assert texts(found) == ["dog dog", "dog dog"]
    assert found[0].score < found[1].score == found[1].log_probability


def test_samples_are_not_searched_again(translator):
    found = translator.translate("loop", sample=True, top_k=1)
    assert found.text == "dog dog dog dog dog"
    assert not found.searched_again
    with pytest.raises(OptionError, match="search_again has no effect with sample"):
        translator.translate("loop", sample=True, search_again=True)


def test_the_ngrams_of_characters_are_longer():
    assert repetition_orders(SIDE.vocabulary) == (3, 2)
    characters = TextSide(CharacterSegmentation(), Vocabulary("▁abcdefghijkl"))
    assert repetition_orders(characters.vocabulary) == (6, 4)


def test_the_number_is_told(caplog):
    with caplog.at_level(logging.WARNING):
        warn_of_searched_again(0, 5)
        warn_of_searched_again(2, 5)
    assert [record.getMessage() for record in caplog.records] == [
        "2 of 5 translations (40.0 %) looped or ran to the maximum length and were searched again without repeated "
        "n-grams; look at them, or give --no-search-again"
    ]


def test_empty_translations_are_counted_where_the_line_is_not(toy_engine, caplog):
    translator = Translator(toy_engine(SIZE, answer=lambda *_: {EOS: 1.0}), SIDE, SIDE, SEARCH)
    assert count_empty(translator.translate(["cat", "", " "])) == 1
    with caplog.at_level(logging.WARNING):
        warn_of_empty(0, 3)
        warn_of_empty(1, 3)
    assert [record.getMessage() for record in caplog.records] == [
        "1 of 3 translations (33.3 %) are empty though their lines are not; raise --min-length-factor"
    ]
