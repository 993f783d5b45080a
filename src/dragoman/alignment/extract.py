"""Hard links from the soft alignment weights of attention, between segments or between words of raw lines.

The words of a raw line are separated by spaces (text/words.py, `raw_words`); a segment is a token of the model. Which
decoder step aligns a token depends on the model (see `segment_weights`); everything else is the same for all models.

Links between words also become links between their segments, the opposite direction (`expand_links`).

Letters: S source segments, T target segments, I source words, J target words.
"""

from __future__ import annotations

import bisect
import difflib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.text.links import Link

Span = tuple[int, int]
"""[start, end) in characters of a raw line."""


def segment_weights(attention: NDArray[np.float32], shift: int, source_segments: int) -> NDArray[np.float32]:
    """The alignment weights of each target segment, [T + 1, S or S + 1] -> [T, S].

    `attention` has a row for every predicted token, EOS last, and may have a column for the source's EOS, which is
    dropped: an alignment is between words (as in nmt.matlab). With `shift` 0 row t belongs to segment t (Bahdanau et
    al. 2015); with `shift` 1 row t + 1 does, so that the last segment uses the row of EOS (Luong et al. 2015: their
    content-based weights are computed after reading a word and are the alignment of that word).
    """
    assert shift in (0, 1), shift
    targets = len(attention) - 1
    return attention[shift : shift + targets, :source_segments]  # [T + 1, S or S + 1] -> [T, S]


def eos_weights(attention: NDArray[np.float32], shift: int, source_segments: int) -> NDArray[np.float32]:
    """The weights on the source's EOS in the rows of `segment_weights`, [T + 1, S or S + 1] -> [T]; 0 without EOS."""
    assert shift in (0, 1), shift
    targets = len(attention) - 1
    return np.asarray(attention[shift : shift + targets, source_segments:].sum(axis=1))  # [T + 1, S or S + 1] -> [T]


class WordWeights(NamedTuple):
    """Alignment weights between the words of two raw lines."""

    weights: NDArray[np.float64]
    """[J, I]; with global attention each row plus its `end` sums to 1."""
    end: NDArray[np.float64]
    """[J] weight on the source's EOS."""
    source_read: NDArray[np.bool_]
    """[I] true if the source word has a segment; false if truncation removed it."""
    target_written: NDArray[np.bool_]
    """[J] true if the target word has a segment."""


def word_weights(
    weights: NDArray[np.float32],
    end: NDArray[np.float32],
    source_spans: Sequence[Span],
    source_words: Sequence[Span],
    target_spans: Sequence[Span],
    target_words: Sequence[Span],
) -> WordWeights:
    """Alignment weights between words from those between segments, [T, S] -> [J, I].

    `weights` [T, S] and `end` [T] belong to the segments at `target_spans` [T] and `source_spans` [S]. The weight
    between two words is the sum over the segments of the source word (the weights of a step form a distribution) and
    the mean over the segments of the target word (each has its own step).
    """
    source_word = words_of(source_spans, source_words)
    target_word = words_of(target_spans, target_words)
    into_source = source_word[:, None] == np.arange(len(source_words))  # [S, I]
    into_target = target_word == np.arange(len(target_words))[:, None]  # [J, T]
    steps = into_target.sum(axis=1)
    into_target = into_target / np.maximum(steps, 1)[:, None]
    return WordWeights(
        weights=into_target @ (weights.astype(np.float64) @ into_source),  # [J, T] @ [T, S] @ [S, I] -> [J, I]
        end=into_target @ end.astype(np.float64),
        source_read=into_source.any(axis=0),
        target_written=steps > 0,
    )


def segments_alone(weights: NDArray[np.float32], end: NDArray[np.float32]) -> WordWeights:
    """The weights [T, S] and `end` [T] between segments, each segment being a word by itself."""
    targets, sources = weights.shape
    return WordWeights(
        weights.astype(np.float64), end.astype(np.float64), np.ones(sources, np.bool_), np.ones(targets, np.bool_)
    )


def heaviest_links(words: WordWeights) -> list[Link]:
    """One link for each target word: the source word with the largest weight; ties go to the leftmost.

    A target word has no link if the source is empty, or if truncation removed the word's segments.
    """
    if not words.source_read.any():
        return []
    heaviest = np.where(words.source_read, words.weights, -np.inf).argmax(axis=1)
    targets = np.flatnonzero(words.target_written)
    return sorted(zip(heaviest[targets].tolist(), targets.tolist(), strict=True))


