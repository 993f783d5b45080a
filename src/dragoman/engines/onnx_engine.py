"""The ONNX Runtime engine: an exported model behind the engine interface, with numpy and onnxruntime alone."""

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

from dragoman.engines.protocol import EngineStep, ForcedScores
from dragoman.engines.rows import RowLayout, arrange, first_rows, widened
from dragoman.engines.shortlist import BatchShortlist, Shortlist
from dragoman.errors import RunError
from dragoman.text.vocabulary import BOS, PAD

_REFUSALS = (runtime.Fail, runtime.InvalidGraph, runtime.InvalidProtobuf, runtime.NotImplemented)

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class _OnnxState:
    """The state of the decoder and the encoded sources, by the names of the step graph's inputs."""

    memory: Arrays
    """Each [B, S, ..]."""
    state: Arrays
    """Each [cells, ..]."""
    rows: RowLayout
    time: int
    source: NDArray[np.int64]
    """[B, S] as given; attention is returned in this width."""
    lengths: NDArray[np.int64]
    """[B] as given."""
    shortlist: BatchShortlist | None
    """The words that may follow; None before the first step, and where the step graph has the whole output layer."""


class OnnxEngine:
    """Runs an encoder graph and a step graph; top-k is taken in the graph.

    With a shortlist, `step` returns its words alone: log-probabilities are normalised over the shortlist of the
    sentence, and are -inf at all other words. Given targets are scored over the full vocabulary all the same.
    """

    def __init__(
        self,
        encoder: bytes | Path,
        step: bytes | Path,
        shortlist: Shortlist | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        """Graphs are files or their contents. `threads` is the number of calls that may be made at once, each of which
        computes in one thread; None is one for each processor. `shortlist` was exported with the graphs.

        Raises:
            RunError: onnxruntime cannot load a graph; the shortlist is missing or belongs to another model.
        """
        self._shortlist, self._restricted = shortlist, shortlist is not None
        self.workers = threads or processors()
        with ThreadPoolExecutor(2) as both:
            self._encoder, self._step = both.map(_session, (encoder, step))
        self.source_vocabulary_size = int(_metadata(self._encoder, "vocabulary_size"))
        self.vocabulary_size = int(_metadata(self._step, "vocabulary_size"))
        self.source_eos = _metadata(self._encoder, "source_eos") == "1"
        self.attention_shift = int(_metadata(self._step, "attention_shift"))
        self._require_fitting_shortlist()
        self._encoded, self._stepped = (
            [output.name for output in session.get_outputs()] for session in (self._encoder, self._step)
        )

    def _require_fitting_shortlist(self) -> None:
        sizes = None
        if any(given.name == "owners" for given in self._step.get_inputs()):
            sizes = self.source_vocabulary_size, self.vocabulary_size, int(_metadata(self._step, "always_listed"))
        if sizes != (None if self._shortlist is None else self._shortlist.sizes):
            raise RunError("the exported model and its shortlist do not belong together; export the run again")

    def start(self, source: NDArray[np.int64], source_lengths: NDArray[np.int64]) -> _OnnxState:
        outputs = self._encoder.run(self._encoded, {"source": source, "lengths": source_lengths})
        named = dict(zip(self._encoded, outputs, strict=True))
        memory, state = (
            {name: array for name, array in named.items() if name.startswith(kind)} for kind in ("memory.", "state.")
        )
        return _OnnxState(memory, state, first_rows(len(source)), 0, source, source_lengths, None)

    def step(self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64], k: int) -> EngineStep:
        assert isinstance(state, _OnnxState)
        state = self._with_shortlist(state)
        count = k if state.shortlist is None else min(k, state.shortlist.real)
        outputs, after = self._advance(state, parents, tokens, np.zeros_like(tokens), count)
        log_probabilities, words = outputs["log_probabilities"], outputs["words"]
        if state.shortlist is not None:
            words = state.shortlist.words[words]
            if count < k:  # no other word may follow
                log_probabilities = widened(log_probabilities, k, -np.inf)
                words = widened(words, k, PAD)
        # Sentences that have left may have been longer.
        attention = widened(outputs["attention"], state.source.shape[1], 0) if "attention" in outputs else None
        return EngineStep(log_probabilities, words, attention, after)

    def full_vocabulary(self) -> OnnxEngine:
        """The same model without its shortlist."""
        other = copy.copy(self)
        other._restricted = False
        return other

    def _with_shortlist(self, state: _OnnxState) -> _OnnxState:
        """The state with the words that may follow, which the first step adds."""
        if state.shortlist is not None or self._shortlist is None:
            return state
        if self._restricted:
            return replace(state, shortlist=self._shortlist.for_batch(state.source, state.lengths))
        return replace(state, shortlist=self._shortlist.full_vocabulary)

    def force(
        self,
        source: NDArray[np.int64],
        source_lengths: NDArray[np.int64],
        target: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> ForcedScores:
        return self.force_from(self.start(source, source_lengths), np.arange(len(source)), target, target_lengths)

    def force_from(
        self,
        state: object,
        owners: NDArray[np.int64],
        target: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> ForcedScores:
        assert isinstance(state, _OnnxState)
        if self._shortlist is not None:
            state = replace(state, shortlist=self._shortlist.full_vocabulary)
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
        return ForcedScores(log_probabilities, np.stack(attention, axis=1) if attention else None)

    def _advance(
        self,
        old: _OnnxState,
        parents: NDArray[np.int64],
        tokens: NDArray[np.int64],
        targets: NDArray[np.int64],
        k: int,
    ) -> tuple[Arrays, _OnnxState]:
        """All outputs of the step graph by name, and the state after it."""
        rows, sentences, taken, parent_cells = arrange(old.rows, parents)
        memory, shortlist = old.memory, old.shortlist
        if rows.sentences != old.rows.sentences:
            memory = _only(memory, sentences)
            shortlist = None if shortlist is None else shortlist.select(sentences)
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
        if shortlist is not None:
            feed |= {"owners": rows.cells // rows.width if shortlist.differs else np.zeros_like(rows.cells)}
            feed |= shortlist.layers | shortlist.biases
        outputs = dict(zip(self._stepped, self._step.run(self._stepped, feed), strict=True))
        state = {name: outputs["next." + name.removeprefix("state.")] for name in old.state}
        return outputs, replace(old, memory=memory, state=state, rows=rows, time=old.time + 1, shortlist=shortlist)


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _session(graph: bytes | Path) -> onnxruntime.InferenceSession:
    """A session of a graph, which several threads may run at once."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # failures are reported once, as our own errors
    options.intra_op_num_threads = 1  # synchronising threads after each product of a step costs more than it saves
    options.enable_mem_pattern = False  # patterns are kept for each shape, and shapes here rarely repeat
    try:
        content = graph if isinstance(graph, bytes) else str(graph)
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except _REFUSALS as error:
        raise RunError(f"onnxruntime {onnxruntime.__version__} cannot use the exported model: {error}") from None


def _metadata(session: onnxruntime.InferenceSession, name: str) -> str:
    """An entry of the graph's metadata.

    Raises:
        RunError: there is no such entry.
    """
    entries: dict[str, str] = session.get_modelmeta().custom_metadata_map
    if name not in entries:
        raise RunError(f"the exported model does not state its {name.replace('_', ' ')}; export the run again")
    return entries[name]


def _only(memory: Arrays, sentences: NDArray[np.int64]) -> Arrays:
    """The encoded sources of some of the sentences, cut to the longest of them."""
    masks = [array for name, array in memory.items() if name.endswith(".mask")]
    if not masks:
        return memory
    length = int(masks[0][sentences].sum(axis=1).max())
    return {name: array[sentences, :length] for name, array in memory.items()}
