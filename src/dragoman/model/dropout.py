"""Dropout, with masks for every step or for a whole sentence."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

DropUnits = Callable[[Tensor], Tensor]
"""Dropout prepared for one unrolling, x -> x with units dropped; the identity outside training."""


def dropout(x: Tensor, probability: float) -> Tensor:
    """x with units zeroed at random, the others scaled by 1 / (1 - probability)."""
    return functional.dropout(x, probability, training=True)


class Dropout(nn.Module):
    """Dropout at one place of the model.

    Masks are new for every unit (Zaremba et al. 2014), or with `variational` one for all the steps of a sentence
    (Gal and Ghahramani 2016).
    """

    dropout = staticmethod(dropout)

    def __init__(self, probability: float, *, variational: bool = False) -> None:
        super().__init__()
        self.probability, self.variational = probability, variational

    def forward(self, x: Tensor) -> Tensor:
        """All steps at once, x of [B, L, n]."""
        return self.prepare(len(x))(x)

    def prepare(self, sentences: int) -> DropUnits:
        """For one unrolling over `sentences` sentences: takes any number of rows grouped by sentence, [B*Q, .., n]."""
        if not self.training or self.probability == 0:
            return _identity
        if not self.variational:
            return lambda x: self.dropout(x, self.probability)
        masks: list[Tensor] = []  # one, [B, 1, n], drawn at the first step

        def drop(x: Tensor) -> Tensor:
            if not masks:
                ones = torch.ones(sentences, 1, x.shape[-1], dtype=x.dtype, device=x.device)
                masks.append(self.dropout(ones, self.probability))
            return (x.reshape(sentences, -1, x.shape[-1]) * masks[0]).view(x.shape)  # by way of [B, Q, n]

        return drop


def _identity(x: Tensor) -> Tensor:
    return x
