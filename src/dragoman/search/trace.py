"""A trace of the beam search for one sentence: the tree of its hypotheses, kept and dropped.

The search itself is not changed: it reports each of its steps, and the continuations that were kept are the rows of the
next step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.config.schema import SearchConfig
from dragoman.engines.protocol import Engine, EngineStep
from dragoman.search.beam import Beam, beam_search
from dragoman.search.constraints import BatchConstraints
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.vocabulary import BOS, EOS

Fate = Literal["kept", "finished", "cut off", "dropped", "open"]
"""The outcome of a hypothesis: continued; ended with EOS among the K best; closed at the longest length; not among the
K best, or forbidden by a constraint; still among the K best when the search stopped."""


@dataclass(slots=True)
class Node:
    """A hypothesis of a search: its last symbol, and all that continue it."""

    token: int
    log_probability: float
    """Natural logarithm of the probability of the last symbol."""
    total: float
    """Sum over all symbols so far, by which pruning compares."""
    fate: Fate
    best: bool = False
    """Whether the translation has this prefix."""
    children: list[Node] = field(default_factory=list)
    """The more probable first."""


class _TracedStep(NamedTuple):
    """One step of the search: the rows before it, [R], and what the engine returned, [R, k]."""

    parents: NDArray[np.int64]
    tokens: NDArray[np.int64]
    log_probabilities: NDArray[np.float64]
    candidates: NDArray[np.int64]


def search_tree(engine: Engine, source: Sequence[int], config: SearchConfig, dropped: int) -> tuple[Node, Hypothesis]:
    """Translate one sentence and return the tree of its search with the best hypothesis.

    Args:
        source: ids of the segments, without EOS.
        dropped: the number of dropped hypotheses in the tree for each step, the most probable first.
    """
    steps: list[_TracedStep] = []

    def record(beam: Beam, step: EngineStep) -> None:
        logs = step.log_probabilities.astype(np.float64)
        steps.append(_TracedStep(beam.parents, beam.tokens, logs, step.tokens.copy()))

    ids = [*source, EOS] if engine.source_eos else list(source)
    (hypotheses,) = beam_search(
        engine, np.array([ids], np.int64), np.array([len(ids)], np.int64), config, on_step=record
    )
    constraints = BatchConstraints.from_config(config, engine.vocabulary_size, np.array([len(source)], np.int64))
    root = Node(BOS, 0.0, 0.0, "kept")
    live, ended = [root], 0
    for length, step in enumerate(steps):
        following = steps[length + 1] if length + 1 < len(steps) else None
        slots = config.beam - (ended if config.finish == "shrink" else 0)
        grown = _grow(live, _permitted(live, step, constraints, length), _kept(following), slots, dropped)
        ended += sum(node.fate == "finished" for node in grown.values())
        live = [grown[continuation] for continuation in _kept(following) or ()]
    _mark_best(root, hypotheses[0])
    return root, hypotheses[0]


Continuation = tuple[int, int]
"""The row of a step that a hypothesis continues, and the symbol that it adds."""


def _kept(following: _TracedStep | None) -> list[Continuation] | None:
    """The origins of the rows of the following step, in their order; None if there is no such step."""
    return None if following is None else list(zip(following.parents.tolist(), following.tokens.tolist(), strict=True))


class _TracedCandidate(NamedTuple):
    total: float
    row: int
    token: int
    log_probability: float


def _permitted(
    live: Sequence[Node], step: _TracedStep, constraints: BatchConstraints, length: int
) -> list[_TracedCandidate]:
    """The continuations that no constraint on single symbols forbids, the most probable hypothesis first."""
    blocked = constraints.blocked.copy()
    blocked[EOS] |= length < min(int(constraints.shortest[0]), int(constraints.longest[0]))
    candidates = [
        _TracedCandidate(node.total + log, row, token, log)
        for row, node in enumerate(live)
        for log, token in zip(step.log_probabilities[row].tolist(), step.candidates[row].tolist(), strict=True)
        if not blocked[token]
    ]
    return sorted(candidates, key=lambda candidate: -candidate.total)


def _grow(
    live: Sequence[Node],
    candidates: Sequence[_TracedCandidate],
    kept: Sequence[Continuation] | None,
    slots: int,
    dropped: int,
) -> dict[Continuation, Node]:
    """Add the continuations of a step to the live nodes, at most `dropped` of the dropped ones; return the added."""
    grown: dict[Continuation, Node] = {}
    for rank, (total, row, token, log_probability) in enumerate(candidates):
        fate = _fate((row, token), rank < slots, kept)
        dropped -= fate == "dropped"
        if fate == "dropped" and dropped < 0:
            continue
        node = Node(token, log_probability, total, fate)
        live[row].children.append(node)
        grown[row, token] = node
    return grown


def _fate(continuation: Continuation, among_best: bool, kept: Sequence[Continuation] | None) -> Fate:
    if continuation[1] == EOS:
        return "finished" if among_best else "dropped"
    if kept is None:
        return "open" if among_best else "dropped"
    return "kept" if continuation in kept else "dropped"


def _mark_best(root: Node, hypothesis: Hypothesis) -> None:
    """Mark the nodes of the translation; an EOS that closed it is no continuation that the search chose."""
    node = root
    node.best = True
    for token in hypothesis.tokens:
        following = next((child for child in node.children if child.token == token), None)
        if following is None or (token == EOS and not hypothesis.finished):
            following = Node(token, hypothesis.log_probability - node.total, hypothesis.log_probability, "cut off")
            node.children.append(following)
        following.best = True
        node = following
