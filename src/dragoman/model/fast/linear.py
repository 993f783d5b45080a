"""Linear layers by the fastest product, with weight gradients that wait for the end of the unrolling.

A layer inside a recurrence is used once a step with the same weight. Its weight gradient is a sum over the steps,
dW = sum_t g_t^T x_t, which is one large product over the concatenated steps.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from dragoman.model.fast.deferred_gradients import defer_gradients
from dragoman.model.fast.matmul import matmul
from dragoman.model.linear import Linear, LinearStep

ROUND = 128
"""Rows of a product over many steps come in multiples of this."""


def multiply(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x W^T + b for rows [N, n_in] or [D, N, n_in]; in bfloat16 for a round number of rows."""
    count = x.shape[-2]
    y: Tensor = _Multiply.apply(pad_rows(x, missing_rows(count, weight.dtype)), weight, bias)
    return y[..., :count, :]


def fuse_linear(layers: Sequence[Linear]) -> LinearStep:
    """sum_i (W_i x_i + b_i) as one product: W_1 x_1 + W_2 x_2 = [W_1 W_2] [x_1; x_2], longer and so faster."""
    weights = [layer.weight for layer in layers]
    deferred = _WeightGradients(_side_by_side([layer.cast(layer.weight.detach()) for layer in layers]), weights)
    shared = defer_gradients(deferred, *weights)
    biases = [bias for layer in layers if (bias := layer.full_bias()) is not None]
    bias = functools.reduce(operator.add, biases) if biases else None
    if bias is not None and bias.dim() == 2:
        bias = bias.unsqueeze(1)  # [D, n_out] -> [D, 1, n_out]

    def step(*inputs: Tensor, plus: Tensor | None = None) -> Tensor:
        y: Tensor = _MultiplyStep.apply(_side_by_side(inputs), plus, shared, deferred)
        return y if bias is None else y + bias

    return step


def missing_rows(rows: int, precision: torch.dtype) -> int:
    """How many rows of zeros make the number of rows a round one, where that matters.

    Fast kernels for bfloat16 are compiled for each new shape, which takes as long as ten products; batches of text
    would bring ever new shapes. Those for other types are there already.
    """
    return -rows % ROUND if precision == torch.bfloat16 else 0


def pad_rows(rows: Tensor, missing: int) -> Tensor:
    """Rows [.., N, n] with `missing` rows of zeros below; themselves, not a copy, where none is missing."""
    return functional.pad(rows, (0, 0, 0, missing)) if missing else rows


def _side_by_side(parts: Sequence[Tensor]) -> Tensor:
    """[.., n_1], [.., n_2], ... -> [.., n_1 + n_2 + ...]"""
    return torch.cat(tuple(parts), dim=-1) if len(parts) > 1 else parts[0]


class _Multiply(torch.autograd.Function):
    """x W^T + b, all rows at once."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return matmul(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        wants_x, wants_weight, wants_bias = ctx.needs_input_grad
        return (
            matmul(gradient, weight.mT) if wants_x else None,
            gradient.mT @ x if wants_weight else None,  # [.., N, n_out], [.., N, n_in] -> [.., n_out, n_in]
            gradient.sum(dim=-2) if wants_bias else None,
        )


class _WeightGradients:
    """Weights side by side, many steps, one gradient for each weight: its columns of sum_t g_t^T x_t."""

    def __init__(self, weight: Tensor, parts: Sequence[Tensor]) -> None:
        """`weight` is what products are taken with, in their type; `parts` are the weights that it was made of."""
        self.weight = weight
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self._widths = [part.shape[-1] for part in parts]
        self._type = parts[0].dtype

    def gradients(self) -> tuple[Tensor, ...]:
        kept = self.weight.dim() - 2  # [.., n] -> [N, n], or [D, N, n] where there are D layers
        x, g = _all_rows(self.inputs, kept), _all_rows(self.outputs, kept)
        self.inputs.clear()
        self.outputs.clear()
        return tuple(part.to(self._type).contiguous() for part in (g.mT @ x).split(self._widths, dim=-1))


def _all_rows(steps: list[Tensor], kept: int) -> Tensor:
    """The rows of all steps, with rows of zeros below, which add nothing to a product over the rows."""
    rows = [step.flatten(kept, -2) for step in steps]
    missing = missing_rows(sum(part.shape[-2] for part in rows), rows[0].dtype)
    return torch.cat([*rows, rows[0].new_zeros(*rows[0].shape[:-2], missing, rows[0].shape[-1])], dim=-2)


class _MultiplyStep(torch.autograd.Function):
    """x W^T + plus, in the type of the cast weight; backward gives x its gradient and leaves W's for the end."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, plus: Tensor | None, shared: Tensor, deferred: _WeightGradients) -> Tensor:
        ctx.deferred, ctx.type, ctx.has_plus = deferred, x.dtype, plus is not None
        ctx.x = x.to(deferred.weight.dtype)
        return matmul(ctx.x, deferred.weight, plus)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        deferred = ctx.deferred
        deferred.inputs.append(ctx.x)
        deferred.outputs.append(gradient)
        of_x = matmul(gradient, deferred.weight.mT).to(ctx.type) if ctx.needs_input_grad[0] else None
        return of_x, gradient if ctx.has_plus else None, None, None
