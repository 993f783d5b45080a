from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.alignment.extract import (
    eos_weights,
    expand_links,
    heaviest_links,
    links_from,
    segment_weights,
    surface_spans,
    word_links,
    word_weights,
    words_of,
)
from dragoman.config.schema import SideConfig
from dragoman.text.links import Link
from dragoman.text.segmentation import train_segmentation
from dragoman.text.words import raw_words

# Rows: two target segments and EOS. Columns: three source segments and EOS.
ATTENTION = np.array([[0.1, 0.6, 0.1, 0.2], [0.5, 0.1, 0.3, 0.1], [0.0, 0.1, 0.2, 0.7]], dtype=np.float32)


def test_without_shift_the_row_that_predicted_a_segment_is_its_own():
    assert (segment_weights(ATTENTION, 0, 3) == ATTENTION[:2, :3]).all()


def test_with_shift_the_next_row_counts_and_the_last_segment_uses_that_of_eos():
    assert (segment_weights(ATTENTION, 1, 3) == ATTENTION[1:, :3]).all()


def test_source_eos_is_never_linked():
    # In the last row the end has 0.7; without it the third segment is heaviest.
    assert segment_weights(ATTENTION, 1, 3).shape == (2, 3)
    assert segment_weights(ATTENTION[:, :3], 0, 3).shape == (2, 3)  # a model that reads no end


def test_weights_are_summed_over_the_segments_of_both_words():
    # source: "ab c" as a, b, c; target: "xyz w" as x, y, z, w.
    weights = np.array(
        [
            [0.3, 0.3, 0.4],  # x: word 0 has 0.6 in sum, though c alone is heaviest
            [0.1, 0.1, 0.8],  # y: word 1
            [0.4, 0.2, 0.4],  # z: word 0
            [0.2, 0.2, 0.6],  # w: word 1
        ],
        dtype=np.float32,
    )
    source_words, target_words = [(0, 2), (3, 4)], [(0, 3), (4, 5)]
    source_spans, target_spans = [(0, 1), (1, 2), (3, 4)], [(0, 1), (1, 2), (2, 3), (4, 5)]
    # Word 0 of the target: word 0 of the source has 0.6 + 0.2 + 0.6, word 1 has 0.4 + 0.8 + 0.4.
    assert word_links(weights, source_spans, source_words, target_spans, target_words) == [(1, 0), (1, 1)]
    weights[1] = [0.3, 0.2, 0.5]  # now 0.6 + 0.5 + 0.6 against 0.4 + 0.5 + 0.4
    assert word_links(weights, source_spans, source_words, target_spans, target_words) == [(0, 0), (1, 1)]


def test_word_weights_are_sums_over_the_source_word_and_means_over_the_target_word():
    # source: "ab c" as a, b, c and the end; target: "xy z" as x, y, z.
    attention = np.array(
        [[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.2, 0.2], [0.0, 0.2, 0.8, 0.0], [0.25, 0.25, 0.25, 0.25]], dtype=np.float32
    )
    spans = [(0, 1), (1, 2), (3, 4)], [(0, 2), (3, 4)]
    words = word_weights(segment_weights(attention, 0, 3), eos_weights(attention, 0, 3), *spans, *spans)
    np.testing.assert_allclose(words.weights, [[0.45, 0.25], [0.2, 0.8]], atol=1e-7)
    np.testing.assert_allclose(words.end, [0.3, 0.0], atol=1e-7)
    assert heaviest_links(words) == [(0, 0), (1, 1)]
    shifted = word_weights(segment_weights(attention, 1, 3), eos_weights(attention, 1, 3), *spans, *spans)
    np.testing.assert_allclose(shifted.weights, [[0.4, 0.5], [0.5, 0.25]], atol=1e-7)
    np.testing.assert_allclose(shifted.end, [0.1, 0.25], atol=1e-7)


def test_a_model_without_source_eos_has_no_weight_on_it():
    assert eos_weights(ATTENTION[:, :3], 0, 3).tolist() == [0, 0]


def test_a_threshold_gives_a_word_no_link_one_or_several():
    weights = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.1], [0.0, 0.1, 0.9]], dtype=np.float32)
    spans = [(0, 1), (2, 3), (4, 5)]
    words = word_weights(weights, np.zeros(3, np.float32), spans, spans, spans, spans)
    assert links_from(words, 0.5) == [(0, 0), (1, 0), (2, 2)]
    assert links_from(words, 0.25) == [(0, 0), (1, 0), (1, 1), (2, 2)]
    assert links_from(words, 1.0) == []


def test_words_without_segments_are_marked():
    spans, words = [(2, 3)], [(0, 1), (2, 3)]
    found = word_weights(np.ones((1, 1), np.float32), np.zeros(1, np.float32), spans, words, spans, words)
    assert (found.source_read.tolist(), found.target_written.tolist()) == ([False, True], [False, True])
    assert found.weights.tolist() == [[0, 0], [0, 1]]


