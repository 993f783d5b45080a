"""Interpolated modified Kneser-Ney smoothing: an n-gram language model from text (Chen and Goodman 1998).

Where the paper leaves a choice, we choose as KenLM's lmplz does (Heafield et al. 2013): both estimate the same
probabilities (docs/lab-book/2026-11-smt.md names two exceptions for small texts): sentences start with <s>, which is
never predicted, and end with </s>; lower orders use the number of distinct preceding words as the count, except for
n-grams that start with <s>; unigrams are interpolated with a uniform distribution over all words, <unk> and </s>, and
the share of <unk> is its probability. Nothing is pruned.

The n-grams of an order are numbered. The number of its context and its last word identify an n-gram, and all work is
sorting and counting pairs of integers in numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

UNKNOWN, BOS, EOS = "<unk>", "<s>", "</s>"
SPECIAL = (UNKNOWN, BOS, EOS)
"""Words 0, 1 and 2 of every model."""
_BOS, _EOS = SPECIAL.index(BOS), SPECIAL.index(EOS)

FALLBACK = (0.5, 1.0, 1.5)
"""Discounts of counts 1, 2 and 3 or more, for an order with too few n-grams to estimate them, as with `lmplz
--discount_fallback`."""

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class NgramOrder:
    """The N n-grams of one order."""

    contexts: Numbers
    """[N] index of the context (all but the last word) among the n-grams of the order below; 0 for unigrams."""
    words: Numbers
    """[N] the last word."""
    log_probabilities: Values
    """[N] base 10."""
    backoffs: Values
    """[N] log10 of the backoff weights; 0 for an n-gram that is no context of a longer one."""


@dataclass(frozen=True)
class NgramModel:
    """A backoff language model."""

    vocabulary: Sequence[str]
    orders: Sequence[NgramOrder]
    fallback_orders: Sequence[int]
    """Orders that use the discounts `FALLBACK`."""


class _Counted(NamedTuple):
    """The distinct n-grams of one order in a text.

    contexts, words: see `NgramOrder`
    suffixes: [N] index of the suffix (all but the first word) among the n-grams of the order below
    counts: [N] occurrences
    starts_with_bos: [N] whether the first word is <s>
    """

    contexts: Numbers
    words: Numbers
    suffixes: Numbers
    counts: Numbers
    starts_with_bos: NDArray[np.bool_]


def estimate(sentences: Iterable[Sequence[str]], order: int) -> NgramModel:
    """Estimate a model of order `order`; sentences must not contain the special words."""
    numbers = {word: number for number, word in enumerate(SPECIAL)}
    text: list[int] = []
    for words in sentences:
        assert not set(words) & set(SPECIAL), words
        text.append(_BOS)
        text.extend(numbers.setdefault(word, len(numbers)) for word in words)
        text.append(_EOS)
    counted = _count(np.array(text, dtype=np.int64), len(numbers), order)
    adjusted = [_adjusted(counted, number) for number in range(order)]
    return _interpolate(list(numbers), counted, adjusted)


def _count(text: Numbers, vocabulary: int, order: int) -> list[_Counted]:
    """The n-grams of each order from 1 to `order`; every word of the vocabulary is a unigram, even with count 0."""
    everything = np.arange(vocabulary)
    counted = [
        _Counted(
            np.zeros(vocabulary, np.int64),
            everything,
            np.zeros(vocabulary, np.int64),
            np.bincount(text, minlength=vocabulary),
            everything == _BOS,
        )
    ]
    numbers, positions = text, np.arange(len(text))  # index and position of each n-gram that lies within a sentence
    for size in range(2, order + 1):
        inside = (positions + size <= len(text)) & (text[np.minimum(positions + size - 2, len(text) - 1)] != _EOS)
        of_position = np.zeros(len(text), np.int64)
        of_position[positions] = numbers
        positions = positions[inside]
        last = text[positions + size - 1]
        keys, first, numbers, counts = np.unique(
            of_position[positions] * vocabulary + last, return_index=True, return_inverse=True, return_counts=True
        )
        suffixes = of_position[positions[first] + 1]
        counted.append(
            _Counted(keys // vocabulary, keys % vocabulary, suffixes, counts, text[positions[first]] == _BOS)
        )
    return counted


def _adjusted(counted: Sequence[_Counted], number: int) -> Numbers:
    """[N] the adjusted counts of an order: occurrences for the highest order and for n-grams that start with <s>, else
    the number of distinct preceding words."""
    one = counted[number]
    if number + 1 == len(counted):
        result = one.counts.copy()
    else:
        different = np.bincount(counted[number + 1].suffixes, minlength=len(one.words))
        result = np.where(one.starts_with_bos, one.counts, different)
    if number == 0:
        result[_BOS] = 0  # it is never predicted
    return result


def _interpolate(vocabulary: Sequence[str], counted: Sequence[_Counted], adjusted: Sequence[Numbers]) -> NgramModel:
    """The probabilities of each order from the probabilities of the order below (Heafield et al. 2013, sections 3.3 and
    3.4)."""
    below = np.full(1, 1 / (len(vocabulary) - 1))  # the uniform distribution, without <s>
    probabilities, shares, fallback = [], [], []
    for number, (one, counts) in enumerate(zip(counted, adjusted, strict=True)):
        estimated = discounts(counts)
        if estimated is None:
            fallback.append(number + 1)
        discount = np.array((0.0, *(estimated or FALLBACK)))[np.minimum(counts, 3)]
        contexts = len(below)
        total = np.maximum(np.bincount(one.contexts, counts, minlength=contexts), 1)
        share = np.bincount(one.contexts, discount, minlength=contexts) / total
        below = (counts - discount) / total[one.contexts] + share[one.contexts] * below[one.suffixes]
        probabilities.append(below)
        shares.append(share)
    probabilities[0][_BOS] = 1.0  # by convention
    backoffs = [*shares[1:], np.zeros(len(below))]
    orders = [
        # A weight of 0, where no word ever followed, has the logarithm 0.
        NgramOrder(one.contexts, one.words, np.log10(probability), np.log10(np.where(backoff > 0, backoff, 1.0)))
        for one, probability, backoff in zip(counted, probabilities, backoffs, strict=True)
    ]
    return NgramModel(vocabulary, orders, fallback)


def discounts(counts: Numbers) -> tuple[float, float, float] | None:
    """Estimate the discounts of counts 1, 2 and 3 or more; None if that is impossible or one of them is 0.

    Chen and Goodman 1998, equation 26: Y = n1 / (n1 + 2 n2), D_k = k - (k + 1) Y n_(k+1) / n_k, where n_k n-grams have
    count k. lmplz accepts a discount of 0, but a context followed by such counts only would leave no probability for
    other words.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6)
    if not n[1:4].all():
        return None
    share = n[1] / (n[1] + 2 * n[2])
    one, two, three = (float(k - (k + 1) * share * n[k + 1] / n[k]) for k in (1, 2, 3))
    return (one, two, three) if 0 < one <= 1 and 0 < two <= 2 and 0 < three <= 3 else None
