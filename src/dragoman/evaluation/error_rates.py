"""Error rates of single words: pronunciations, inflected forms, transliterations.

A word is a line of symbols: phones between spaces, or characters. Both rates are percentages, lower is better:

    WER         words whose hypothesis equals none of their references (word error rate; 100 minus accuracy)
    PER, CER    edit distance to the references divided by the length of the references, in symbols, over all words
                (phoneme error rate of phones, character error rate of characters); substitutions, insertions and
                deletions count 1 (Levenshtein 1966)

These are the rates of the shared tasks on pronunciation (Gorman et al. 2020, whose program calls the second one LER;
Ashby et al. 2021). Of several references the nearest counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.metrics import References, reference_counts, reference_list

Symbols = Literal["phones", "characters"]
"""What a line consists of: symbols between spaces, or the characters between them and the spaces themselves."""


class WordErrorRate:
    """Percentage of hypotheses that equal no reference, symbol by symbol."""

    name = "WER"
    higher_is_better = False

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._references = "1"

    def statistics(self, hypotheses: Sequence[str], references: Sequence[References]) -> NDArray[np.float64]:
        """Return [wrong (0 or 1), 1] of each word, [N, 2]."""
        self._references = reference_counts(references)
        return np.array(
            [
                (all(symbols_of(one, self._symbols) != written for one in reference_list(given)), 1)
                for written, given in zip(
                    (symbols_of(line, self._symbols) for line in hypotheses), references, strict=True
                )
            ],
            np.float64,
        )

    def score(self, statistics: NDArray[np.float64]) -> float:
        wrong, words = statistics
        return float(100 * wrong / words)

    def signature(self) -> str:
        return f"nrefs:{self._references}|case:mixed|symbols:{self._symbols}"


class SymbolErrorRate:
    """Edit distance to the nearest reference, as a percentage of the symbols of the references."""

    higher_is_better = False

    def __init__(self, symbols: Symbols) -> None:
        self.name = "PER" if symbols == "phones" else "CER"
        self._symbols = symbols
        self._references = "1"

    def statistics(self, hypotheses: Sequence[str], references: Sequence[References]) -> NDArray[np.float64]:
        """Return [edits, symbols of the reference] of each word, [N, 2]; of equally near references the first."""
        self._references = reference_counts(references)
        rows = []
        for line, given in zip(hypotheses, references, strict=True):
            written = symbols_of(line, self._symbols)
            wanted = [symbols_of(one, self._symbols) for one in reference_list(given)]
            rows.append(min(((edit_distance(written, one), len(one)) for one in wanted), key=lambda row: row[0]))
        return np.array(rows, np.float64)

    def score(self, statistics: NDArray[np.float64]) -> float:
        edits, symbols = statistics
        return float(100 * edits / symbols) if symbols else 100.0 * bool(edits)

    def signature(self) -> str:
        return f"nrefs:{self._references}|case:mixed|symbols:{self._symbols}"


def symbols_of(line: str, symbols: Symbols) -> tuple[str, ...]:
    """Return the symbols of a line; of characters those between the spaces at its ends."""
    return tuple(line.split()) if symbols == "phones" else tuple(line.strip())


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the fewest substitutions, insertions and deletions that turn one sequence into the other."""
    distances = list(range(len(other) + 1))
    for row, symbol in enumerate(one, 1):
        diagonal, distances[0] = distances[0], row
        for column, wanted in enumerate(other, 1):
            least = min(distances[column] + 1, distances[column - 1] + 1, diagonal + (symbol != wanted))
            diagonal, distances[column] = distances[column], least
    return distances[-1]
