"""The torch engine: a TranslationModel behind the engine interface, on CPU or GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.data.batches import Batch
from dragoman.data.prefix_trie import prefix_trie
from dragoman.engines.protocol import Distributions, EngineStep, ForcedScores, RowLayout, arrange, first_rows, widened
from dragoman.model.attention import AttentionMemory
from dragoman.model.decoder import DecoderState, PreparedDecoder
from dragoman.model.translation import ModelForced, TranslationModel


@dataclass(frozen=True)
class _TorchState:
    """The state of the live rows and the encoded sources of their sentences."""

    memory: AttentionMemory | None
    prepared: PreparedDecoder
    state: DecoderState
    rows: RowLayout
    columns: int
    """S of the source that was given; attention is returned in this width."""


class TorchEngine:
    """Runs a model one step at a time; top-k is taken where the logits are."""

    def __init__(self, model: TranslationModel) -> None:
        self.model = model

    @property
    def vocabulary_size(self) -> int:
        return self.model.output.weight.shape[0]

    @property
    def source_eos(self) -> bool:
        return self.model.source_eos

    @property
    def attention_shift(self) -> int:
        return self.model.attention_shift

    @property
    def attends(self) -> bool:
        return self.model.decoder.alignment is not None

    @contextmanager
    def threads(self, count: int) -> Iterator[None]:
        """Compute on so many CPU threads in a `with` block; they are those of the process, as torch has no others."""
        before = torch.get_num_threads()
        torch.set_num_threads(count)
        try:
            yield
        finally:
            torch.set_num_threads(before)

    @torch.inference_mode()
    def start(self, source: NDArray[np.int64], source_lengths: NDArray[np.int64]) -> _TorchState:
        memory, state = self.model.start(source, source_lengths)
        prepared = self.model.decoder.prepare(memory, len(source))
        return _TorchState(memory, prepared, state, first_rows(len(source)), source.shape[1])

    @torch.inference_mode()
    def step(self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64], k: int) -> EngineStep:
        log_probabilities, attention, after = self._advance(state, parents, tokens)
        best = log_probabilities.topk(k, dim=1)  # [R, V] -> [R, k]
        return EngineStep(best.values.float().cpu().numpy(), best.indices.cpu().numpy(), attention, after)

    @torch.inference_mode()
    def step_all(self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64]) -> Distributions:
        log_probabilities, attention, after = self._advance(state, parents, tokens)
        return Distributions(log_probabilities.float().cpu().numpy(), attention, after)

    def _advance(
        self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64]
    ) -> tuple[Tensor, NDArray[np.float32] | None, _TorchState]:
        """Log-probabilities [R, V], alignment weights [R, S] and the state after `tokens` [R]."""
        assert isinstance(state, _TorchState)
        now, taken = self._arrange(state, parents)
        words = torch.from_numpy(tokens[taken]).to(self.model.device)
        step = self.model.step(words, now.state, now.prepared)
        cells = torch.from_numpy(now.rows.cells).to(self.model.device)
        attention = None
        if step.weights is not None:
            attention = widened(step.weights.index_select(0, cells).float().cpu().numpy(), now.columns, 0)
        return step.log_probabilities.index_select(0, cells), attention, replace(now, state=step.state)

    def force(
        self,
        source: NDArray[np.int64],
        source_lengths: NDArray[np.int64],
        target: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> ForcedScores:
        batch = Batch(source, source_lengths, target, target_lengths, np.arange(len(target)))
        return _as_arrays(self.model.force(batch))

    @torch.inference_mode()
    def force_from(
        self,
        state: object,
        owners: NDArray[np.int64],
        target: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> ForcedScores:
        """Each distinct prefix is stepped once, and all softmaxes are computed together at the end."""
        assert isinstance(state, _TorchState)
        shared = prefix_trie(owners, target, target_lengths)
        model, now = self.model, state
        readouts: list[Tensor] = []
        weights: list[Tensor] = []
        centres: list[Tensor] = []
        for level in shared.levels:
            now, taken = self._arrange(now, level.parents)
            output, after = model.advance(
                torch.from_numpy(level.words[taken]).to(model.device), now.state, now.prepared
            )
            cells = torch.from_numpy(now.rows.cells).to(model.device)
            readouts.append(output.readout.index_select(0, cells))
            if output.weights is not None:
                weights.append(output.weights.index_select(0, cells))
            if output.centres is not None:
                centres.append(output.centres.index_select(0, cells))
            now = replace(now, state=after)
        real = shared.nodes >= 0
        nodes = torch.from_numpy(shared.nodes[real]).to(model.device)
        words = torch.from_numpy(target[real]).to(model.device)
        forced = np.zeros(target.shape, np.float32)
        forced[real] = model.output.word_log_probabilities(torch.cat(readouts), words, nodes).float().cpu().numpy()
        return ForcedScores(forced, _by_target(weights, shared.nodes), _by_target(centres, shared.nodes))

    def _arrange(self, old: _TorchState, parents: NDArray[np.int64]) -> tuple[_TorchState, NDArray[np.int64]]:
        """The layout and state of the rows that continue `parents`, and the row of `parents` in each cell.

        Sentences without rows are dropped from the encoded sources too.
        """
        # In round widths, because torch caches kernels for each number of rows, some of a MB each, and the number of
        # given translations of a source varies widely.
        rows, sentences, taken, parent_cells = arrange(old.rows, parents, rounded=True)
        memory, prepared, device = old.memory, old.prepared, self.model.device
        if memory is not None and rows.sentences < old.rows.sentences:
            memory = memory.select(torch.from_numpy(sentences).to(device))
            prepared = self.model.decoder.with_memory(prepared, memory)
        state = old.state.select(torch.from_numpy(parent_cells).to(device))
        return _TorchState(memory, prepared, state, rows, old.columns), taken


def _as_arrays(forced: ModelForced) -> ForcedScores:
    def array(tensor: Tensor | None) -> NDArray[np.float32] | None:
        return None if tensor is None else tensor.float().cpu().numpy()

    return ForcedScores(forced.log_probabilities.float().cpu().numpy(), array(forced.weights), array(forced.centres))


def _by_target(levels: list[Tensor], nodes: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """The results of the nodes of all levels, [R] or [R, S], at the positions of the targets: [N, T, ..], 0 on padding.

    Sentences that have ended are not in the lower levels, which may be narrower for that.
    """
    if not levels:
        return None
    width = levels[0].shape[1:]
    rows = np.zeros((sum(map(len, levels)) + 1, *width), np.float32)  # the last row is for padding, node -1
    start = 0
    for level in levels:
        end = start + len(level)
        rows[(slice(start, end), *(slice(0, size) for size in level.shape[1:]))] = level.float().cpu().numpy()
        start = end
    return np.asarray(rows[nodes])
