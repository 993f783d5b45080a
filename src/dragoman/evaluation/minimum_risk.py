"""Minimum Bayes risk decoding: chooses the candidate translation with the highest expected utility.

The expected utility of a candidate is the mean of a sentence metric between it and every candidate taken as the
reference, weighted with the probability of the latter (Kumar and Byrne 2004). Plain samples have equal weights, because
probable ones are drawn more often (Eikema and Aziz 2020); distinct candidates, from beam search or drawn without
replacement, have the weights that the model assigns.

The metrics are sentence BLEU and chrF, equal to sacreBLEU's. The n-grams of each candidate are counted once and all
pairs are compared at once, where sacreBLEU would count again for each of the n^2 pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.evaluation import bleu, chrf
from dragoman.evaluation.tokenizers import Tokenizer

Utility = Callable[[Sequence[str]], NDArray[np.float64]]
"""n texts -> [n, n]: the score, 0-100, of each text (row) with each text (column) as the reference."""
NgramCounts = NDArray[np.int32]
"""[n, F] counts of F distinct n-grams in each of n texts."""


def sentence_utility(name: Literal["chrf", "bleu"], tokenizer: Tokenizer = "13a") -> Utility:
    """Return a metric of detokenised text: chrF2, or sentence BLEU.

    Raises:
        ConfigError: the tokenizer of BLEU needs packages that are not installed.
    """
    if name == "chrf":
        return pairwise_chrf
    from dragoman.evaluation.metrics import bleu_tokens  # imports sacreBLEU, which chrF does not need

    tokenise = bleu_tokens(tokenizer)
    return lambda texts: pairwise_bleu([tokenise(text) for text in texts])


def expected_utilities(candidates: Sequence[str], weights: ArrayLike, utility: Utility) -> NDArray[np.float64]:
    """Return the expected utility of each candidate, [n]; equal candidates are compared once.

    `weights` [n] has the weight of each candidate; their sum is above 0.
    """
    rows: dict[str, int] = {}
    row_of = np.array([rows.setdefault(candidate, len(rows)) for candidate in candidates])
    shares = np.bincount(row_of, weights=np.asarray(weights, dtype=np.float64))
    expected = utility(list(rows)) @ (shares / shares.sum())  # [d, d] @ [d] -> [d], d distinct candidates
    return np.asarray(expected[row_of])  # [d] -> [n]


def by_expected_utility(candidates: Sequence[str], weights: Sequence[float], utility: Utility) -> list[int]:
    """Return the indices of the candidates by descending expected utility, the earlier of equals first."""
    order: list[int] = np.argsort(-expected_utilities(candidates, weights, utility), kind="stable").tolist()
    return order


def pairwise_bleu(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return sentence BLEU with effective order of each text against each, [n, n]; words are separated by spaces."""
    words = [tuple(text.split()) for text in texts]
    lengths = np.array([len(one) for one in words])
    rows = np.zeros((len(texts), len(texts), bleu.SIZE))
    rows[..., 0], rows[..., 1] = lengths[:, None], lengths
    for order in range(bleu.ORDER):
        counts = _counts(words, order + 1)
        rows[..., 2 + order] = _in_both(counts)
        rows[..., 2 + bleu.ORDER + order] = counts.sum(axis=1)[:, None]
    return bleu.sentence_bleu(rows)


def pairwise_chrf(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return chrF2 of each text against each, [n, n]; spaces are not counted."""
    characters = ["".join(text.split()) for text in texts]
    rows = np.zeros((len(texts), len(texts), chrf.SIZE))
    for order in range(chrf.ORDER):
        counts = _counts(characters, order + 1)
        totals = counts.sum(axis=1)
        rows[..., 3 * order], rows[..., 3 * order + 1] = totals[:, None], totals
        rows[..., 3 * order + 2] = _in_both(counts)
    return chrf.chrf2(rows)


def _counts(texts: Sequence[Sequence[str]], order: int) -> NgramCounts:
    """Count the n-grams of one order; a text is a sequence of words or characters."""
    ngrams = [Counter(text[start : start + order] for start in range(len(text) - order + 1)) for text in texts]
    columns: dict[Hashable, int] = {}
    for one in ngrams:
        for ngram in one:
            columns.setdefault(ngram, len(columns))
    counts = np.zeros((len(texts), len(columns)), np.int32)
    for row, one in zip(counts, ngrams, strict=True):
        row[[columns[ngram] for ngram in one]] = list(one.values())
    return counts


def _in_both(counts: NgramCounts) -> NDArray[np.float64]:
    """Count the n-grams that two texts have in common, [n, F] -> [n, n]."""
    common = np.empty((len(counts), len(counts)))
    for row, one in zip(common, counts, strict=True):
        row[:] = np.minimum(one, counts).sum(axis=1)
    return common
