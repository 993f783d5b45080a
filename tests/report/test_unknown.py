"""What a vocabulary lacks of a text."""

from dragoman.report.unknown import unknown_words
from dragoman.text.segmentation.words import Words
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary


def test_unknown_words_are_named_with_their_sentences_the_most_frequent_first():
    side = TextSide(Words("en"), Vocabulary(["the", "dog", "."]))
    found = unknown_words(side, ["the cat.", "a dog and a cat.", "the dog."])
    assert (found.segments, found.unknown) == (3 + 6 + 3, 5)
    assert [(word.text, word.sentences) for word in found.listed] == [("a", (1, 1)), ("cat", (0, 1)), ("and", (1,))]


def test_of_a_text_that_is_known_nothing_is_listed():
    side = TextSide(Words("en"), Vocabulary(["the"]))
    assert unknown_words(side, ["the", ""]).listed == ()
