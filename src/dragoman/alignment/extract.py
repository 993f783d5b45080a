"""From soft alignment weights over segments to hard links, between segments or between words of the raw lines.

A word of a raw line is what stands between blanks (text/side.py, `raw_words`); a segment is what the model reads or
writes. Which step's weights speak of a word depends on the model (papers differ, see `segment_weights`); everything
after that is the same for all.

Letters: S source segments, T target segments, I source words, J target words (of either, those with a segment).
"""

from __future__ import annotations

import bisect
import difflib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.links import Link

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


def word_links(
    weights: NDArray[np.float32],
    source_spans: Sequence[Span],
    source_words: Sequence[Span],
    target_spans: Sequence[Span],
    target_words: Sequence[Span],
) -> list[Link]:
    """One link for each target word: its heaviest source word, the leftmost of equals.

    `weights` [T, S] are those of the segments at `target_spans` [T] and `source_spans` [S]. The weight between two
    words is the sum over the segments of the source word (weights of one step are shares of one whole) and over those
    of the target word (each has a step of its own; their mean would choose the same links). So every target word has
    exactly one link, unless the source is blank, or the word lies beyond the segments that the model was given.
    """
    source_word = words_of(source_spans, source_words)
    target_word = words_of(target_spans, target_words)
    sources, targets = np.unique(source_word[source_word >= 0]), np.unique(target_word[target_word >= 0])
    if not len(sources) or not len(targets):
        return []
    into_source = source_word[:, None] == sources  # [S, I]
    into_target = target_word == targets[:, None]  # [J, T]
    by_word = into_target @ (weights.astype(np.float64) @ into_source)  # [J, T] @ [T, S] @ [S, I] -> [J, I]
    heaviest = sources[by_word.argmax(axis=1)]
    return sorted(zip(heaviest.tolist(), targets.tolist(), strict=True))


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
