"""What search leaves behind: hypotheses, the ways that lead to each, and the best translations among them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import NamedTuple

from dragoman.smt.features import UNKNOWN_COST, Features
from dragoman.smt.kenlm_model import State
from dragoman.smt.reordering import ORIENTATIONS, orientation
from dragoman.smt.translation_options import Option
from dragoman.text.links import Link


class Way(NamedTuple):
    """How a hypothesis comes from another, by the translation of one more phrase, or by the end of the sentence."""

    origin: Hypothesis
    option: Option | None
    """None for the end."""
    gain: float
    """What it adds to the score of `origin`."""
    language_model: float
    """Log-probability of its words, not weighted."""


class Hypothesis:
    """Partial translations that all go on alike: the same words are translated, and the models see no difference."""

    __slots__ = ("coverage", "end", "forward", "score", "start", "state", "total", "ways")

    def __init__(
        self, coverage: int, span: tuple[int, int], state: State, way: Way | None, score: float, future: float
    ) -> None:
        self.coverage = coverage
        """A bit for each source word that is translated."""
        self.start, self.end = span
        """Source words [start, end) translated last."""
        self.state = state
        """Of the language model."""
        self.forward: Sequence[float] = (0.0,) * ORIENTATIONS
        """Weighted scores of the orientations to what follows; those of all ways are alike."""
        if way is not None and way.option is not None:
            self.forward = way.option.forward
        self.ways = [] if way is None else [way]
        """All that were found, the best one first; none for the beginning."""
        self.score = score
        """The weighted sum of features of the best way."""
        self.total = score + future
        """The same with an estimate for what is left."""

    def add(self, way: Way, score: float) -> None:
        """Another way to the same hypothesis, and its score."""
        self.ways.append(way)
        if score > self.score:
            self.total += score - self.score
            self.score = score
            self.ways[0], self.ways[-1] = way, self.ways[0]


class Derivation(NamedTuple):
    """A complete translation."""

    score: float
    steps: tuple[tuple[Option, tuple[int, int]], ...]
    """The options taken, in the order of the translation, and the source words [start, end) of each."""
    language_model: float
    """Log-probability of all words and the end."""

    @property
    def words(self) -> list[str]:
        """The translation."""
        return [word for option, _ in self.steps for word in option.words]

    @property
    def links(self) -> list[Link]:
        """Between source words and words of the translation, as the phrases have them."""
        found: list[Link] = []
        written = 0
        for option, (start, _) in self.steps:
            found.extend((start + i, written + j) for i, j in option.links)
            written += len(option.words)
        return sorted(found)

    def values(self, features: Features) -> dict[str, tuple[float, ...]]:
        """The value of each feature, not weighted."""
        orientations = [0.0] * (2 * ORIENTATIONS)
        scores = [0.0] * features.translation_scores
        jumped, before, previous = 0, (0, 0), None
        for option, span in self.steps:
            jumped += abs(span[0] - before[1])
            scores = [one + other for one, other in zip(scores, option.scores, strict=True)]
            way = orientation(before, span)
            orientations[way] += option.orientations[way]
            if previous is not None:
                orientations[ORIENTATIONS + way] += previous.orientations[ORIENTATIONS + way]
            before, previous = span, option
        names = features.names
        values = {
            names.reordering: tuple(orientations),
            names.distortion: (0.0 - jumped,),
            names.language_model: (self.language_model,),
            names.word_penalty: (0.0 - len(self.words),),
            names.phrase_penalty: (float(len(self.steps)),),
            names.translation: tuple(scores),
            names.unknown_penalty: (0.0 - UNKNOWN_COST * sum(option.unknown for option, _ in self.steps),),
        }
        return {name: values[name] for name in features.shape}


_Rest = tuple[Way, Hypothesis, "_Rest | None"]
"""The end of a derivation: a way, where it leads, and what follows. Plain, because millions are made."""


def best_derivations(final: Hypothesis) -> Iterator[Derivation]:
    """All derivations of the hypothesis of a finished sentence, by falling score."""
    return (_derivation(score, rest) for score, rest in _best(final))


def _best(final: Hypothesis) -> Iterator[tuple[float, _Rest | None]]:
    """Their scores and ways.

    A derivation that is handed out is followed from its end back along the best ways; leaving it for another way at any
    place gives the derivations that are not better (as Moses does).
    """
    numbers = count()  # of equal scores the one found first
    waiting: list[tuple[float, int, Hypothesis, _Rest | None]] = [(-final.score, next(numbers), final, None)]
    while waiting:
        negative, _, place, rest = heapq.heappop(waiting)
        while place.ways:
            for way in islice(place.ways, 1, None):
                lost = place.score - (way.origin.score + way.gain)
                heapq.heappush(waiting, (negative + lost, next(numbers), way.origin, (way, place, rest)))
            way = place.ways[0]
            rest = (way, place, rest)
            place = way.origin
        yield -negative, rest


def _derivation(score: float, rest: _Rest | None) -> Derivation:
    steps = []
    language_model = 0.0
    while rest is not None:
        way, target, rest = rest
        language_model += way.language_model
        if way.option is not None:
            steps.append((way.option, (target.start, target.end)))
    return Derivation(score, tuple(steps), language_model)


def _words(rest: _Rest | None) -> tuple[str, ...]:
    """Of the translation."""
    words: tuple[str, ...] = ()
    while rest is not None:
        way, _, rest = rest
        if way.option is not None:
            words += way.option.words
    return words


def n_best(final: Hypothesis, size: int, *, distinct: bool, patience: int) -> list[Derivation]:
    """The best `size` derivations; with `distinct` those of different words, among the best `size * patience`."""
    if not distinct:
        return list(islice(best_derivations(final), size))
    found: dict[tuple[str, ...], Derivation] = {}
    for score, rest in islice(_best(final), size * patience):
        words = _words(rest)
        if words not in found:
            found[words] = _derivation(score, rest)
            if len(found) == size:
                break
    return list(found.values())
