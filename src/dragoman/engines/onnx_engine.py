"""The ONNX Runtime engine: an exported model behind the search protocol, with numpy and onnxruntime alone."""

from __future__ import annotations

import copy
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from dragoman.engines.protocol import Forced, Step
from dragoman.engines.rows import Rows, arrange, first_rows, widened
from dragoman.engines.shortlist import Listed, Shortlist
from dragoman.errors import RunError
from dragoman.text.vocabulary import BOS, PAD

_REFUSALS = (runtime.Fail, runtime.InvalidGraph, runtime.InvalidProtobuf, runtime.NotImplemented)

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class _State:
    """The state of the cells and what their sentences are remembered by, under the names of the step graph."""

    memory: Arrays
    """Each [B, S, ..]."""
    state: Arrays
    """Each [cells, ..]."""
    rows: Rows
    time: int
    source: NDArray[np.int64]
    """[B, S] as given; attention is handed out in this width."""
    lengths: NDArray[np.int64]
    """[B] as given."""
    listed: Listed | None
    """The words that may follow; None where the output layer lies in the step graph, and before the first step."""


class OnnxEngine:
    """Runs an encoder graph and a step graph; top-k is taken in the graph.

    With a shortlist, `step` speaks of the words that it lists alone: log-probabilities are normalised over those that
    the sentence lists, and are -inf at all others. Given targets are scored over the whole vocabulary all the same.
    """

    def __init__(
        self,
        encoder: bytes | Path,
        step: bytes | Path,
        shortlist: Shortlist | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        """Graphs are files, or what they hold. `threads` is how many calls may be made at once, each of which takes
        one; None leaves one a processor. The shortlist is the one that was exported with the graphs.

        Raises:
            RunError: onnxruntime cannot use a graph; the shortlist is another model's, or there should be one.
        """
        self._shortlist, self._limited = shortlist, shortlist is not None
        self.workers = threads or processors()
        with ThreadPoolExecutor(2) as both:
            self._encoder, self._step = both.map(_session, (encoder, step))
        self.source_vocabulary_size = int(_fact(self._encoder, "vocabulary_size"))
        self.vocabulary_size = int(_fact(self._step, "vocabulary_size"))
        self.source_eos = _fact(self._encoder, "source_eos") == "1"
        self.attention_shift = int(_fact(self._step, "attention_shift"))
        self._require_fitting_shortlist()
        self._encoded, self._stepped = (
            [output.name for output in session.get_outputs()] for session in (self._encoder, self._step)
        )

    def _require_fitting_shortlist(self) -> None:
        sizes = None
        if any(given.name == "owners" for given in self._step.get_inputs()):
            sizes = self.source_vocabulary_size, self.vocabulary_size, int(_fact(self._step, "always_listed"))
        if sizes != (None if self._shortlist is None else self._shortlist.sizes):
            raise RunError("the exported model and its shortlist do not belong together; export the run again")

    def start(self, source: NDArray[np.int64], source_lengths: NDArray[np.int64]) -> _State:
        outputs = self._encoder.run(self._encoded, {"source": source, "lengths": source_lengths})
        named = dict(zip(self._encoded, outputs, strict=True))
        memory, state = (
            {name: array for name, array in named.items() if name.startswith(kind)} for kind in ("memory.", "state.")
        )
        return _State(memory, state, first_rows(len(source)), 0, source, source_lengths, None)

    def step(self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64], k: int) -> Step:
        assert isinstance(state, _State)
        if state.listed is None and self._shortlist is not None:
            limited = self._shortlist.listed(state.source, state.lengths) if self._limited else self._shortlist.whole
            state = replace(state, listed=limited)
        count = k if state.listed is None else min(k, state.listed.real)
        outputs, after = self._advance(state, parents, tokens, np.zeros_like(tokens), count)
        log_probabilities, words = outputs["log_probabilities"], outputs["words"]
        if state.listed is not None:
            words = state.listed.words[words]
            if count < k:  # no other word may follow
                log_probabilities = widened(log_probabilities, k, -np.inf)
                words = widened(words, k, PAD)
        # Sentences that have left may have been longer.
        attention = widened(outputs["attention"], state.source.shape[1], 0) if "attention" in outputs else None
        return Step(log_probabilities, words, attention, after)

    def full_vocabulary(self) -> OnnxEngine:
        """The same model over the whole vocabulary."""
        other = copy.copy(self)
        other._limited = False
        return other

    def force(
        self,
        source: NDArray[np.int64],
        source_lengths: NDArray[np.int64],
        target: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> Forced:
        return self.force_from(self.start(source, source_lengths), np.arange(len(source)), target, target_lengths)

    def force_from(
        self,
        state: object,
        owners: NDArray[np.int64],
        target: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> Forced:
        assert isinstance(state, _State)
        if self._shortlist is not None:
            state = replace(state, listed=self._shortlist.whole)
        log_probabilities = np.zeros(target.shape, np.float32)
        attention = []
        parents, previous = owners, np.full(len(target), BOS)
        for time, words in enumerate(np.ascontiguousarray(target.T)):
            targets = words if self._shortlist is None else self._shortlist.places[words]
            outputs, state = self._advance(state, parents, previous, targets, 1)
            log_probabilities[:, time] = outputs["target_log_probabilities"]
            if "attention" in outputs:
                attention.append(outputs["attention"])
            parents, previous = np.arange(len(target)), words
        log_probabilities[np.arange(target.shape[1]) >= target_lengths[:, None]] = 0
        return Forced(log_probabilities, np.stack(attention, axis=1) if attention else None)

    def _advance(
        self,
        old: _State,
        parents: NDArray[np.int64],
        tokens: NDArray[np.int64],
        targets: NDArray[np.int64],
        k: int,
    ) -> tuple[Arrays, _State]:
        """All outputs of the step graph by name, and the state after it."""
        rows, sentences, taken, parent_cells = arrange(old.rows, parents)
        memory, listed = old.memory, old.listed
        if rows.sentences != old.rows.sentences:
            memory = _only(memory, sentences)
            listed = None if listed is None else listed.of_some(sentences)
        feed = {
            "tokens": tokens[taken],
            "parents": parent_cells,
            "layout": np.array([rows.sentences, rows.width, -1]),
            "rows": rows.cells,
            "time": np.array([old.time]),
            "targets": targets,
            "k": np.array([k]),
            **memory,
            **old.state,
        }
        if listed is not None:
            feed |= {"owners": rows.cells // rows.width if listed.differs else np.zeros_like(rows.cells)}
            feed |= listed.layers | listed.biases
        outputs = dict(zip(self._stepped, self._step.run(self._stepped, feed), strict=True))
        state = {name: outputs["next." + name.removeprefix("state.")] for name in old.state}
        return outputs, replace(old, memory=memory, state=state, rows=rows, time=old.time + 1, listed=listed)


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _session(graph: bytes | Path) -> onnxruntime.InferenceSession:
    """A graph ready to run, by several threads at once if need be."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what goes wrong is told once, as an error of ours
    options.intra_op_num_threads = 1  # threads that meet at the end of every product of a step lose more than they gain
    options.enable_mem_pattern = False  # patterns are kept for each shape, and shapes here are ever new ones
    try:
        content = graph if isinstance(graph, bytes) else str(graph)
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except _REFUSALS as error:
        raise RunError(f"onnxruntime {onnxruntime.__version__} cannot use the exported model: {error}") from None


def _fact(session: onnxruntime.InferenceSession, name: str) -> str:
    """What the graph's file says about it.

    Raises:
        RunError: nothing under that name.
    """
    facts: dict[str, str] = session.get_modelmeta().custom_metadata_map
    if name not in facts:
        raise RunError(f"the exported model does not tell its {name.replace('_', ' ')}; export the run again")
    return facts[name]


def _only(memory: Arrays, sentences: NDArray[np.int64]) -> Arrays:
    """The memory of some of the sentences, cut to the longest of them."""
    masks = [array for name, array in memory.items() if name.endswith(".mask")]
    if not masks:
        return memory
    length = int(masks[0][sentences].sum(axis=1).max())
    return {name: array[sentences, :length] for name, array in memory.items()}
