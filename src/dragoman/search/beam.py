"""Beam search over a batch of sentences; greedy search is a beam of 1.

Left to right, the K best prefixes of each sentence are kept (Sutskever et al. 2014, section 3.2). The papers
leave the following open:

Finishing. The K best candidates of a step (each a live hypothesis and one more symbol) are kept. One that ends in
EOS joins the finished set. With `refill` (nmt.matlab) the next best candidates that do not end take the places of
those that did, so that K hypotheses stay alive; a candidate that ends is never taken from below the K best. With
`shrink` (Sutskever et al. 2014, GroundHog) a finished hypothesis gives up its slot for good.

Pruning. With phrases that must appear (phrase_constraints.py) the K best are kept for each number of phrase ids met, at
every step: grid beam search, Hokamp and Liu 2017. "The K best" below then means those among hypotheses that have met as
many. With `diversity` g a candidate is pruned as if its log-probability were lower by g for each better candidate of
the same parent (Li et al. 2016, section 3.2, where the best one too loses g, which changes nothing).

Stopping. A sentence stops at the first of these:

1. No live hypothesis can enter the n best: n have finished, and the optimistic bound of the best live one
   (normalisation.py) is not above the worst of them. This stop is provably optimal, whatever the normalisation, the
   coverage penalty and the constraints: searching on could not change the answer of this beam. Without length
   normalisation it usually comes one step after the best hypothesis has ended. With `mean`, `gnmt` and `power`, or
   with a reward for length, the bound allows for growth up to the longest length, and seldom closes before 2; with
   a coverage penalty it allows for full coverage, and closes later than it might.
2. K hypotheses have finished, and the most probable of them is at least as probable as every live one already is.
   With `shrink` no slot is left by then. With `refill` this is a choice, not a proof, unless the score is the
   log-probability alone and n is 1: otherwise a live hypothesis might still end with the better score. It makes a
   beam of 1 greedy search. The count alone would not do: a model sure of its words fills the other slots with
   improbable ones, and K of these may end before the one that matters.
3. The longest length is reached. If nothing has finished by then, the live hypotheses are closed with EOS, scored
   with it, and marked `finished=False`.

Choosing. Among the finished hypotheses of a sentence with placeholders those that have more of them come first, which
may save a search that requires them (translation/translator.py).

What is optimal is so within the beam: pruning itself may lose the best translation of all.

Not here: GroundHog's second attempt with a doubled beam.

Letters: B sentences of a batch, A those still searching, S source length, K beam, W slots in use, R rows (live
hypotheses of all sentences), k continuations reported per row, C candidates of a sentence (W * k).
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.config.schema import SearchConfig
from dragoman.engines.protocol import Engine, EngineStep
from dragoman.search.constraints import BatchConstraints, Continuations, RowTokens, StepConstraints, append_tokens
from dragoman.search.hypothesis import End, History, Hypothesis, end_log_probabilities
from dragoman.search.normalisation import CoveragePenalty, Normalisation
from dragoman.systems import require_rows
from dragoman.text.vocabulary import BOS, EOS

Scalar = TypeVar("Scalar", np.int64, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Beam:
    """The live hypotheses of all sentences that are still searching.

    Rows are these hypotheses sentence by sentence, the best of each sentence first.
    """

    length: int
    """Segments in each hypothesis."""
    sentences: NDArray[np.int64]
    """[A] their places in the batch, ascending."""
    counts: NDArray[np.int64]
    """[A] live hypotheses of each, at least one."""
    slots: int
    """W, the largest of `counts`."""
    log_probabilities: NDArray[np.float64]
    """[R] totals so far."""
    parents: NDArray[np.int64]
    """[R] the row of the previous step that each row continues."""
    tokens: NDArray[np.int64]
    """[R] the symbol that each row reads next."""
    words: RowTokens
    """[R, length] the segments of each row, if a constraint needs them; it reads the last one next."""
    state: object
    """The state of the engine before it has read `tokens`."""

    @property
    def row_sentences(self) -> NDArray[np.int64]:
        """[R] the sentence of each row: its place in the batch."""
        return np.repeat(self.sentences, self.counts)

    @property
    def first_rows(self) -> NDArray[np.int64]:
        """[A] the best row of each sentence."""
        return np.cumsum(self.counts) - self.counts

    def laid_out(self, values: NDArray[Scalar], filling: float) -> NDArray[Scalar]:
        """Values of continuations [R, k] -> [A, W * k], with `filling` in place of missing rows."""
        count = len(self.counts)
        if count * self.slots == len(values):
            return values.reshape(count, -1)
        cells = np.repeat(np.arange(count) * self.slots - self.first_rows, self.counts) + np.arange(len(values))
        laid = np.full((count * self.slots, values.shape[1]), filling, dtype=values.dtype)
        laid[cells] = values
        return laid.reshape(count, -1)


class Candidates(NamedTuple):
    """Live hypotheses with one more symbol; within a sentence in the order of pruning, best first."""

    log_probabilities: NDArray[np.float64]
    """[A, C] totals; -inf, and behind all others, for forbidden candidates and for filling."""
    tokens: NDArray[np.int64]
    """[A, C]"""
    rows: NDArray[np.int64]
    """[A, C] the row each continues."""
    constraints_met: NDArray[np.int64] | None
    """[A, C] phrase ids met; a candidate competes with those that have met as many. None without phrases."""


class Finished:
    """The finished hypotheses of every sentence of a batch, best first, ties in order of finishing."""

    def __init__(self, sentences: int, n_best: int, normalisation: Normalisation) -> None:
        self._n_best = n_best
        self._normalisation = normalisation
        self.ends: list[list[End]] = [[] for _ in range(sentences)]
        self.counts = np.zeros(sentences, dtype=np.int64)
        """[B] the number of finished hypotheses."""
        self.bar = np.full(sentences, -np.inf)
        """[B] the score above which a new hypothesis would be among the n best; -inf until there are n."""
        self.most_probable = np.full(sentences, -np.inf)
        """[B] the largest log-probability among them."""

    def add(
        self,
        length: int,
        sentences: NDArray[np.int64],
        rows: NDArray[np.int64],
        log_probabilities: NDArray[np.float64],
        penalties: NDArray[np.float64],
        finished: bool,
    ) -> None:
        """Add hypotheses [N] of `length` segments and EOS, given sentence by sentence, the earlier of equals first."""
        scores = self._normalisation.score(log_probabilities, length + 1) + penalties
        columns = (sentences.tolist(), rows.tolist(), log_probabilities.tolist(), scores.tolist())
        for sentence, row, log_probability, score in zip(*columns, strict=True):
            ends = self.ends[sentence]
            bisect.insort_right(ends, End(score, log_probability, length, row, finished), key=lambda end: -end.score)
            self.counts[sentence] += 1
            if len(ends) >= self._n_best:
                self.bar[sentence] = ends[self._n_best - 1].score
        np.maximum.at(self.most_probable, sentences, log_probabilities)

    def best(self) -> list[list[End]]:
        """The n best of each sentence, or as many as there are."""
        return [ends[: self._n_best] for ends in self.ends]


def beam_search(
    engine: Engine,
    source: NDArray[np.int64],
    source_lengths: NDArray[np.int64],
    config: SearchConfig,
    n_best: int = 1,
    constraints: BatchConstraints | None = None,
    on_step: Callable[[Beam, Continuations, Candidates, NDArray[np.bool_]], None] | None = None,
) -> list[list[Hypothesis]]:
    """The `n_best` translations of each source, best score first; those that lack a placeholder come last.

    `source` [B, S] and `source_lengths` [B] are as the engine reads them (engines/protocol.py). A list is shorter than
    `n_best` where fewer hypotheses finished, and never empty. `n_best` is at most `config.beam`. Without `constraints`
    those of `config` apply. The result of a sentence does not depend on the rest of the batch, except through the
    engine's rounding; equal scores are ranked by the earlier step, then by the better parent, then by the lower id.
    `on_step` is called in each step with the beam before it, the continuations of its rows, the candidates and which of
    these, [A, C], finish or stay alive.

    Raises:
        ConfigError: the beam does not fit into the memory of the machine; a coverage penalty with a model without
            attention.
        RunError: the model's log-probabilities are NaN.
    """
    require_rows(config.beam, engine.vocabulary_size, "a beam")
    assert 1 <= n_best <= config.beam, f"n_best {n_best} must be from 1 to the beam, {config.beam}"
    segments = source_lengths - int(engine.source_eos)
    if constraints is None:
        constraints = BatchConstraints.from_config(config, engine.vocabulary_size, segments)
    normalisation = Normalisation.from_config(config)
    coverage = CoveragePenalty(config.coverage_penalty, segments) if config.coverage_penalty else None
    finished = Finished(len(source), n_best, normalisation)
    history = History()
    beam = _first_beam(engine, source, source_lengths, constraints)
    while len(beam.sentences):
        at_limit = constraints.longest[beam.sentences] == beam.length
        row_sentences = beam.row_sentences
        step_constraints = constraints.at_step(row_sentences, beam.length, beam.words)
        must_close = at_limit & (finished.counts[beam.sentences] == 0)
        step = step_engine(
            engine,
            beam.state,
            beam.parents,
            beam.tokens,
            step_constraints,
            config.beam,
            with_eos=bool(must_close.any()),
        )
        history.append(beam.parents, beam.tokens, beam.log_probabilities, step.attention)
        penalties = np.zeros(len(row_sentences))
        if coverage is not None:
            penalties = coverage.penalties(row_sentences, beam.parents, step.attention)
        continuations = step_constraints.permitted(step)
        candidates = _best_candidates(beam, continuations, config)
        ends, lives = _divide(beam, candidates, finished, config)
        if on_step is not None:
            on_step(beam, continuations, candidates, ends | lives)
        _finish(beam, candidates, ends, penalties, finished)
        ends_here = at_limit | ~lives.any(axis=1)
        _close(beam, step, ends_here, penalties, finished)
        stops = ends_here | _stops(beam, candidates, lives, finished, constraints, normalisation, config)
        beam = _advance(beam, candidates, lives, stops, step.state)
    if not len(constraints.placeholders):
        return history.rebuild(finished.best(), source_lengths)
    hypotheses = history.rebuild(finished.ends, source_lengths)
    return [
        sorted(one, key=lambda hypothesis: constraints.missing(sentence, hypothesis.tokens))[:n_best]
        for sentence, one in enumerate(hypotheses)
    ]


def step_engine(
    engine: Engine,
    state: object,
    parents: NDArray[np.int64],
    tokens: NDArray[np.int64],
    constraints: StepConstraints,
    wanted: int,
    *,
    with_eos: bool = False,
) -> EngineStep:
    """Step the engine; the result [R, k] has the `wanted` best permitted symbols besides EOS, or more.

    With `with_eos` it has EOS as well.

    Raises:
        RunError: the model's log-probabilities are NaN.
    """
    if constraints.need_distributions:
        return constraints.select(engine.step_all(state, parents, tokens), wanted)
    return engine.step(state, parents, tokens, engine.vocabulary_size if with_eos else constraints.count(wanted))


def _first_beam(
    engine: Engine, source: NDArray[np.int64], source_lengths: NDArray[np.int64], constraints: BatchConstraints
) -> Beam:
    """One empty hypothesis for each of the B sentences `source` [B, S]."""
    sentences = np.arange(len(source), dtype=np.int64)
    return Beam(
        length=0,
        sentences=sentences,
        counts=np.ones_like(sentences),
        slots=1,
        log_probabilities=np.zeros(len(source)),
        parents=sentences,
        tokens=np.full(len(source), BOS, dtype=np.int64),
        words=constraints.first_words(len(source)),
        state=engine.start(source, source_lengths),
    )


def _best_candidates(beam: Beam, continuations: Continuations, config: SearchConfig) -> Candidates:
    """The best candidates of each sentence, as many as can matter: K, and one more for each that may end.

    With phrase constraints, all candidates.
    """
    extended = continuations.log_probabilities + beam.log_probabilities[:, None]  # [R, k]
    k = extended.shape[1]
    totals = beam.laid_out(extended, -np.inf)  # [A, W * k]
    worth = totals
    if config.diversity:
        possible = extended > -np.inf
        better = np.where(possible, possible.cumsum(axis=1) - 1, 0)  # siblings come best first
        worth = beam.laid_out(extended - config.diversity * better, -np.inf)
    # A stable sort leaves equals in order of the parent, then of the id (StepConstraints.permitted).
    order = (-worth).argsort(axis=1, kind="stable")
    if continuations.constraints_met is None:
        order = order[:, : config.beam + beam.slots]
    flat = order + np.arange(len(order))[:, None] * totals.shape[1]  # places in [A * W * k]
    return Candidates(
        totals.take(flat),
        beam.laid_out(continuations.tokens, 0).take(flat),
        order // k + beam.first_rows[:, None],
        None if continuations.constraints_met is None else beam.laid_out(continuations.constraints_met, 0).take(flat),
    )


def _divide(
    beam: Beam, candidates: Candidates, finished: Finished, config: SearchConfig
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The candidates that finish, and those that stay alive, both [A, C]."""
    possible = candidates.log_probabilities > -np.inf
    ending = candidates.tokens == EOS
    if config.finish == "shrink":
        slots = config.beam - finished.counts[beam.sentences]  # [A]
        kept = _first_of_each(possible, candidates.constraints_met, slots[:, None])
        return kept & ending, kept & ~ending
    best = _first_of_each(possible, candidates.constraints_met, config.beam)
    return best & ending, _first_of_each(possible & ~ending, candidates.constraints_met, config.beam)


