"""The ONNX Runtime engine: an exported model behind the engine interface, with numpy and onnxruntime alone."""

from __future__ import annotations

import copy
import mmap
import os
import re
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

# Read by the import: version 1.31 would otherwise write a device id to the user's cache and send usage data.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from dragoman.engines.protocol import Distributions, EngineStep, ForcedScores, RowLayout, arrange, first_rows, widened
from dragoman.engines.shortlist import CHUNK, BatchShortlist, Shortlist
from dragoman.errors import RunError, quoted
from dragoman.stored_files import open_regular
from dragoman.systems import processors
from dragoman.text.vocabulary import BOS, PAD

_REFUSALS: tuple[type[Exception], ...] = (
    *(kind for kind in vars(runtime).values() if isinstance(kind, type) and issubclass(kind, Exception)),
    RuntimeError,  # what C++ code below ONNX Runtime raises
    ValueError,
    IndexError,
    MemoryError,
)
"""The errors of ONNX Runtime for a graph that it cannot load or run."""
_STEP_INPUTS = ("tokens", "parents", "layout", "rows", "time", "targets", "k")
_STEP_OUTPUTS = {
    "log_probabilities": "tensor(float)",
    "words": "tensor(int64)",
    "target_log_probabilities": "tensor(float)",
}

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


class _Graph:
    """A session of a graph, which several threads may run at once."""

    def __init__(self, graph: bytes | Path, name: str) -> None:
        """Open a graph in a file, or in memory; `name` stands for the latter in messages.

        Raises:
            RunError: ONNX Runtime cannot load it, or it refers to other files.
        """
        self._graph = graph
        self.name = name if isinstance(graph, bytes) else str(graph)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # failures are reported once, as our own errors
        options.intra_op_num_threads = 1  # synchronising threads after each product of a step costs more than it saves
        options.enable_mem_pattern = False  # patterns are kept for each shape, and shapes here rarely repeat
        try:
            if refers_to_files(graph):
                raise self.refused("a tensor lies in another file")
            content = graph if isinstance(graph, bytes) else str(graph)
            session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except OSError as error:
            raise self.refused(f"it cannot be read: {error.strerror}") from None
        except _REFUSALS as error:
            raise self._failed(error) from None
        self._session = session
        self._metadata: dict[str, str] = session.get_modelmeta().custom_metadata_map
        self.inputs: dict[str, str] = {value.name: value.type for value in session.get_inputs()}
        """Name -> type."""
        self.outputs: dict[str, str] = {value.name: value.type for value in session.get_outputs()}

    def __reduce__(self) -> tuple[type[_Graph], tuple[bytes | Path, str]]:
        """A copy, such as in another process, opens the graph again."""
        return _Graph, (self._graph, self.name)

    def run(self, feed: Arrays, without: Collection[str] = ()) -> Arrays:
        """The outputs by name, all but those named in `without`.

        Raises:
            RunError: ONNX Runtime cannot compute them.
        """
        names = [name for name in self.outputs if name not in without]
        try:
            return dict(zip(names, self._session.run(names, feed), strict=True))
        except _REFUSALS as error:
            raise self._failed(error) from None

    def number(self, name: str) -> int:
        """A whole number in the metadata.

        Raises:
            RunError: there is no such entry, or it is something else.
        """
        text = self._metadata.get(name)
        if text is None or not re.fullmatch("[0-9]{1,9}", text):
            raise self.refused(f"it does not state its {name.replace('_', ' ')}")
        return int(text)

    def require(self, actual: Mapping[str, str], expected: Mapping[str, str]) -> None:
        """Compare the names and types of inputs or outputs with those of an exported model.

        Raises:
            RunError: they differ; the message names one of them.
        """
        for name in sorted(actual.keys() | expected.keys()):
            if actual.get(name) != expected.get(name):
                raise self.refused(
                    f"an exported model has {quoted(name)} as {expected.get(name, 'nothing')}, this one as "
                    f"{actual.get(name, 'nothing')}"
                )

    def refused(self, reason: str) -> RunError:
        """The error for a graph that is not what `dragoman export` wrote."""
        return RunError(f"{self.name}: cannot be used: {reason}; export the run again")

    def _failed(self, error: Exception) -> RunError:
        reason = str(error).partition("\n")[0] or type(error).__name__
        return self.refused(f"onnxruntime {onnxruntime.__version__}: {reason}")


