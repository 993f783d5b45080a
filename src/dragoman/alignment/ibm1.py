"""Which target words are likeliest for each source word: IBM Model 1, learnt from segmented sentence pairs.

p(t|s) is learnt by expectation and maximisation (Brown et al. 1993, section 4.1); each target word is the translation
of one word of its source or of none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_LINKS = 12_000_000
"""Possible links that are learnt from: some 50,000 pairs of 15 words a side, and 0.7 GB meanwhile."""
ITERATIONS = 5
MIN_PROBABILITY = 1e-4
"""Translations that are less probable are not listed."""

Pairs = Iterable[tuple[Sequence[int], Sequence[int]]]


class TranslationTable(NamedTuple):
    """Pairs of words, ordered by the source word, the likeliest translations first."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    probabilities: NDArray[np.float64]


def enough_pairs(pairs: Pairs) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """The first pairs, until they have `LINKS` possible links."""
    links = 0
    for source, target in pairs:
        yield source, target
        links += (len(source) + 1) * len(target)
        if links >= MAX_LINKS:
            return


def train_ibm1(pairs: Pairs, source_size: int, target_size: int) -> TranslationTable:
    """p(t|s) for words that stand in a pair together; ids of vocabularies of these sizes."""
    keys, groups = _possible_links(pairs, source_size, target_size)
    pairs_of_words, which = np.unique(keys, return_inverse=True)
    source = pairs_of_words // target_size
    probabilities = np.full(len(pairs_of_words), 1.0)
    starts = np.cumsum(groups) - groups
    for _ in range(ITERATIONS):
        shares = probabilities[which]
        shares /= np.repeat(np.add.reduceat(shares, starts), groups) if len(groups) else 1.0
        counts = np.bincount(which, shares, len(pairs_of_words))
        probabilities = counts / np.bincount(source, counts, source_size + 1)[source]
    real = source < source_size
    return _likeliest_first(source[real], pairs_of_words[real] % target_size, probabilities[real])


def list_translations(
    table: TranslationTable, source_size: int, most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """At most that many for each source word: word i has `words[offsets[i] : offsets[i + 1]]`; (offsets, words)."""
    likely = table.probabilities >= MIN_PROBABILITY
    source, target = table.source[likely], table.target[likely]
    counts = np.bincount(source, minlength=source_size)
    rank = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = rank < most
    offsets = np.concatenate(([0], np.cumsum(np.minimum(counts, most))))
    return offsets, target[kept]


def _possible_links(pairs: Pairs, source_size: int, target_size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """s * target_size + t for each target word and each word of its source, the empty one (s = source_size) included.

    Those of one target word stand together; the second array says how many they are.
    """
    keys: list[NDArray[np.int64]] = []
    groups: list[NDArray[np.int64]] = []
    for source, target in pairs:
        words = np.array([*source, source_size], np.int64) * target_size
        keys.append((np.array(target, np.int64)[:, None] + words).ravel())
        groups.append(np.full(len(target), len(words)))
    empty = np.empty(0, np.int64)
    return np.concatenate([empty, *keys]), np.concatenate([empty, *groups])


def _likeliest_first(
    source: NDArray[np.int64], target: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> TranslationTable:
    order = np.lexsort((target, -probabilities, source))
    return TranslationTable(source[order], target[order], probabilities[order])
