"""Where lines differ, and which words are taken for which."""

import pytest

from dragoman.report.differences import confusions, count_oov, differing, missed, overlapping, tokens
from dragoman.text.segmentation.words import WordSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary


def cut(line: str) -> list[str]:
    return [line[start:end] for start, end in tokens(line)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("The dog's (old) house.", ["The", "dog's", "(", "old", ")", "house", "."]),
        ("«Où?» – 3,5 €", ["«", "Où", "?", "»", "–", "3,5", "€"]),
        ("私は 学生。", ["私", "は", "学", "生", "。"]),
        ("हिन्दी भाषा।", ["हिन्दी", "भाषा", "।"]),
        ("... !", [".", ".", ".", "!"]),
        ("", []),
    ],
)
def test_tokens_are_words_without_the_marks_around_them(line, expected):
    assert cut(line) == expected


def test_words_that_the_other_line_lacks_at_their_position_differ():
    one, other = "a big dog runs.", "a dog is running."
    mine, yours = differing(one, other)
    assert [one[start:end] for start, end in mine] == ["big", "runs"]
    assert [other[start:end] for start, end in yours] == ["is", "running"]
    assert differing(one, one) == ([], [])


def test_a_word_overlaps_a_span_if_it_shares_a_character():
    assert overlapping([(0, 3), (4, 6), (7, 9)], [(2, 5)]) == [0, 1]
    assert overlapping([(0, 3)], [(3, 4)]) == []


def test_a_confusion_is_counted_if_it_occurs_twice():
    hypotheses = ["the cat sleeps.", "a cat!", "the bird", "the long bird flies"]
    references = ["the dog sleeps.", "a dog!", "the fish", "the flies"]
    (found,) = confusions(hypotheses, references)
    assert (found.expected, found.written, found.sentences) == ("dog", "cat", (0, 1))


def test_punctuation_is_not_a_confusion():
    assert confusions(["a.", "b."], ["a!", "b!"]) == []


def test_missing_words_are_counted_with_all_their_occurrences():
    hypotheses = ["the the dog", "dog dog", "a"]
    references = ["the dog the the", "the dog", "the a."]
    (found,) = missed(hypotheses, references)
    assert (found.word, found.count, found.sentences) == ("the", 5, (0, 1, 2))


def test_unknown_words_are_named_with_their_sentences_the_most_frequent_first():
    side = TextSide(WordSegmentation("en"), Vocabulary(["the", "dog", "."]))
    found = count_oov(side, ["the cat.", "a dog and a cat.", "the dog."])
    assert (found.tokens, found.unknown) == (3 + 6 + 3, 5)
    assert [(word.text, word.sentences) for word in found.listed] == [("a", (1, 1)), ("cat", (0, 1)), ("and", (1,))]


def test_nothing_is_listed_for_a_text_without_unknown_words():
    side = TextSide(WordSegmentation("en"), Vocabulary(["the"]))
    assert count_oov(side, ["the", ""]).listed == ()
