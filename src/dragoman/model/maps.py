"""Linear maps: computed in a chosen precision, and used either on everything at once or step by step.

A map inside a recurrence is used once a step with the same weight. Its weight gradient is a sum over the steps,
dW = sum_t g_t^T x_t, which is one large product over the concatenated steps. `Map.bind` gives the step-by-step form
that collects (x_t, g_t) on the way back and multiplies once.
"""

from __future__ import annotations

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
        factors, bias = _Factors(self._cast(self.weight.detach()), self.weight.dtype), self._bias()
        if bias is not None and bias.dim() == 2:
            bias = bias.unsqueeze(1)  # [D, 1, n_out]: over the rows of each of the maps side by side
        weight = anchor(factors, self.weight)

        def bound(x: Tensor, plus: Tensor | None = None) -> Tensor:
            y: Tensor = _Product.apply(x, plus, weight, factors)
            return y if bias is None else y + bias

        return bound

    def _bias(self) -> Tensor | None:
        if self.bias is None:
            return None
        bias = functional.pad(self.bias, (self.unbiased, 0)) if self.unbiased else self.bias
        return self._cast(bias)

    def _cast(self, x: Tensor) -> Tensor:
        return x if self.precision is None else x.to(self.precision)


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
    """One weight, many steps, one weight gradient: sum_t g_t^T x_t."""

    def __init__(self, weight: Tensor, of_gradient: torch.dtype) -> None:
        self.weight = weight
        self.of_gradient = of_gradient
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []

    def gradients(self) -> tuple[Tensor]:
        kept = self.weight.dim() - 2  # [.., n] -> [N, n], or [D, N, n] where there are D maps
        x, g = _all_rows(self.inputs, kept), _all_rows(self.outputs, kept)
        self.inputs.clear()
        self.outputs.clear()
        return ((g.mT @ x).to(self.of_gradient),)


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
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        factors = ctx.factors
        factors.inputs.append(ctx.x)
        factors.outputs.append(gradient)
        return product(gradient, factors.weight.mT).to(ctx.type), gradient if ctx.has_plus else None, None, None
