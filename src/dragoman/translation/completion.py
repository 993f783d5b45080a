"""Completion of a translation that a person has begun: which segments and words may come next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.config.schema import SearchConfig
from dragoman.engines.protocol import ShortlistEngine, refuse_nan
from dragoman.search.constraints import BatchConstraints, IdConstraints, append_tokens
from dragoman.text.items import restore
from dragoman.text.segmentation.case_marks import MARKS
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import BOS, EOS, UNK
from dragoman.translation.prepared_lines import PreparedLine
from dragoman.translation.source_encoding import SourceEncoder

MAX_CONTINUATIONS = 200
"""The most probable next segments among which `CompletionPrefixes` looks for words."""
MAX_BEGUN = 4
"""Beginnings of an unfinished word from which it looks for them; a mark of capitals is one, too."""


@dataclass(frozen=True)
class CompletionPrefixes:
    """What may follow the beginning of a translation."""

    encoder: SourceEncoder
    target: TextSide
    search: SearchConfig
    banned: Sequence[list[int]]
    """The segments of words and phrases that are never produced."""

    def prefixes(self, line: PreparedLine, prefix: str, count: int) -> list[list[int]]:
        """Target ids that begin with the prefix of `line`: these alone, then with one segment more, the most probable
        first.
        """
        given = list(line.constraints.prefix)
        completions = self._next_segments(line, given)
        if not prefix[-1:].isspace():
            done = self.target.encode(prefix.rpartition(" ")[0], line.source.items).ids
            if len(done) < len(given):
                completions += self._finished_words(line, prefix, done)
        completions.sort(key=lambda one: -one[1])
        return [given, *(ids for ids, _ in completions[: 3 * count])]

    def _finished_words(self, line: PreparedLine, prefix: str, done: Sequence[int]) -> list[tuple[list[int], float]]:
        """Ids that begin with `done`, the finished words of the prefix, and end with a segment that goes on from the
        unfinished one, in whatever segments this begins; and their log-probabilities.
        """
        found: list[tuple[list[int], float]] = []
        begun = [(list(done), 0.0)]
        for _ in range(MAX_BEGUN):
            if not begun:
                break
            begun.sort(key=lambda one: one[1])
            for ids, total in self._next_segments(line, begun.pop()[0]):
                text = restore(self.target.decode_masked(ids), line.source.items)
                if len(text) > len(prefix) and text.startswith(prefix):
                    found.append((ids, total))
                elif prefix.startswith(text) and ids != list(line.constraints.prefix) and self._may_begin(ids, prefix):
                    begun.append((ids, total))
        return found

    def _may_begin(self, ids: Sequence[int], prefix: str) -> bool:
        """Whether the last segment may begin the last word of the prefix: no mark of capitals if it has none."""
        [piece] = self.target.vocabulary.pieces(ids[-1:])
        return piece not in MARKS or prefix.rpartition(" ")[2][:1].isupper()

    def _next_segments(self, line: PreparedLine, ids: Sequence[int]) -> list[tuple[list[int], float]]:
        """`ids` with one of the most probable next segments, and the log-probability of all."""
        engine, source, lengths, segments = self.encoder.batch([line.source])
        if isinstance(engine, ShortlistEngine):
            engine = engine.full_vocabulary()
        constraints = BatchConstraints.from_config(
            self.search,
            engine.vocabulary_size,
            segments,
            [IdConstraints(placeholders=line.constraints.placeholders)],
            self.banned,
            placeholders=self.target.placeholders,
        )
        state, total, one = engine.start(source, lengths), 0.0, np.zeros(1, dtype=np.int64)
        for position, token in enumerate([BOS, *ids]):
            size = engine.vocabulary_size if position < len(ids) else min(MAX_CONTINUATIONS, engine.vocabulary_size)
            step = engine.step(state, one, np.array([token], dtype=np.int64), size)
            state = step.state
            if position < len(ids):
                total += float(step.log_probabilities[0, step.tokens[0] == ids[position]].max(initial=-np.inf))
        refuse_nan(step.log_probabilities)
        words = constraints.first_words(1)
        for token in ids:
            words = append_tokens(words, one, np.array([token]))
        permitted = constraints.at_step(one, len(ids), words).permitted(step)
        return [
            ([*ids, token], total + weight)
            for token, weight in zip(permitted.tokens[0].tolist(), permitted.log_probabilities[0].tolist(), strict=True)
            if token not in (EOS, UNK) and weight > -np.inf
        ]


def next_word(text: str, prefix: str) -> str:
    """The word of a translation that goes on from `prefix`; "" at its end.

    >>> next_word("the cat sat", "the"), next_word("the cat sat", "the c")
    ('cat', 'cat')
    """
    prefix = prefix.rstrip() if text.startswith(prefix.rstrip()) else ""
    position = len(prefix)
    if position == len(text):
        return ""
    position += text[position] == " "
    start = text.rfind(" ", 0, position) + 1
    return text[start:].partition(" ")[0]