def test_every_target_word_has_one_link_even_without_any_weight():
    weights = np.zeros((2, 2), dtype=np.float32)
    spans = [(0, 1), (2, 3)]
    assert word_links(weights, spans, spans, spans, spans) == [(0, 0), (0, 1)]


def test_words_beyond_the_segments_of_a_model_are_not_linked():
    weights = np.zeros((1, 1), dtype=np.float32)
    words = [(0, 1), (2, 3)]
    assert word_links(weights, [(2, 3)], words, [(2, 3)], words) == [(1, 1)]


def test_an_empty_side_has_no_word_links():
    assert word_links(np.zeros((1, 0), dtype=np.float32), [], [], [(0, 1)], [(0, 1)]) == []
    assert word_links(np.zeros((0, 1), dtype=np.float32), [(0, 1)], [(0, 1)], [], []) == []


@pytest.mark.parametrize(
    ("span", "word"),
    [
        ((0, 2), 0),
        ((1, 3), 0),
        ((2, 5), 1),  # a piece that brings the blank before it along
        ((1, 5), 1),  # one character of the first word, two of the second
        ((1, 4), 0),  # one of each: the left
        ((0, 9), 2),
        ((2, 3), 1),  # a blank: the word that follows
        ((3, 3), 1),  # an empty mark at the beginning of a word
        ((9, 9), -1),  # nothing follows
    ],
)
def test_a_segment_belongs_to_the_word_it_covers_most(span, word):
    assert words_of([span], [(0, 2), (3, 5), (6, 9)]).tolist() == [word]


@pytest.mark.parametrize(
    ("surfaces", "text", "shown"),
    [
        (["Ein", "Hund", "."], "Ein Hund.", ["Ein", "Hund", "."]),
        (["", "ab", "", "c"], "ab c", ["", "ab", "", "c"]),
        ([" a", "b ", " c"], "ab  c", ["a", "b", "c"]),
        (["New York", "er"], "New Yorker", ["New York", "er"]),
        (["``", "a", "''", "b"], '"a" b', ['"', "a", '"', "b"]),  # detokenisation wrote other marks
        (["x"], "", [""]),
        ([], "", []),
    ],
)
def test_segments_are_found_again_in_the_text(surfaces, text, shown):
    assert [text[start:end] for start, end in surface_spans(surfaces, text)] == shown


def test_an_empty_segment_lies_where_the_next_one_begins():
    assert surface_spans(["", "ab", "", "c", ""], "ab c") == [(0, 0), (0, 2), (3, 3), (3, 4), (4, 4)]


@given(st.lists(st.text("ab é", max_size=4), max_size=8), st.text('ab "é', max_size=20))
def test_spans_ascend_and_stay_inside_any_text(surfaces, text):
    for candidate in (text, "".join(surfaces), " ".join(surfaces)):
        spans = surface_spans(surfaces, candidate)
        assert len(spans) == len(surfaces)
        flat = [bound for span in spans for bound in span]
        assert all(0 <= bound <= len(candidate) for bound in flat)
        assert all(start <= end for start, end in spans)
        assert [start for start, _ in spans] == sorted(start for start, _ in spans)


@given(st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=6))
def test_with_the_text_unchanged_segments_and_words_agree(words):
    text = " ".join(words)
    spans = surface_spans(words, text)
    assert spans == raw_words(text)
    assert words_of(spans, raw_words(text)).tolist() == list(range(len(words)))


def spread(links: list[Link], source: str, target: str, kind: str = "characters") -> list[Link]:
    segmentation = train_segmentation(SideConfig(segmentation=kind), [])  # type: ignore[arg-type]
    spans = [segmentation.segment(line).offsets for line in (source, target)]
    return expand_links(links, spans[0], raw_words(source), spans[1], raw_words(target))


def test_a_link_joins_all_segments_of_its_words() -> None:
    # a blank belongs to the word after it: segments are a, b, _, c and X, _, Y, Z
    assert spread([(0, 0), (1, 1)], "ab c", "X YZ") == [(0, 0), (1, 0), *((s, t) for s in (2, 3) for t in (1, 2, 3))]


def test_links_are_unchanged_where_words_are_segments() -> None:
    assert spread([(0, 1), (1, 0), (1, 2)], "a b", "x y z", "words") == [(0, 1), (1, 0), (1, 2)]


def test_a_word_of_several_tokens_is_linked_with_all_of_them() -> None:
    # the tokeniser takes the comma off: ab | , | c
    assert spread([(0, 0), (1, 1)], "ab, c", "x y", "words") == [(0, 0), (1, 0), (2, 1)]


def test_no_links_expand_to_none() -> None:
    assert spread([], "a b", "x") == []
    assert spread([], "", "") == []
