"""What an update minimises: the summed loss of its batches, divided by their tokens or by their sentences.

Sutskever et al. 2014 and Luong et al. 2015 divide by sentences, and their rates and their clipping norm of 5 only make
sense so; today's habit is to divide by tokens, which makes gradients some twenty-five times smaller. The sum comes
first and the division last, over all batches of the update: several small batches give the gradient of one large one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from torch import Tensor

from dragoman.data.batches import Batch
from dragoman.model.translation import TranslationModel


class Totals(NamedTuple):
    """Sums over the batches of an update."""

    objective: Tensor
    """Label-smoothed negative log-likelihood, detached, in nats."""
    nll: Tensor
    """Plain negative log-likelihood, detached, in nats."""
    tokens: int
    """Target tokens, end of sentence counted."""


def accumulate_gradients(
    model: TranslationModel, batches: Sequence[Batch], unit: Literal["token", "sentence"], label_smoothing: float
) -> Totals:
    """Add to the gradients those of the summed loss of `batches`, divided by the tokens or sentences of them all."""
    tokens = sum(int(batch.target_lengths.sum()) for batch in batches)
    divisor = tokens if unit == "token" else sum(len(batch.target_lengths) for batch in batches)
    losses = []
    for batch in batches:
        loss = model.loss(batch, label_smoothing)
        (loss.objective / divisor).backward()
        losses.append(loss)
    objective, nll = losses[0].objective.detach(), losses[0].nll
    for loss in losses[1:]:
        objective, nll = objective + loss.objective.detach(), nll + loss.nll
    return Totals(objective, nll, tokens)
