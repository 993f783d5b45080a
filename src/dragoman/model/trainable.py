"""What the training loop asks of a model, whatever it predicts words from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from dragoman.data.batches import Batch
from dragoman.model.guided_alignment import GuidedLoss
from dragoman.model.linear import Linear
from dragoman.model.output_layer import OutputLayer


class Loss(NamedTuple):
    """Sums over the real target tokens of a batch, end of sentence counted, in nats.

    objective: what is minimised: the label-smoothed negative log-likelihood, and the weighted loss of guided attention
    guidance:  the latter unweighted and detached; None where attention is not guided
    """

    objective: Tensor
    nll: Tensor
    tokens: int
    sentences: int
    guidance: GuidedLoss | None = None


class Trainable(nn.Module):
    """A model of words with a softmax over a vocabulary, whose products can run in another precision."""

    output: OutputLayer

    def __init__(self) -> None:
        super().__init__()
        self.precision: torch.dtype | None = None

    @property
    def device(self) -> torch.device:
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
        """The type of matrix products; None is the parameters' own, which states and softmax keep in any case."""
        self.precision = precision
        for module in self.modules():
            if isinstance(module, Linear | OutputLayer):
                module.precision = precision

    @contextmanager
    def full_precision(self) -> Iterator[None]:
        """Products in the parameters' own type for a while: what a finished model is used with."""
        before = self.precision
        self.set_precision(None)
        try:
            yield
        finally:
            self.set_precision(before)


Model = TypeVar("Model", bound=Trainable)
