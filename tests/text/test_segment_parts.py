"""The known segments that a new one is like."""

import pytest

from dragoman.text.segment_parts import parts_of
from dragoman.text.vocabulary import Vocabulary

KNOWN = ["hund", "Hunde", "Hütte", "e", "A", "\u0301", "der", "Haus"]


@pytest.mark.parametrize(
    ("segment", "parts"),
    [
        ("Hund", ["hund"]),
        ("HAUS", ["Haus"]),
        ("Hundehütte", ["Hunde", "Hütte"]),
        ("xxHaus", ["Haus"]),
        ("é", ["e", "\u0301"]),
        ("Ａ", ["A"]),
        ("中", []),
        ("qqqq", []),
        ("Ae", []),  # letters of a longer segment say nothing
    ],
)
def test_parts_are_other_cases_decompositions_and_known_words(segment, parts):
    vocabulary = Vocabulary(KNOWN)
    assert parts_of(segment, vocabulary) == vocabulary.ids(parts)
