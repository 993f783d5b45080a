"""Which slice a sentence falls into."""

import pytest

from dragoman.evaluation.slices import LENGTH_BINS, by_source_length


@pytest.mark.parametrize(
    ("words", "label"),
    [
        (0, "0-4"),
        (1, "0-4"),
        (4, "0-4"),
        (5, "5-9"),
        (19, "15-19"),
        (20, "20-29"),
        (59, "50-59"),
        (60, "60+"),
        (5000, "60+"),
    ],
)
def test_a_sentence_falls_into_the_bin_of_its_length(words, label):
    slicing = by_source_length([" ".join(["word"] * words)])
    assert [slicing.labels[index] for index in slicing.slice_of] == [label]


def test_blanks_of_any_kind_and_number_separate_words():
    slicing = by_source_length(["  a \t b\u3000c d   e "])
    assert slicing.labels[slicing.slice_of[0]] == "5-9"


def test_bins_join_without_gap_and_do_not_depend_on_the_corpus():
    slicing = by_source_length([])
    assert slicing.labels == ("0-4", "5-9", "10-14", "15-19", "20-29", "30-39", "40-49", "50-59", "60+")
    assert len(slicing.labels) == len(LENGTH_BINS)
    assert slicing.slice_of == ()
