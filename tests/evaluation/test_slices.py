"""Which slice a sentence falls into."""

import pytest

from dragoman.errors import InputError
from dragoman.evaluation.slices import (
    LENGTH_BINS,
    by_length,
    by_length_groups,
    by_length_window,
    by_rarity,
    mean_ranks,
    read_ranks,
)


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
    slicing = by_length([" ".join(["word"] * words)], "source")
    assert [label for label, members in zip(slicing.labels, slicing.members, strict=True) if members] == [label]


def test_spaces_of_any_kind_and_number_separate_words():
    slicing = by_length(["  a \t b\u3000c d   e "], "source")
    assert slicing.members[slicing.labels.index("5-9")] == (0,)


def test_bins_join_without_gap_and_do_not_depend_on_the_corpus():
    slicing = by_length([], "source")
    assert slicing.labels == ("0-4", "5-9", "10-14", "15-19", "20-29", "30-39", "40-49", "50-59", "60+")
    assert len(slicing.labels) == len(LENGTH_BINS["words"])
    assert slicing.sentences == 0
    assert not any(slicing.members)


def lines(*lengths):
    return [" ".join(["word"] * length) for length in lengths]


def parts(slicing):
    return dict(zip(slicing.labels, slicing.members, strict=True))


def test_references_are_sliced_like_sources():
    slicing = by_length(lines(3, 12), "reference")
    assert slicing.name == "reference length in words"
    assert slicing.members == by_length(lines(3, 12), "source").members


def test_groups_are_consecutive_in_order_of_length_and_the_last_one_is_smaller():
    slicing = by_length_groups(lines(9, 2, 5, 2, 7), "reference", 2)
    assert parts(slicing) == {"2": (1, 3), "5-7": (2, 4), "9": (0,)}
    assert slicing.name == "reference length in words, groups of 2"
    assert slicing.sentences == 5


def test_windows_overlap_and_hold_ten_lengths():
    slicing = by_length_window(lines(1, 5, 6, 14, 15), "source")
    found = parts(slicing)
    assert list(found) == [str(length) for length in range(1, 16)]
    assert found["1"] == (0, 1, 2)  # lengths -3 to 6
    assert found["5"] == (0, 1, 2)  # 1 to 10
    assert found["6"] == (1, 2)  # 2 to 11: no longer the first
    assert found["10"] == (2, 3, 4)  # 6 to 15
    assert found["9"] == (1, 2, 3)  # 5 to 14
    assert by_length_window([], "source").labels == ()


def test_rarity_sorts_by_the_mean_rank_of_words():
    ranks = mean_ranks([["a", "c"], ["a"], [], ["b", "x"]], {"a": 1, "b": 2, "c": 3})
    assert ranks == [2, 1, 0, 3]  # x is rarer than all that are known: rank 4
    assert parts(by_rarity(ranks, 3)) == {"0-2": (2, 1, 0), "3": (3,)}


def test_ranks_come_from_counts_or_from_the_order_of_words(tmp_path):
    path = tmp_path / "words"
    path.write_text("a 3\nb\t7\n\nc 3\n", encoding="utf-8")
    assert read_ranks(path) == {"b": 1, "a": 2, "c": 3}
    path.write_text("the\n2014\ncat\n", encoding="utf-8")
    assert read_ranks(path) == {"the": 1, "2014": 2, "cat": 3}


@pytest.mark.parametrize(
    ("text", "fault"),
    [("a 1\nb\n", ":2: 'b'"), ("a b\n", ":1: 'a b'"), ("a 1 2\n", ":1: 'a 1 2'"), ("a " + "9" * 5000, ":1: 'a 9+'")],
)
def test_a_line_that_is_no_frequency_is_reported(text, fault, tmp_path):
    path = tmp_path / "words"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=f"{path}{fault} is neither a word nor a word and its count"):
        read_ranks(path)


def test_an_empty_list_of_frequencies_is_an_error(tmp_path):
    (tmp_path / "words").write_text("\n", encoding="utf-8")
    with pytest.raises(InputError, match="contains no words"):
        read_ranks(tmp_path / "words")


def test_lines_without_spaces_are_measured_in_characters():
    lines = ["道元は鎌倉時代の禅僧である。", "曹洞宗の開祖とされる人物で、晩年には永平寺を開いた。"]
    bins = by_length(lines, "source")
    assert bins.name == "source length in characters"
    assert [bins.labels[number] for number, found in enumerate(bins.members) if found] == ["10-19", "20-29"]
    assert by_length_groups(lines, "reference").name == "reference length in characters, groups of 200"
    window = by_length_window(lines, "source")
    assert window.name == "source length in characters, window of 20"
