"""From a translation to words with weights."""

import numpy as np
import pytest

from dragoman.report.samples import Window, make_sample, segment_windows, word_windows
from dragoman.text.segmentation.characters import CharacterSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary
from dragoman.translation.result import Translation


@pytest.fixture
def side() -> TextSide:
    """Characters as segments: the words are what must be put together."""
    letters = "abcdefghij ,私は学生です。"
    segmentation = CharacterSegmentation()
    return TextSide(segmentation, Vocabulary.from_counts(dict.fromkeys(segmentation.segment(letters).pieces, 1), None))


def translation(side: TextSide, source: str, text: str, attention) -> Translation:
    return Translation(
        source=source,
        text=text,
        score=0.0,
        log_probability=0.0,
        tokens=side.encode(text).pieces,
        source_tokens=side.encode(source).pieces,
        attention=attention,
        compute_alignment=lambda source_spans, target_spans: [],
        finished=True,
    )


def spread(side: TextSide, source: str, text: str, *, eos: bool) -> np.ndarray:
    """Equal weights everywhere, the end of the source included if the model reads it."""
    shape = len(side.encode(text).pieces) + 1, len(side.encode(source).pieces) + eos
    return np.full(shape, 1 / shape[1], dtype=np.float32)


def words(line: str, spans) -> list[str]:
    return [line[start:end] for start, end in spans]


def test_weights_are_summed_over_source_words_and_averaged_over_target_words(side):
    source, text = "ab cde", "fg h"
    attention = np.zeros((5, 7), dtype=np.float32)
    attention[0, 0], attention[0, 1] = 0.5, 0.5  # f: a, b
    attention[1, 3], attention[1, 4], attention[1, 6] = 0.25, 0.5, 0.25  # g: c, d, end of sentence
    attention[2, 5] = attention[3, 5] = 1.0  # the blank, which belongs to the next word, and h: e
    sample = make_sample(translation(side, source, text, attention), "fg", side, side, attention_shift=0)
    assert words(source, sample.source_words) == ["ab", "cde"]
    assert words(text, sample.target_words) == ["fg", "h"]
    np.testing.assert_allclose(sample.weights[0], [0.5, 0.375])
    np.testing.assert_allclose(sample.weights[1], [0, 1])
    assert (sample.source, sample.translation, sample.reference) == (source, text, "fg")


def test_shifted_attention_belongs_to_the_word_before(side):
    attention = np.array([[1, 0, 0], [0, 0, 1], [0, 0, 1]], dtype=np.float32)
    sample = make_sample(translation(side, "a b", "cd", attention), None, side, side, attention_shift=1)
    np.testing.assert_allclose(sample.weights, [[0, 1]])


def test_in_a_script_without_spaces_each_token_is_a_word(side):
    source, text = "ab c", "私は学生です。"
    sample = make_sample(
        translation(side, source, text, spread(side, source, text, eos=False)), None, side, side, attention_shift=0
    )
    assert words(source, sample.source_words) == ["ab", "c"]
    assert words(text, sample.target_words) == list(text)
    assert sample.weights.shape == (7, 2)


@pytest.mark.parametrize(("source", "text"), [("", ""), ("ab", ""), (" ", "a")])
def test_empty_sides_have_no_words(side, source, text):
    sample = make_sample(
        translation(side, source, text, spread(side, source, text, eos=True)), None, side, side, attention_shift=0
    )
    assert sample.weights.shape == (len(text.split()), len(source.split()))


def test_without_attention_there_are_no_weights(side):
    sample = make_sample(translation(side, "ab", "c", None), "c", side, side, attention_shift=0)
    assert sample.weights is None
    assert sample.windows is None
    assert words("c", sample.target_words) == ["c"]


def test_a_window_reaches_d_segments_to_either_side_and_not_beyond_the_sentence():
    """Luong et al. 2015, section 3.2: [p_t - D, p_t + D], around the whole part of p_t."""
    window = Window(np.array([0.25, 2.9, 4.0, 9.0]), 1)
    assert segment_windows(window, 0, 5).tolist() == [[0.25, -0.5, 1.5], [2.9, 0.5, 3.5], [4.0, 2.5, 4.5]]
    assert segment_windows(window, 1, 5)[0].tolist() == [2.9, 0.5, 3.5]


def test_windows_of_segments_that_are_words_stay_what_they_are():
    spans = [(0, 1), (2, 3), (4, 5)]
    windows = np.array([[0.25, -0.5, 1.5], [1.75, 0.5, 2.5]])
    np.testing.assert_allclose(word_windows(windows, spans, spans, spans[:2], spans[:2]), windows)


def test_a_source_word_is_as_wide_as_its_segments_together():
    source_spans, source_words = [(0, 1), (1, 2), (3, 4)], [(0, 2), (3, 4)]  # two segments, one segment
    targets = [(0, 1), (1, 2)]
    windows = np.array([[0.0, -0.5, 0.5], [2.0, 0.5, 2.5]])
    found = word_windows(windows, source_spans, source_words, targets, targets)
    np.testing.assert_allclose(found, [[-0.25, -0.5, 0.0], [1.0, 0.0, 1.5]])


def test_a_target_word_has_the_mean_centre_of_its_segments_and_a_window_around_all_of_theirs():
    spans = [(0, 1), (2, 3), (4, 5)]
    windows = np.array([[0.0, -0.5, 0.5], [1.0, 0.5, 1.5]])
    found = word_windows(windows, spans, spans, [(0, 1), (1, 2)], [(0, 2), (3, 4)])
    np.testing.assert_allclose(found, [[0.5, -0.5, 1.5], [np.nan] * 3])