class OnnxEngine:
    """Runs an encoder graph and a step graph; top-k is taken in the graph.

    With a shortlist, `step` and `step_all` return its words alone: log-probabilities are normalised over the shortlist
    of the sentence, and are -inf at all other words. Given targets are scored over the full vocabulary all the same.
    """

    def __init__(
        self,
        encoder: bytes | Path,
        step: bytes | Path,
        shortlist: Shortlist | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        """Graphs are files or their contents. `threads` calls may be made at once, each of them in one thread; None is
        one for each processor. `shortlist` was exported with the graphs.

        Raises:
            RunError: onnxruntime cannot load a graph; a graph refers to other files, or has other inputs or outputs
                than an exported model; the shortlist is missing or belongs to another model.
        """
        self._shortlist, self._restricted = shortlist, shortlist is not None
        self.workers = threads or processors()
        with ThreadPoolExecutor(2) as both:
            self._encoder, self._step = both.map(_Graph, (encoder, step), ("the encoder graph", "the step graph"))
        self.source_vocabulary_size = self._encoder.number("vocabulary_size")
        self.vocabulary_size = self._step.number("vocabulary_size")
        self.source_eos = self._encoder.number("source_eos") == 1
        self.attention_shift = self._step.number("attention_shift")
        self.attends = "attention" in self._step.outputs
        self._distribution = "probabilities" if "probabilities" in self._step.outputs else "logits"
        self._require_fitting_shortlist()
        self._require_signatures()

    def _require_fitting_shortlist(self) -> None:
        sizes = None
        if "owners" in self._step.inputs:
            sizes = self.source_vocabulary_size, self.vocabulary_size, self._step.number("always_listed")
        if sizes != (None if self._shortlist is None else self._shortlist.sizes):
            raise RunError("the exported model and its shortlist do not belong together; export the run again")

    def _require_signatures(self) -> None:
        """Check that the graphs have the inputs and outputs of an exported model."""
        encoder, step = self._encoder, self._step
        encoder.require(encoder.inputs, {"source": "tensor(int64)", "lengths": "tensor(int64)"})
        memory, states = (
            {name: kind for name, kind in encoder.outputs.items() if name.startswith(prefix)}
            for prefix in ("memory.", "state.")
        )
        encoder.require(encoder.outputs, memory | states)
        limits = set() if self._shortlist is None else self._shortlist.input_names
        step.require(
            step.inputs,
            dict.fromkeys(_STEP_INPUTS, "tensor(int64)")
            | memory
            | states
            | {name: step.inputs.get(name, "a tensor") for name in limits},
        )
        others = {self._distribution} | ({"attention"} & step.outputs.keys())
        following = {"next." + name.removeprefix("state."): kind for name, kind in states.items()}
        step.require(step.outputs, _STEP_OUTPUTS | dict.fromkeys(others, "tensor(float)") | following)

    def start(self, source: NDArray[np.int64], source_lengths: NDArray[np.int64]) -> _OnnxState:
        named = self._encoder.run({"source": source, "lengths": source_lengths})
        for name, array in named.items():
            axes = 2 if name.endswith(".mask") else 1
            if array.shape[:axes] != source.shape[:axes]:
                raise self._encoder.refused(f"it computes {name} of shape {list(array.shape)}")
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
        return EngineStep(log_probabilities, words, self._attention(outputs, state), after)

    def step_all(self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64]) -> Distributions:
        assert isinstance(state, _OnnxState)
        state = self._with_shortlist(state)
        outputs, after = self._advance(state, parents, tokens, np.zeros_like(tokens), 1, distribution=True)
        log_probabilities = self._log_probabilities(outputs)
        if state.shortlist is None:
            log_probabilities = log_probabilities[:, : self.vocabulary_size]  # whole chunks -> [R, V]
        else:
            assert self._shortlist is not None
            log_probabilities = self._shortlist.spread(log_probabilities, state.shortlist)
        return Distributions(log_probabilities, self._attention(outputs, state), after)

    def _log_probabilities(self, outputs: Arrays) -> NDArray[np.float32]:
        """The log-probabilities of all words of the step graph, [R, whole chunks]; `outputs` are those of k = 1."""
        distributions: NDArray[np.float32] = outputs[self._distribution]
        if self._distribution == "probabilities":
            with np.errstate(divide="ignore"):  # of padding, and where a probability underflows
                return np.log(distributions)
        log_sum = np.take_along_axis(distributions, outputs["words"], axis=1) - outputs["log_probabilities"]  # [R, 1]
        return distributions - log_sum

    def _attention(self, outputs: Arrays, state: _OnnxState) -> NDArray[np.float32] | None:
        """[R, S] as wide as the source: sentences that have left may have been longer."""
        return widened(outputs["attention"], state.source.shape[1], 0) if self.attends else None

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
            targets = words if self._shortlist is None else self._shortlist.columns[words]
            outputs, state = self._advance(state, parents, previous, targets, 1)
            log_probabilities[:, time] = outputs["target_log_probabilities"]
            if self.attends:
                attention.append(outputs["attention"])
            parents, previous = np.arange(len(target)), words
        log_probabilities[np.arange(target.shape[1]) >= target_lengths[:, None]] = 0
        return ForcedScores(log_probabilities, np.stack(attention, axis=1) if attention else None)

    def _require_possible(self, outputs: Arrays, shape: tuple[int, int], shortlist: BatchShortlist | None) -> None:
        """Check what search relies on: [R, k] log-probabilities, words of the vocabulary, a distribution over all.

        Raises:
            RunError: an altered graph computes something else.
        """
        words, size = outputs["words"], self.vocabulary_size if shortlist is None else len(shortlist.words)
        if words.shape != shape or (words.size and not 0 <= words.min() <= words.max() < size):
            raise self._step.refused(f"it computes impossible words, of shape {list(words.shape)}")
        shapes: dict[str, tuple[int, ...]] = {"log_probabilities": shape, "target_log_probabilities": shape[:1]}
        if self._distribution in outputs:
            shapes[self._distribution] = (shape[0], CHUNK * -(-size // CHUNK))
        for name, expected in shapes.items():
            if outputs[name].shape != expected:
                raise self._step.refused(f"it computes {name} of shape {list(outputs[name].shape)}")

    def _advance(
        self,
        old: _OnnxState,
        parents: NDArray[np.int64],
        tokens: NDArray[np.int64],
        targets: NDArray[np.int64],
        k: int,
        *,
        distribution: bool = False,
    ) -> tuple[Arrays, _OnnxState]:
        """The outputs of the step graph by name, the distribution only if asked for, and the state after it."""
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
        outputs = self._step.run(feed, without=() if distribution else (self._distribution,))
        self._require_possible(outputs, (len(tokens), k), shortlist)
        state = {name: outputs["next." + name.removeprefix("state.")] for name in old.state}
        return outputs, replace(old, memory=memory, state=state, rows=rows, time=old.time + 1, shortlist=shortlist)


def _only(memory: Arrays, sentences: NDArray[np.int64]) -> Arrays:
    """The encoded sources [B, S, ..] of some of the sentences, cut to the longest of them: [B', S', ..]."""
    masks = [array for name, array in memory.items() if name.endswith(".mask")]
    if not masks:
        return memory
    length = int(masks[0][sentences].sum(axis=1).max())
    return {name: array[sentences, :length] for name, array in memory.items()}


_KEY = b"location"
_LENGTHS = (len(_KEY), 0)
"""The last byte of the length before the key: 8, or 0 if the number is written with more bytes than it needs."""


def refers_to_files(graph: bytes | Path) -> bool:
    """Whether a graph has a tensor in another file, which ONNX Runtime would read from wherever the graph says.

    Such a tensor has an entry with the key "location" (TensorProto.external_data, a StringStringEntryProto). An
    exported graph has all its tensors in itself, and no such string. The onnx library is not needed.

    Raises:
        OSError: the file cannot be read, or is no regular file.
    """
    with _content(graph) as content:
        position = content.find(_KEY)
        while position >= 0:
            if position and content[position - 1] in _LENGTHS:
                return True
            position = content.find(_KEY, position + 1)
    return False


@contextmanager
def _content(graph: bytes | Path) -> Iterator[bytes | mmap.mmap]:
    if isinstance(graph, bytes):
        yield graph
        return
    with open_regular(graph) as file:
        if not file.read(1):
            yield b""  # an empty file cannot be mapped
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield content
