"""Sentences of running text: where they are cut, and that everything between them stays."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.sentences import MAX_CHARACTERS, replace_sentences, sentence_spans


def _sentences(text: str, language: str | None = "en") -> list[str]:
    return [text[slice(*span)] for span in sentence_spans(text, language)]


def test_sentences_end_at_marks_and_line_breaks_but_not_at_abbreviations() -> None:
    assert _sentences("Mr. Smith came.  Did he?\r\n\tYes \n\n...\n 😀") == ["Mr. Smith came.", "Did he?", "Yes"]
    assert _sentences("Am 3. Mai kam Dr. Müller z. B. nach Hause. Gut.", "de") == [
        "Am 3. Mai kam Dr. Müller z. B. nach Hause.",
        "Gut.",
    ]
    assert _sentences("これは本です。あれも。", "ja-JP") == ["これは本です。", "あれも。"]
    assert _sentences("One. Two.", None) == ["One.", "Two."]


def test_ordinals_and_quotations_are_not_cut() -> None:
    for language, text, *more in (
        ("de", "Der 2. Weltkrieg begann am 1. September 1939.", "Er endete 1945."),
        ("de", "Jonas ist Fan vom 1. FC Köln, und du?"),
        ("de", "Heiligabend ist am 24., Weihnachten am 25. Dezember."),
        ("de", "Ein Mann trifft den 2. Hund im Park."),
        ("en", "It was 2.", "Then 3 came."),
    ):
        assert _sentences(" ".join([text, *more]), language) == [text, *more]
    assert _sentences("彼は「行く！」と叫んだ。次の文。", "ja") == ["彼は「行く！」と叫んだ。", "次の文。"]
    assert _sentences("［除外...］を選ぶ。次の文。", "ja") == ["［除外...］を選ぶ。", "次の文。"]
    assert _sentences("tzv. ‚vzor‘, čili vzor.", "cs") == ["tzv. ‚vzor‘, čili vzor."]
    assert _sentences("「行く。」「来る。」", "ja") == ["「行く。」", "「来る。」"]


def test_a_mark_within_a_word_ends_no_sentence() -> None:
    for text in (
        "Made with OpenOffice.Org 3 and draw.Image.",
        "Is XL_AXIS.MAXIMUM set?",
        "It takes !Unsafe and ?Sized.",
    ):
        assert _sentences(text) == [text]


def test_what_has_no_letter_is_no_sentence() -> None:
    assert not _sentences("2018\n1.234,50\n15 %\n03.05.2020\n+49 30 123456\n-")
    assert _sentences("42\nRoom 42") == ["Room 42"]


@given(st.text(alphabet="aB.?! \t\n\r\u2028😀。木", max_size=60))
def test_a_text_whose_sentences_are_left_as_they_are_is_itself(text: str) -> None:
    spans = sentence_spans(text, "en")
    assert spans == sorted(spans)
    if all(before[1] < after[0] for before, after in pairwise(spans)):
        assert replace_sentences(text, spans, [text[slice(*span)] for span in spans]) == text
    translated = replace_sentences(text, spans, ["x"] * len(spans))
    assert len(translated.splitlines()) == len(text.splitlines())


def test_a_long_line_is_cut_like_its_sentences_in_lines_of_their_own() -> None:
    """It is cut a window at a time, because the library takes quadratic time for one of Chinese."""
    sentences = [
        f"Dr. Müller bought {'very ' * (number % 60)}many books (and “one” more) today." for number in range(400)
    ]
    assert _sentences(" ".join(sentences)) == sentences
    assert _sentences("一二三。" * 20_000, "zh") == ["一二三。"] * 20_000
    assert _sentences("word " * 10_000) == [("word " * 160).rstrip()] * 62 + [("word " * 80).rstrip()]


def test_a_space_separates_sentences_that_touched_unless_their_script_has_none() -> None:
    text = "一。二。"
    spans = sentence_spans(text, "zh")
    assert replace_sentences(text, spans, ["One.", "Two."]) == "One. Two."
    assert replace_sentences(text, spans, ["三。", "四。"]) == "三。四。"


def test_a_long_sentence_is_cut_after_a_clause_or_a_word_and_nothing_is_lost() -> None:
    clauses = "word " * 50 + "10,000 words, "
    for text in (clauses * 20, "word " * 1000, "x" * 5000):
        parts = _sentences(text)
        assert max(map(len, parts)) <= MAX_CHARACTERS
        assert "".join("".join(parts).split()) == "".join(text.split())
    assert _sentences(clauses * 20)[0].endswith("10,000 words,")
