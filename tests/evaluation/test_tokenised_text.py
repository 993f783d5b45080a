"""Text that looks tokenised, or has accents as characters of their own."""

import logging
import unicodedata

import pytest

from dragoman.evaluation.tokenised_text import looks_tokenised, warn_of_decomposed_text, warn_of_tokenised_text

RAW = ["A man, a dog.", "Mr. Smith sees 1,000 cats.", "No stop here", "Ça va ?"]
TOKENISED = ["A man , a dog .", "Mr. Smith sees 1,000 cats .", "No stop here", "Ça va ?"]


def test_full_stops_and_commas_tell_tokenised_text_from_raw_text():
    assert looks_tokenised(TOKENISED)
    assert not looks_tokenised(RAW)
    assert not looks_tokenised(["no stops at all"] * 3)
    assert not looks_tokenised([])
    assert not looks_tokenised(["one stray , comma", *["no stops at all"] * 9])


@pytest.mark.parametrize(
    ("hypotheses", "references", "tokenizer", "said"),
    [
        (TOKENISED, RAW, "13a", "X look tokenised (spaces before full stops and commas), and the references do not"),
        (RAW, TOKENISED, "none", "the references look tokenised (spaces before full stops and commas), and X do not"),
        (TOKENISED, TOKENISED, "13a", "X and the references look tokenised (spaces before full stops and commas), and"),
        (TOKENISED, TOKENISED, "none", None),
        (RAW, RAW, "13a", None),
        (TOKENISED, RAW, "char", None),
    ],
)
def test_a_difference_or_a_second_tokenisation_is_warned_of(hypotheses, references, tokenizer, said, caplog):
    with caplog.at_level(logging.WARNING):
        warn_of_tokenised_text(hypotheses, references, tokenizer, "X")
    assert [record.getMessage().startswith(said) for record in caplog.records] == ([True] if said else [])


COMPOSED = ["Ça va ?", "개 한 마리", "no accents"]
DECOMPOSED = [unicodedata.normalize("NFD", line) for line in COMPOSED]


@pytest.mark.parametrize(
    ("hypotheses", "references", "said"),
    [
        (COMPOSED, DECOMPOSED, "the references have accents, or the parts of Hangul syllables, as characters of their"),
        (DECOMPOSED, COMPOSED, "X have accents, or the parts of Hangul syllables, as characters of their own"),
        (COMPOSED, COMPOSED, None),
        (DECOMPOSED, DECOMPOSED, None),
        (COMPOSED * 100, [*COMPOSED * 99, *DECOMPOSED], None),
    ],
)
def test_accents_as_characters_of_their_own_on_one_side_are_warned_of(hypotheses, references, said, caplog):
    with caplog.at_level(logging.WARNING):
        warn_of_decomposed_text(hypotheses, references, "X")
    assert [record.getMessage().startswith(said) for record in caplog.records] == ([True] if said else [])
