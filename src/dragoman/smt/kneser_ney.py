"""An n-gram language model out of text: interpolated modified Kneser-Ney (Chen and Goodman 1998).

The choices that the paper leaves open are those of KenLM's lmplz (Heafield et al. 2013), so that both write the same
numbers (docs/smt.md names two exceptions, of small texts): sentences begin with <s>, which is never predicted, and end
with </s>; an n-gram that begins with <s> keeps its own count where others of a lower order have the number of different
words before them; unigrams are interpolated with a uniform distribution over all words, <unk> and </s>, and what falls
to <unk> is its probability. Nothing is pruned.

An n-gram has a number among those of its order, and is told by the number of its beginning and its last word: sorting
and counting pairs of numbers is all the work, and numpy does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
SPECIAL = (UNKNOWN, BEGIN, END)
"""Words 0, 1 and 2 of each model."""
_BEGIN, _END = SPECIAL.index(BEGIN), SPECIAL.index(END)

FALLBACK = (0.5, 1.0, 1.5)
"""Discounts of counts 1, 2 and from 3 on for an order that is too small to tell them, as of `lmplz
--discount_fallback`."""

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Order:
    """The N n-grams of one order."""

    beginnings: Numbers
    """[N] the number of all but the last word among the n-grams of the order below; 0 for single words."""
    words: Numbers
    """[N] the last word."""
    log_probabilities: Values
    """[N] base 10."""
    backoffs: Values
    """[N] logarithms, base 10; 0 if nothing ever followed."""


@dataclass(frozen=True)
class NgramModel:
    """A back-off language model."""

    vocabulary: Sequence[str]
    orders: Sequence[Order]
    guessed_discounts: Sequence[int]
    """Orders whose discounts are `FALLBACK`."""


class _Counted(NamedTuple):
    """The distinct n-grams of one order in a text.

    beginnings, words: see `Order`
    endings: [N] the number of all but the first word among the n-grams of the order below
    counts: [N] occurrences
    begins: [N] whether the first word is <s>
    """

    beginnings: Numbers
    words: Numbers
    endings: Numbers
    counts: Numbers
    begins: NDArray[np.bool_]


def estimate(sentences: Iterable[Sequence[str]], order: int) -> NgramModel:
    """A model of n-grams up to `order` words; sentences must not contain the special words."""
    numbers = {word: number for number, word in enumerate(SPECIAL)}
    text: list[int] = []
    for words in sentences:
        assert not set(words) & set(SPECIAL), words
        text.append(_BEGIN)
        text.extend(numbers.setdefault(word, len(numbers)) for word in words)
        text.append(_END)
    counted = _count(np.array(text, dtype=np.int64), len(numbers), order)
    adjusted = [_adjusted(counted, number) for number in range(order)]
    return _interpolate(list(numbers), counted, adjusted)


def _count(text: Numbers, vocabulary: int, order: int) -> list[_Counted]:
    """The n-grams of each order, from 1 on; every word of the vocabulary is a 1-gram, also one without occurrences."""
    everything = np.arange(vocabulary)
    counted = [
        _Counted(
            np.zeros(vocabulary, np.int64),
            everything,
            np.zeros(vocabulary, np.int64),
            np.bincount(text, minlength=vocabulary),
            everything == _BEGIN,
        )
    ]
    numbers, places = text, np.arange(len(text))  # of the n-grams that fit into their sentences, by where they begin
    for size in range(2, order + 1):
        inside = (places + size <= len(text)) & (text[np.minimum(places + size - 2, len(text) - 1)] != _END)
        of_place = np.zeros(len(text), np.int64)
        of_place[places] = numbers
        places = places[inside]
        last = text[places + size - 1]
        keys, first, numbers, counts = np.unique(
            of_place[places] * vocabulary + last, return_index=True, return_inverse=True, return_counts=True
        )
        endings = of_place[places[first] + 1]
        counted.append(_Counted(keys // vocabulary, keys % vocabulary, endings, counts, text[places[first]] == _BEGIN))
    return counted


def _adjusted(counted: Sequence[_Counted], number: int) -> Numbers:
    """[N] what counts of an order: of the highest, and of n-grams that begin with <s>, occurrences; else the number of
    different words before them."""
    one = counted[number]
    if number + 1 == len(counted):
        result = one.counts.copy()
    else:
        different = np.bincount(counted[number + 1].endings, minlength=len(one.words))
        result = np.where(one.begins, one.counts, different)
    if number == 0:
        result[_BEGIN] = 0  # it is never predicted
    return result


def _interpolate(vocabulary: Sequence[str], counted: Sequence[_Counted], adjusted: Sequence[Numbers]) -> NgramModel:
    """Probabilities of each order from those of the order below; Heafield et al. 2013, sections 3.3 and 3.4."""
    below = np.full(1, 1 / (len(vocabulary) - 1))  # the uniform distribution, without <s>
    probabilities, shares, guessed = [], [], []
    for number, (one, counts) in enumerate(zip(counted, adjusted, strict=True)):
        found = discounts(counts)
        if found is None:
            guessed.append(number + 1)
        discount = np.array((0.0, *(found or FALLBACK)))[np.minimum(counts, 3)]
        contexts = len(below)
        total = np.maximum(np.bincount(one.beginnings, counts, minlength=contexts), 1)
        share = np.bincount(one.beginnings, discount, minlength=contexts) / total
        below = (counts - discount) / total[one.beginnings] + share[one.beginnings] * below[one.endings]
        probabilities.append(below)
        shares.append(share)
    probabilities[0][_BEGIN] = 1.0  # by convention
    backoffs = [*shares[1:], np.zeros(len(below))]
    orders = [
        Order(one.beginnings, one.words, np.log10(probability), _logarithms(backoff))
        for one, probability, backoff in zip(counted, probabilities, backoffs, strict=True)
    ]
    return NgramModel(vocabulary, orders, guessed)


def discounts(counts: Numbers) -> tuple[float, float, float] | None:
    """What is taken off counts of 1, 2 and from 3 on, or None if that cannot be told or would be nothing.

    lmplz allows nothing; but a context that only such counts follow would then leave no probability to other words.

    Chen and Goodman 1998, equation 26: Y = n1 / (n1 + 2 n2), D_k = k - (k + 1) Y n_(k+1) / n_k, where n_k n-grams have
    count k.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6)
    if not n[1:4].all():
        return None
    share = n[1] / (n[1] + 2 * n[2])
    found = [float(k - (k + 1) * share * n[k + 1] / n[k]) for k in (1, 2, 3)]
    if any(not 0 < value <= k for k, value in enumerate(found, 1)):
        return None
    return found[0], found[1], found[2]


def _logarithms(shares: Values) -> Values:
    """Base 10; 0 where a share is 0, because nothing ever followed."""
    return np.log10(np.where(shares > 0, shares, 1.0))
