"""The softmax and its loss over a large vocabulary, without keeping what a long output layer would keep.

Logits of a whole batch are its largest tensor by far. They are made for a few rows at a time, small enough for the
cache, and their gradient is taken while they are there; the backward pass then only scales.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

ROWS = 512
"""Rows of logits at a time: with 10,000 words 20 MB in float32, and enough rows for products to run at full speed."""


class TokenLosses(NamedTuple):
    """Summed over the rows: the smoothed loss (differentiable) and the plain negative log-likelihood, in nats."""

    smoothed: Tensor
    nll: Tensor


def cross_entropy(readout: Tensor, weight: Tensor, bias: Tensor | None, words: Tensor, smoothing: float) -> TokenLosses:
    """-sum_i sum_v q_i(v) log p_i(v), p = softmax(W o + b), q = (1 - s) [v = y_i] + s / V.

    readout [N, O] in the type the products shall have, weight [V, O] and bias [V] in their own, words [N].
    """
    smoothed, nll = _CrossEntropy.apply(readout, weight, bias, words, smoothing)
    return TokenLosses(smoothed, nll)


def log_softmax(readout: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """log p(v) for every row, [N, V] in float32 or better."""
    return torch.log_softmax(_logits(readout, weight.to(readout.dtype), bias), dim=-1)


def _logits(readout: Tensor, cast: Tensor, bias: Tensor | None) -> Tensor:
    logits = torch.mm(readout, cast.t())
    if logits.dtype == torch.bfloat16:
        logits = logits.float()
    return logits if bias is None else logits.add_(bias)


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, readout: Tensor, weight: Tensor, bias: Tensor | None, words: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        cast = weight.to(readout.dtype)
        differentiate = any(ctx.needs_input_grad)
        smoothed, nll = (torch.zeros((), dtype=torch.float64, device=weight.device) for _ in range(2))
        readout_gradient = torch.empty_like(readout)
        weight_gradient = torch.zeros_like(weight) if differentiate else None
        bias_gradient = torch.zeros_like(bias) if differentiate and bias is not None else None
        for start in range(0, len(words), ROWS):
            rows, targets = readout[start : start + ROWS], words[start : start + ROWS, None]
            logits = _logits(rows, cast, bias)
            logs = torch.log_softmax(logits, dim=1, out=logits)
            own = -logs.gather(1, targets).sum(dtype=torch.float64)
            nll += own
            smoothed += (1 - smoothing) * own
            if smoothing:
                smoothed -= smoothing / len(weight) * logs.sum(dim=1).sum(dtype=torch.float64)
            if weight_gradient is None:
                continue
            gradient = logs.exp_()  # p - q from here on
            if smoothing:
                gradient -= smoothing / len(weight)
            gradient.scatter_add_(1, targets, gradient.new_full(targets.shape, smoothing - 1))
            if bias_gradient is not None:
                bias_gradient += gradient.sum(dim=0)
            low = gradient.to(readout.dtype)
            torch.mm(low, cast, out=readout_gradient[start : start + ROWS])
            weight_gradient += torch.mm(low.t(), rows)
        ctx.gradients = readout_gradient, weight_gradient, bias_gradient
        ctx.mark_non_differentiable(nll)
        return smoothed, nll

    @staticmethod
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None, None]:  # type: ignore[override]
        readout, weight, bias = ctx.gradients
        ctx.gradients = None
        if bias is not None:
            bias.mul_(scale)
        return readout * scale.to(readout.dtype), weight.mul_(scale), bias, None, None
