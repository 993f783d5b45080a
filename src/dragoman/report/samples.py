"""A translation as the page shows it: words, and the alignment weights between them.

Shape letters: S source tokens, T target tokens, I source words, J target words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.extract import Span, eos_weights, segment_weights, surface_spans, word_weights, words_of
from dragoman.scoring.scorer import ScoredPair
from dragoman.text.scripts import LETTER_WITHOUT_SPACES
from dragoman.text.side import TextSide
from dragoman.text.words import raw_words
from dragoman.translation.result import Translation


@dataclass(frozen=True, slots=True)
class Sample:
    """A sentence pair to show, with the weights between its words."""

    source: str
    translation: str
    reference: str | None = None
    source_words: Sequence[Span] = ()
    """[I] the words of `source` as [start, end) in characters; in order, not overlapping."""
    target_words: Sequence[Span] = ()
    """[J] the words of `translation`."""
    weights: NDArray[np.floating] | None = None
    """[J, I] alignment weights; None for a model without attention."""
    windows: NDArray[np.floating] | None = None
    """[J, 3] p_t of local attention and both edges of its window, in source words: word i spans i - 1/2 to i + 1/2.
    None if attention is not local."""
    other_references: tuple[str, ...] = ()
    """More references, beside `reference`."""


class Window(NamedTuple):
    """The window of local attention at each step."""

    centres: NDArray[np.floating]
    """[T + 1] p_t, in source tokens from 0; EOS is last."""
    reach: int
    """D: tokens on either side."""


def make_sample(
    translation: Translation,
    reference: str | None,
    source: TextSide,
    target: TextSide,
    attention_shift: int,
    window: Window | None = None,
) -> Sample:
    """Return the sample of a translation by a model with these text sides and this `attention_shift`."""
    surfaces = [target.decode([index]) for index in target.vocabulary.ids(translation.tokens)]
    return _aligned(
        given_sample(translation.source, translation.text, reference),
        translation.attention,
        attention_shift,
        window,
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
    """Return the sample of a given `pair` (source, translation), as aligned by forced decoding."""
    return _aligned(
        given_sample(*pair, reference),
        scored.attention,
        attention_shift,
        window,
        source.encode(pair[0]).offsets[: len(scored.source_tokens)],
        target.encode(pair[1]).offsets[: len(scored.target_tokens)],
    )


def given_sample(source: str, translation: str, reference: str | None) -> Sample:
    """Return the sample of a given translation, whose attention is not known."""
    return Sample(source, translation, reference, raw_words(source), raw_words(translation))


def _aligned(
    given: Sample,
    attention: NDArray[np.float32] | None,
    shift: int,
    window: Window | None,
    source_spans: Sequence[Span],
    target_spans: Sequence[Span],
) -> Sample:
    """Return the sample with its words, and the weights and windows between them, if the model has attention."""
    if attention is None:
        return given
    segments = len(source_spans)
    words = words_between(given.source, source_spans), words_between(given.translation, target_spans)
    between = source_spans, words[0], target_spans, words[1]
    weights = segment_weights(attention, shift, segments)
    windows = None
    if window is not None and segments:
        windows = word_windows(segment_windows(window, shift, segments), *between)
    return replace(
        given,
        source_words=words[0],
        target_words=words[1],
        weights=word_weights(weights, eos_weights(attention, shift, segments), *between).weights,
        windows=windows,
    )


def segment_windows(window: Window, attention_shift: int, source_segments: int) -> NDArray[np.float64]:
    """Return p_t of each target token and the edges of its window, [floor(p_t) - D, floor(p_t) + D], as [T, 3].

    The unit is source tokens: token s spans s - 1/2 to s + 1/2. Windows are clipped to the sentence.
    """
    targets = len(window.centres) - 1
    centres = window.centres[attention_shift : attention_shift + targets].astype(np.float64)
    middle = np.minimum(np.floor(centres), source_segments)
    first = np.clip(middle - window.reach - 0.5, -0.5, source_segments - 0.5)
    last = np.clip(middle + window.reach + 0.5, -0.5, source_segments - 0.5)
    return np.stack((centres, first, last), axis=1)  # 3 x [T] -> [T, 3]


def word_windows(
    windows: NDArray[np.float64],
    source_spans: Sequence[Span],
    source_words: Sequence[Span],
    target_spans: Sequence[Span],
    target_words: Sequence[Span],
) -> NDArray[np.float64]:
    """Convert `windows` [T, 3] of target tokens in source tokens to windows of target words in source words, [J, 3].

    A source word is as wide as its tokens together. A target word has the mean p_t of its tokens and the smallest
    window that contains all of theirs; a word without tokens has NaN.
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
    """Return the edges of the tokens in units of words, [S + 1]; the tokens of a word divide it equally."""
    word = words_of(spans, words)
    known = word >= 0
    before = np.maximum.accumulate(np.where(known, word, -1))
    inside = np.array([np.sum(known[:at] & (word[:at] == own)) for at, own in enumerate(word)])
    count = np.array([max(1, np.sum(word == own)) for own in word])
    begins = np.where(known, word + inside / count, before + 1) - 0.5  # [S]
    return np.append(begins, max(len(words), 1) - 0.5)  # [S] -> [S + 1]


def words_between(line: str, segments: Sequence[Span]) -> list[Span]:
    """Return the words of a raw line; its tokens instead in a script without spaces."""
    words = raw_words(line)
    if not LETTER_WITHOUT_SPACES.search(line):
        return words
    cut = {bound for segment in segments for bound in segment}
    bounds = [[start, *sorted(bound for bound in cut if start < bound < end), end] for start, end in words]
    return [span for word in bounds for span in pairwise(word)]
