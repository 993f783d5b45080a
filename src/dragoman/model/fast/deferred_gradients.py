"""Deferred gradients: a tensor that many steps share gets its gradient once, after all of them.

A tensor used at every step of a recurrence (a weight, the annotations) has a gradient that is a sum over the steps.
Automatic differentiation adds one part a step; where the sum is one large product, it is faster to collect the parts'
factors and multiply once. Each step takes the empty tensor of `defer_gradients` as an argument, so that the shared
tensor's gradient is computed after every step has gone back.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor


class DeferredGradients(Protocol):
    """Collects, during the backward pass, what the gradients of some shared tensors are made of."""

    def gradients(self) -> tuple[Tensor | None, ...]:
        """One gradient for each shared tensor, in their order; what was collected is given up."""
        ...


def defer_gradients(deferred: DeferredGradients, *shared: Tensor) -> Tensor:
    """An empty tensor that depends on the shared tensors; their gradients are those of `deferred`.

    `deferred` must not hold it: the two would keep each other alive.
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
