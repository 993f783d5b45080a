"""Word links to subword links: each link between two words connects all segments of the two words.

The opposite direction, from attention over segments to links between words, is in `extract`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dragoman.alignment.extract import Span, words_of
from dragoman.text.links import Link


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
