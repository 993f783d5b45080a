"""The ONNX Runtime engine: an exported model behind the search protocol, with numpy and onnxruntime alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from dragoman.errors import RunError
from dragoman.search.engine import Forced, Step
from dragoman.search.rows import Rows, arrange, first_rows, in_columns
from dragoman.text.vocabulary import BOS

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
    columns: int
    """S of the source that was given; attention is handed out in this width."""


class OnnxEngine:
    """Runs an encoder graph and a step graph; top-k is taken in the graph."""

    def __init__(self, encoder: bytes, step: bytes, *, threads: int | None = None) -> None:
        """`threads` None leaves one a core.

        Raises:
            RunError: onnxruntime cannot use a graph.
        """
        self._encoder, self._step = (_session(graph, threads) for graph in (encoder, step))
        self.source_vocabulary_size = int(_fact(self._encoder, "vocabulary_size"))
        self.vocabulary_size = int(_fact(self._step, "vocabulary_size"))
        self.source_eos = _fact(self._encoder, "source_eos") == "1"
        self.attention_shift = int(_fact(self._step, "attention_shift"))
        self._encoded, self._stepped = (
            [output.name for output in session.get_outputs()] for session in (self._encoder, self._step)
        )

    def start(self, source: NDArray[np.int64], source_lengths: NDArray[np.int64]) -> _State:
        outputs = self._encoder.run(self._encoded, {"source": source, "lengths": source_lengths})
        named = dict(zip(self._encoded, outputs, strict=True))
        memory, state = (
            {name: array for name, array in named.items() if name.startswith(kind)} for kind in ("memory.", "state.")
        )
        return _State(memory, state, first_rows(len(source)), 0, source.shape[1])

    def step(self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64], k: int) -> Step:
        assert isinstance(state, _State)
        outputs, after = self._advance(state, parents, tokens, np.zeros_like(tokens), k)
        attention = in_columns(outputs["attention"], state.columns) if "attention" in outputs else None
        return Step(outputs["log_probabilities"], outputs["words"], attention, after)

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
        log_probabilities = np.zeros(target.shape, np.float32)
        attention = []
        parents, previous = owners, np.full(len(target), BOS)
        for time, words in enumerate(np.ascontiguousarray(target.T)):
            outputs, state = self._advance(state, parents, previous, words, 1)
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
        memory = old.memory if rows.sentences == old.rows.sentences else _only(old.memory, sentences)
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
        outputs = dict(zip(self._stepped, self._step.run(self._stepped, feed), strict=True))
        state = {name: outputs["next." + name.removeprefix("state.")] for name in old.state}
        return outputs, _State(memory, state, rows, old.time + 1, old.columns)


def _session(graph: bytes, threads: int | None) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what goes wrong is told once, as an error of ours
    options.intra_op_num_threads = threads or 0
    options.enable_mem_pattern = False  # patterns are kept for each shape, and shapes here are ever new ones
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
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
    if not memory:
        return memory
    length = int(memory["memory.mask"][sentences].sum(axis=1).max())
    return {name: array[sentences, :length] for name, array in memory.items()}
