"""Faster forms of the encoder's functions: one kernel call for a layer, and a permutation with a cheap gradient.

The layer is computed by torch's own kernel, where its equations are those of the cell. The kernel's LSTM is ours with
the gates in the order i, f, g, o. Its GRU is reset "after", update "keep", with a bias inside the product of the reset
gate. The weights remain the cell's parameters; the products are computed in the parameters' type.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from dragoman.model.cells import GRU, LSTM, CellState
from dragoman.model.dropout import DropUnits
from dragoman.model.encoder import RecurrentLayer
from dragoman.model.linear import Linear


def run_layer(
    layer: RecurrentLayer, inputs: Tensor, lengths: Tensor, alive: Tensor, drop: DropUnits
) -> tuple[Tensor, CellState]:
    """As `encoder.run_layer`, but without dropout, and hidden states are zero on padding."""
    cell = layer.cell
    assert isinstance(cell, GRU | LSTM)
    if inputs.dim() == 3:
        return _run(cell, _weights(cell, layer.inputs, None), inputs, lengths)
    runs = [_run(cell, _weights(cell, layer.inputs, d), part, lengths) for d, part in enumerate(inputs)]
    states = zip(*(state for _, state in runs), strict=True)
    # D of [B, S, H] -> [D, B, S, H], D of [B, H] -> [D, B, H]
    return torch.stack([hidden for hidden, _ in runs]), tuple(torch.stack(parts) for parts in states)


def _run(cell: GRU | LSTM, weights: list[Tensor], inputs: Tensor, lengths: Tensor) -> tuple[Tensor, CellState]:
    """Run one direction: inputs [S, B, n] -> hidden states [B, S, H] and the last state, [B, H] for each part."""
    packed = pack_padded_sequence(inputs.to(weights[0].dtype), lengths, enforce_sorted=False)
    zero = inputs.new_zeros(1, inputs.shape[1], cell.size, dtype=weights[0].dtype)
    data, sizes = packed.data, packed.batch_sizes
    # 1 layer, dropout 0, not bidirectional: the encoder stacks layers and joins directions itself
    if isinstance(cell, LSTM):
        output, *state = torch.lstm(data, sizes, [zero, zero], weights, True, 1, 0.0, False, False)
    else:
        output, *state = torch.gru(data, sizes, zero, weights, True, 1, 0.0, False, False)
    unsorted = packed.unsorted_indices
    assert unsorted is not None, "pack_padded_sequence sorted the sentences"
    hidden, _ = pad_packed_sequence(
        PackedSequence(output, sizes, packed.sorted_indices, unsorted), batch_first=True, total_length=len(inputs)
    )
    return hidden, tuple(part[0].index_select(0, unsorted) for part in state)  # [1, B, H] -> [B, H]


def _weights(cell: GRU | LSTM, inputs: Linear, direction: int | None) -> list[Tensor]:
    """[W, U, b, b'] of one direction (None: of the only one), with the gates in the kernel's order."""

    def part(parameter: Tensor) -> Tensor:
        return parameter if direction is None else parameter[direction]  # [D, ..] -> [..]

    w = part(inputs.weight)
    bias = w.new_zeros(cell.gates) if inputs.bias is None else part(inputs.bias)
    if isinstance(cell, LSTM):
        order = _kernel_order(cell.size, w.device)
        u = part(cell.recurrent_gates.weight)
        return [w[order], u[order], bias[order], torch.zeros_like(bias)]
    u = torch.cat((part(cell.recurrent_gates.weight), part(cell.recurrent.weight)))  # [2H, H], [H, H] -> [3H, H]
    inner = w.new_zeros(cell.size) if cell.recurrent.bias is None else part(cell.recurrent.bias)
    return [w, u, bias, torch.cat((w.new_zeros(2 * cell.size), inner))]


def _kernel_order(size: int, device: torch.device) -> Tensor:
    """Indices [4H] that put gates stored in the order i, f, o, g into the order i, f, g, o."""
    i_f, o, g = torch.arange(4 * size, device=device).split((2 * size, size, size))
    return torch.cat((i_f, g, o))


def permute_rows(x: Tensor, rows: Tensor) -> Tensor:
    """Permute the rows of x [B, S, n], counted as [B*S, n], by `rows` [B*S], a permutation that is its own inverse.

    As `encoder.permute_rows`; the gradient is the same selection of rows instead of a sum into rows.
    """
    y: Tensor = _PermuteRows.apply(x, rows)
    return y


class _PermuteRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> Tensor:
        ctx.rows = rows
        return x.flatten(0, 1).index_select(0, rows).view(x.shape)  # [B, S, n] -> [B*S, n] -> [B, S, n]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        # [B, S, n] -> [B*S, n] -> [B, S, n]
        return gradient.flatten(0, 1).index_select(0, ctx.rows).view(gradient.shape), None
