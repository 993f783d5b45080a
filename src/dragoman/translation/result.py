"""The translation of one line, with its scores, attention and alignment."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.extract import Span
from dragoman.alignment.heat_map import heat_map_html, segment_heat_map
from dragoman.text.links import Link
from dragoman.text.spelling import TypingError
from dragoman.text.words import raw_words
from dragoman.translation.confidence import Confidence, Doubt
from dragoman.translation.unknown_words import Replacement

if TYPE_CHECKING:
    from dragoman.translation_memory.memory import MemoryMatch

MAX_SHOWN = 60
"""Segments of either side up to which a notebook shows the heat map."""


def _unassessed() -> Confidence | None:
    return None


@dataclass(frozen=True, eq=False)
class Translation:
    """A translation of one line with its scores and attention; a blank line has a blank translation.

    Of T target segments in `tokens` and S source segments in `source_tokens`, `token_log_probabilities` is [T + 1] and
    `attention` [T + 1, S + 1], or [T + 1, S] if the model does not read EOS. `log_probability` is a natural logarithm,
    EOS included; `score` is the same after length normalisation and coverage penalty (Wu et al. 2016, eq. 14).

    >>> best = dragoman.load("RUN").translate("ab")
    >>> best.source, best.text, best.tokens, best.alignment, best.finished
    ('ab', 'AB', ['A', 'B'], [(0, 0)], True)
    >>> best.attention.shape  # target tokens and EOS, source tokens and EOS
    (3, 3)
    """

    source: str
    """The line as it was given."""
    text: str
    """Its translation; raw text without line ends."""
    score: float
    """The log-probability after length normalisation and penalties, by which hypotheses are ranked. It can be positive
    where `search.word_penalty` is negative, a reward for each word as in `standard`."""
    log_probability: float
    """Natural logarithm, EOS included."""
    tokens: list[str]
    """T target segments, without EOS."""
    source_tokens: list[str]
    """S source segments, without EOS; for an ensemble the words of the line."""
    attention: NDArray[np.float32] | None
    """[T + 1, S], or [T + 1, S + 1] if the model reads EOS: row t was in use when segment t (the last one: EOS) was
    predicted; `segment_attention` has the row that belongs to it. None for a model without attention, and for a blank
    line."""
    compute_alignment: Callable[[Sequence[Span], Sequence[Span]], list[Link]] = field(repr=False)
    """Computes `links_between`."""
    finished: bool
    """False if the translation was truncated at the longest length."""
    searched_again: bool = False
    """Whether the first search gave a loop or a truncated translation, and another followed (`search.search_again`)."""
    replacements: list[Replacement] = field(default_factory=list)
    """The unknown words that were replaced in `text`; `tokens` has them as the model wrote them."""
    token_log_probabilities: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """[T + 1] natural logarithm of the probability of each of the `tokens` and of EOS; their sum is `log_probability`.
    Empty for a blank line."""
    source_spans: list[Span] = field(default_factory=list)
    """[start, end) of each of the `source_tokens` in `source`, in characters."""
    compute_target_spans: Callable[[], list[Span]] = field(default=list, repr=False)
    """Computes `target_spans`."""
    compute_confidence: Callable[[], Confidence | None] = field(default_factory=lambda: _unassessed, repr=False)
    """Computes `confidence` and `doubt`."""
    from_memory: bool = False
    """Whether it comes from an equal source in a translation memory; then there are no `tokens`, attention and links,
    and both scores are 0."""
    compute_memory_matches: Callable[[], list[MemoryMatch]] = field(default=list, repr=False)
    """Computes `memory_matches`."""
    compute_typing_errors: Callable[[], list[TypingError]] = field(default=list, repr=False)
    """Computes `typing_errors`."""
    attention_shift: int = 0
    """0 where row t of `attention` belongs to segment t, 1 where row t + 1 does, as in `Engine.attention_shift`."""

    @property
    def segment_attention(self) -> NDArray[np.float32] | None:
        """`attention` without the rows that belong to no segment, [T or T + 1, S]: row t belongs to segment t. The last
        row is that of EOS, unless the model attends after reading a word (`attention_shift` 1): then EOS has none.
        """
        return None if self.attention is None else self.attention[self.attention_shift :]

    @cached_property
    def alignment(self) -> list[Link]:
        """(source word, target word) between the words of the raw lines, from 0; one for each target word.

        Computed when first used: it takes longer than all other post-processing of the text.
        """
        return self.links_between(raw_words(self.source), raw_words(self.text))

    def links_between(self, source_spans: Sequence[Span], target_spans: Sequence[Span]) -> list[Link]:
        """(source position, target position) between units of the source line and of the text, given by their spans in
        characters; one for each target unit.

        Args:
            source_spans, target_spans: [start, end) of each unit in `source` and in `text`.

        Returns:
            links in the order of the target units, from 0; none for a model without attention.

        >>> best = dragoman.load("RUN").translate("ab c")
        >>> best.links_between([(0, 1), (1, 2), (3, 4)], [(0, 2), (3, 4)])  # letters and words
        [(0, 0), (2, 1)]
        """
        return self.compute_alignment(source_spans, target_spans)

    @cached_property
    def target_spans(self) -> list[Span]:
        """[start, end) of each of the `tokens` in `text`, in characters; computed when first used."""
        return self.compute_target_spans()

    @cached_property
    def memory_matches(self) -> list[MemoryMatch]:
        """Pairs of the translation memory whose sources are like the line, best first; computed when first used."""
        return self.compute_memory_matches()

    @cached_property
    def typing_errors(self) -> list[TypingError]:
        """The words of `source` that the model has read as others (`text.spelling`); computed when first used."""
        return self.compute_typing_errors()

    @cached_property
    def _assessed(self) -> Confidence | None:
        return self.compute_confidence()

    @property
    def confidence(self) -> float | None:
        """Probability, from 0 to 1, that the translation is good, as the model's dev set was translated; None for a
        blank line, an ensemble, and a model that has not been calibrated."""
        return None if self._assessed is None else self._assessed.value

    @property
    def doubt(self) -> Doubt | None:
        """What speaks most against a translation whose confidence is below 0.5: "low probability", "unknown words" in
        the source, "items lost" (numbers, links and the like), "wrong length"; else None."""
        return None if self._assessed is None else self._assessed.doubt

    def __str__(self) -> str:
        """The text."""
        return self.text

    def _repr_html_(self) -> str:
        """For notebooks: the text, and the alignment weights as a heat map."""
        text = f'<p style="font-size:1.1em">{html.escape(self.text)}</p>'
        weights = self.segment_attention
        if weights is None or not self.tokens or max(len(self.tokens), len(self.source_tokens)) > MAX_SHOWN:
            return text
        return text + heat_map_html(segment_heat_map(weights, self.source_tokens, self.tokens))
