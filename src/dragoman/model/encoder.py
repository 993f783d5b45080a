"""The encoder: source word vectors to annotations.

Padding stands on the right and never enters a result: a sentence that has ended keeps its state, and a direction
that reads backwards reverses the real words only.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast

import torch
from torch import Tensor, nn

from dragoman.model.cells import GRU, LSTM, Cell, State
from dragoman.model.dropout import Dropout
from dragoman.model.kernels import run_kernel
from dragoman.model.maps import Map


class Annotations(NamedTuple):
    """What the encoder hands on.

    vectors: h_j in source order, [B, S, W]; W = H, or 2H where both directions are read (forward first)
    mask:    True on real positions, [B, S]
    last:    for each layer, the state after the last symbol read, [B, W] each, directions side by side
    backward_first: top layer's state of the direction that reads backwards, after its last symbol, [B, H]; the
             forward direction's where nothing reads backwards
    """

    vectors: Tensor
    mask: Tensor
    last: tuple[State, ...]
    backward_first: Tensor


class Layer(nn.Module):
    """One recurrent layer: the projection of its inputs, and the cell (both directions side by side).

    biases, unbiased: the projection has biases, but for its first so many gate inputs.

    kernel: an encoder runs the layer in one call of the library's kernel.
    """

    def __init__(
        self, n_in: int, cell: Cell, directions: int, biases: bool, *, unbiased: int = 0, kernel: bool = False
    ) -> None:
        super().__init__()
        self.inputs = Map(n_in, cell.gates, directions=directions, bias=biases, unbiased=unbiased)
        self.cell = cell
        self.kernel = kernel


class Encoder(nn.Module):
    """A stack of recurrent layers.

    forward:  reads the words as they stand
    reversed: reads them from the last to the first, then the end of sentence if there is one (Sutskever et al. 2014,
              section 3.3; the end mark is never moved to the front)
    both:     Bahdanau et al. 2015, section 3.2; the backward direction reads everything from the end, the end mark
              included (as the authors' code does)

    From layer `residual` on (counted from 1; 0: never) a layer's input is added to its output.
    """

    def __init__(
        self,
        layers: list[Layer],
        direction: Literal["forward", "reversed", "both"],
        *,
        source_eos: bool,
        residual: int,
        dropout: Dropout,
        recurrent_dropout: Dropout,
    ) -> None:
        super().__init__()
        self.layers = cast("list[Layer]", nn.ModuleList(layers))
        self.direction = direction
        self.end_stays_last = source_eos and direction == "reversed"
        self.residual = residual
        self.dropout, self.recurrent_dropout = dropout, recurrent_dropout

    def forward(self, words: Tensor, lengths: Tensor) -> Annotations:
        """Word vectors [B, S, E] and lengths [B] (int64, on the CPU, >= 1) to annotations."""
        backward = _Reversal(lengths - 1 if self.end_stays_last else lengths, words)
        alive = torch.arange(words.shape[1]) < lengths[:, None]  # [B, S]
        last = []
        vectors = words
        for number, layer in enumerate(self.layers, 1):
            below = self.dropout(vectors) if number > 1 else vectors
            hidden, state = self._run(layer, self._in_reading_order(below, backward), lengths, alive)
            outputs = self._in_source_order(hidden, backward)
            vectors = vectors + outputs if 0 < self.residual <= number else outputs
            last.append(tuple(_side_by_side(part, self.direction) for part in state))
        first = state[0][1] if self.direction == "both" else state[0]
        return Annotations(vectors, alive.to(words.device), tuple(last), first)

    def _run(self, layer: Layer, read: Tensor, lengths: Tensor, alive: Tensor) -> tuple[Tensor, State]:
        """One layer over all steps: hidden states in reading order, [B, S, H] or [2, B, S, H], and each sentence's
        state after its last symbol."""
        if layer.kernel:
            assert isinstance(layer.cell, GRU | LSTM)
            return run_kernel(layer.cell, layer.inputs, read, lengths)
        stays = alive.to(read.device).t().unsqueeze(-1)  # [S, B, 1]
        shortest = int(lengths.min())
        inputs = layer.inputs(read).unbind(-3)  # unbind, not indexing: its gradient is one stack
        step = layer.cell.bind(self.recurrent_dropout.bind(inputs[0].shape[:-1].numel()))
        state = layer.cell.zero(inputs[0])
        hidden = []
        for t, gates in enumerate(inputs):
            new = step(gates, state)
            if t >= shortest:
                new = tuple(torch.where(stays[t], after, before) for after, before in zip(new, state, strict=True))
            state = new
            hidden.append(state[0])
        return torch.stack(hidden, dim=-2), state

    def _in_reading_order(self, x: Tensor, backward: _Reversal) -> Tensor:
        """[B, S, n] -> [S, B, n], or [2, S, B, n] for both directions."""
        if self.direction == "forward":
            return x.transpose(0, 1)
        turned = backward(x).transpose(0, 1)
        return turned if self.direction == "reversed" else torch.stack((x.transpose(0, 1), turned))

    def _in_source_order(self, hidden: Tensor, backward: _Reversal) -> Tensor:
        """[B, S, H] or [2, B, S, H] in reading order -> [B, S, W]."""
        if self.direction == "forward":
            return hidden
        if self.direction == "reversed":
            return backward(hidden)
        return torch.cat((hidden[0], backward(hidden[1])), dim=-1)


def _side_by_side(part: Tensor, direction: str) -> Tensor:
    return torch.cat((part[0], part[1]), dim=-1) if direction == "both" else part


class _Reversal:
    """Reverses the first `count` positions of each row of [B, S, n] and leaves the rest; its own inverse."""

    def __init__(self, count: Tensor, like: Tensor) -> None:
        batch, length = like.shape[:2]
        position = torch.arange(length).expand(batch, length)
        turned = torch.where(position < count[:, None], count[:, None] - 1 - position, position)
        self.rows = (turned + torch.arange(batch)[:, None] * length).flatten().to(like.device)

    def __call__(self, x: Tensor) -> Tensor:
        y: Tensor = _Permuted.apply(x, self.rows)
        return y


class _Permuted(torch.autograd.Function):
    """Rows of a permutation that is its own inverse, so that the gradient is a plain selection too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> Tensor:
        ctx.rows = rows
        return x.flatten(0, 1).index_select(0, rows).view(x.shape)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient.flatten(0, 1).index_select(0, ctx.rows).view(gradient.shape), None
