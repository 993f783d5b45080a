"""Phrase-based beam search: stacks of hypotheses by the number of translated words, filled by cube pruning.

Koehn et al. 2003 and Koehn 2004 (stacks, recombination, future costs, distortion limit), Huang and Chiang 2007 (cube
pruning). Hypotheses with the same coverage and the same last span are expanded together: their row and the row of a
span's translation options, both best first, form a grid that is explored from its best corner. The queue is ordered by
estimates that score each phrase's words without context; the language model scores the popped ones, at most
`pop_limit` for each stack.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dragoman.requests.smt import DecoderSettings
from dragoman.smt.features import FeatureWeights
from dragoman.smt.kenlm_model import KenlmModel, LanguageModelState
from dragoman.smt.reordering import Orientation, orientation
from dragoman.smt.search_graph import Edge, PhraseHypothesis
from dragoman.smt.translation_options import SpanOptions


class PhraseDecoder:
    """Stack decoder with fixed feature weights."""

    def __init__(
        self, language_model: KenlmModel, weights: FeatureWeights, distortion_limit: int, settings: DecoderSettings
    ) -> None:
        """`distortion_limit`: source words that may be skipped; unlimited if negative."""
        self._language_model = language_model
        self._weights = weights
        self._limit = distortion_limit
        self._settings = settings
        self._threshold = settings.threshold * weights.magnitude

    def search(self, length: int, spans: Sequence[SpanOptions]) -> PhraseHypothesis:
        """Search a sentence of `length` words; the edges of the final hypothesis lead back through the search graph."""
        constraints = ReorderingConstraints(length, spans, self._limit)
        empty = PhraseHypothesis(0, (0, 0), self._language_model.begin, None, 0.0, 0.0)
        stacks: list[list[_Group]] = [[_Group([empty])]]
        for covered in range(1, length + 1):
            stacks.append(self._pruned(self._fill(covered, stacks, constraints)))
        return self._finish(hypothesis for group in stacks[length] for hypothesis in group.hypotheses)

    def _fill(
        self, covered: int, stacks: Sequence[Sequence[_Group]], constraints: ReorderingConstraints
    ) -> list[PhraseHypothesis]:
        """The recombined hypotheses of the stack of `covered` translated words."""
        grids = self._grids(covered, stacks, constraints)
        queue = [(-grid.estimate(0, 0), number, 0, 0) for number, grid in enumerate(grids)]
        heapq.heapify(queue)
        stack: dict[_RecombinationKey, PhraseHypothesis] = {}
        best = float("-inf")
        for _ in range(self._settings.pop_limit):
            if not queue or -queue[0][0] < best - self._threshold:
                break
            _, number, row, column = heapq.heappop(queue)
            grid = grids[number]
            best = max(best, self._expand(grid, row, column, stack))
            if column + 1 < len(grid.options):
                heapq.heappush(queue, (-grid.estimate(row, column + 1), number, row, column + 1))
            if column == 0 and row + 1 < len(grid.hypotheses):
                heapq.heappush(queue, (-grid.estimate(row + 1, 0), number, row + 1, 0))
        return list(stack.values())

    def _grids(
        self, covered: int, stacks: Sequence[Sequence[_Group]], constraints: ReorderingConstraints
    ) -> list[_Grid]:
        """All grids whose hypotheses have `covered` translated words."""
        weight = self._weights.distortion
        return [
            _Grid(group, step, orientation((group.start, group.end), (step.span.start, step.span.end)), weight)
            for before in range(max(0, covered - constraints.longest), covered)
            for group in stacks[before]
            for step in constraints.extensions(group.coverage, group.end).get(covered - before, ())
        ]

    def _expand(self, grid: _Grid, row: int, column: int, stack: dict[_RecombinationKey, PhraseHypothesis]) -> float:
        """Add the hypothesis in one cell of a grid to a stack; returns its score plus future cost estimate."""
        origin, option = grid.hypotheses[row], grid.options[column]
        log_probability, state = self._language_model.extend(origin.state, option.words)
        way = grid.orientation
        edge_score = (
            origin.forward[way]
            + option.score
            + option.backward[way]
            + grid.distortion
            + self._weights.language_model * log_probability
        )
        score = origin.score + edge_score
        edge = Edge(origin, option, edge_score, log_probability)
        key = (grid.coverage, grid.start, grid.end, state, option.following)
        known = stack.get(key)
        if known is None:
            stack[key] = PhraseHypothesis(grid.coverage, (grid.start, grid.end), state, edge, score, grid.future)
        else:
            known.add(edge, score)
        return score + grid.future

    def _pruned(self, hypotheses: list[PhraseHypothesis]) -> list[_Group]:
        """The hypotheses that survive threshold and stack size, best first, in groups."""
        hypotheses.sort(key=lambda hypothesis: -hypothesis.total)
        lowest = hypotheses[0].total - self._threshold
        groups: dict[tuple[int, int, int], list[PhraseHypothesis]] = {}
        for one in hypotheses[: self._settings.stack]:
            if one.total >= lowest:
                groups.setdefault((one.coverage, one.start, one.end), []).append(one)
        return [_Group(group) for group in groups.values()]

    def _finish(self, hypotheses: Iterable[PhraseHypothesis]) -> PhraseHypothesis:
        """Recombine all complete hypotheses, each scored with EOS, into the final one."""
        final: PhraseHypothesis | None = None
        for origin in hypotheses:
            log_probability = self._language_model.end(origin.state)
            edge_score = self._weights.language_model * log_probability
            edge = Edge(origin, None, edge_score, log_probability)
            score = origin.score + edge_score
            if final is None:
                final = PhraseHypothesis(origin.coverage, (origin.end, origin.end), None, edge, score, 0.0)
            else:
                final.add(edge, score)
        assert final is not None
        return final


_RecombinationKey = tuple[int, int, int, LanguageModelState, tuple[float, ...]]
"""Coverage, last span, language model state, and reordering scores towards the next phrase."""


class _Group:
    """Hypotheses with the same coverage and the same last span, best first."""

    __slots__ = ("coverage", "end", "hypotheses", "start")

    def __init__(self, hypotheses: list[PhraseHypothesis]) -> None:
        self.hypotheses = hypotheses
        first = hypotheses[0]
        self.coverage, self.start, self.end = first.coverage, first.start, first.end


class _Extension(NamedTuple):
    """A span that can be translated next."""

    span: SpanOptions
    coverage: int
    """Coverage after the span."""
    future: float
    """Future cost estimate after the span."""
    distance: int
    """Source words between the end of the last phrase and the start of the span."""


class _Grid:
    """The hypotheses of a group and the options of a span; each combination is a new hypothesis."""

    __slots__ = ("coverage", "distortion", "end", "future", "hypotheses", "options", "orientation", "start")

    def __init__(self, group: _Group, step: _Extension, way: Orientation, weight: float) -> None:
        """`weight` is the weight of distortion, `way` the orientation of the span towards the last phrase."""
        self.hypotheses = group.hypotheses
        self.options = step.span.options
        self.start, self.end = step.span.start, step.span.end
        self.coverage = step.coverage
        self.future = step.future
        self.distortion = -weight * step.distance
        """Weighted."""
        self.orientation = way

    def estimate(self, row: int, column: int) -> float:
        """Estimate the score of one combination, future costs included."""
        origin, option = self.hypotheses[row], self.options[column]
        way = self.orientation
        return (
            origin.score + origin.forward[way] + option.estimate + option.backward[way] + self.distortion + self.future
        )


class ReorderingConstraints:
    """Which spans of a sentence may be translated next under the distortion limit, and future cost estimates."""

    def __init__(self, length: int, spans: Sequence[SpanOptions], limit: int) -> None:
        """A sentence of `length` words; `limit` is the distortion limit, unlimited if negative."""
        self._everything = (1 << length) - 1
        self._limit = length if limit < 0 else limit
        self._starting_at: list[list[SpanOptions]] = [[] for _ in range(length)]
        for span in spans:
            self._starting_at[span.start].append(span)
        self._table = _future_cost_table(length, spans)
        self._futures: dict[int, float] = {}
        self._extensions: dict[tuple[int, int], dict[int, list[_Extension]]] = {}
        self.longest = max((span.end - span.start for span in spans), default=0)

    def extensions(self, coverage: int, end: int) -> dict[int, list[_Extension]]:
        """List the spans that may follow a phrase that ends at `end`, by their number of words.

        The distance to the next span must not exceed the limit, nor may the distance back from there to the first
        untranslated word (as in Moses): then no hypothesis can get stuck.
        """
        known = self._extensions.get((coverage, end))
        if known is None:
            known = self._extensions[coverage, end] = {}
            gap = (~coverage & (coverage + 1)).bit_length() - 1  # the first word not translated
            for start in range(max(gap, end - self._limit), min(len(self._starting_at), end + self._limit + 1)):
                furthest = gap + self._limit if start > gap else len(self._starting_at)
                for span in self._starting_at[start]:
                    if span.mask & coverage or span.end > furthest:
                        continue
                    after = coverage | span.mask
                    extension = _Extension(span, after, self._future(after), abs(start - end))
                    known.setdefault(span.end - start, []).append(extension)
        return known

    def _future(self, coverage: int) -> float:
        """The sum of the best estimates of all untranslated gaps."""
        known = self._futures.get(coverage)
        if known is None:
            known = 0.0
            left = self._everything & ~coverage
            while left:
                first = left & -left
                beyond = left + first  # the carry runs through the gap and stops behind it
                start, end = first.bit_length() - 1, (beyond & -beyond).bit_length() - 1
                known += self._table[start][end]
                left &= beyond
            self._futures[coverage] = known
        return known


def _future_cost_table(length: int, spans: Sequence[SpanOptions]) -> list[list[float]]:
    """[start][end] the best estimate of words [start, end), by one phrase or several."""
    table = [[float("-inf")] * (length + 1) for _ in range(length + 1)]
    ending_at: list[list[tuple[int, float]]] = [[] for _ in range(length + 1)]
    for span in spans:
        ending_at[span.end].append((span.start, span.options[0].estimate))
    for start in range(length):
        row = table[start]
        row[start] = 0.0
        for end in range(start + 1, length + 1):  # the last phrase, and the best of what is before it
            row[end] = max((row[middle] + last for middle, last in ending_at[end] if middle >= start), default=row[end])
    return table
