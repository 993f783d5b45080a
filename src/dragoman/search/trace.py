"""What a beam search did with one sentence: the tree of its hypotheses, kept and dropped.

The search itself is not asked. An engine that writes down every answer stands between it and the model; which
continuations were kept is seen from what the search asks for next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.config.schema import SearchConfig
from dragoman.engines.protocol import Engine, Forced, Step
from dragoman.search.beam import beam_search
from dragoman.search.constraints import Rules
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.vocabulary import BOS, EOS

Fate = Literal["kept", "finished", "cut off", "dropped", "open"]
"""What became of a hypothesis: continued; ended with EOS among the K best; ended by force at the longest length; not
among the K best, or forbidden by a rule; still good enough to go on when the search stopped."""


@dataclass(slots=True)
class Node:
    """A hypothesis of a search: its last symbol, and all that continue it."""

    token: int
    log_probability: float
    """Of the symbol, natural logarithm."""
    total: float
    """Of all symbols so far; what is kept is decided by it."""
    fate: Fate
    best: bool = False
    """Whether the translation begins so."""
    children: list[Node] = field(default_factory=list)
    """The more probable first."""


class _Recorded(NamedTuple):
    """One step: what was asked of the engine, [R], and what it answered, [R, k]."""

    parents: NDArray[np.int64]
    tokens: NDArray[np.int64]
    log_probabilities: NDArray[np.float64]
    candidates: NDArray[np.int64]


class _RecordingEngine:
    """An engine that remembers each of its steps."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.steps: list[_Recorded] = []

    @property
    def vocabulary_size(self) -> int:
        return self._engine.vocabulary_size

    @property
    def source_eos(self) -> bool:
        return self._engine.source_eos

    @property
    def attention_shift(self) -> int:
        return self._engine.attention_shift

    def start(self, source: NDArray[np.int64], source_lengths: NDArray[np.int64]) -> object:
        return self._engine.start(source, source_lengths)

    def step(self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64], k: int) -> Step:
        answer = self._engine.step(state, parents, tokens, k)
        logs = answer.log_probabilities.astype(np.float64)
        self.steps.append(_Recorded(parents.copy(), tokens.copy(), logs, answer.tokens.copy()))
        return answer

    def force(
        self,
        source: NDArray[np.int64],
        source_lengths: NDArray[np.int64],
        target: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> Forced:
        return self._engine.force(source, source_lengths, target, target_lengths)


def search_tree(engine: Engine, source: Sequence[int], config: SearchConfig, dropped: int) -> tuple[Node, Hypothesis]:
    """Translate one sentence and return the tree of its search with the best hypothesis.

    Args:
        source: ids of the segments, without end of sentence.
        dropped: of each step so many of the most probable hypotheses that were dropped are in the tree.
    """
    recording = _RecordingEngine(engine)
    ids = [*source, EOS] if engine.source_eos else list(source)
    (hypotheses,) = beam_search(recording, np.array([ids], np.int64), np.array([len(ids)], np.int64), config)
    rules = Rules.from_config(config, engine.vocabulary_size, np.array([len(source)], np.int64))
    root = Node(BOS, 0.0, 0.0, "kept")
    live, ended = [root], 0
    for length, step in enumerate(recording.steps):
        following = recording.steps[length + 1] if length + 1 < len(recording.steps) else None
        slots = config.beam - (ended if config.finish == "shrink" else 0)
        grown = _grow(live, _permitted(live, step, rules, length), _kept(following), slots, dropped)
        ended += sum(node.fate == "finished" for node in grown.values())
        live = [grown[place] for place in _kept(following) or ()]
    _mark_best(root, hypotheses[0])
    return root, hypotheses[0]


Place = tuple[int, int]
"""The row of a step that a hypothesis continues, and the symbol it continues it with."""


def _kept(following: _Recorded | None) -> list[Place] | None:
    """Where the rows of the following step come from, in their order; None if there is none."""
    return None if following is None else list(zip(following.parents.tolist(), following.tokens.tolist(), strict=True))


class _Candidate(NamedTuple):
    total: float
    row: int
    token: int
    log_probability: float


def _permitted(live: Sequence[Node], step: _Recorded, rules: Rules, length: int) -> list[_Candidate]:
    """The continuations that are allowed whatever stands before, the most probable hypothesis first."""
    blocked = rules.blocked.copy()
    blocked[EOS] |= length < min(int(rules.shortest[0]), int(rules.longest[0]))
    candidates = [
        _Candidate(node.total + log, row, token, log)
        for row, node in enumerate(live)
        for log, token in zip(step.log_probabilities[row].tolist(), step.candidates[row].tolist(), strict=True)
        if not blocked[token]
    ]
    return sorted(candidates, key=lambda candidate: -candidate.total)


def _grow(
    live: Sequence[Node], candidates: Sequence[_Candidate], kept: Sequence[Place] | None, slots: int, dropped: int
) -> dict[Place, Node]:
    """Hang the continuations of a step on the live nodes, of the dropped ones so many; return those that were hung."""
    grown: dict[Place, Node] = {}
    for rank, (total, row, token, log_probability) in enumerate(candidates):
        fate = _fate((row, token), rank < slots, kept)
        dropped -= fate == "dropped"
        if fate == "dropped" and dropped < 0:
            continue
        node = Node(token, log_probability, total, fate)
        live[row].children.append(node)
        grown[row, token] = node
    return grown


def _fate(place: Place, among_best: bool, kept: Sequence[Place] | None) -> Fate:
    if place[1] == EOS:
        return "finished" if among_best else "dropped"
    if kept is None:
        return "open" if among_best else "dropped"
    return "kept" if place in kept else "dropped"


def _mark_best(root: Node, hypothesis: Hypothesis) -> None:
    """Follow the translation; an end that was forced is no continuation that the search chose."""
    node = root
    node.best = True
    for token in hypothesis.tokens:
        found = next((child for child in node.children if child.token == token), None)
        if found is None or (token == EOS and not hypothesis.finished):
            found = Node(token, hypothesis.log_probability - node.total, hypothesis.log_probability, "cut off")
            node.children.append(found)
        found.best = True
        node = found
