"""The bridge: how the decoder's first state comes out of the encoder."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from dragoman.model.cells import Cell, State
from dragoman.model.encoder import Annotations
from dragoman.model.maps import Map


class Bridge(nn.Module):
    """The first state of every decoder layer.

    zero:          zeros
    copy:          each layer's last state (Sutskever et al. 2014, section 3.4; Luong et al. 2015)
    tanh-last:     tanh(W h_last), h_last the top layer's last annotation (Cho et al. 2014, appendix)
    tanh-backward: tanh(W_s h_1), h_1 the backward state at the first word (Bahdanau et al. 2015, A.2.2)
    mean:          tanh(W m), m the mean annotation

    The tanh forms have one map a decoder layer; an LSTM's memory starts at zero.
    """

    def __init__(
        self,
        kind: Literal["zero", "copy", "tanh-last", "tanh-backward", "mean"],
        cells: list[Cell],
        n_in: int,
        biases: bool,
    ) -> None:
        super().__init__()
        self.kind = kind
        self._cells = cells  # a plain list: the cells belong to the decoder
        needed = kind.startswith("tanh") or kind == "mean"
        self.maps = nn.ModuleList([Map(n_in, cell.size, bias=biases) for cell in cells] if needed else [])

    def forward(self, annotations: Annotations) -> tuple[State, ...]:
        """The state of each decoder layer, tensors [B, H]."""
        if self.kind == "copy":
            return annotations.last
        if self.kind == "zero":
            return tuple(cell.zero(annotations.vectors[:, 0]) for cell in self._cells)
        summary = self._summary(annotations)
        return tuple(
            cell.state(torch.tanh(m(summary).to(summary.dtype))) for cell, m in zip(self._cells, self.maps, strict=True)
        )

    def _summary(self, annotations: Annotations) -> Tensor:
        if self.kind == "tanh-last":
            return annotations.last[-1][0]
        if self.kind == "tanh-backward":
            return annotations.backward_first
        weights = annotations.mask / annotations.mask.sum(dim=1, keepdim=True)
        return torch.einsum("bs,bsw->bw", weights.to(annotations.vectors.dtype), annotations.vectors)
