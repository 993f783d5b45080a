"""Scores of lines under a language model, as a stream in the order of the lines.

Each distinct line in a window of the stream is scored once. Lines with a common prefix are put into one batch, so that
the model computes the prefix once; the scores do not depend on this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import tee

import numpy as np

from dragoman.model.language_model import LanguageModel
from dragoman.scoring.given_targets import GivenTarget, TokenScores, log_probability, prefix_batches, split_rows
from dragoman.scoring.lists import Feature, NBestSentence
from dragoman.text.padding import pad
from dragoman.text.side import TextSide
from dragoman.translation.length_batching import read_windows
from dragoman.translation.source_encoding import Truncator

WINDOW = 4096
"""Lines read ahead."""


class LanguageModelScorer:
    """A language model and the text side that belongs to it."""

    def __init__(self, model: LanguageModel, side: TextSide) -> None:
        self._model = model
        self._side = side
        self._truncate = Truncator()

    def score_lines(self, lines: Iterable[str], paused: Callable[[], bool] | None = None) -> Iterator[TokenScores]:
        """For each line [T + 1] log-probabilities of its segments and of EOS, each given those before it.

        Lines are read ahead, but not where `paused` says that the next one would have to be waited for.

        Raises:
            RunError: the model's log-probabilities are NaN.
        """
        for window in read_windows(lines, len, max_items=WINDOW, paused=paused):
            scores = self._score_window(list(dict.fromkeys(window)))
            yield from (scores[line] for line in window)

    def _score_window(self, lines: Sequence[str]) -> dict[str, TokenScores]:
        targets = [GivenTarget(0, line, self._truncate(self._side.encode(line), "a line").ids) for line in lines]
        scored: dict[str, TokenScores] = {}
        for batch in prefix_batches(targets, source_lengths=[0]):
            target, lengths = pad([target.ids for target in batch], eos=True)
            scores = split_rows(self._model.force(target, lengths), lengths)
            scored.update(zip((target.text for target in batch), scores, strict=True))
        return scored


def language_model_feature(scorer: LanguageModelScorer, value: Callable[[TokenScores], float]) -> Feature:
    """The probability of each hypothesis of n-best lists under a language model; sources are not used."""

    def feature(sentences: Iterable[NBestSentence]) -> Iterator[list[float]]:
        for_lines, for_lists = tee(sentences)
        scores = scorer.score_lines(entry.text for sentence in for_lines for entry in sentence.entries)
        for sentence in for_lists:
            yield [value(next(scores)) for _ in sentence.entries]

    return feature


class PerplexityCounter:
    """Perplexity: exp of the mean negative log-likelihood per token, EOS counted."""

    def __init__(self) -> None:
        self.lines, self.tokens, self.nll = 0, 0, 0.0

    def add(self, scores: TokenScores) -> None:
        """Add a line."""
        self.lines += 1
        self.tokens += len(scores)
        self.nll -= log_probability(scores)

    @property
    def value(self) -> float:
        """The perplexity of the lines added so far; infinite where it overflows a float."""
        with np.errstate(over="ignore"):
            return float(np.exp(np.float64(self.nll / self.tokens)))
