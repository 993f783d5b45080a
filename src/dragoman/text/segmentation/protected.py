"""Protected items: in what a model reads and writes, numbered placeholders stand for links, tags, numbers and the like.

A source line is masked before anything else: its first nine items (text/items.py) become ⟦1⟧ to ⟦9⟧, each a segment of
its own. Search writes each of them once, and detokenisation puts the items back. In a pair of lines both sides have the
same placeholder for the same item; training leaves items as text that only one side has.

Spans refer to the raw line. In the web site, protected.js does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from dragoman.text.items import NAMES, NO_QUOTATION, PLACEHOLDERS, Items, Masked, Quotation
from dragoman.text.segmentation.base import NONE, Entries, Segmentation, Segments
from dragoman.text.segmentation.normal_form import NormalisedSegmentation, in_raw_line
from dragoman.text.segmentation.subwords import SubwordSegmentation

_NAME_OF = dict(zip(PLACEHOLDERS, NAMES, strict=True))
_PLACEHOLDER_OF = dict(zip(NAMES, PLACEHOLDERS, strict=True))


class ProtectedSegmentation:
    """A segmentation of masked lines."""

    def __init__(self, inner: Segmentation, items: Items, *, source: bool) -> None:
        """`source` says which side the lines are of; targets have placeholders for the items of their sources only."""
        self.inner = inner
        """The segmentation of lines whose items are placeholders."""
        self.items = items
        self.source = source

    def mask(self, line: str, items: Sequence[str] = (), quotation: Quotation = NO_QUOTATION) -> Masked:
        """Mask a source, or a target by the `items` and the quotation marks of its source."""
        return self.items.mask(self.narrow(line)) if self.source else self.items.mask_target(line, items, quotation)

    def count_items(self, line: str) -> int:
        """How many items a source has."""
        return len(self.items.find(self.narrow(line)))

    def narrow(self, line: str) -> str:
        """A source as items are found in it (`NormalForm.narrow`)."""
        return self.inner.form.narrow(line) if isinstance(self.inner, NormalisedSegmentation) else line

    def segment(self, line: str) -> Segments:
        return self.segment_masked(self.mask(line))

    def segment_masked(self, line: Masked) -> Segments:
        """Segment a masked line."""
        pieces, offsets = self.inner.segment(line.text)
        return Segments(named(pieces), offsets if line.spans is None else in_raw_line(offsets, line.spans))

    def join(self, pieces: Sequence[str]) -> str:
        """Join pieces to text in which placeholders are still to be restored (`text.items.restore`)."""
        return self.inner.join([_PLACEHOLDER_OF.get(piece, piece) for piece in pieces])

    def save(self, path: Path, entries: Entries = NONE) -> None:
        items = self.items
        protected = {
            "patterns": items.patterns,
            "separators": items.separators,
            "known_words": None if items.known is None else items.known.text(),
            "foreign_words": items.foreign_words is not None,
            "source": self.source,
            "anywhere": items.anywhere,
            "letterless_stay": items.letterless_stay,
        }
        self.inner.save(path, {**entries, "protected": protected})


def mask_pair(segmentations: tuple[Segmentation, Segmentation], source: str, target: str) -> tuple[Masked, Masked]:
    """Mask the items that both lines of a pair have; lines of other segmentations stay as they are."""
    if isinstance(segmentations[0], ProtectedSegmentation):
        return segmentations[0].items.mask_pair(segmentations[0].narrow(source), target)
    return Masked(source, None), Masked(target, None)


def segment_pair(
    segmentations: tuple[Segmentation, Segmentation], source: str, target: str
) -> tuple[Segments, Segments]:
    """Segment both lines of a pair, as training does: a placeholder stands for an item that both have."""
    source_segments, target_segments = (
        segmentation.segment_masked(line)
        if isinstance(segmentation, ProtectedSegmentation)
        else segmentation.segment(line.text)
        for segmentation, line in zip(segmentations, mask_pair(segmentations, source, target), strict=True)
    )
    return source_segments, target_segments


def innermost(segmentation: Segmentation) -> Segmentation:
    """The segmentation of lines that are masked and in normal form already."""
    while isinstance(segmentation, (ProtectedSegmentation, NormalisedSegmentation)):
        segmentation = segmentation.inner
    return segmentation


def extended(segmentation: Segmentation, segments: Sequence[str]) -> Segmentation:
    """The segmentation with more segments, if it is one into subwords; other ones do not change."""
    if isinstance(segmentation, ProtectedSegmentation):
        inner = extended(segmentation.inner, segments)
        return ProtectedSegmentation(inner, segmentation.items, source=segmentation.source)
    if isinstance(segmentation, NormalisedSegmentation):
        return NormalisedSegmentation(extended(segmentation.inner, segments), segmentation.form)
    return segmentation.extended(segments) if isinstance(segmentation, SubwordSegmentation) else segmentation


def knowing(segmentation: Segmentation, sources: Callable[[], Iterable[str]]) -> Segmentation:
    """The segmentation of a model that learns more sources: their words are no new names, and not mistyped.

    Args:
        sources: reads them, which may be done twice.
    """
    if isinstance(segmentation, ProtectedSegmentation):
        inner, items = knowing(segmentation.inner, sources), segmentation.items.with_text(sources())
        return ProtectedSegmentation(inner, items, source=segmentation.source)
    if isinstance(segmentation, NormalisedSegmentation):
        return NormalisedSegmentation(segmentation.inner, segmentation.form.knowing(sources()))
    return segmentation


def named(pieces: Sequence[str]) -> list[str]:
    """The pieces of a masked line with the names of placeholders."""
    return [_NAME_OF.get(piece, piece) for piece in pieces]
