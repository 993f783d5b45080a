"""Tuning a system: alternate decoding the development set and MERT over all n-best lists so far (Och 2003).

The weight of the unknown word penalty is fixed, as in Moses: which words the table lacks does not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dragoman.errors import InputError
from dragoman.progress import Console
from dragoman.requests.smt import SystemTuningRequest
from dragoman.smt.moses_ini import replaced_weights
from dragoman.smt.system import PhraseSystem, SmtTranslation
from dragoman.text.lines import read_lines, shown_name
from dragoman.tuning.feature_weights import Weights, as_vector, as_weights, read_weights, weights_file
from dragoman.tuning.mert import tune_mert, warn_of_flat_metric
from dragoman.tuning.pool import BLEU, HypothesisPool, Vector, make_pool, read_references


class TunedSystem(NamedTuple):
    """Weights, and the BLEU, 0-100, of the development set translated with them."""

    weights: Weights
    bleu: float


def tune_system(request: SystemTuningRequest) -> None:
    """Find the weights with the best BLEU of all rounds; write them to the output or into the system's moses.ini.

    Warns where all weights have the same BLEU.

    Raises:
        InputError: a file cannot be read or is malformed, or the numbers of lines differ.
    """
    sources, references = list(read_lines(request.source)), read_references(request.reference)
    if not sources:
        raise InputError(f"{shown_name(request.source)}: empty file")
    if len(sources) != len(references):
        one, other = shown_name(request.source), shown_name(request.reference[0])
        raise InputError(f"{one} has {len(sources)} lines but {other} has {len(references)}")
    start = request.tuning.initial_weights
    first = None if start is None else read_weights(start)
    system = PhraseSystem.open(request.system)
    console = Console(quiet=request.general.quiet)
    ini = system.configuration.path
    with replaced_weights(ini) if request.output is None else weights_file(request.output) as write:
        tuned = _tune(request, system, first or system.configuration.weights, sources, references, console)
        console.info(f"best: dev BLEU {tuned.bleu:.2f}")
        write(tuned.weights)


def _tune(
    request: SystemTuningRequest,
    system: PhraseSystem,
    first: Weights,
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    console: Console,
) -> TunedSystem:
    """The best weights of all rounds; `references` has the references of each source line."""
    settings, weights = request.tuning, first
    random = np.random.default_rng(settings.seed)
    lists = _Lists(system, references)
    best: TunedSystem | None = None
    for number in range(1, settings.iterations + 1):
        searcher = system.searcher(weights, settings.initial_weights or request.system, request.search)
        bleu, new = lists.add(_counted(searcher.n_best(sources, settings.nbest, distinct=True), len(sources), console))
        console.info(f"round {number}: dev BLEU {bleu:.2f}; {new} new translations, {lists.total} in all")
        if best is None or bleu > best.bleu:
            best = TunedSystem(weights, bleu)
        if not new or number == settings.iterations:
            break
        weights = lists.better_weights(weights, random, settings.restarts)
    assert best is not None
    if best.weights is first:
        vector = lists.vector(first)
        warn_of_flat_metric(
            lists.pool(), [vector], "tune on longer lines, or dragoman smt nbest and tune --metric chrf"
        )
    return best


def _counted(lists: Iterator[list[SmtTranslation]], total: int, console: Console) -> Iterator[list[SmtTranslation]]:
    """The lists, with a progress bar on a terminal."""
    with console.counter("sentences", total) as advance:
        for number, one in enumerate(lists, 1):
            yield one
            advance(number)


class _Lists:
    """The merged n-best lists of all rounds, without duplicates."""

    def __init__(self, system: PhraseSystem, references: Sequence[Sequence[str]]) -> None:
        features = system.configuration.features
        self._references = references
        self._fixed = features.names.unknown_penalty
        self._shape = {name: size for name, size in features.shape.items() if name != self._fixed}
        self._distinct: list[dict[tuple[str, tuple[float, ...]], None]] = [{} for _ in references]

    @property
    def total(self) -> int:
        """Number of translations."""
        return sum(map(len, self._distinct))

    def add(self, lists: Iterable[list[SmtTranslation]]) -> tuple[float, int]:
        """Merge one n-best list for each line; returns the BLEU of the first entries and the number of new entries."""
        before = self.total
        statistics = []
        for distinct, references, translations in zip(self._distinct, self._references, lists, strict=True):
            for one in translations:
                values = tuple(value for name in self._shape for value in one.features[name])
                distinct[one.text, values] = None
            statistics.append(BLEU.statistics([translations[0].text], references)[0])
        return float(BLEU.score(np.sum(statistics, axis=0))), self.total - before

    def pool(self) -> HypothesisPool:
        """Return the lists as the data of tuning."""
        return make_pool(self._shape, zip(self._references, map(list, self._distinct), strict=True))

    def vector(self, weights: Weights) -> Vector:
        """Return the weights that are tuned, [D]."""
        tunable = {name: values for name, values in weights.items() if name != self._fixed}
        return as_vector(tunable, self._shape, "the weights of tuning")

    def better_weights(self, weights: Weights, random: np.random.Generator, restarts: int) -> Weights:
        """Find the best weights over all lists by MERT, with the L1 norm of the given ones."""
        start = self.vector(weights)
        tuned = tune_mert(self.pool(), start, random, restarts=restarts).weights
        # Only the direction matters in MERT; with the norm the fixed weight keeps its proportion.
        scaled = tuned * ((np.abs(start).sum() or 1.0) / (np.abs(tuned).sum() or 1.0))
        return {**as_weights(scaled, self._shape), self._fixed: weights[self._fixed]}
