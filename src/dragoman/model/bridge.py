"""The bridge: the decoder's initial state, computed from the annotations, and the summary c of the source.

Letters: B sentences, S positions, W units of an annotation, H units of a decoder layer.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from dragoman.model.cells import Cell, CellState
from dragoman.model.encoder import Annotations
from dragoman.model.linear import Linear


class InitialState(NamedTuple):
    """The initial state of each decoder layer, tensors [B, H], and the summary c of the source, [B, W]."""

    layers: tuple[CellState, ...]
    summary: Tensor


class Bridge(nn.Module):
    """Computes the initial state of every decoder layer.

    zero:          zeros
    copy:          each layer's last state (Sutskever et al. 2014, section 3.4; Luong et al. 2015)
    last:          the top layer's last state h_N, in every layer; with a bidirectional encoder and a
                   decoder half as wide, the forward state alone (JoeyNMT's `init_hidden: last`)
    tanh-last:     tanh(V' c), c the summary (Cho et al. 2014, appendix)
    tanh-backward: tanh(W_s h_1), h_1 the backward state at the first word (Bahdanau et al. 2015, A.2.2)
    mean:          tanh(W m), m the mean annotation (dl4mt)

    tanh-last, tanh-backward and mean have one linear layer for each decoder layer. The summary is the top layer's last
    state h_N, or with `compressed` tanh(V h_N) (Cho et al. 2014, appendix). The cell state of an LSTM starts at zero,
    or with `copy_to_cell_state` as a copy of its hidden state.
    """

    def __init__(
        self,
        kind: Literal["zero", "copy", "last", "tanh-last", "tanh-backward", "mean"],
        cells: list[Cell],
        n_in: int,
        *,
        compressed: Linear | None,
        copy_to_cell_state: bool,
        biases: bool,
    ) -> None:
        super().__init__()
        self.kind, self.copy_to_cell_state = kind, copy_to_cell_state
        self.cells = cells  # a plain list: the cells belong to the decoder
        self.compressed = compressed
        needed = kind.startswith("tanh") or kind == "mean"
        self.maps = nn.ModuleList([Linear(n_in, cell.size, bias=biases) for cell in cells] if needed else [])

    def forward(self, annotations: Annotations) -> InitialState:
        """The initial states [B, H] of a batch, and its summaries [B, W]."""
        summary = annotations.last[-1][0]  # [B, W]
        if self.compressed is not None:
            summary = torch.tanh(self.compressed(summary).to(summary.dtype))  # [B, W] -> [B, W]
        return InitialState(self._layers(annotations, summary), summary)

    def _layers(self, annotations: Annotations, summary: Tensor) -> tuple[CellState, ...]:
        if self.kind == "copy":
            return annotations.last
        if self.kind == "zero":
            return tuple(cell.zero(summary) for cell in self.cells)
        if self.kind == "last":
            top = annotations.last[-1][0]
            return tuple(self._state(cell, top[:, : cell.size]) for cell in self.cells)  # [B, W] -> [B, H]
        origin = self._origin(annotations, summary)  # [B, W]
        return tuple(
            self._state(cell, torch.tanh(linear(origin).to(origin.dtype)))  # [B, W] -> [B, H]
            for cell, linear in zip(self.cells, self.maps, strict=True)
        )

    def _origin(self, annotations: Annotations, summary: Tensor) -> Tensor:
        """The vector [B, W] that tanh-last, tanh-backward and mean project."""
        if self.kind == "tanh-last":
            return summary
        if self.kind == "tanh-backward":
            return annotations.backward_first
        real = annotations.mask.to(annotations.vectors.dtype)
        shares = real / real.sum(dim=1, keepdim=True)  # [B, S]
        return torch.einsum("bs,bsw->bw", shares, annotations.vectors)  # [B, S], [B, S, W] -> [B, W]

    def _state(self, cell: Cell, hidden: Tensor) -> CellState:
        """The cell state that begins from the hidden state [B, H]."""
        state = cell.state(hidden)
        return (hidden,) * len(state) if self.copy_to_cell_state else state
