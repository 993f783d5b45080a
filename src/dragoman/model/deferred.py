"""Gradients that wait: what many steps share gets its gradient once, after all of them.

A tensor used at every step of a recurrence (a weight, the annotations) has a gradient that is a sum over the steps.
Automatic differentiation adds one part a step; where the sum is one large product, it is faster to collect the parts'
factors and multiply once. Each step takes the empty tensor of `anchor` as an argument, so that the shared tensor's
gradient is asked for after every step has gone back.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor


class Collector(Protocol):
    """Gathers, on the way back, what the gradients of some shared tensors are made of."""

    def gradients(self) -> tuple[Tensor | None, ...]:
        """One gradient for each shared tensor, in their order; what was gathered is given up."""
        ...


def anchor(collector: Collector, *shared: Tensor) -> Tensor:
    """An empty tensor that depends on the shared tensors; `collector` answers for their gradients.

    The collector must not hold it: the two would keep each other alive.
    """
    empty: Tensor = _Anchor.apply(collector, *shared)
    return empty


class _Anchor(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, collector: Collector, *shared: Tensor) -> Tensor:
        ctx.collector = collector
        return shared[0].new_empty(0)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple[Tensor | None, ...]:
        return None, *ctx.collector.gradients()