def _first_of_each(
    members: NDArray[np.bool_], met: NDArray[np.int64] | None, count: int | NDArray[np.int64]
) -> NDArray[np.bool_]:
    """[A, C] the first `count` members of each row, separately for each number of ids met."""
    if met is None:
        return members & (members.cumsum(axis=1) <= count)
    first = np.zeros_like(members)
    for number in range(int(met.max(initial=0)) + 1):
        equals = members & (met == number)
        first |= equals & (equals.cumsum(axis=1) <= count)
    return first


def _finish(
    beam: Beam, candidates: Candidates, ends: NDArray[np.bool_], penalties: NDArray[np.float64], finished: Finished
) -> None:
    """Add the candidates that end to the finished set; `penalties` [R] are for coverage."""
    positions, ranks = np.nonzero(ends)
    if len(positions):
        rows = candidates.rows[positions, ranks]
        finished.add(
            beam.length,
            beam.sentences[positions],
            rows,
            candidates.log_probabilities[positions, ranks],
            penalties[rows],
            finished=True,
        )


def _close(
    beam: Beam, step: EngineStep, last: NDArray[np.bool_], penalties: NDArray[np.float64], finished: Finished
) -> None:
    """Close the live hypotheses of sentences whose search ends here (`last` [A]) though nothing has finished."""
    closing = last & (finished.counts[beam.sentences] == 0)
    if not closing.any():
        return
    rows = np.flatnonzero(np.repeat(closing, beam.counts))
    totals = beam.log_probabilities + end_log_probabilities(step)
    finished.add(beam.length, beam.row_sentences[rows], rows, totals[rows], penalties[rows], finished=False)


