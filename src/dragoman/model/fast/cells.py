"""Faster cells: a GRU's whole run, and the elementwise part of a step, as one operation with a hand-written gradient.

With automatic differentiation, each step of a cell is a dozen small operations, and the backward pass as many again;
for batches of usual size, launching them costs more than their arithmetic. The gate inputs may have a lower precision
than the state; the arithmetic is in the precision of the state.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dragoman.model import cells
from dragoman.model.cells import GRU, Cell, CellState
from dragoman.model.dropout import DropUnits, keep_all
from dragoman.model.fast.linear import matmul, missing_rows

_sigmoid_backward, _tanh_backward = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward
"""(gradient of the result, result) -> gradient of the argument."""


def unroll(
    cell: Cell, inputs: Tensor, state: CellState, drop: DropUnits, alive: Tensor | None = None, shortest: int = 0
) -> tuple[Tensor, CellState]:
    """As `cells.unroll`; the run of a GRU with reset "before" and without dropout is one operation."""
    if not isinstance(cell, GRU) or cell.reset != "before" or drop is not keep_all:
        return cells.unroll(cell, inputs, state, drop, alive, shortest)
    ended = None if alive is None else ~alive.t().unsqueeze(-1)  # [B, T] -> [T, B, 1]
    first = inputs.shape[-3] if ended is None else shortest
    weights = cell.recurrent_gates.weight, cell.recurrent.weight
    hidden, last = _GRURun.apply(inputs, state[0], *weights, ended, first, cell.update == "keep")
    return hidden, (last,)


def gru_state(a: Tensor, h: Tensor, z: Tensor, *, keep: bool) -> Tensor:
    """As `cells.gru_state`, h~ = tanh(a): z * h + (1 - z) * h~ if `keep`, else (1 - z) * h + z * h~; all [.., H]."""
    new: Tensor = _GRUState.apply(a, h, z, keep)
    return new


def lstm_state(a: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """As `cells.lstm_state`: the new (h, c) from gate inputs a [.., 4H], in the order i, f, o, g, and the old c."""
    result: tuple[Tensor, Tensor] = _LSTMState.apply(a, c)
    return result


def _tanh(x: Tensor) -> Tensor:
    """tanh x = 2 sigmoid(2x) - 1, exact to 1e-7 in float32; on a CPU the sigmoid takes a fifth of the time of tanh.

    Not differentiable: the sigmoid is overwritten.
    """
    return torch.sigmoid(2 * x).mul_(2).sub_(1)


class _GRURun(torch.autograd.Function):
    """All steps of a GRU with reset "before", forward, and all of them back.

    Gate inputs [.., T, B, 3H], the first state [.., B, H], the weights of the gates [.., 2H, H] and of the candidate
    [.., H, H], where sentences have ended [T, B, 1] and the first step t where one has -> hidden states [.., T, B, H],
    and the last of them. Products are in the type of the gate inputs. Where a sentence has ended, the update gate is
    set so that the state stays the same; its gradient is then zero by itself.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        h: Tensor,
        gates_weight: Tensor,
        weight: Tensor,
        ended: Tensor | None,
        shortest: int,
        keep: bool,
    ) -> tuple[Tensor, Tensor]:
        steps, size = inputs.shape[-3], h.shape[-1]
        to_gates, to_candidate = (part.unbind(-3) for part in inputs.split((2 * size, size), dim=-1))
        of_gates, of_candidate = gates_weight.to(inputs.dtype), weight.to(inputs.dtype)
        hidden = h.new_empty(*h.shape[:-2], steps + 1, *h.shape[-2:])  # [.., T + 1, B, H]
        gates = h.new_empty(steps, *h.shape[:-1], 2 * size)  # r and z, [T, .., B, 2H]
        candidates = h.new_empty(steps, *h.shape)  # [T, .., B, H]
        read, reset = (_StepRows(inputs, size) for _ in range(2))  # h and r * h, as the products read them
        states = hidden.unbind(-3)
        h = states[0].copy_(h)
        for t, (rz, r, z, new) in enumerate(zip(gates, *_halves(gates), candidates, strict=True)):
            rz.copy_(matmul(read.steps[t].copy_(h), of_gates, to_gates[t])).sigmoid_()
            if ended is not None and t >= shortest:
                z.masked_fill_(ended[t], 1.0 if keep else 0.0)
            a = matmul(torch.mul(r, h, out=reset.steps[t]), of_candidate, to_candidate[t])
            torch.add(a, a, out=new).sigmoid_().mul_(2).sub_(1)  # tanh, see `_tanh`
            start, end = (new, h) if keep else (h, new)
            h = torch.lerp(start, end, z, out=states[t + 1])
        ctx.save_for_backward(hidden, gates, candidates, read.rows, reset.rows, of_gates, of_candidate)
        ctx.keep, ctx.types = keep, (gates_weight.dtype, weight.dtype)
        ctx.set_materialize_grads(False)
        return hidden.narrow(-3, 1, steps), h.clone()

    @staticmethod
    def backward(ctx: Any, of_hidden: Tensor | None, of_last: Tensor | None) -> tuple[Tensor | None, ...]:
        hidden, gates, candidates, read, reset, gates_weight, weight = ctx.saved_tensors
        steps, (rows, size) = len(gates), candidates.shape[-2:]
        outputs = [None] * steps if of_hidden is None else of_hidden.unbind(-3)
        of_a = _StepRows(read.new_empty(*candidates.shape[1:-2], steps, rows, 0), 3 * size)  # of the gate sums
        a_gates, a_candidate = (part.unbind(-3) for part in of_a.all.split((2 * size, size), dim=-1))
        into_gates, into_candidate = gates_weight.mT, weight.mT
        of_rz = torch.empty_like(gates[0])
        of_r, of_z = of_rz.chunk(2, dim=-1)
        g = torch.zeros_like(candidates[0]) if of_last is None else of_last
        every = list(zip(hidden.unbind(-3), gates, *_halves(gates), candidates, outputs, strict=False))
        for t in reversed(range(steps)):
            h, rz, r, z, new, of_output = every[t]
            g = g if of_output is None else g + of_output
            through = g * z
            of_h, of_new = (through, g - through) if ctx.keep else (g - through, through)
            a_candidate[t].copy_(_tanh_backward(of_new, new))
            of_reset = matmul(a_candidate[t], into_candidate).to(h.dtype)
            torch.mul(of_reset, h, out=of_r)
            start, end = (new, h) if ctx.keep else (h, new)
            torch.sub(end, start, out=of_z).mul_(g)
            a_gates[t].copy_(_sigmoid_backward(of_rz, rz))
            g = of_h.addcmul_(of_reset, r).add_(matmul(a_gates[t], into_gates))
        rows_of_gates, rows_of_candidate = of_a.rows.split((2 * size, size), dim=-1)
        return (
            of_a.all,
            g,
            (rows_of_gates.mT @ read).to(ctx.types[0]),  # [.., 2H, N], [.., N, H] -> [.., 2H, H]
            (rows_of_candidate.mT @ reset).to(ctx.types[1]),
            None,
            None,
            None,
        )


