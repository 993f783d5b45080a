"""The bridge: how the decoder's first state comes out of the encoder, and the one vector that sums a sentence up."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from dragoman.model.cells import Cell, State
from dragoman.model.encoder import Annotations
from dragoman.model.maps import Map


class Opening(NamedTuple):
    """What a decoder begins with: the state of each layer, tensors [B, H], and the summary c of the source, [B, W]."""

    layers: tuple[State, ...]
    summary: Tensor


class Bridge(nn.Module):
    """The first state of every decoder layer.

    zero:          zeros
    copy:          each layer's last state (Sutskever et al. 2014, section 3.4; Luong et al. 2015)
    last:          the top layer's last state h_N, in every layer; of two directions side by side the forward one alone
                   where the decoder is only as wide (JoeyNMT's `init_hidden: last`)
    tanh-last:     tanh(V' c), c the summary (Cho et al. 2014, appendix)
    tanh-backward: tanh(W_s h_1), h_1 the backward state at the first word (Bahdanau et al. 2015, A.2.2)
    mean:          tanh(W m), m the mean annotation (dl4mt)

    The tanh forms have one map a decoder layer. The summary is the top layer's last state h_N, or with `compressed`
    tanh(V h_N) (Cho et al. 2014, appendix). An LSTM's memory starts at zero, or with `memory` like its hidden state.
    """

    def __init__(
        self,
        kind: Literal["zero", "copy", "last", "tanh-last", "tanh-backward", "mean"],
        cells: list[Cell],
        n_in: int,
        *,
        compressed: Map | None,
        memory: bool,
        biases: bool,
    ) -> None:
        super().__init__()
        self.kind, self.memory = kind, memory
        self.cells = cells  # a plain list: the cells belong to the decoder
        self.compressed = compressed
        needed = kind.startswith("tanh") or kind == "mean"
        self.maps = nn.ModuleList([Map(n_in, cell.size, bias=biases) for cell in cells] if needed else [])

    def forward(self, annotations: Annotations) -> Opening:
        """The opening of each sentence."""
        summary = annotations.last[-1][0]
        if self.compressed is not None:
            summary = torch.tanh(self.compressed(summary).to(summary.dtype))
        return Opening(self._layers(annotations, summary), summary)

    def _layers(self, annotations: Annotations, summary: Tensor) -> tuple[State, ...]:
        if self.kind == "copy":
            return annotations.last
        if self.kind == "zero":
            return tuple(cell.zero(summary) for cell in self.cells)
        if self.kind == "last":
            top = annotations.last[-1][0]
            return tuple(self._state(cell, top[:, : cell.size]) for cell in self.cells)
        seed = self._seed(annotations, summary)
        return tuple(
            self._state(cell, torch.tanh(m(seed).to(seed.dtype))) for cell, m in zip(self.cells, self.maps, strict=True)
        )

    def _seed(self, annotations: Annotations, summary: Tensor) -> Tensor:
        if self.kind == "tanh-last":
            return summary
        if self.kind == "tanh-backward":
            return annotations.backward_first
        real = annotations.mask.to(annotations.vectors.dtype)
        return torch.einsum("bs,bsw->bw", real / real.sum(dim=1, keepdim=True), annotations.vectors)

    def _state(self, cell: Cell, hidden: Tensor) -> State:
        state = cell.state(hidden)
        return (hidden,) * len(state) if self.memory else state
