"""From a hypothesis to a translation: its text, replaced unknown words, and links that are computed when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.extract import Span, segment_weights, surface_spans, word_links
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.items import NAMES, PLACEHOLDERS, restore, stand_apart
from dragoman.text.links import Link
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import UNK
from dragoman.translation.confidence import Confidence, ConfidenceModel, features_of
from dragoman.translation.prepared_lines import PreparedLine
from dragoman.translation.result import Translation
from dragoman.translation.source_encoding import SourceEncoder
from dragoman.translation.unknown_words import Replacement, UnknownWordReplacer


@dataclass
class Detokeniser:
    """Makes translations of hypotheses."""

    encoder: SourceEncoder
    target: TextSide
    unknown: UnknownWordReplacer | None = None
    """Replaces unknown words."""
    confidence: ConfidenceModel | None = None
    """Says how far a translation of one model can be trusted."""
    surfaces: dict[int, str] = field(default_factory=dict)
    """Segments detokenised on their own."""

    def translation(self, line: PreparedLine, hypothesis: Hypothesis) -> Translation:
        """The translation of a line that a hypothesis is."""
        segments = hypothesis.tokens[:-1]
        replacements = self._replacements(line, hypothesis)
        # Words that are <unk> to the model but have a known text: words of the forced prefix, and replaced words.
        known = {
            position: piece for position, piece in enumerate(line.prefix[: len(segments)]) if segments[position] == UNK
        }
        known |= {replacement.segment: replacement.target for replacement in replacements}
        tokens = self.target.vocabulary.pieces(segments)
        pieces = [known.get(position, piece) for position, piece in enumerate(tokens)]
        items, [part, *_] = line.source.items, line.source.parts
        spans = [span for piece, span in zip(part.pieces, part.offsets, strict=True) if piece in NAMES] if items else []
        joined = " ".join(self.target.segmentation.join(pieces).splitlines())
        inside = restore(joined, items, stand_apart(line.text, spans))
        before, after = line.quotation
        text = f"{before}{inside.removesuffix(after)}{after}"  # a prefix may have ended with the closing mark
        known |= {
            position: items[NAMES.index(piece)] for position, piece in enumerate(tokens) if items and piece in NAMES
        }
        return Translation(
            source=line.text,
            text=text,
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            tokens=tokens,
            source_tokens=line.source.pieces,
            attention=hypothesis.attention,
            attention_shift=self.encoder.attention_shift,
            compute_alignment=partial(self._alignment, line, hypothesis, known, inside),
            finished=hypothesis.finished,
            replacements=replacements,
            token_log_probabilities=hypothesis.token_log_probabilities,
            source_spans=line.source.offsets,
            compute_target_spans=partial(self._target_spans, hypothesis, known, inside, len(before)),
            compute_confidence=partial(self._confidence, line, hypothesis, text),
            compute_memory_matches=line.near,
            compute_typing_errors=partial(self.encoder.typing_errors, line.text),
        )

    def _confidence(self, line: PreparedLine, hypothesis: Hypothesis, text: str) -> Confidence | None:
        if self.confidence is None:
            return None
        [part] = line.source.parts
        return self.confidence.assess(
            features_of(line.text, text, part.ids, hypothesis.token_log_probabilities, finished=hypothesis.finished)
        )

    def _target_spans(self, hypothesis: Hypothesis, known: Mapping[int, str], text: str, before: int) -> list[Span]:
        """The spans of the target segments; `text` has so many characters `before` it."""
        segments = enumerate(hypothesis.tokens[:-1])
        surfaces = [known.get(position) or self._surface(segment) for position, segment in segments]
        return _moved(surface_spans(surfaces, text), before)

    def _alignment(
        self,
        line: PreparedLine,
        hypothesis: Hypothesis,
        known: Mapping[int, str],
        text: str,
        source_units: Sequence[Span],
        target_units: Sequence[Span],
    ) -> list[Link]:
        """Links between units of the line and units of the translation.

        Args:
            text: the translation without quotation marks around it; it has the `known` segments as they are.
        """
        weights = self._weights(line, hypothesis)
        if weights is None:
            return []
        # A dictionary may give several words for one segment; each is linked as the segment is.
        surfaces = [
            known[position].split() if position in known else [self._surface(segment)]
            for position, segment in enumerate(hypothesis.tokens[:-1])
        ]
        spans = _moved(surface_spans([word for words in surfaces for word in words], text), len(line.quotation[0]))
        rows = np.array([position for position, words in enumerate(surfaces) for _ in words], dtype=np.int64)
        return word_links(weights[rows], line.source.offsets, source_units, spans, target_units)

    def _weights(self, line: PreparedLine, hypothesis: Hypothesis) -> NDArray[np.float32] | None:
        """[T, S] the alignment weights of each target segment; None for a model without attention."""
        if hypothesis.attention is None:
            return None
        return segment_weights(hypothesis.attention, self.encoder.attention_shift, len(line.source.pieces))

    def _replacements(self, line: PreparedLine, hypothesis: Hypothesis) -> list[Replacement]:
        """The replacements of unknown words, except words of the forced prefix."""
        if self.unknown is None:
            return []
        weights, segments = self._weights(line, hypothesis), hypothesis.tokens[:-1]
        unknown = [
            position for position, segment in enumerate(segments) if segment == UNK and position >= len(line.prefix)
        ]
        if weights is None or not unknown:
            return []
        words = self.encoder.copied_words(line.text, line.source)
        return self.unknown.replace(unknown, weights, line.source.offsets, line.text, words)

    def _surface(self, segment: int) -> str:
        """A segment detokenised on its own; cached, because that takes longer than the rest of an alignment."""
        if segment not in self.surfaces:
            self.surfaces[segment] = self.target.decode([segment])
        return self.surfaces[segment]


def unsearched_translation(line: PreparedLine) -> Translation:
    """The translation of a line that a memory has, or of one without segments, which is blank."""
    return Translation(
        source=line.text,
        text=line.answer or "",
        score=0.0,
        log_probability=0.0,
        tokens=[],
        source_tokens=[],
        attention=None,
        compute_alignment=_no_links,
        finished=True,
        from_memory=line.answer is not None,
        compute_memory_matches=line.near,
    )


def unchanged_translation(line: PreparedLine, source: TextSide) -> Translation:
    """The line as its own translation, with numbers as the target language writes them, and a link for each word."""
    masked = source.mask(line.text)
    text, end = "", 0
    for character, (start, stop) in zip(masked.text, masked.spans or (), strict=False):
        if character in PLACEHOLDERS:
            text += line.text[end:start] + masked.items[PLACEHOLDERS.index(character)]
            end = stop
    return replace(unsearched_translation(line), text=text + line.text[end:], compute_alignment=_links_in_order)


def _no_links(source_spans: Sequence[Span], target_spans: Sequence[Span]) -> list[Link]:
    return []


def _links_in_order(source_spans: Sequence[Span], target_spans: Sequence[Span]) -> list[Link]:
    return [(position, position) for position in range(min(len(source_spans), len(target_spans)))]


def _moved(spans: Sequence[Span], by: int) -> list[Span]:
    return [(start + by, end + by) for start, end in spans]
