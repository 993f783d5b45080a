"""Faster forms of the functions of linear layers: the fastest product, and deferred gradients.

In float32 torch multiplies with MKL, which does not use its fastest code on processors of other makers than Intel.
There oneDNN, which torch contains for other purposes, multiplies the 64 rows of a step 1.4 to 1.6 times as fast
(docs/lab-book/2026-11-speed.md).

A tensor used at every step of a recurrence (a weight, the annotations) has a gradient that is a sum over the steps.
Automatic differentiation adds one term per step. Where the sum is one large product, as dW = sum_t g_t^T x_t of a
weight, it is faster to collect the factors of the terms and multiply once, after all steps. Each step takes the empty
tensor of `defer_gradients` as an argument, so that autograd computes the gradient of the shared tensor after the
backward pass of every step.

Letters: N rows, D layers side by side (the two directions of an encoder layer).
"""

from __future__ import annotations

import functools
import operator
import platform
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from dragoman.model.linear import LinearOperands, LinearStep

CACHE_LINE = 64
"""Bytes. Products of matrices whose rows do not begin at a cache line are up to 40 % slower."""


def matmul(x: Tensor, weight: Tensor, plus: Tensor | None = None) -> Tensor:
    """x W^T + plus, [.., n_in] -> [.., n_out], all in one type; not differentiable.

    Args:
        x: [.., n_in], or [D, N, n_in] for D weights side by side.
        weight: [n_out, n_in], or [D, n_out, n_in].
        plus: a bias [n_out] or [D, n_out], or a tensor in the shape of the result.
    """
    if weight.dim() == 3:
        return _side_by_side(x, weight, plus)
    if _by_onednn(x, weight):
        # torch's compiled models use this operator for linear layers; it has no public name
        linear = torch.ops.mkldnn._linear_pointwise
        is_sum = plus is not None and plus.dim() > 1
        result: Tensor = (
            linear.binary(x, plus, weight, None, "add") if is_sum else linear(x, weight, plus, "none", [], "")
        )
        return result
    if plus is not None:
        return functional.linear(x, weight, plus) if plus.dim() == 1 else torch.addmm(plus, x, weight.t())
    if x.dim() > 2:
        return torch.matmul(x, weight.t())
    rows = x.new_empty(len(x), aligned(len(weight), x))[:, : len(weight)]
    return torch.mm(x, weight.t(), out=rows)


def aligned(columns: int, like: Tensor) -> int:
    """`columns` rounded up, so that rows of the type of `like` begin at cache lines."""
    step = CACHE_LINE // like.element_size()
    return -(-columns // step) * step


def _side_by_side(x: Tensor, weight: Tensor, plus: Tensor | None) -> Tensor:
    """x [D, N, n_in] times W [D, n_out, n_in]: [D, N, n_out]; `plus` is [D, n_out], or in the shape of the result."""
    if _by_onednn(x, weight):
        parts = [None] * len(x) if plus is None else plus
        return torch.stack([matmul(*one) for one in zip(x, weight, parts, strict=True)])
    if plus is None:
        return torch.bmm(x, weight.mT)
    return torch.baddbmm(plus.unsqueeze(1) if plus.dim() == 2 else plus, x, weight.mT)


def _by_onednn(x: Tensor, weight: Tensor) -> bool:
    if x.dtype != torch.float32 or x.device.type != "cpu" or not _mkl_is_slow():
        return False
    # oneDNN takes a thousand times as long for a weight with gaps between its rows, and rejects an empty input
    return x.numel() > 0 and (weight.is_contiguous() or weight.mT.is_contiguous())


@cache
def _mkl_is_slow() -> bool:
    if not (torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()):
        return False
    described = Path("/proc/cpuinfo")
    vendor = described.read_text(encoding="utf-8") if described.exists() else platform.processor()
    return "GenuineIntel" not in vendor


class DeferredGradients(Protocol):
    """Collects, during the backward pass, the factors of the gradients of shared tensors."""

    def gradients(self) -> tuple[Tensor | None, ...]:
        """The gradient of each shared tensor, in their order; the collected factors are released."""
        ...


def defer_gradients(deferred: DeferredGradients, *shared: Tensor) -> Tensor:
    """An empty tensor that depends on the shared tensors and whose backward pass returns `deferred.gradients()`.

    `deferred` must not reference it, because a reference cycle would keep a whole batch alive.
    """
    empty: Tensor = _Deferred.apply(deferred, *shared)
    return empty


class _Deferred(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, deferred: DeferredGradients, *shared: Tensor) -> Tensor:
        ctx.deferred = deferred
        return shared[0].new_empty(0)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple[Tensor | None, ...]:
        return None, *ctx.deferred.gradients()


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
    """x W^T + b for all rows at once: [N, n_in] -> [N, n_out], or [D, N, n_in] -> [D, N, n_out]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return matmul(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        wants_x, wants_weight, wants_bias = ctx.needs_input_grad
        return (
            matmul(gradient, weight.mT) if wants_x else None,  # [.., N, n_out], [.., n_out, n_in] -> [.., N, n_in]
            gradient.mT @ x if wants_weight else None,  # [.., N, n_out], [.., N, n_in] -> [.., n_out, n_in]
            gradient.sum(dim=-2) if wants_bias else None,
        )


class _WeightGradients:
    """Deferred gradients of the weights of a fused product: the columns of sum_t g_t^T x_t that belong to each."""

    def __init__(self, weight: Tensor, parts: Sequence[Tensor]) -> None:
        """`weight` [.., n_out, n_1 + n_2 + ...] is fused, in the type of the products, of the parameters `parts`."""
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
    """x W^T + plus, [.., N, n_in] -> [.., N, n_out], in the type of the products; the gradient of W is deferred."""

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
