"""Links between given translations, read off the attention weights of forced decoding, in one direction or both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import tee
from typing import NamedTuple

from dragoman.alignment.choices import DEFAULT_METHOD, SymmetrizationMethod
from dragoman.alignment.extract import WordWeights, extract_links
from dragoman.alignment.symmetrize import symmetrize
from dragoman.scoring.scorer import ScoredPair, Scorer
from dragoman.text.links import Link
from dragoman.text.words import AlignmentUnit


class AlignedPair(NamedTuple):
    """The links of a sentence pair."""

    links: list[Link]
    """(source unit, target unit), from 0."""
    weights: WordWeights
    """The weights between the units of both lines, from source to target."""
    scored: ScoredPair
    """The pair as the model from source to target scores it."""


class Aligner:
    """Aligns given translations by a model, or by two models of opposite directions.

    Each target unit is linked to the source unit with the largest weight, or to all whose weight reaches a threshold.
    """

    def __init__(
        self,
        forward: Scorer,
        backward: Scorer | None = None,
        *,
        unit: AlignmentUnit = "words",
        threshold: float | None = None,
        symmetrization: SymmetrizationMethod = DEFAULT_METHOD,
    ) -> None:
        """`backward` scores sources given targets; `symmetrization` joins the links of both directions."""
        assert forward.attends, "links need attention"
        assert backward is None or (backward.attends and unit != "segments"), "two models divide text in two ways"
        self._forward, self._backward = forward, backward
        self._unit, self._threshold, self._symmetrization = unit, threshold, symmetrization

    def align(self, pairs: Iterable[tuple[str, str]]) -> Iterator[AlignedPair]:
        """Align each pair of raw lines (source, target).

        Raises:
            RunError: the model's log-probabilities are NaN.
        """
        given, again = tee(pairs)
        ahead = self._links(self._forward, given)
        if self._backward is None:
            yield from ahead
            return
        back = self._links(self._backward, ((target, source) for source, target in again))
        for pair, reverse in zip(ahead, back, strict=True):
            turned = [(source, target) for target, source in reverse.links]
            yield pair._replace(links=symmetrize(pair.links, turned, self._symmetrization))

    def _links(self, scorer: Scorer, pairs: Iterable[tuple[str, str]]) -> Iterator[AlignedPair]:
        for scored in scorer.score(pairs):
            weights = scored.compute_weights(self._unit)
            assert weights is not None
            yield AlignedPair(extract_links(weights, self._threshold), weights, scored)