def _stops(
    beam: Beam,
    candidates: Candidates,
    lives: NDArray[np.bool_],
    finished: Finished,
    constraints: BatchConstraints,
    normalisation: Normalisation,
    config: SearchConfig,
) -> NDArray[np.bool_]:
    """[A] the sentences that stop before the longest length: stops 1 and 2 of the module's docstring."""
    counts = finished.counts[beam.sentences]
    if not counts.any():
        return np.zeros(len(counts), dtype=np.bool_)
    best = np.where(lives, candidates.log_probabilities, -np.inf).max(axis=1)  # -inf where nothing lives
    # The shortest of them has one segment more than the beam, and EOS.
    bound = normalisation.bound(best, constraints.longest[beam.sentences] + 1, beam.length + 2)
    hopeless = bound <= finished.bar[beam.sentences]
    full = (counts >= config.beam) & (best <= finished.most_probable[beam.sentences])
    return np.asarray(hopeless | full)


def _advance(
    beam: Beam, candidates: Candidates, lives: NDArray[np.bool_], stops: NDArray[np.bool_], state: object
) -> Beam:
    """The beam of the next step: the candidates that stay alive, `lives` [B, C], without the sentences that have
    stopped, `stops` [B]."""
    sentences = beam.sentences
    if stops.any():
        lives, sentences = lives & ~stops[:, None], sentences[~stops]
    flat = np.flatnonzero(lives)  # one a row: sentence by sentence, best first
    counts = np.count_nonzero(lives, axis=1)[~stops]
    parents, tokens = candidates.rows.take(flat), candidates.tokens.take(flat)
    return Beam(
        length=beam.length + 1,
        sentences=sentences,
        counts=counts,
        slots=int(counts.max(initial=0)),
        log_probabilities=candidates.log_probabilities.take(flat),
        parents=parents,
        tokens=tokens,
        words=append_tokens(beam.words, parents, tokens),
        state=state,
    )
