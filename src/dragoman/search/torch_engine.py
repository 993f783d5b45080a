"""The torch engine: a TranslationModel behind the search protocol, on CPU or GPU."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.data.batches import Batch
from dragoman.model.attention import Memory
from dragoman.model.decoder import Bound, DecoderState
from dragoman.model.translation import Forced as ModelForced
from dragoman.model.translation import Start, TranslationModel
from dragoman.search.engine import Forced, Step


@dataclass(frozen=True)
class _Rows:
    """The live rows, laid out as [sentences, width] so that what a sentence is remembered by is kept once.

    Sentences with fewer rows than the widest are filled up with copies of their first one; `cells` says where in
    that layout each real row is.
    """

    memory: Memory | None
    bound: Bound
    state: DecoderState
    sentences: int
    cells: NDArray[np.int64]
    """[R] row -> cell of the layout, sentence * width + place."""
    width: int
    columns: int
    """S of the source that was given; attention is handed out in this width."""


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

    @torch.inference_mode()
    def start(self, source: NDArray[np.int64], source_lengths: NDArray[np.int64]) -> _Rows:
        memory, state = self.model.start(source, source_lengths)
        bound = self.model.decoder.bind(memory, len(source))
        return _Rows(memory, bound, state, len(source), np.arange(len(source)), 1, source.shape[1])

    @torch.inference_mode()
    def step(self, state: object, parents: NDArray[np.int64], tokens: NDArray[np.int64], k: int) -> Step:
        assert isinstance(state, _Rows)
        rows, taken = self._arrange(state, parents)
        words = torch.from_numpy(tokens[taken]).to(self.model.device)
        step = self.model.step(words, rows.state, rows.bound)
        cells = torch.from_numpy(rows.cells).to(self.model.device)
        best = step.log_probabilities.index_select(0, cells).topk(k, dim=1)
        attention = None
        if step.weights is not None:
            attention = np.zeros((len(parents), rows.columns), np.float32)
            seen = step.weights.index_select(0, cells).float().cpu().numpy()
            attention[:, : seen.shape[1]] = seen
        after = replace(rows, state=step.state)
        return Step(best.values.float().cpu().numpy(), best.indices.cpu().numpy(), attention, after)

    def force(
        self,
        source: NDArray[np.int64],
        source_lengths: NDArray[np.int64],
        target: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> Forced:
        return _as_arrays(self.model.force(_batch(source, source_lengths, target, target_lengths)))

    def force_from(
        self,
        state: object,
        owners: NDArray[np.int64],
        target: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> Forced:
        assert isinstance(state, _Rows)
        nothing = np.empty((len(target), 0), np.int64)
        batch = _batch(nothing, np.zeros(len(target), np.int64), target, target_lengths)
        return _as_arrays(self.model.force_from(Start(state.memory, state.state), owners, batch))

    def _arrange(self, old: _Rows, parents: NDArray[np.int64]) -> tuple[_Rows, NDArray[np.int64]]:
        """Lay the wanted rows out anew, and say which row of `parents` stands in each cell.

        Sentences that have no row left leave the memory too.
        """
        parent_cells = old.cells[parents]
        sentences, first, counts = np.unique(parent_cells // old.width, return_index=True, return_counts=True)
        width = int(counts.max())
        place = np.arange(len(parents)) - np.repeat(first, counts)
        cells = np.repeat(np.arange(len(sentences)), counts) * width + place
        taken = np.repeat(first, width)  # empty cells repeat the sentence's first row
        taken[cells] = np.arange(len(parents))
        memory, bound, device = old.memory, old.bound, self.model.device
        if memory is not None and len(sentences) < old.sentences:
            memory = memory.select(torch.from_numpy(sentences).to(device))
            bound = self.model.decoder.bind(memory, len(sentences))
        state = old.state.select(torch.from_numpy(parent_cells[taken]).to(device))
        return _Rows(memory, bound, state, len(sentences), cells, width, old.columns), taken


def _batch(
    source: NDArray[np.int64],
    source_lengths: NDArray[np.int64],
    target: NDArray[np.int64],
    target_lengths: NDArray[np.int64],
) -> Batch:
    return Batch(source, source_lengths, target, target_lengths, np.arange(len(target)))


def _as_arrays(forced: ModelForced) -> Forced:
    weights = None if forced.weights is None else forced.weights.float().cpu().numpy()
    return Forced(forced.log_probabilities.float().cpu().numpy(), weights)
