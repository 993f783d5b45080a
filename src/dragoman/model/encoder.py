"""The encoder, annotations of the source from its word vectors; and the bridge, the decoder's initial state from these.

Padding is on the right and never affects a result: the state of a sentence stays the same after its last word, and the
backward direction reverses the real words only.

Letters: B sentences, S positions, E embedding, H units of one direction (in the bridge of a decoder layer), W units of
an annotation, D directions side by side, G gate inputs.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn

from dragoman.model.cells import Cell, CellState, unroll
from dragoman.model.dropout import Dropout, DropUnits
from dragoman.model.linear import Linear


class Annotations(NamedTuple):
    """The output of the encoder.

    vectors: h_j in source order, [B, S, W]; W = H, or 2H where both directions are read (forward first)
    mask:    True on real positions, [B, S]
    last:    for each layer, the state after the last symbol read: tensors [B, W], both directions side by side
    backward_first: bidirectional: the top layer's backward state at the first word, [B, H]; otherwise its state after
             the last symbol read
    """

    vectors: Tensor
    mask: Tensor
    last: tuple[CellState, ...]
    backward_first: Tensor


class RecurrentLayer(nn.Module):
    """One recurrent layer: the projection of its inputs, and the cell (both directions side by side).

    biases: whether the projection has biases, except for its first `unbiased` gate inputs
    fused:  whether the cell equals torch's, so that the encoder may use torch's kernel for all steps
    """

    unroll = staticmethod(unroll)

    def __init__(
        self, n_in: int, cell: Cell, directions: int, biases: bool, *, unbiased: int = 0, fused: bool = False
    ) -> None:
        super().__init__()
        self.inputs = Linear(n_in, cell.gates, directions=directions, bias=biases, unbiased=unbiased)
        self.cell = cell
        self.fused = fused


def run_layer(
    layer: RecurrentLayer, inputs: Tensor, lengths: Tensor, alive: Tensor, drop: DropUnits
) -> tuple[Tensor, CellState]:
    """Run one layer over all steps, from the zero state.

    Args:
        inputs: in reading order, [S, B, n], or [D, S, B, n] for both directions.
        lengths: lengths of the sentences, [B], on the CPU.
        alive: True on real positions, [B, S], on the device of the inputs.

    Returns:
        Hidden states in reading order, [B, S, H] or [D, B, S, H], and the state of each sentence after its last symbol.
    """
    gates = layer.inputs(inputs)  # [.., S, B, n] -> [.., S, B, G]
    shortest = int(lengths.min())
    hidden, state = layer.unroll(layer.cell, gates, layer.cell.zero(gates.select(-3, 0)), drop, alive, shortest)
    return hidden.transpose(-3, -2), state  # [.., S, B, H] -> [.., B, S, H]


def permute_rows(x: Tensor, rows: Tensor) -> Tensor:
    """Permute the B*S rows of x [B, S, n] by `rows` [B*S], a permutation that is its own inverse."""
    return x.flatten(0, 1)[rows].view(x.shape)  # [B, S, n] -> [B*S, n] -> [B, S, n]


class Encoder(nn.Module):
    """A stack of recurrent layers.

    forward:  reads the words in their order
    reversed: reads them from the last to the first, then EOS if there is one (Sutskever et al. 2014, section 3.3; EOS
              is never moved to the front)
    both:     Bahdanau et al. 2015, section 3.2; the backward direction reads everything from the end, EOS included (as
              the authors' code does)

    From layer `residual` on (counted from 1; 0: never) a layer's input is added to its output.
    """

    run_fused = staticmethod(run_layer)
    permute_rows = staticmethod(permute_rows)

    def __init__(
        self,
        layers: list[RecurrentLayer],
        direction: Literal["forward", "reversed", "both"],
        *,
        source_eos: bool,
        residual: int,
        dropout: Dropout,
        recurrent_dropout: Dropout,
    ) -> None:
        super().__init__()
        self.layers = cast("list[RecurrentLayer]", nn.ModuleList(layers))
        self.direction = direction
        self.eos_stays_last = source_eos and direction == "reversed"
        self.residual = residual
        self.dropout, self.recurrent_dropout = dropout, recurrent_dropout

    def forward(self, words: Tensor, lengths: Tensor) -> Annotations:
        """Encode word vectors [B, S, E] of sentences with lengths [B] (int64, on the CPU, >= 1)."""
        reversal = _reversal(lengths - 1 if self.eos_stays_last else lengths, words.shape[1]).to(words.device)
        alive = (torch.arange(words.shape[1]) < lengths[:, None]).to(words.device)  # [B, S]
        last = []
        vectors = words
        for number, layer in enumerate(self.layers, 1):
            below = self.dropout(vectors) if number > 1 else vectors
            drop = self.recurrent_dropout.prepare(len(words) * (2 if self.direction == "both" else 1))
            run = self.run_fused if layer.fused else run_layer
            hidden, state = run(layer, self._in_reading_order(below, reversal), lengths, alive, drop)
            outputs = self._in_source_order(hidden, reversal)
            vectors = vectors + outputs if 0 < self.residual <= number else outputs
            last.append(tuple(_side_by_side(part, self.direction) for part in state))
        first = state[0][1] if self.direction == "both" else state[0]  # [2, B, H] -> [B, H]
        return Annotations(vectors, alive, tuple(last), first)

    def _in_reading_order(self, x: Tensor, reversal: Tensor) -> Tensor:
        """Inputs in reading order: [B, S, n] -> [S, B, n], or [2, S, B, n] for both directions."""
        if self.direction == "forward":
            return x.transpose(0, 1)  # [B, S, n] -> [S, B, n]
        backward = self.permute_rows(x, reversal).transpose(0, 1)  # [B, S, n] -> [S, B, n]
        return backward if self.direction == "reversed" else torch.stack((x.transpose(0, 1), backward))

    def _in_source_order(self, hidden: Tensor, reversal: Tensor) -> Tensor:
        """Hidden states in source order: [B, S, H] or [2, B, S, H] -> [B, S, W]."""
        if self.direction == "forward":
            return hidden
        if self.direction == "reversed":
            return self.permute_rows(hidden, reversal)
        return torch.cat((hidden[0], self.permute_rows(hidden[1], reversal)), dim=-1)  # [B, S, H] twice -> [B, S, 2H]


def _side_by_side(part: Tensor, direction: str) -> Tensor:
    """Concatenate both directions: [2, B, H] -> [B, 2H]; [B, H] of one direction is unchanged."""
    return torch.cat((part[0], part[1]), dim=-1) if direction == "both" else part


def _reversal(count: Tensor, length: int) -> Tensor:
    """The permutation [B*S] that reverses the first `count` [B] of the S = `length` positions of each sentence."""
    position = torch.arange(length).expand(len(count), length)  # [S] -> [B, S]
    swapped = torch.where(position < count[:, None], count[:, None] - 1 - position, position)  # [B, S]
    return (swapped + torch.arange(len(count))[:, None] * length).flatten()  # [B, S] -> [B*S]


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
