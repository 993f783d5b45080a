"""A translation as the page shows it: words that can be pointed at, and the alignment weights between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.extract import Span, segment_weights, surface_spans, words_of
from dragoman.search.translator import Translation
from dragoman.text.side import TextSide, raw_words

_WITHOUT_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
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


def make_sample(
    translation: Translation, reference: str | None, source: TextSide, target: TextSide, attention_shift: int
) -> Sample:
    """The sample of a translation by a model with these text sides and an engine of that `attention_shift`."""
    if translation.attention is None:
        return Sample(translation.source, translation.text, reference)
    segments = len(translation.source_tokens)
    source_spans = source.encode(translation.source).offsets[:segments]
    surfaces = [target.decode([index]) for index in target.vocabulary.ids(translation.tokens)]
    target_spans = surface_spans(surfaces, translation.text)
    source_words = _words(translation.source, source_spans)
    target_words = _words(translation.text, target_spans)
    weights = segment_weights(translation.attention, attention_shift, segments)
    return Sample(
        source=translation.source,
        translation=translation.text,
        reference=reference,
        source_words=source_words,
        target_words=target_words,
        weights=word_weights(weights, source_spans, source_words, target_spans, target_words),
    )


def word_weights(
    weights: NDArray[np.floating],
    source_spans: Sequence[Span],
    source_words: Sequence[Span],
    target_spans: Sequence[Span],
    target_words: Sequence[Span],
) -> NDArray[np.float64]:
    """Weights between words [J, I] from `weights` [T, S] between the segments at `target_spans` and `source_spans`.

    Weights of one step are shares of one whole, so they are summed over the segments of a source word; each segment
    of a target word has a step of its own, so they are averaged over those. A word without a segment has zeros.
    """
    into_source = words_of(source_spans, source_words)[:, None] == np.arange(len(source_words))  # [S, I]
    into_target = words_of(target_spans, target_words) == np.arange(len(target_words))[:, None]  # [J, T]
    steps = np.maximum(into_target.sum(axis=1, keepdims=True), 1)
    result: NDArray[np.float64] = (into_target / steps) @ weights.astype(np.float64) @ into_source
    return result


def _words(line: str, segments: Sequence[Span]) -> list[Span]:
    """The words of a raw line; in a script that puts no blanks between them its segments instead."""
    words = raw_words(line)
    if not _WITHOUT_BLANKS.search(line):
        return words
    cut = {bound for segment in segments for bound in segment}
    bounds = [[start, *sorted(bound for bound in cut if start < bound < end), end] for start, end in words]
    return [span for word in bounds for span in pairwise(word)]
