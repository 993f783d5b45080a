"""How probable a language model finds lines: a stream in, as many answers out, in order.

A window of the stream is held at a time. In it each distinct line is scored once, lines that begin alike stand in one
batch, and what the model would compute twice for them it computes once. The numbers do not depend on that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, tee

import numpy as np

from dragoman.engines.protocol import refuse_nan
from dragoman.model.language_model import LanguageModel
from dragoman.scoring.lists import Feature, Sentence
from dragoman.scoring.rescoring import TokenScores
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import EOS
from dragoman.translation.length_batching import Shortener, padded

WINDOW = 4096
"""Lines read ahead."""
ROWS = 1024
"""Lines of a batch."""
CELLS = 1 << 16
"""Lines of a batch times segments of its longest one."""


class LanguageScorer:
    """A language model and the text side that belongs to it."""

    def __init__(self, model: LanguageModel, side: TextSide) -> None:
        self._model = model
        self._side = side
        self._shorten = Shortener()

    def score(self, lines: Iterable[str]) -> Iterator[TokenScores]:
        """For each line [T + 1] log-probabilities of its segments and of the end of sentence, given those before.

        Raises:
            RunError: the model's answers are not numbers.
        """
        rest = iter(lines)
        while window := list(islice(rest, WINDOW)):
            found = self._score_window(list(dict.fromkeys(window)))
            yield from (found[line] for line in window)

    def _score_window(self, lines: Sequence[str]) -> dict[str, TokenScores]:
        rows = [(self._shorten(self._side.encode(line), "a line").ids, line) for line in lines]
        found: dict[str, TokenScores] = {}
        for batch in _batches(sorted(rows)):
            target, lengths = padded([[*ids, EOS] for ids, _ in batch])
            scores = self._model.force(target, lengths)
            refuse_nan(scores)
            found.update((line, row[:end].copy()) for (_, line), row, end in zip(batch, scores, lengths, strict=True))
        return found


def _batches(rows: Sequence[tuple[list[int], str]]) -> Iterator[list[tuple[list[int], str]]]:
    batch: list[tuple[list[int], str]] = []
    longest = 0
    for row in rows:
        length = len(row[0]) + 1
        if batch and (len(batch) == ROWS or (len(batch) + 1) * max(longest, length) > CELLS):
            yield batch
            batch, longest = [], 0
        longest = max(longest, length)
        batch.append(row)
    if batch:
        yield batch


def language_feature(scorer: LanguageScorer, value: Callable[[TokenScores], float]) -> Feature:
    """The probability of each hypothesis of n-best lists, whatever its source."""

    def feature(sentences: Iterable[Sentence]) -> Iterator[list[float]]:
        for_lines, for_lists = tee(sentences)
        scores = scorer.score(entry.text for sentence in for_lines for entry in sentence.entries)
        for sentence in for_lists:
            yield [value(next(scores)) for _ in sentence.entries]

    return feature


class Perplexity:
    """exp of the mean negative log-likelihood of a token, end of sentence counted."""

    def __init__(self) -> None:
        self.lines, self.tokens, self.nll = 0, 0, 0.0

    def add(self, scores: TokenScores) -> None:
        """One line more."""
        self.lines += 1
        self.tokens += len(scores)
        self.nll -= float(scores.sum(dtype=np.float64))

    @property
    def value(self) -> float:
        """Of what has been added; infinite where it is more than a float holds."""
        with np.errstate(over="ignore"):
            return float(np.exp(np.float64(self.nll / self.tokens)))
