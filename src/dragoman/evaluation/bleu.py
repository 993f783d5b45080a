"""BLEU as numbers that add up: what tuning computes thousands of times over the same hypotheses.

A row of statistics is [hypothesis length, reference length, matches of 1- to 4-grams, totals of 1- to 4-grams], as
`metrics.py` has it; words stand between blanks, as n-best lists have them (as multi-bleu.perl counts).
Of several references the closest length counts, the shorter of two equally close, and a match may be
in any of them. A test holds these numbers against sacreBLEU's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

ORDER = 4
"""Longest n-gram."""
SIZE = 2 + 2 * ORDER
"""Numbers of a row."""

Statistics = NDArray[np.float64]
"""[..., SIZE]"""
Ngram = tuple[str, ...]


class Reference:
    """The references of one sentence, counted once for all its hypotheses."""

    def __init__(self, references: Sequence[str]) -> None:
        assert references
        self.lengths = sorted(len(reference.split()) for reference in references)
        self.ngrams: Counter[Ngram] = Counter()
        for reference in references:
            self.ngrams |= ngrams(reference.split())

    def statistics(self, hypothesis: str) -> Statistics:
        """The row of one hypothesis, [SIZE]."""
        words = hypothesis.split()
        row = np.zeros(SIZE)
        row[0] = len(words)
        row[1] = min(self.lengths, key=lambda length: abs(length - len(words)))  # sorted: the shorter of two
        for ngram, count in ngrams(words).items():
            row[1 + len(ngram)] += min(count, self.ngrams.get(ngram, 0))
        row[2 + ORDER :] = [max(0, len(words) - order) for order in range(ORDER)]
        return row


def ngrams(words: Sequence[str]) -> Counter[Ngram]:
    """How often each 1- to 4-gram occurs."""
    return Counter(
        tuple(words[start : start + order]) for order in range(1, ORDER + 1) for start in range(len(words) - order + 1)
    )


def corpus_bleu(statistics: Statistics) -> NDArray[np.float64]:
    """BLEU 0-100 of summed rows [..., SIZE]; zero counts are smoothed as mteval-v13a does (sacreBLEU's `exp`)."""
    matches, totals = statistics[..., 2 : 2 + ORDER], statistics[..., 2 + ORDER :]
    zeros = np.cumsum(matches == 0, axis=-1)
    smoothed = np.where(matches > 0, matches, 0.5**zeros)
    possible = np.asarray(totals.all(axis=-1) & matches.any(axis=-1))
    precisions = np.where(possible[..., None], smoothed / np.maximum(totals, 1), 1)
    return np.where(possible, 100 * _brevity(statistics) * np.exp(np.log(precisions).mean(axis=-1)), 0.0)


def sentence_bleu(statistics: Statistics) -> NDArray[np.float64]:
    """BLEU 0-100 of single rows, smoothed alike, over the orders that the hypothesis is long enough for (sacreBLEU's
    sentence BLEU)."""
    matches, totals = statistics[..., 2 : 2 + ORDER], statistics[..., 2 + ORDER :]
    zeros = np.cumsum(matches == 0, axis=-1)
    there = totals > 0
    precisions = np.where(there, np.where(matches > 0, matches, 0.5**zeros) / np.maximum(totals, 1), 1)
    mean = np.log(precisions).sum(axis=-1) / np.maximum(there.sum(axis=-1), 1)
    return np.where(matches.any(axis=-1), 100 * _brevity(statistics) * np.exp(mean), 0.0)


def add_one_bleu(statistics: Statistics) -> NDArray[np.float64]:
    """BLEU+1, 0-100, of single rows: one is added to matches and totals of 2- to 4-grams (Lin and Och 2004)."""
    one = np.array([0.0, 1, 1, 1])
    matches, totals = statistics[..., 2 : 2 + ORDER] + one, statistics[..., 2 + ORDER :] + one
    possible = matches[..., 0] > 0
    precisions = np.where(possible[..., None], matches / np.maximum(totals, 1), 1)
    return np.where(possible, 100 * _brevity(statistics) * np.exp(np.log(precisions).mean(axis=-1)), 0.0)


def _brevity(statistics: Statistics) -> NDArray[np.float64]:
    """exp(1 - r/c) for a hypothesis shorter than its reference."""
    length = np.maximum(statistics[..., 0], 1e-9)
    return np.exp(np.minimum(0.0, 1 - statistics[..., 1] / length))


def statistics_of(hypotheses: Iterable[str], references: Reference) -> Statistics:
    """A row for each hypothesis of one sentence, [N, SIZE]; equal hypotheses are counted once."""
    seen: dict[str, Statistics] = {}
    rows = []
    for hypothesis in hypotheses:
        if hypothesis not in seen:
            seen[hypothesis] = references.statistics(hypothesis)
        rows.append(seen[hypothesis])
    return np.array(rows).reshape(-1, SIZE)
