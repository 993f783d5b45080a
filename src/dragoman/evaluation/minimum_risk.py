"""Minimum Bayes risk: of several translations of a line the one that agrees most with all of them.

The expected utility of a translation is the mean of a sentence metric between it and every candidate, each weighted
with its probability, as if the candidate were the reference (Kumar and Byrne 2004). Plain samples weigh alike, because
the probable ones come more often (Eikema and Aziz 2020); candidates that come once each, those of a search or drawn
without replacement, weigh what the model gives them.

The metrics are sentence BLEU and chrF, equal to sacreBLEU's. The n-grams of each candidate are counted once and all
pairs compared at a time, where sacreBLEU would count anew for each of n^2 pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.evaluation import bleu, chrf

Utility = Callable[[Sequence[str]], NDArray[np.float64]]
"""n texts -> [n, n]: how good each is, by row, with each, by column, taken for the reference; 0 to 100."""
Counts = NDArray[np.int32]
"""[n, F] how often each of F n-grams occurs in each of n texts."""


def sentence_utility(name: Literal["chrf", "bleu"]) -> Utility:
    """A metric of detokenised text: chrF2, or BLEU of the words that mteval-v13a counts."""
    if name == "chrf":
        return mutual_chrf
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    tokenise: Callable[[str], str] = Tokenizer13a()  # type: ignore[no-untyped-call]
    return lambda texts: mutual_bleu([tokenise(text.rstrip()) for text in texts])


def expected_utilities(candidates: Sequence[str], weights: ArrayLike, utility: Utility) -> NDArray[np.float64]:
    """[n] the expected utility of each candidate; equal ones are compared once.

    `weights` [n] are those of the candidates, above 0 in sum.
    """
    place: dict[str, int] = {}
    places = np.array([place.setdefault(candidate, len(place)) for candidate in candidates])
    shares = np.bincount(places, weights=np.asarray(weights, dtype=np.float64))
    expected = utility(list(place)) @ (shares / shares.sum())
    return np.asarray(expected[places])


def by_expected_utility(candidates: Sequence[str], weights: Sequence[float], utility: Utility) -> list[int]:
    """The places of the candidates, highest expected utility first, the earlier of equals first."""
    order: list[int] = np.argsort(-expected_utilities(candidates, weights, utility), kind="stable").tolist()
    return order


def mutual_bleu(texts: Sequence[str]) -> NDArray[np.float64]:
    """Sentence BLEU over the orders that a text is long enough for; words stand between blanks."""
    words = [tuple(text.split()) for text in texts]
    lengths = np.array([len(one) for one in words])
    rows = np.zeros((len(texts), len(texts), bleu.SIZE))
    rows[..., 0], rows[..., 1] = lengths[:, None], lengths
    for order in range(bleu.ORDER):
        counts = _counts(words, order + 1)
        rows[..., 2 + order] = _in_both(counts)
        rows[..., 2 + bleu.ORDER + order] = counts.sum(axis=1)[:, None]
    return bleu.sentence_bleu(rows)


def mutual_chrf(texts: Sequence[str]) -> NDArray[np.float64]:
    """chrF2; blanks are not counted."""
    characters = ["".join(text.split()) for text in texts]
    rows = np.zeros((len(texts), len(texts), chrf.SIZE))
    for order in range(chrf.ORDER):
        counts = _counts(characters, order + 1)
        totals = counts.sum(axis=1)
        rows[..., 3 * order], rows[..., 3 * order + 1] = totals[:, None], totals
        rows[..., 3 * order + 2] = _in_both(counts)
    return chrf.chrf(rows)


def _counts(texts: Sequence[Sequence[str]], order: int) -> Counts:
    """Of the n-grams of one order; a text is words or characters, and a slice of it an n-gram."""
    found = [Counter(text[start : start + order] for start in range(len(text) - order + 1)) for text in texts]
    columns: dict[Hashable, int] = {}
    for one in found:
        for ngram in one:
            columns.setdefault(ngram, len(columns))
    counts = np.zeros((len(texts), len(columns)), np.int32)
    for row, one in zip(counts, found, strict=True):
        row[[columns[ngram] for ngram in one]] = list(one.values())
    return counts


def _in_both(counts: Counts) -> NDArray[np.float64]:
    """[n, n] how many n-grams two texts have in common."""
    common = np.empty((len(counts), len(counts)))
    for row, one in zip(common, counts, strict=True):
        row[:] = np.minimum(one, counts).sum(axis=1)
    return common
