"""The reversal of sentences with a gradient that is a plain selection of rows."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def permute_rows(x: Tensor, rows: Tensor) -> Tensor:
    """Rows of [B, S, n], taken as [B*S, n], in the order `rows` [B*S], a permutation that is its own inverse."""
    y: Tensor = _Permute.apply(x, rows)
    return y


class _Permute(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> Tensor:
        ctx.rows = rows
        return x.flatten(0, 1).index_select(0, rows).view(x.shape)  # by way of [B*S, n]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient.flatten(0, 1).index_select(0, ctx.rows).view(gradient.shape), None
