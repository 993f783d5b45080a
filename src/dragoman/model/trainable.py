"""The interface of trainable models: the loss of a batch, guided alignment, and the precision of products.

Guided alignment trains alignment weights towards given word alignments (Chen et al. 2016):

    loss = - sum_t sum_s A_ts log a_ts,    A_ts = 1 / (links of target position t) where s and t are linked, else 0

over the target positions t that have links. a_t are the weights of the step that aligns t: step t, or step t + 1 with
an `attention_shift` of 1. The loss is a sum, like that of the words, so that both are divided by the same number later.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from dragoman.data.batches import Batch, BatchLinks
from dragoman.model.dropout import Dropout
from dragoman.model.linear import Linear
from dragoman.model.output_layer import OutputLayer

EPSILON = 1e-30
"""Weights up to this add neither loss nor gradient: outside the window of local attention they are exactly zero,
whatever the energies."""


class GuidedLoss(NamedTuple):
    """The summed loss in nats (differentiable, a scalar), and the number of target positions that it is summed over."""

    loss: Tensor
    positions: int


def guided_loss(weights: Tensor, links: BatchLinks, shift: int) -> GuidedLoss:
    """The loss of alignment weights [B, T, S] against links between segments."""
    steps = links.rows * weights.shape[1] + links.target + shift
    steps, index, counts = np.unique(steps, return_inverse=True, return_counts=True)
    row, step, source, share = (
        torch.from_numpy(part).to(weights.device)
        for part in (links.rows, links.target + shift, links.source, 1 / counts[index])
    )
    linked = weights[row, step, source]  # [B, T, S] -> [links]
    # where, not clamp: the logarithm of zero must not be taken at all, or its gradient is not a number
    logs = torch.where(linked > EPSILON, linked, 1.0).log()
    return GuidedLoss(-(share.to(logs.dtype) * logs).sum(), len(steps))


class Loss(NamedTuple):
    """The loss of a batch in nats, summed over its real target tokens, EOS counted.

    objective: the minimised sum: label-smoothed negative log-likelihood plus weighted guided-alignment loss (scalar)
    nll:       negative log-likelihood, without smoothing, detached (scalar)
    guidance:  guided-alignment loss, unweighted and detached; None without guided alignment
    """

    objective: Tensor
    nll: Tensor
    tokens: int
    sentences: int
    guidance: GuidedLoss | None = None


class Trainable(nn.Module):
    """A model with a softmax over a vocabulary, whose matrix products may run in a precision of their own."""

    output: OutputLayer

    def __init__(self) -> None:
        super().__init__()
        self.precision: torch.dtype | None = None
        self.dropout_strength = 1.0

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self.output.weight.device

    def loss(
        self,
        batch: Batch,
        label_smoothing: float = 0.0,
        *,
        guided_alignment: float = 0.0,
        previous: Tensor | None = None,
    ) -> Loss:
        """Teacher-forced loss of a batch, summed over its real target tokens."""
        raise NotImplementedError

    def set_precision(self, precision: torch.dtype | None) -> None:
        """Set the type of matrix products (None: that of the parameters); states and softmax are unaffected."""
        self.precision = precision
        for module in self.modules():
            if isinstance(module, Linear | OutputLayer):
                module.precision = precision

    def set_dropout_strength(self, strength: float) -> None:
        """Set the share of all dropout probabilities that applies from now on, 0 to 1."""
        self.dropout_strength = strength
        for module in self.modules():
            if isinstance(module, Dropout):
                module.strength = strength

    @contextmanager
    def full_precision(self) -> Iterator[None]:
        """Run products in the type of the parameters inside the block, as inference does."""
        before = self.precision
        self.set_precision(None)
        try:
            yield
        finally:
            self.set_precision(before)


Model = TypeVar("Model", bound=Trainable)