def extract_links(words: WordWeights, threshold: float | None) -> list[Link]:
    """The links with a weight of at least `threshold`; of None, the heaviest link of each target word."""
    return heaviest_links(words) if threshold is None else links_from(words, threshold)


def links_from(words: WordWeights, threshold: float) -> list[Link]:
    """All links with a weight of at least `threshold`, which is above 0; a word may have none, one or several."""
    targets, sources = np.nonzero(words.weights >= threshold)
    return sorted(zip(sources.tolist(), targets.tolist(), strict=True))


def word_links(
    weights: NDArray[np.float32],
    source_spans: Sequence[Span],
    source_words: Sequence[Span],
    target_spans: Sequence[Span],
    target_words: Sequence[Span],
) -> list[Link]:
    """The `heaviest_links` between words, from `weights` [T, S] between segments."""
    end = np.zeros(len(weights), dtype=np.float32)
    return heaviest_links(word_weights(weights, end, source_spans, source_words, target_spans, target_words))


def words_of(spans: Sequence[Span], words: Sequence[Span]) -> NDArray[np.int64]:
    """The index of the word that each segment belongs to, [segments]; -1 for none.

    It is the word with most characters in the segment; ties go to the leftmost. A segment without characters of a word
    (a space, or an empty word-boundary mark) belongs to the next word.
    """
    ends = [end for _, end in words]
    chosen = np.full(len(spans), -1, dtype=np.int64)
    for index, (start, end) in enumerate(spans):
        word = bisect.bisect_right(ends, start)  # the first that reaches beyond `start`
        most = 0
        chosen[index] = word if word < len(words) else -1
        while word < len(words) and words[word][0] < end:
            covered = min(end, words[word][1]) - max(start, words[word][0])
            if covered > most:
                most, chosen[index] = covered, word
            word += 1
    return chosen


def surface_spans(surfaces: Sequence[str], text: str) -> list[Span]:
    """The span of each segment of an output in its `text`; `surfaces` are the segments, each joined on its own.

    Joining adds and drops spaces and otherwise keeps characters and their order, so non-space characters are counted.
    Where detokenisation has changed characters (quotation marks, say), positions between unchanged ones are
    interpolated. A segment without visible characters has an empty span at the start of the next one.
    """
    visible = [index for index, character in enumerate(text) if not character.isspace()]
    written = ["".join(surface.split()) for surface in surfaces]
    bounds = np.cumsum([0, *map(len, written)])
    bounds = _carry_over(bounds, "".join(written), "".join(text.split()))
    starts = [*visible, len(text)]
    return [
        (starts[begin], visible[end - 1] + 1 if end > begin else starts[begin])
        for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]


def _carry_over(bounds: NDArray[np.int64], written: str, shown: str) -> NDArray[np.int64]:
    """Map positions `bounds` [T + 1] in `written` to positions in `shown`, a nearly equal text."""
    if len(written) == len(shown) and written.lower() == shown.lower():  # a case mark is a segment of its own
        return bounds
    matcher = difflib.SequenceMatcher(None, written, shown)
    knots = [(0, 0)]
    for start, other_start, size in matcher.get_matching_blocks():
        knots += [(start, other_start), (start + size, other_start + size)]
    old, new = np.array(knots).T
    keep = np.append(old[1:] > old[:-1], True)  # the last of several knots at one position
    return np.asarray(np.rint(np.interp(bounds, old[keep], new[keep])), dtype=np.int64)


def expand_links(
    links: Iterable[Link],
    source_spans: Sequence[Span],
    source_words: Sequence[Span],
    target_spans: Sequence[Span],
    target_words: Sequence[Span],
) -> list[Link]:
    """Links between segments for links between words, ascending; a word without segments has none."""
    sources = _segments_of(source_words, source_spans)
    targets = _segments_of(target_words, target_spans)
    return sorted((s, t) for i, j in links for s in sources[i] for t in targets[j])


def _segments_of(words: Sequence[Span], spans: Sequence[Span]) -> list[list[int]]:
    """The segments of each word."""
    segments: list[list[int]] = [[] for _ in words]
    for segment, word in enumerate(words_of(spans, words).tolist()):
        if word >= 0:
            segments[word].append(segment)
    return segments
