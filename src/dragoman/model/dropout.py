"""Dropout whose random numbers cost little, with masks for every step or for a whole sentence.

A unit is dropped when a random byte falls below a threshold, so probabilities are multiples of 1/256 (0.3 becomes
77/256 = 0.3008, and kept units are scaled by exactly its inverse). Eight bytes come out of one draw of the generator;
one draw a unit made dropout dearer than the products around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

Drop = Callable[[Tensor], Tensor]
"""What happens to a tensor on its way; the identity outside training."""


class Dropout(nn.Module):
    """Dropout at one place of the model.

    Masks are new for every unit (Zaremba et al. 2014), or with `variational` one for all the steps of a sentence
    (Gal and Ghahramani 2016).
    """

    def __init__(self, probability: float, *, variational: bool = False) -> None:
        super().__init__()
        self.probability, self.variational = probability, variational

    def forward(self, x: Tensor) -> Tensor:
        """All steps at once, x of [B, L, n]."""
        return self.bind(len(x))(x)

    def bind(self, sentences: int) -> Drop:
        """For one unrolling over so many sentences: takes any number of rows grouped by sentence, [B*Q, .., n]."""
        if not self.training or round(256 * self.probability) == 0:
            return _identity
        if not self.variational:
            return lambda x: dropout(x, self.probability, training=True)
        held: list[Tensor] = []

        def drop(x: Tensor) -> Tensor:
            if not held:
                ones = torch.ones(sentences, 1, x.shape[-1], dtype=x.dtype, device=x.device)
                held.append(dropout(ones, self.probability, training=True))
            return (x.reshape(sentences, -1, x.shape[-1]) * held[0]).view(x.shape)

        return drop


def dropout(x: Tensor, probability: float, training: bool) -> Tensor:
    """x with units zeroed at random and the others scaled up, in training; x itself otherwise.

    The probability is rounded to the nearest multiple of 1/256.
    """
    threshold = round(256 * probability)
    if not training or threshold == 0:
        return x
    y: Tensor = _Dropout.apply(x, threshold)
    return y


def random_bytes(shape: torch.Size, device: torch.device) -> Tensor:
    """Uniform bytes [shape] from torch's generator."""
    count = shape.numel()
    draws = torch.empty((count + 7) // 8, dtype=torch.int64, device=device).random_(-(2**63), None)
    return draws.view(torch.uint8)[:count].view(shape)


def _identity(x: Tensor) -> Tensor:
    return x


class _Dropout(torch.autograd.Function):
    """Keeps the mask as one byte a unit."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, threshold: int) -> Tensor:
        ctx.kept = random_bytes(x.shape, x.device) >= threshold
        ctx.scale = 256 / (256 - threshold)
        y: Tensor = (x * ctx.kept).mul_(ctx.scale)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return (gradient * ctx.kept).mul_(ctx.scale), None
