"""A translation as the page shows it: words that can be pointed at, and the alignment weights between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.extract import Span, eos_weights, segment_weights, surface_spans, word_weights, words_of
from dragoman.scoring.scorer import ScoredPair
from dragoman.text.side import TextSide, raw_words
from dragoman.translation.translator import Translation

WITHOUT_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""A letter of Thai, Lao, Burmese, Khmer, kana or Han: scripts in which a blank does not end a word."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A sentence to show, with the weights between its words."""

    source: str
    translation: str
    reference: str | None = None
    source_words: Sequence[Span] = ()
    """[I] what can be pointed at in `source`, as [start, end) in characters; in order, not overlapping."""
    target_words: Sequence[Span] = ()
    """[J] the same in `translation`."""
    weights: NDArray[np.floating] | None = None
    """[J, I] alignment weights; None for a model without attention."""
    windows: NDArray[np.floating] | None = None
    """[J, 3] p_t of local attention, and where its window begins and ends, in source words: word i stretches from
    i - 1/2 to i + 1/2. None where attention is not local."""


class Window(NamedTuple):
    """Where local attention looked when it predicted each symbol of a translation."""

    centres: NDArray[np.floating]
    """[T + 1] p_t, in source segments from 0, end of sentence last."""
    reach: int
    """D: segments on either side."""


def make_sample(
    translation: Translation,
    reference: str | None,
    source: TextSide,
    target: TextSide,
    attention_shift: int,
    window: Window | None = None,
) -> Sample:
    """The sample of a translation by a model with these text sides and an engine of that `attention_shift`."""
    if translation.attention is None:
        return given_sample(translation.source, translation.text, reference)
    surfaces = [target.decode([index]) for index in target.vocabulary.ids(translation.tokens)]
    return _aligned(
        given_sample(translation.source, translation.text, reference),
        _Attended(translation.attention, attention_shift, window),
        source.encode(translation.source).offsets[: len(translation.source_tokens)],
        surface_spans(surfaces, translation.text),
    )


def scored_sample(
    pair: tuple[str, str],
    reference: str | None,
    scored: ScoredPair,
    source: TextSide,
    target: TextSide,
    attention_shift: int,
    window: Window | None = None,
) -> Sample:
    """The sample of a given translation, a `pair` (source, translation), as such a model aligns it."""
    given = given_sample(*pair, reference)
    if scored.attention is None:
        return given
    return _aligned(
        given,
        _Attended(scored.attention, attention_shift, window),
        source.encode(pair[0]).offsets[: len(scored.source_tokens)],
        target.encode(pair[1]).offsets[: len(scored.target_tokens)],
    )


def given_sample(source: str, translation: str, reference: str | None) -> Sample:
    """The sample of a translation of which nothing is known but its text."""
    return Sample(source, translation, reference, raw_words(source), raw_words(translation))


class _Attended(NamedTuple):
    """Where a model looked."""

    attention: NDArray[np.float32]
    shift: int
    window: Window | None


def _aligned(given: Sample, attended: _Attended, source_spans: Sequence[Span], target_spans: Sequence[Span]) -> Sample:
    """The sample with its words, and what there is between them."""
    segments = len(source_spans)
    source_words = words_between(given.source, source_spans)
    target_words = words_between(given.translation, target_spans)
    weights = segment_weights(attended.attention, attended.shift, segments)
    end = eos_weights(attended.attention, attended.shift, segments)
    windows = None
    if attended.window is not None and segments:
        rows = segment_windows(attended.window, attended.shift, segments)
        windows = word_windows(rows, source_spans, source_words, target_spans, target_words)
    return replace(
        given,
        source_words=source_words,
        target_words=target_words,
        weights=word_weights(weights, end, source_spans, source_words, target_spans, target_words).weights,
        windows=windows,
    )


def segment_windows(window: Window, attention_shift: int, source_segments: int) -> NDArray[np.float64]:
    """[T, 3] p_t of each target segment, and the edges of its window, [floor(p_t) - D, floor(p_t) + D].

    In source segments: segment s stretches from s - 1/2 to s + 1/2, and the window ends where the sentence does.
    """
    targets = len(window.centres) - 1
    centres = window.centres[attention_shift : attention_shift + targets].astype(np.float64)
    middle = np.minimum(np.floor(centres), source_segments)
    first = np.clip(middle - window.reach - 0.5, -0.5, source_segments - 0.5)
    last = np.clip(middle + window.reach + 0.5, -0.5, source_segments - 0.5)
    return np.stack((centres, first, last), axis=1)


def word_windows(
    windows: NDArray[np.float64],
    source_spans: Sequence[Span],
    source_words: Sequence[Span],
    target_spans: Sequence[Span],
    target_words: Sequence[Span],
) -> NDArray[np.float64]:
    """[J, 3] windows of target words in source words, from `windows` [T, 3] of segments in source segments.

    A source word is as wide as its segments together; a target word has the mean p_t of its segments, and the window
    that holds all of theirs. A word without a segment looked nowhere and has NaN.
    """
    edges = _segment_edges(source_spans, source_words)
    in_words = np.interp(windows, np.arange(len(edges)) - 0.5, edges)  # [T, 3]
    belongs = words_of(target_spans, target_words) == np.arange(len(target_words))[:, None]  # [J, T]
    result = np.full((len(target_words), 3), np.nan)
    for row, segments in enumerate(belongs):
        if segments.any():
            centres, first, last = in_words[segments].T
            result[row] = centres.mean(), first.min(), last.max()
    return result


def _segment_edges(spans: Sequence[Span], words: Sequence[Span]) -> NDArray[np.float64]:
    """Where segments begin and the last one ends, [S + 1], in words; the segments of a word share it equally."""
    word = words_of(spans, words)
    known = word >= 0
    before = np.maximum.accumulate(np.where(known, word, -1))
    inside = np.array([np.sum(known[:at] & (word[:at] == own)) for at, own in enumerate(word)])
    count = np.array([max(1, np.sum(word == own)) for own in word])
    begins = np.where(known, word + inside / count, before + 1) - 0.5
    return np.append(begins, max(len(words), 1) - 0.5)


def words_between(line: str, segments: Sequence[Span]) -> list[Span]:
    """The words of a raw line; in a script that puts no blanks between them its segments instead."""
    words = raw_words(line)
    if not WITHOUT_BLANKS.search(line):
        return words
    cut = {bound for segment in segments for bound in segment}
    bounds = [[start, *sorted(bound for bound in cut if start < bound < end), end] for start, end in words]
    return [span for word in bounds for span in pairwise(word)]
