"""Deferred gradients: the gradient of a tensor that many steps share is computed once, after all steps.

A tensor used at every step of a recurrence (a weight, the annotations) has a gradient that is a sum over the steps.
Automatic differentiation adds one term per step. Where the sum is one large product, it is faster to collect the
factors of the terms and multiply once. Each step takes the empty tensor of `defer_gradients` as an argument, so that
autograd computes the gradient of the shared tensor after the backward pass of every step.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor


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
