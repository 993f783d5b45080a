"""Faster forms of the functions of linear layers: the fastest product, and deferred weight gradients.

A layer inside a recurrence is applied at every step with the same weight. Its weight gradient is a sum over the steps,
dW = sum_t g_t^T x_t, which is computed as one large product over the concatenated steps.

Letters: N rows, D layers side by side (the two directions of an encoder layer).
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
from dragoman.model.linear import LinearOperands, LinearStep

ROUND = 128
"""The number of rows of a bfloat16 product over many steps is padded to a multiple of this."""


def multiply(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x W^T + b, [N, n_in] -> [N, n_out] or [D, N, n_in] -> [D, N, n_out]; in bfloat16 with padded rows."""
    count = x.shape[-2]
    y: Tensor = _Multiply.apply(pad_rows(x, missing_rows(count, weight.dtype)), weight, bias)
    return y[..., :count, :]


def fuse_linear(layers: Sequence[LinearOperands]) -> LinearStep:
    """sum_i (W_i x_i + b_i) as one product: W_1 x_1 + W_2 x_2 = [W_1 W_2] [x_1; x_2], longer and therefore faster.

    Weights are cast and concatenated once for the unrolling.
    """
    weights = [layer.weight for layer in layers]
    fused = _concatenate([layer.weight.detach().to(layer.precision) for layer in layers])
    deferred = _WeightGradients(fused, weights)
    shared = defer_gradients(deferred, *weights)
    biases = [layer.bias.to(layer.precision) for layer in layers if layer.bias is not None]
    bias = functools.reduce(operator.add, biases) if biases else None
    if bias is not None and bias.dim() == 2:
        bias = bias.unsqueeze(1)  # [D, n_out] -> [D, 1, n_out]

    def step(*inputs: Tensor, plus: Tensor | None = None) -> Tensor:
        y: Tensor = _MultiplyStep.apply(_concatenate(inputs), plus, shared, deferred)
        return y if bias is None else y + bias

    return step


def missing_rows(rows: int, precision: torch.dtype) -> int:
    """The number of rows of zeros that a product is padded with: up to a multiple of ROUND in bfloat16, else none.

    Fast bfloat16 kernels are compiled for each new shape, which takes as long as ten products, and batches of text
    have many different shapes. The kernels of other types are not compiled at run time.
    """
    return -rows % ROUND if precision == torch.bfloat16 else 0


def pad_rows(rows: Tensor, missing: int) -> Tensor:
    """Append rows of zeros: [.., N, n] -> [.., N + missing, n]; without a copy if none is missing."""
    return functional.pad(rows, (0, 0, 0, missing)) if missing else rows


def _concatenate(parts: Sequence[Tensor]) -> Tensor:
    """[.., n_1], [.., n_2], ... -> [.., n_1 + n_2 + ...]; a single tensor is not copied."""
    return torch.cat(tuple(parts), dim=-1) if len(parts) > 1 else parts[0]


class _Multiply(torch.autograd.Function):
    """x W^T + b for all rows at once."""

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
    """Deferred gradients of the weights of a fused product: the columns of sum_t g_t^T x_t that belong to each."""

    def __init__(self, weight: Tensor, parts: Sequence[Tensor]) -> None:
        """`weight` is the concatenated weight in the type of the products, `parts` are the parameters in it."""
        self.weight = weight
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self._widths = [part.shape[-1] for part in parts]
        self._type = parts[0].dtype

    def gradients(self) -> tuple[Tensor, ...]:
        batch_axes = self.weight.dim() - 2  # 1 with D layers side by side, else 0
        x, g = _all_rows(self.inputs, batch_axes), _all_rows(self.outputs, batch_axes)  # [N, n] or [D, N, n]
        self.inputs.clear()
        self.outputs.clear()
        gradient = g.mT @ x  # [.., N, n_out], [.., N, n_in] -> [.., n_out, n_in]
        return tuple(part.to(self._type).contiguous() for part in gradient.split(self._widths, dim=-1))


def _all_rows(steps: list[Tensor], batch_axes: int) -> Tensor:
    """The rows of all steps and padding rows of zeros, which add nothing to a product over the rows."""
    rows = [step.flatten(batch_axes, -2) for step in steps]  # [.., n] -> [N, n] or [D, N, n]
    missing = missing_rows(sum(part.shape[-2] for part in rows), rows[0].dtype)
    return torch.cat([*rows, rows[0].new_zeros(*rows[0].shape[:-2], missing, rows[0].shape[-1])], dim=-2)


class _MultiplyStep(torch.autograd.Function):
    """x W^T + plus, in the type of the products; backward computes the gradient of x and defers that of W."""

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
