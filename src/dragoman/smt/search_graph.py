"""The search graph: recombined hypotheses, the edges between them, and the k-best derivations of the graph."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import NamedTuple

from dragoman.smt.features import UNKNOWN_COST, Features
from dragoman.smt.kenlm_model import LanguageModelState
from dragoman.smt.reordering import ORIENTATIONS, orientation
from dragoman.smt.translation_options import TranslationOption
from dragoman.text.links import Link


class Edge(NamedTuple):
    """The extension of a hypothesis by one phrase, or by EOS."""

    origin: PhraseHypothesis
    option: TranslationOption | None
    """None for EOS."""
    score: float
    """What the edge adds to the score of `origin`."""
    language_model: float
    """Log-probability of the added words, not weighted."""


class PhraseHypothesis:
    """Recombined partial translations: they cover the same source words, and no model distinguishes their futures."""

    __slots__ = ("coverage", "edges", "end", "forward", "score", "start", "state", "total")

    def __init__(
        self,
        coverage: int,
        span: tuple[int, int],
        state: LanguageModelState,
        edge: Edge | None,
        score: float,
        future: float,
    ) -> None:
        """A hypothesis with one incoming edge, None for the empty one; `future` estimates the score of the rest."""
        self.coverage = coverage
        """A bit for each source word that is translated."""
        self.start, self.end = span
        """Source words [start, end) of the last phrase."""
        self.state = state
        """Language model state after the last word."""
        self.forward: Sequence[float] = (0.0,) * ORIENTATIONS
        """Weighted reordering scores of each orientation of the next phrase; equal for all edges."""
        if edge is not None and edge.option is not None:
            self.forward = edge.option.forward
        self.edges = [] if edge is None else [edge]
        """Incoming edges, the best one first; none for the empty hypothesis."""
        self.score = score
        """Weighted sum of the features along the best edges."""
        self.total = score + future
        """Score plus future cost estimate."""

    def add(self, edge: Edge, score: float) -> None:
        """Recombine: add an edge under which this hypothesis has the score `score`."""
        self.edges.append(edge)
        if score > self.score:
            self.total += score - self.score
            self.score = score
            self.edges[0], self.edges[-1] = edge, self.edges[0]


class Derivation(NamedTuple):
    """A complete translation."""

    score: float
    steps: tuple[tuple[TranslationOption, tuple[int, int]], ...]
    """Options in target order, each with its source words [start, end)."""
    language_model: float
    """Log-probability of all words and EOS."""

    @property
    def words(self) -> list[str]:
        """The words of the translation."""
        return [word for option, _ in self.steps for word in option.words]

    @property
    def links(self) -> list[Link]:
        """Links between source and target words: the links of the phrase pairs, shifted to the phrases' places."""
        links: list[Link] = []
        written = 0
        for option, (start, _) in self.steps:
            links.extend((start + i, written + j) for i, j in option.links)
            written += len(option.words)
        return sorted(links)

    def values(self, features: Features) -> dict[str, tuple[float, ...]]:
        """Compute the unweighted values of each feature."""
        orientations = [0.0] * (2 * ORIENTATIONS)
        scores = [0.0] * features.translation_scores
        distortion, before, previous = 0, (0, 0), None
        for option, span in self.steps:
            distortion += abs(span[0] - before[1])
            scores = [one + other for one, other in zip(scores, option.scores, strict=True)]
            way = orientation(before, span)
            orientations[way] += option.orientations[way]
            if previous is not None:
                orientations[ORIENTATIONS + way] += previous.orientations[ORIENTATIONS + way]
            before, previous = span, option
        names = features.names
        values = {
            names.reordering: tuple(orientations),
            names.distortion: (0.0 - distortion,),
            names.language_model: (self.language_model,),
            names.word_penalty: (0.0 - len(self.words),),
            names.phrase_penalty: (float(len(self.steps)),),
            names.translation: tuple(scores),
            names.unknown_penalty: (0.0 - UNKNOWN_COST * sum(option.unknown for option, _ in self.steps),),
        }
        return {name: values[name] for name in features.shape}


_Suffix = tuple[Edge, PhraseHypothesis, "_Suffix | None"]
"""The end of a derivation: an edge, its destination, and the suffix behind it. A plain tuple, as millions are made."""


def best_derivations(final: PhraseHypothesis) -> Iterator[Derivation]:
    """Yield all derivations of a final hypothesis, in descending order of score."""
    return (_derivation(score, suffix) for score, suffix in _k_best(final))


def _k_best(final: PhraseHypothesis) -> Iterator[tuple[float, _Suffix | None]]:
    """Score and edges of all derivations, in descending order of score.

    Each derivation yielded is followed from its end back along the best edges; its deviations, which take another edge
    at one hypothesis, enter the queue (as in Moses).
    """
    numbers = count()  # ties go to the derivation found first
    queue: list[tuple[float, int, PhraseHypothesis, _Suffix | None]] = [(-final.score, next(numbers), final, None)]
    while queue:
        negative, _, hypothesis, suffix = heapq.heappop(queue)
        while hypothesis.edges:
            for edge in islice(hypothesis.edges, 1, None):
                loss = hypothesis.score - (edge.origin.score + edge.score)
                heapq.heappush(queue, (negative + loss, next(numbers), edge.origin, (edge, hypothesis, suffix)))
            edge = hypothesis.edges[0]
            suffix = (edge, hypothesis, suffix)
            hypothesis = edge.origin
        yield -negative, suffix


def _derivation(score: float, suffix: _Suffix | None) -> Derivation:
    steps = []
    language_model = 0.0
    while suffix is not None:
        edge, target, suffix = suffix
        language_model += edge.language_model
        if edge.option is not None:
            steps.append((edge.option, (target.start, target.end)))
    return Derivation(score, tuple(steps), language_model)


def _words(suffix: _Suffix | None) -> tuple[str, ...]:
    """The words of a translation."""
    words: tuple[str, ...] = ()
    while suffix is not None:
        edge, _, suffix = suffix
        if edge.option is not None:
            words += edge.option.words
    return words


def n_best(final: PhraseHypothesis, size: int, *, distinct: bool, patience: int) -> list[Derivation]:
    """List the best `size` derivations; with `distinct`, the best one of each text among `size * patience`."""
    if not distinct:
        return list(islice(best_derivations(final), size))
    by_text: dict[tuple[str, ...], Derivation] = {}
    for score, suffix in islice(_k_best(final), size * patience):
        words = _words(suffix)
        if words not in by_text:
            by_text[words] = _derivation(score, suffix)
            if len(by_text) == size:
                break
    return list(by_text.values())