def _halves(gates: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """r and z of every step: [T, .., B, 2H] -> T of [.., B, H] each."""
    r, z = (half.unbind(0) for half in gates.chunk(2, dim=-1))
    return r, z


class _StepRows:
    """Rows of all steps of a run, [.., N, n]: T steps of B rows, and rows of zeros that pad them (`missing_rows`)."""

    def __init__(self, like: Tensor, width: int) -> None:
        """`like` [.., T, B, any]: the steps, and the type."""
        lead, (steps, rows) = like.shape[:-3], like.shape[-3:-1]
        count = steps * rows
        self.rows = like.new_empty(*lead, count + missing_rows(count, like.dtype), width)
        self.rows[..., count:, :] = 0
        self.all = self.rows[..., :count, :].unflatten(-2, (steps, rows))
        """[.., T, B, n]"""
        self.steps = self.all.unbind(-3)


class _GRUState(torch.autograd.Function):
    """The sums a of the candidate, the state h and the update gate z -> the next state, all [B, H] or [D, B, H]."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, h: Tensor, z: Tensor, keep: bool) -> Tensor:
        new = _tanh(a.to(h.dtype))
        ctx.save_for_backward(new, h, z)
        ctx.keep, ctx.type = keep, a.dtype
        return torch.lerp(new, h, z) if keep else torch.lerp(h, new, z)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        new, h, z = ctx.saved_tensors
        through = gradient * z
        of_h, of_new = (through, gradient - through) if ctx.keep else (gradient - through, through)
        difference = h - new if ctx.keep else new - h
        return _tanh_backward(of_new, new).to(ctx.type), of_h, difference.mul_(gradient), None


class _LSTMState(torch.autograd.Function):
    """The sums a [.., 4H] of the gates i, f, o and of g, and the cell state c [.., H] -> the next h and c, [.., H]."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        of_gates, of_g = a.to(c.dtype).split((3 * c.shape[-1], c.shape[-1]), dim=-1)  # [.., 4H] -> [.., 3H], [.., H]
        gates, g = torch.sigmoid(of_gates), _tanh(of_g)
        i, f, o = gates.chunk(3, dim=-1)  # [.., 3H] -> [.., H] each
        new = torch.addcmul(f * c, i, g)
        squashed = _tanh(new)
        ctx.save_for_backward(gates, g, c, squashed)
        ctx.type = a.dtype
        return o * squashed, new

    @staticmethod
    def backward(ctx: Any, of_h: Tensor, of_c: Tensor) -> tuple[Tensor, Tensor]:
        gates, g, c, squashed = ctx.saved_tensors
        i, f, o = gates.chunk(3, dim=-1)  # [.., 3H] -> [.., H] each
        of_new = _tanh_backward(of_h * o, squashed).add_(of_c)
        of_a = torch.cat((of_new * g, of_new * c, of_h * squashed, of_new * i), dim=-1)  # [.., 4H]
        of_gates, of_g = of_a.split((gates.shape[-1], g.shape[-1]), dim=-1)
        _sigmoid_backward.grad_input(of_gates, gates, grad_input=of_gates)
        _tanh_backward.grad_input(of_g, g, grad_input=of_g)
        return of_a.to(ctx.type), of_new.mul_(f)
