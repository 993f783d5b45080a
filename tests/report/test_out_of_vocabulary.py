"""Out-of-vocabulary tokens of a text."""

from dragoman.report.out_of_vocabulary import count_oov
from dragoman.text.segmentation.words import WordSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary


def test_unknown_words_are_named_with_their_sentences_the_most_frequent_first():
    side = TextSide(WordSegmentation("en"), Vocabulary(["the", "dog", "."]))
    found = count_oov(side, ["the cat.", "a dog and a cat.", "the dog."])
    assert (found.tokens, found.unknown) == (3 + 6 + 3, 5)
    assert [(word.text, word.sentences) for word in found.listed] == [("a", (1, 1)), ("cat", (0, 1)), ("and", (1,))]


def test_nothing_is_listed_for_a_text_without_unknown_words():
    side = TextSide(WordSegmentation("en"), Vocabulary(["the"]))
    assert count_oov(side, ["the", ""]).listed == ()
