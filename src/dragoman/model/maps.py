"""Linear maps: computed in a chosen precision, and used either on everything at once or step by step.

A map inside a recurrence is used once a step with the same weight. Its weight gradient is a sum over the steps,
dW = sum_t g_t^T x_t, which is one large product over the concatenated steps; automatic differentiation alone would
make it one small product and one addition of a whole matrix per step. `Map.bind` gives the step-by-step form that
collects (x_t, g_t) on the way back and multiplies once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

BoundMap = Callable[[Tensor], Tensor]
"""A map tied to one unrolling: [..., n_in] -> [..., n_out]."""


class Map(nn.Module):
    """x -> W x + b with W of [n_out, n_in], or of [D, n_out, n_in] for D maps side by side on [D, B, n_in].

    Parameters stay in their own type; `precision` is the type the product is computed in, and the result comes back
    in the type of x. None means the parameters' own.
    """

    def __init__(self, n_in: int, n_out: int, *, directions: int = 1, bias: bool = False) -> None:
        super().__init__()
        several = (directions,) if directions > 1 else ()
        self.weight = nn.Parameter(torch.empty(*several, n_out, n_in))
        self.bias = nn.Parameter(torch.zeros(*several, n_out)) if bias else None
        self.precision: torch.dtype | None = None

    def forward(self, x: Tensor) -> Tensor:
        """All steps in one product; x is [..., n_in], or [D, ..., n_in] where there are D maps."""
        weight = self._cast(self.weight)
        if weight.dim() == 2:
            y = functional.linear(x.to(weight.dtype), weight)
        else:
            flat = x.to(weight.dtype).flatten(1, -2)  # [D, ..., n_in] -> [D, N, n_in]
            y = torch.bmm(flat, weight.mT).view(*x.shape[:-1], weight.shape[1])
        y = y.to(x.dtype)
        if self.bias is None:
            return y
        bias = self.bias if self.bias.dim() == 1 else self.bias.view(-1, *[1] * (y.dim() - 2), self.bias.shape[-1])
        return y + bias

    def bind(self) -> BoundMap:
        """The map for use at every step of one unrolling."""
        product, bias = _StepwiseProduct(self.weight, self._cast(self.weight.detach())), self.bias
        return product if bias is None else lambda x: product(x) + bias

    def _cast(self, weight: Tensor) -> Tensor:
        return weight if self.precision is None else weight.to(self.precision)


class _StepwiseProduct:
    """One weight, many steps, one weight gradient."""

    def __init__(self, weight: Tensor, cast: Tensor) -> None:
        self.cast = cast
        self.inputs: list[Tensor] = []
        self.gradients: list[Tensor] = []
        self.anchor = _WeightGradient.apply(weight, self)

    def __call__(self, x: Tensor) -> Tensor:
        y: Tensor = _Product.apply(x, self.anchor, self)
        return y

    def weight_gradient(self) -> Tensor:
        """sum_t g_t^T x_t over all steps seen on the way back."""
        kept = self.cast.dim() - 2  # [.., n] -> [N, n], or [D, N, n] where there are D maps
        x = torch.cat([part.flatten(kept, -2) for part in self.inputs], dim=-2)
        g = torch.cat([part.flatten(kept, -2) for part in self.gradients], dim=-2)
        self.inputs.clear()
        self.gradients.clear()
        return g.mT @ x


class _WeightGradient(torch.autograd.Function):
    """An empty tensor that every step takes as an argument, so that its backward runs after all of theirs."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, steps: _StepwiseProduct) -> Tensor:
        ctx.steps = steps
        ctx.type = weight.dtype
        return weight.new_empty(0)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        return ctx.steps.weight_gradient().to(ctx.type), None


class _Product(torch.autograd.Function):
    """x W^T in the precision of the cast weight; backward gives x its gradient and leaves W's for the end."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, anchor: Tensor, steps: _StepwiseProduct) -> Tensor:
        ctx.steps = steps
        ctx.x = x.to(steps.cast.dtype)
        return torch.matmul(ctx.x, steps.cast.mT).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        g = gradient.to(ctx.steps.cast.dtype)
        ctx.steps.inputs.append(ctx.x)
        ctx.steps.gradients.append(g)
        return torch.matmul(g, ctx.steps.cast).to(gradient.dtype), None, None
