"""BLEU from additive statistics, vectorised: tuning computes it thousands of times over the same hypotheses.

A row of statistics is [hypothesis length, reference length, matches of 1- to 4-grams, totals of 1- to 4-grams], as in
`metrics.py`; words are separated by spaces, as in n-best lists (and as multi-bleu.perl counts). With several references
the closest length counts, the shorter of two equally close ones, and n-gram counts are clipped by the largest count in
any reference. A test compares all scores with sacreBLEU's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

ORDER = 4
"""Longest n-gram."""
SIZE = 2 + 2 * ORDER
"""Columns of a row."""

BleuStatistics = NDArray[np.float64]
"""[..., SIZE]"""


class ReferenceNgrams:
    """The references of one sentence, counted once for all its hypotheses."""

    def __init__(self, references: Sequence[str]) -> None:
        assert references
        self.lengths = sorted(len(reference.split()) for reference in references)
        self.ngrams: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            self.ngrams |= ngrams(reference.split())

    def statistics(self, hypothesis: str) -> BleuStatistics:
        """Return the row of one hypothesis, [SIZE]."""
        words = hypothesis.split()
        row = np.zeros(SIZE)
        row[0] = len(words)
        row[1] = min(self.lengths, key=lambda length: abs(length - len(words)))  # sorted: the shorter of two
        for ngram, count in ngrams(words).items():
            row[1 + len(ngram)] += min(count, self.ngrams.get(ngram, 0))
        row[2 + ORDER :] = [max(0, len(words) - order) for order in range(ORDER)]
        return row


def ngrams(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    """Count the 1- to 4-grams."""
    return Counter(
        tuple(words[start : start + order]) for order in range(1, ORDER + 1) for start in range(len(words) - order + 1)
    )


def corpus_bleu(statistics: BleuStatistics) -> NDArray[np.float64]:
    """Return BLEU, 0-100, of summed rows, [..., SIZE] -> [...]; zero counts are smoothed as in mteval-v13a."""
    matches, totals = statistics[..., 2 : 2 + ORDER], statistics[..., 2 + ORDER :]
    zeros = np.cumsum(matches == 0, axis=-1)
    smoothed = np.where(matches > 0, matches, 0.5**zeros)
    return _score(statistics, smoothed, totals, np.asarray(totals.all(axis=-1) & matches.any(axis=-1)))


def sentence_bleu(statistics: BleuStatistics) -> NDArray[np.float64]:
    """Return sacreBLEU's sentence BLEU, 0-100, of single rows, [..., SIZE] -> [...].

    Smoothing is that of `corpus_bleu`; orders longer than the hypothesis are left out (effective order).
    """
    matches, totals = statistics[..., 2 : 2 + ORDER], statistics[..., 2 + ORDER :]
    zeros = np.cumsum(matches == 0, axis=-1)
    present = totals > 0
    precisions = np.where(present, np.where(matches > 0, matches, 0.5**zeros) / np.maximum(totals, 1), 1)
    mean = np.log(precisions).sum(axis=-1) / np.maximum(present.sum(axis=-1), 1)
    return np.where(matches.any(axis=-1), 100 * _brevity(statistics) * np.exp(mean), 0.0)


def add_one_bleu(statistics: BleuStatistics) -> NDArray[np.float64]:
    """Return BLEU+1, 0-100, of single rows, [..., SIZE] -> [...]: adds one to matches and totals of 2- to 4-grams.

    Source: Lin and Och 2004.
    """
    one = np.array([0.0, 1, 1, 1])
    matches, totals = statistics[..., 2 : 2 + ORDER] + one, statistics[..., 2 + ORDER :] + one
    return _score(statistics, matches, totals, matches[..., 0] > 0)


def _score(
    statistics: BleuStatistics, matches: BleuStatistics, totals: BleuStatistics, possible: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return BLEU from smoothed matches and totals, [..., ORDER] -> [...]; 0 where it is not `possible` [...]."""
    precisions = np.where(possible[..., None], matches / np.maximum(totals, 1), 1)
    return np.where(possible, 100 * _brevity(statistics) * np.exp(np.log(precisions).mean(axis=-1)), 0.0)


def _brevity(statistics: BleuStatistics) -> NDArray[np.float64]:
    """Return the brevity penalty min(1, exp(1 - r/c)), [..., SIZE] -> [...]."""
    length = np.maximum(statistics[..., 0], 1e-9)
    return np.exp(np.minimum(0.0, 1 - statistics[..., 1] / length))


def bleu_statistics(hypotheses: Iterable[str], references: ReferenceNgrams) -> BleuStatistics:
    """Return a row for each of N hypotheses of one sentence, [N, SIZE]; equal hypotheses are counted once."""
    seen: dict[str, BleuStatistics] = {}
    rows = []
    for hypothesis in hypotheses:
        if hypothesis not in seen:
            seen[hypothesis] = references.statistics(hypothesis)
        rows.append(seen[hypothesis])
    return np.array(rows).reshape(-1, SIZE)
