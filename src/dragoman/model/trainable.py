"""The interface of trainable models: the loss of a batch, and the precision of products."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from dragoman.data.batches import Batch
from dragoman.model.dropout import Dropout
from dragoman.model.guided_alignment import GuidedLoss
from dragoman.model.linear import Linear
from dragoman.model.output_layer import OutputLayer


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
