"""A trace of the beam search for one sentence: the tree of its hypotheses, kept and dropped.

The search itself is not changed: it reports each of its steps, and the continuations that were kept are the rows of the
next step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.config.schema import SearchConfig
from dragoman.engines.protocol import Engine
from dragoman.search.beam import Beam, Candidates, beam_search
from dragoman.search.constraints import BatchConstraints, Continuations, IdConstraints
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.vocabulary import BOS, EOS

Fate = Literal["kept", "finished", "cut off", "dropped", "open"]
"""The outcome of a hypothesis: continued; ended with EOS among the K best; closed at the longest length; not among the
K best; still among them when the search stopped."""


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


Continuation = tuple[int, int]
"""The row of a step that a hypothesis continues, and the symbol that it adds."""


class _TracedStep(NamedTuple):
    """One step of the search for one sentence."""

    rows: list[Continuation]
    """The origins of its rows in the step before."""
    continuations: Continuations
    chosen: set[Continuation]
    """Those that finish or stay alive."""


def search_tree(
    engine: Engine,
    source: Sequence[int],
    config: SearchConfig,
    dropped: int,
    wanted: IdConstraints | None = None,
    placeholders: Sequence[int] = (),
) -> tuple[Node, Hypothesis]:
    """Translate one sentence and return the tree of its search with the best hypothesis.

    Args:
        source: ids of the segments, without EOS.
        dropped: the number of dropped hypotheses in the tree for each step, the most probable first.
        wanted: the constraints on the translation, if any.
        placeholders: the ids of those that the target vocabulary has.
    """
    segments, given = np.array([len(source)], np.int64), [] if wanted is None else [wanted]
    constraints = BatchConstraints.from_config(
        config, engine.vocabulary_size, segments, given, placeholders=placeholders
    )
    steps: list[_TracedStep] = []

    def record(beam: Beam, step: Continuations, candidates: Candidates, chosen: NDArray[np.bool_]) -> None:
        rows = zip(beam.parents.tolist(), beam.tokens.tolist(), strict=True)
        kept = zip(candidates.rows[chosen].tolist(), candidates.tokens[chosen].tolist(), strict=True)
        # Tokens are copied: the engine may write the next step into the same array.
        steps.append(_TracedStep([*rows], step._replace(tokens=step.tokens.copy()), {*kept}))

    ids = [*source, EOS] if engine.source_eos else list(source)
    lengths = np.array([len(ids)], np.int64)
    (hypotheses,) = beam_search(
        engine, np.array([ids], np.int64), lengths, config, constraints=constraints, on_step=record
    )
    root = Node(BOS, 0.0, 0.0, "kept")
    live = [root]
    for step, following in zip_longest(steps, steps[1:]):
        grown = _grow(live, step, dropped, alive="open" if following is None else "kept")
        live = [] if following is None else [grown[continuation] for continuation in following.rows]
    _mark_best(root, hypotheses[0])
    return root, hypotheses[0]


class _TracedCandidate(NamedTuple):
    total: float
    row: int
    token: int
    log_probability: float


def _permitted(live: Sequence[Node], continuations: Continuations) -> list[_TracedCandidate]:
    """The continuations that no constraint forbids, the most probable hypothesis first."""
    logs, tokens = continuations.log_probabilities.tolist(), continuations.tokens.tolist()
    candidates = [
        _TracedCandidate(node.total + log, row, token, log)
        for row, node in enumerate(live)
        for log, token in zip(logs[row], tokens[row], strict=True)
        if log > -math.inf
    ]
    return sorted(candidates, key=lambda candidate: -candidate.total)


def _grow(live: Sequence[Node], step: _TracedStep, dropped: int, *, alive: Fate) -> dict[Continuation, Node]:
    """Add the continuations of a step to the live nodes, at most `dropped` of the dropped ones; return the added.

    Args:
        alive: the fate of those that are chosen and do not end.
    """
    grown: dict[Continuation, Node] = {}
    for total, row, token, log_probability in _permitted(live, step.continuations):
        fate: Fate = "dropped" if (row, token) not in step.chosen else "finished" if token == EOS else alive
        dropped -= fate == "dropped"
        if fate == "dropped" and dropped < 0:
            continue
        node = Node(token, log_probability, total, fate)
        live[row].children.append(node)
        grown[row, token] = node
    return grown


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
