"""An index of texts that finds those that are like another: candidates by rare words, then their edit distance.

The features of a text are its words without capitals, or each two neighbouring letters in a script without spaces. The
beginning of a longer word is another feature, so that inflected forms have something in common. Each feature has a list
of the texts that it occurs in. A query reads the lists of its rarest features, sums for each text the rarity of the
features that it shares, and measures the edit distance of the best texts. A text that shares only frequent words with a
query may be missed.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import extract

from dragoman.text.scripts import LETTERS_WITHOUT_SPACES

READ = 100_000
"""Most entries of lists that a query reads; the list of its rarest feature is always read."""
MEASURED = 400
"""Most texts whose distance a query measures."""
BEGINNING = 4
"""Letters of the beginning of a longer word."""

_UNSPACED = re.compile(f"[{LETTERS_WITHOUT_SPACES}]")
_RUNS = re.compile(f"[{LETTERS_WITHOUT_SPACES}]+|[^\\W{LETTERS_WITHOUT_SPACES}]+")


class Similar(NamedTuple):
    """A text that is like another."""

    number: int
    score: float
    """1 less the edit distance in characters, divided by the length of the longer text."""


class SimilarTexts:
    """Texts numbered from 0, which can be added."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._lists: dict[str, array[int]] = {}
        self._lengths = array("i")

    def add(self, text: str) -> None:
        """Add a text."""
        number = len(self.texts)
        self.texts.append(text)
        self._lengths.append(len(text))
        for feature in features_of(text):
            self._lists.setdefault(feature, array("i")).append(number)

    def rare_features_shared(self, text: str, count: int) -> list[int]:
        """The numbers of up to `count` texts that share the most rare features with a text, best first."""
        numbers, shared = self._shared(text)
        best: list[int] = numbers[np.argsort(-shared, kind="stable")[:count]].tolist()
        return best

    def find(self, text: str, least: float, count: int) -> list[Similar]:
        """Up to `count` texts with a score of at least `least`, best first; of equals the last added first."""
        numbers, shared = self._shared(text)
        lengths = np.frombuffer(self._lengths, dtype=np.int32)[numbers]
        closeness = np.minimum(lengths, len(text)) / np.maximum(lengths, len(text)).clip(1)
        possible = closeness >= least  # the distance is no less than the difference of the lengths
        numbers, shared = numbers[possible], (shared * closeness)[possible]
        if len(numbers) > MEASURED:
            numbers = numbers[np.argpartition(-shared, MEASURED)[:MEASURED]]
        numbers = -np.sort(-numbers)
        matches = extract(
            text,
            [self.texts[number] for number in numbers.tolist()],
            scorer=Levenshtein.normalized_similarity,
            score_cutoff=least,
            limit=count,
        )
        return [Similar(int(numbers[index]), score) for _, score, index in matches]

    def _shared(self, text: str) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The texts in the lists of the rarest features of a text, and the summed rarity of the features that each
        shares."""
        lists = sorted((self._lists[one] for one in features_of(text) if one in self._lists), key=len)
        read: list[NDArray[np.int32]] = []
        total = 0
        for entries in lists:
            total += len(entries)
            if read and total > READ:
                break
            read.append(np.frombuffer(entries, dtype=np.int32))
        if not read:
            return np.zeros(0, dtype=np.int32), np.zeros(0)
        rarity = np.repeat([math.log1p(len(self.texts) / len(one)) for one in read], [len(one) for one in read])
        numbers, indices = np.unique(np.concatenate(read), return_inverse=True)
        return numbers, np.bincount(indices, weights=rarity).astype(np.float64)


def features_of(text: str) -> set[str]:
    """The features of a text."""
    return set(_features(text.casefold()))


def _features(text: str) -> Iterator[str]:
    for run in _RUNS.findall(text):
        if _UNSPACED.match(run):
            yield from (run[index : index + 2] for index in range(max(1, len(run) - 1)))
        else:
            yield run
            if len(run) > BEGINNING:
                yield f"{run[:BEGINNING]}-"
