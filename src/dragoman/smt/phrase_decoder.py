"""Search for the best translation: stacks of hypotheses by the number of words translated, filled by cube pruning.

Koehn et al. 2003 and Koehn 2004 (stacks, recombination, future costs, the distortion limit), Huang and Chiang 2007
(cube pruning). Hypotheses that have translated the same words, the last phrase from the same place, are expanded
together: one row of hypotheses and one of options, best first, span a grid that is explored from its best corner. What
waits is ordered by estimates with the language model's opinion of each phrase alone; the true score is computed for
those that are taken, at most `pop_limit` for a stack.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dragoman.smt.features import Weighing
from dragoman.smt.kenlm_model import LanguageModel, State
from dragoman.smt.reordering import Orientation, orientation
from dragoman.smt.search_graph import Hypothesis, Way
from dragoman.smt.settings import Beam
from dragoman.smt.translation_options import Span


class Decoder:
    """Searches under given weights."""

    def __init__(self, language_model: LanguageModel, weighing: Weighing, distortion_limit: int, beam: Beam) -> None:
        """`distortion_limit`: words that may be jumped over; below 0 any number."""
        self._language_model = language_model
        self._weighing = weighing
        self._limit = distortion_limit
        self._beam = beam
        self._threshold = beam.threshold * weighing.size

    def search(self, length: int, spans: Sequence[Span]) -> Hypothesis:
        """The hypothesis of the finished translation of a sentence, from which all others can be reached."""
        reach = _Reach(length, spans, self._limit)
        begin = Hypothesis(0, (0, 0), self._language_model.begin, None, 0.0, 0.0)
        stacks: list[list[_Group]] = [[_Group([begin])]]
        for covered in range(1, length + 1):
            stacks.append(_grouped(self._pruned(self._fill(covered, stacks, reach))))
        return self._finish(hypothesis for group in stacks[length] for hypothesis in group.hypotheses)

    def _fill(self, covered: int, stacks: Sequence[Sequence[_Group]], reach: _Reach) -> list[Hypothesis]:
        """The best hypotheses with so many words translated, recombined."""
        grids = self._grids(covered, stacks, reach)
        waiting = [(-grid.estimate(0, 0), number, 0, 0) for number, grid in enumerate(grids)]
        heapq.heapify(waiting)
        found: dict[_Key, Hypothesis] = {}
        best = float("-inf")
        for _ in range(self._beam.pop_limit):
            if not waiting or -waiting[0][0] < best - self._threshold:
                break
            _, number, row, column = heapq.heappop(waiting)
            grid = grids[number]
            best = max(best, self._take(grid, row, column, found))
            if column + 1 < len(grid.options):
                heapq.heappush(waiting, (-grid.estimate(row, column + 1), number, row, column + 1))
            if column == 0 and row + 1 < len(grid.hypotheses):
                heapq.heappush(waiting, (-grid.estimate(row + 1, 0), number, row + 1, 0))
        return list(found.values())

    def _grids(self, covered: int, stacks: Sequence[Sequence[_Group]], reach: _Reach) -> list[_Grid]:
        """All that leads to so many translated words."""
        weight = self._weighing.distortion
        return [
            _Grid(group, move, orientation((group.start, group.end), (move.span.start, move.span.end)), weight)
            for before in range(max(0, covered - reach.longest), covered)
            for group in stacks[before]
            for move in reach.moves(group.coverage, group.end).get(covered - before, ())
        ]

    def _take(self, grid: _Grid, row: int, column: int, found: dict[_Key, Hypothesis]) -> float:
        """Put one place of a grid among the hypotheses found, and tell its score with what is left."""
        origin, option = grid.hypotheses[row], grid.options[column]
        log_probability, state = self._language_model.extend(origin.state, option.words)
        turn = grid.turn
        gain = (
            origin.forward[turn]
            + option.score
            + option.backward[turn]
            + grid.jump
            + self._weighing.language_model * log_probability
        )
        score = origin.score + gain
        way = Way(origin, option, gain, log_probability)
        key = (grid.coverage, grid.start, grid.end, state, option.following)
        known = found.get(key)
        if known is None:
            found[key] = Hypothesis(grid.coverage, (grid.start, grid.end), state, way, score, grid.future)
        else:
            known.add(way, score)
        return score + grid.future

    def _pruned(self, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        """Those near enough to the best, not more than a stack holds, the best first."""
        hypotheses.sort(key=lambda hypothesis: -hypothesis.total)
        lowest = hypotheses[0].total - self._threshold
        return [one for one in hypotheses[: self._beam.stack] if one.total >= lowest]

    def _finish(self, hypotheses: Iterable[Hypothesis]) -> Hypothesis:
        """All finished translations as ways to one hypothesis."""
        final: Hypothesis | None = None
        for origin in hypotheses:
            log_probability = self._language_model.end(origin.state)
            gain = self._weighing.language_model * log_probability
            way = Way(origin, None, gain, log_probability)
            score = origin.score + gain
            if final is None:
                final = Hypothesis(origin.coverage, (origin.end, origin.end), None, way, score, 0.0)
            else:
                final.add(way, score)
        assert final is not None
        return final


_Key = tuple[int, int, int, State, tuple[float, ...]]
"""What tells hypotheses apart: translated words, the last phrase's place, and what the models know of it."""


