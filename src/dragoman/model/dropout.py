"""Dropout with one mask per step or one per sentence, and with probabilities that grow during training."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

DropUnits = Callable[[Tensor], Tensor]
"""Dropout prepared for one unrolling: maps x to x with units dropped; the identity outside training."""


def dropout(x: Tensor, probability: float) -> Tensor:
    """Zero the units of x at random and scale the others by 1 / (1 - probability); the shape stays."""
    return functional.dropout(x, probability, training=True)


class Dropout(nn.Module):
    """Dropout at one place of the model.

    Every step has a new mask (Zaremba et al. 2014), or with `variational` all steps of a sentence share one (Gal and
    Ghahramani 2016).
    """

    dropout = staticmethod(dropout)

    def __init__(self, probability: float, *, variational: bool = False) -> None:
        super().__init__()
        self.probability, self.variational = probability, variational
        self.strength = 1.0
        """Share of the probability that applies now, 0 to 1 (see `training.dropout_warmup`)."""

    def forward(self, x: Tensor) -> Tensor:
        """Drop units of all steps at once; x [B, L, n], L steps."""
        return self.prepare(len(x))(x)

    def prepare(self, sentences: int) -> DropUnits:
        """Prepare dropout for one unrolling over `sentences` sentences; x is rows grouped by sentence, [B*Q, .., n]."""
        probability = self.strength * self.probability
        if not self.training or probability == 0:
            return keep_all
        if not self.variational:
            return lambda x: self.dropout(x, probability)
        masks: list[Tensor] = []  # a single mask [B, 1, n], drawn at the first step

        def drop(x: Tensor) -> Tensor:
            if not masks:
                ones = torch.ones(sentences, 1, x.shape[-1], dtype=x.dtype, device=x.device)
                masks.append(self.dropout(ones, probability))
            grouped = x.reshape(sentences, -1, x.shape[-1])  # [B*Q, .., n] -> [B, Q, n]
            return (grouped * masks[0]).view(x.shape)  # [B, Q, n] -> [B*Q, .., n]

        return drop


def keep_all(x: Tensor) -> Tensor:
    """x itself: no unit is dropped."""
    return x
