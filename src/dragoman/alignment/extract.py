"""From soft alignment weights over segments to hard links, between segments or between words of the raw lines.

A word of a raw line is what stands between blanks (text/side.py, `raw_words`); a segment is what the model reads or
writes. Which step's weights speak of a word depends on the model (papers differ, see `segment_weights`); everything
after that is the same for all.

Letters: S source segments, T target segments, I source words, J target words.
"""

from __future__ import annotations

import bisect
import difflib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.text.links import Link

Span = tuple[int, int]
"""[start, end) in characters of a raw line."""


def segment_weights(attention: NDArray[np.float32], shift: int, source_segments: int) -> NDArray[np.float32]:
    """The weights that speak of each target segment, [T, S], out of all of them, [T + 1, S or S + 1].

    `attention` has a row for every symbol predicted, EOS last, and may have a column for the source's EOS, which is
    left out: an alignment is between words (nmt.matlab does the same). With `shift` 0 row t belongs to segment t
    (Bahdanau et al. 2015); with `shift` 1 row t + 1 does, so that the last segment uses the row of EOS (Luong et al.
    2015: their content-based weights are computed after reading a word, and are taken as the alignment of that word).
    """
    assert shift in (0, 1), shift
    targets = len(attention) - 1
    return attention[shift : shift + targets, :source_segments]


def segment_links(weights: NDArray[np.float32]) -> list[Link]:
    """One link for each target segment of `weights` [T, S]: its heaviest source segment, the leftmost of equals."""
    if weights.shape[1] == 0:
        return []
    return sorted((int(source), target) for target, source in enumerate(weights.argmax(axis=1)))


def eos_weights(attention: NDArray[np.float32], shift: int, source_segments: int) -> NDArray[np.float32]:
    """The weights on the source's EOS, [T], in the rows that `segment_weights` takes; 0 if the model reads no EOS."""
    assert shift in (0, 1), shift
    targets = len(attention) - 1
    return np.asarray(attention[shift : shift + targets, source_segments:].sum(axis=1))


class WordWeights(NamedTuple):
    """Alignment weights between the words of two raw lines."""

    weights: NDArray[np.float64]
    """[J, I]; for global attention each row, with its `end`, sums to 1."""
    end: NDArray[np.float64]
    """[J] weight on the source's EOS, which is no word."""
    source_read: NDArray[np.bool_]
    """[I] whether a source word has a segment: not if it lies beyond those that the model was given."""
    target_written: NDArray[np.bool_]
    """[J] the same for target words."""


def word_weights(
    weights: NDArray[np.float32],
    end: NDArray[np.float32],
    source_spans: Sequence[Span],
    source_words: Sequence[Span],
    target_spans: Sequence[Span],
    target_words: Sequence[Span],
) -> WordWeights:
    """Weights between words out of those between segments.

    `weights` [T, S] and `end` [T] are those of the segments at `target_spans` [T] and `source_spans` [S]. The weight
    between two words is the sum over the segments of the source word (weights of one step are shares of one whole) and
    the mean over those of the target word (each has a step of its own).
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


def heaviest_links(words: WordWeights) -> list[Link]:
    """One link for each target word: its heaviest source word, the leftmost of equals.

    So every target word has exactly one link, unless the source is blank, or the word lies beyond the segments that the
    model was given.
    """
    if not words.source_read.any():
        return []
    heaviest = np.where(words.source_read, words.weights, -np.inf).argmax(axis=1)
    targets = np.flatnonzero(words.target_written)
    return sorted(zip(heaviest[targets].tolist(), targets.tolist(), strict=True))


def links_from(words: WordWeights, threshold: float) -> list[Link]:
    """Every link with a weight of `threshold` or more: of any word none, one or several; `threshold` above 0."""
    targets, sources = np.nonzero(words.weights >= threshold)
    return sorted(zip(sources.tolist(), targets.tolist(), strict=True))


def word_links(
    weights: NDArray[np.float32],
    source_spans: Sequence[Span],
    source_words: Sequence[Span],
    target_spans: Sequence[Span],
    target_words: Sequence[Span],
) -> list[Link]:
    """The `heaviest_links` of the words of segments with `weights` [T, S]."""
    end = np.zeros(len(weights), dtype=np.float32)
    return heaviest_links(word_weights(weights, end, source_spans, source_words, target_spans, target_words))


def words_of(spans: Sequence[Span], words: Sequence[Span]) -> NDArray[np.int64]:
    """The word that each segment belongs to, -1 for none.

    It is the one of which the segment covers most characters, the leftmost of equals. A segment that covers none (a
    blank, or the empty mark of a word's beginning) belongs to the word that follows.
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
    """Where each segment of an output lies in its `text`; `surfaces` are the segments, each joined on its own.

    Joining adds and drops blanks, and otherwise keeps characters and their order, so visible characters are counted
    off. Where detokenisation has changed some (quotation marks, say), what lies between those it kept is divided in
    proportion. A segment without visible characters is empty and lies where the next one begins.
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
    """Positions in `written` -> positions in `shown`, which is nearly the same text."""
    if written == shown:
        return bounds
    matcher = difflib.SequenceMatcher(None, written, shown)
    knots = [(0, 0)]
    for here, there, size in matcher.get_matching_blocks():
        knots += [(here, there), (here + size, there + size)]
    old, new = np.array(knots).T
    keep = np.append(old[1:] > old[:-1], True)  # of several knots at one place the last: it stands before what follows
    return np.asarray(np.rint(np.interp(bounds, old[keep], new[keep])), dtype=np.int64)