class _Group:
    """Hypotheses that have translated the same words, the last phrase from the same place; best first."""

    __slots__ = ("coverage", "end", "hypotheses", "start")

    def __init__(self, hypotheses: list[Hypothesis]) -> None:
        self.hypotheses = hypotheses
        first = hypotheses[0]
        self.coverage, self.start, self.end = first.coverage, first.start, first.end


def _grouped(hypotheses: Iterable[Hypothesis]) -> list[_Group]:
    groups: dict[tuple[int, int, int], list[Hypothesis]] = {}
    for one in hypotheses:
        groups.setdefault((one.coverage, one.start, one.end), []).append(one)
    return [_Group(group) for group in groups.values()]


class _Move(NamedTuple):
    """A span that can be translated next."""

    span: Span
    coverage: int
    """Afterwards."""
    future: float
    """Estimate for all that is left afterwards."""
    jump: int
    """Words between the end of the last phrase and its start."""


class _Grid:
    """Hypotheses and options for the same span: each with each is a new hypothesis."""

    __slots__ = ("coverage", "end", "future", "hypotheses", "jump", "options", "start", "turn")

    def __init__(self, group: _Group, move: _Move, turn: Orientation, weight: float) -> None:
        """`weight`: of distortion."""
        self.hypotheses = group.hypotheses
        self.options = move.span.options
        self.start, self.end = move.span.start, move.span.end
        self.coverage = move.coverage
        self.future = move.future
        self.jump = -weight * move.jump
        """Weighted."""
        self.turn = turn

    def estimate(self, row: int, column: int) -> float:
        """What a place is expected to score, with what is left."""
        origin, option = self.hypotheses[row], self.options[column]
        turn = self.turn
        return origin.score + origin.forward[turn] + option.estimate + option.backward[turn] + self.jump + self.future


class _Reach:
    """Which spans of a sentence can be translated next, and estimates of what is left."""

    def __init__(self, length: int, spans: Sequence[Span], limit: int) -> None:
        self._everything = (1 << length) - 1
        self._limit = length if limit < 0 else limit
        self._from: list[list[Span]] = [[] for _ in range(length)]
        """The spans that begin at each word."""
        for span in spans:
            self._from[span.start].append(span)
        self._table = _future_table(length, spans)
        self._futures: dict[int, float] = {}
        self._moves: dict[tuple[int, int], dict[int, list[_Move]]] = {}
        self.longest = max((span.end - span.start for span in spans), default=0)

    def moves(self, coverage: int, end: int) -> dict[int, list[_Move]]:
        """By their numbers of words, what can follow a phrase that ends at `end`.

        A jump is allowed up to the limit, and so must the one be that leads back to the first word left out (as in
        Moses): then no hypothesis can get stuck.
        """
        known = self._moves.get((coverage, end))
        if known is None:
            known = self._moves[coverage, end] = {}
            gap = (~coverage & (coverage + 1)).bit_length() - 1  # the first word not translated
            for start in range(max(gap, end - self._limit), min(len(self._from), end + self._limit + 1)):
                furthest = gap + self._limit if start > gap else len(self._from)
                for span in self._from[start]:
                    if span.mask & coverage or span.end > furthest:
                        continue
                    after = coverage | span.mask
                    move = _Move(span, after, self._future(after), abs(start - end))
                    known.setdefault(span.end - start, []).append(move)
        return known

    def _future(self, coverage: int) -> float:
        """The sum of the best estimates of all gaps."""
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


def _future_table(length: int, spans: Sequence[Span]) -> list[list[float]]:
    """[start][end] the best estimate of words [start, end), by one phrase or several."""
    table = [[float("-inf")] * (length + 1) for _ in range(length + 1)]
    for span in spans:
        table[span.start][span.end] = span.options[0].estimate
    for size in range(2, length + 1):
        for start in range(length - size + 1):
            end = start + size
            split = max(table[start][middle] + table[middle][end] for middle in range(start + 1, end))
            table[start][end] = max(table[start][end], split)
    return table
