"""Lines encoded word by word have the ids that SentencePiece gives for the lines; other models are not encoded so."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.text.raw_lines import printable
from dragoman.text.segmentation import subwords
from dragoman.text.segmentation.subwords import WordIds, encodes_words, train_model

TEXT = ["ab abc abcd bcd cd", "ein Hund, zwei Hunde", "ab  ab 12 123", "Straße café", "a b c d e f"] * 4


@cache
def own_model() -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=train_model(TEXT, "bpe", 60))


def given_model(**options: Any) -> sentencepiece.SentencePieceProcessor:
    model = io.BytesIO()
    settings = {"model_type": "bpe", "vocab_size": 50, "normalization_rule_name": "identity", "hard_vocab_limit": False}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_writer=model, minloglevel=4, **{**settings, **options}
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


words = st.one_of(st.sampled_from(" ".join(TEXT).split()), st.text("abcdé1☃\u00a0\u200b", max_size=5))
lines = st.lists(words, max_size=6).map(" ".join)


def require_ids_of_lines(encoder: WordIds, given_lines: list[str]) -> None:
    found = encoder.encode(given_lines)
    assert found is not None
    ids, lengths = found
    rows = [own_model().encode(line) for line in given_lines]
    assert ids.tolist() == [number for row in rows for number in row]
    assert lengths.tolist() == [len(row) for row in rows]


@settings(max_examples=150)
@given(texts=st.lists(lines, min_size=1, max_size=5))
def test_lines_have_the_ids_of_their_words(texts: list[str]) -> None:
    encoder = WordIds(own_model())
    for _ in range(2):  # its words are known the second time
        require_ids_of_lines(encoder, [printable(line) for line in texts])


def test_more_words_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subwords, "MOST", 4)
    encoder = WordIds(own_model())
    for line in TEXT:
        require_ids_of_lines(encoder, [line, "", line[::-1]])


@pytest.mark.parametrize("given_lines", [[], ["a▁b c", "d"]], ids=["none", "with the symbol of a space"])
def test_lines_that_are_not_encoded_so(given_lines: list[str]) -> None:
    assert WordIds(own_model()).encode(given_lines) is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, True),
        ({"byte_fallback": True, "vocab_size": 320}, True),
        ({"model_type": "unigram"}, False),
        ({"normalization_rule_name": "nmt_nfkc"}, False),
        ({"normalization_rule_name": "nfkc_cf"}, False),
        ({"split_by_whitespace": False}, False),
        ({"treat_whitespace_as_suffix": True}, False),
        ({"add_dummy_prefix": False}, False),
        ({"remove_extra_whitespaces": False}, False),
        ({"user_defined_symbols": ["Hund, zwei"]}, False),
    ],
    ids=str,
)
def test_models_of_which_words_are_encoded(options: dict[str, Any], expected: bool) -> None:
    assert encodes_words(given_model(**options)) is expected


def test_words_of_our_models_are_encoded() -> None:
    assert encodes_words(own_model())
