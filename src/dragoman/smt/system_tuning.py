"""Tuning a system: translate the development set, find weights over all lists so far, again with those (Och 2003).

The unknown word penalty keeps its weight, as in Moses: no weight of it changes which words the table lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dragoman.progress import Console
from dragoman.smt.settings import Beam, Rounds
from dragoman.smt.system import System, Translation
from dragoman.tuning.feature_weights import Weights, as_vector, as_weights
from dragoman.tuning.mert import tune_mert
from dragoman.tuning.pool import make_pool
from dragoman.tuning.tuning_metric import BLEU


class Tuned(NamedTuple):
    """Weights, and the BLEU, 0-100, of what they translate."""

    weights: Weights
    bleu: float


def tune(
    system: System,
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    beam: Beam,
    rounds: Rounds,
    console: Console,
    *,
    start: Weights | None = None,
) -> Tuned:
    """The weights whose translations were best in any round; `references` are those of each line.

    Args:
        start: weights to begin with; None for those of the system.
    """
    random = np.random.default_rng(rounds.seed)
    lists = _Lists(system, references)
    weights = start or system.configuration.weights
    best: Tuned | None = None
    for number in range(1, rounds.most + 1):
        searcher = system.searcher(weights, "the weights of tuning", beam)
        bleu, new = lists.add(_counted(searcher.n_best(sources, rounds.size, distinct=True), len(sources), console))
        console.info(f"round {number}: dev BLEU {bleu:.2f}; {new} new translations, {lists.total} in all")
        if best is None or bleu > best.bleu:
            best = Tuned(weights, bleu)
        if not new or number == rounds.most:
            break
        weights = lists.better_weights(weights, random, rounds.restarts)
    assert best is not None
    return best


def _counted(lists: Iterator[list[Translation]], total: int, console: Console) -> Iterator[list[Translation]]:
    """The lists, counted on a terminal."""
    with console.counter("sentences", total) as advance:
        for number, one in enumerate(lists, 1):
            yield one
            advance(number)


class _Lists:
    """All translations of all rounds, each once."""

    def __init__(self, system: System, references: Sequence[Sequence[str]]) -> None:
        features = system.configuration.features
        self._references = references
        self._fixed = features.names.unknown_penalty
        self._shape = {name: size for name, size in features.shape.items() if name != self._fixed}
        self._found: list[dict[tuple[str, tuple[float, ...]], None]] = [{} for _ in references]

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(map(len, self._found))

    def add(self, lists: Iterable[list[Translation]]) -> tuple[float, int]:
        """Take in a list for each line; the BLEU of the first ones, and how many were new."""
        before = self.total
        statistics = []
        for found, references, translations in zip(self._found, self._references, lists, strict=True):
            for one in translations:
                values = tuple(value for name in self._shape for value in one.features[name])
                found[one.text, values] = None
            statistics.append(BLEU.statistics([translations[0].text], references)[0])
        return float(BLEU.score(np.sum(statistics, axis=0))), self.total - before

    def better_weights(self, weights: Weights, random: np.random.Generator, restarts: int) -> Weights:
        """The best weights over all lists, of the same size as those before."""
        pool = make_pool(self._shape, zip(self._references, map(list, self._found), strict=True))
        tunable = {name: values for name, values in weights.items() if name != self._fixed}
        start = as_vector(tunable, self._shape, "the weights of tuning")
        found = tune_mert(pool, start, random, restarts=restarts).weights
        # Only the direction matters for the lists; keeping the size keeps the weight of unknown words beside it.
        scaled = found * ((np.abs(start).sum() or 1.0) / (np.abs(found).sum() or 1.0))
        return {**as_weights(scaled, self._shape), self._fixed: weights[self._fixed]}
