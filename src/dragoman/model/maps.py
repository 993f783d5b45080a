"""Linear maps: computed in a chosen precision, and used either on everything at once or step by step.

A map inside a recurrence is used once a step with the same weight. Its weight gradient is a sum over the steps,
dW = sum_t g_t^T x_t, which is one large product over the concatenated steps. `Map.bind` gives the step-by-step form
that collects (x_t, g_t) on the way back and multiplies once; `bind_sum` that of several maps whose results are added.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.model.deferred import anchor
from dragoman.model.products import product

ROUND = 128
"""Rows of a product over many steps come in multiples of this."""


class BoundMap(Protocol):
    """A map tied to one unrolling: [..., n_in] -> [..., n_out], plus something of that shape, as computed."""

    def __call__(self, x: Tensor, plus: Tensor | None = None) -> Tensor: ...


class BoundSum(Protocol):
    """The same of several maps, each of an input of its own: the sum of what they give."""

    def __call__(self, inputs: Sequence[Tensor], plus: Tensor | None = None) -> Tensor: ...


class Map(nn.Module):
    """x -> W x + b with W of [n_out, n_in], or of [D, n_out, n_in] for D maps side by side on [D, ..., n_in].

    With a bias, the first `unbiased` outputs have none.

    Parameters stay in their own type. The product is computed, and the result handed on, in `precision` (None: the
    parameters' type): converting a whole sequence back at once is slower than each user's converting its step.
    """

    def __init__(self, n_in: int, n_out: int, *, directions: int = 1, bias: bool = False, unbiased: int = 0) -> None:
        super().__init__()
        several = (directions,) if directions > 1 else ()
        self.weight = nn.Parameter(torch.empty(*several, n_out, n_in))
        self.bias = nn.Parameter(torch.zeros(*several, n_out - unbiased)) if bias else None
        self.unbiased = unbiased
        self.precision: torch.dtype | None = None

    def forward(self, x: Tensor) -> Tensor:
        """All steps in one product; x is [..., n_in], or [D, ..., n_in] where there are D maps."""
        weight, bias, x = self._cast(self.weight), self._bias(), self._cast(x)
        kept = weight.dim() - 2  # dimensions in front of the rows: the maps side by side
        rows = x.flatten(kept, -2)
        count = rows.shape[-2]
        rows = filled_up(rows, padding(count, weight.dtype))
        y: Tensor = _Linear.apply(rows, weight, bias)
        return y[..., :count, :].reshape(*x.shape[:-1], y.shape[-1])

    def bind(self) -> BoundMap:
        """The map for use at every step of one unrolling."""
        summed = bind_sum([self])
        return lambda x, plus=None: summed([x], plus)

    def _bias(self) -> Tensor | None:
        if self.bias is None:
            return None
        bias = functional.pad(self.bias, (self.unbiased, 0)) if self.unbiased else self.bias
        return self._cast(bias)

    def _cast(self, x: Tensor) -> Tensor:
        return x if self.precision is None else x.to(self.precision)


def bind_sum(maps: Sequence[Map]) -> BoundSum:
    """The sum of maps, each of an input of its own, for use at every step of one unrolling.

    W_1 x_1 + W_2 x_2 = [W_1 W_2] [x_1; x_2] is one product, longer and so faster.
    """
    weights = [one.weight for one in maps]
    factors = _Factors(_side_by_side([one._cast(one.weight.detach()) for one in maps]), weights)
    shared = anchor(factors, *weights)
    biases = [bias for one in maps if (bias := one._bias()) is not None]
    bias = functools.reduce(operator.add, biases) if biases else None
    if bias is not None and bias.dim() == 2:
        bias = bias.unsqueeze(1)  # [D, 1, n_out]: over the rows of each of the maps side by side

    def bound(inputs: Sequence[Tensor], plus: Tensor | None = None) -> Tensor:
        y: Tensor = _Product.apply(_side_by_side(inputs), plus, shared, factors)
        return y if bias is None else y + bias

    return bound


def _side_by_side(parts: Sequence[Tensor]) -> Tensor:
    return torch.cat(tuple(parts), dim=-1) if len(parts) > 1 else parts[0]


def padding(rows: int, precision: torch.dtype) -> int:
    """How many rows of zeros make the number of rows a round one, where that matters.

    Fast kernels for bfloat16 are compiled for each new shape, which takes as long as ten products; batches of text
    would bring ever new shapes. Those for other types are there already.
    """
    return -rows % ROUND if precision == torch.bfloat16 else 0


def filled_up(rows: Tensor, missing: int) -> Tensor:
    """Rows [.., N, n] with so many rows of zeros below; themselves, not a copy, where none is missing."""
    return functional.pad(rows, (0, 0, 0, missing)) if missing else rows


class _Linear(torch.autograd.Function):
    """x W^T + b, all rows at once."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        return (
            product(gradient, weight.mT) if of_x else None,
            gradient.mT @ x if of_weight else None,
            gradient.sum(dim=-2) if of_bias else None,
        )


class _Factors:
    """Weights side by side, many steps, one gradient for each weight: its columns of sum_t g_t^T x_t."""

    def __init__(self, weight: Tensor, parts: Sequence[Tensor]) -> None:
        """`weight` is what products are taken with, in their type; `parts` are the weights that it was made of."""
        self.weight = weight
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self._widths = [part.shape[-1] for part in parts]
        self._type = parts[0].dtype

    def gradients(self) -> tuple[Tensor, ...]:
        kept = self.weight.dim() - 2  # [.., n] -> [N, n], or [D, N, n] where there are D maps
        x, g = _all_rows(self.inputs, kept), _all_rows(self.outputs, kept)
        self.inputs.clear()
        self.outputs.clear()
        return tuple(part.to(self._type).contiguous() for part in (g.mT @ x).split(self._widths, dim=-1))


def _all_rows(steps: list[Tensor], kept: int) -> Tensor:
    """The rows of all steps, filled up with rows of zeros, which add nothing to a product over the rows."""
    rows = [step.flatten(kept, -2) for step in steps]
    missing = padding(sum(part.shape[-2] for part in rows), rows[0].dtype)
    return torch.cat([*rows, rows[0].new_zeros(*rows[0].shape[:-2], missing, rows[0].shape[-1])], dim=-2)


class _Product(torch.autograd.Function):
    """x W^T + plus, in the type of the cast weight; backward gives x its gradient and leaves W's for the end."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, plus: Tensor | None, weight: Tensor, factors: _Factors) -> Tensor:
        ctx.factors, ctx.type, ctx.has_plus = factors, x.dtype, plus is not None
        ctx.x = x.to(factors.weight.dtype)
        return product(ctx.x, factors.weight, plus)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        factors = ctx.factors
        factors.inputs.append(ctx.x)
        factors.outputs.append(gradient)
        of_x = product(gradient, factors.weight.mT).to(ctx.type) if ctx.needs_input_grad[0] else None
        return of_x, gradient if ctx.has_plus else None, None, None
