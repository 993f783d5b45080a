"""The objective of an update: the summed loss of its batches, divided by their tokens, their sentences, or nothing.

Sutskever et al. 2014 and Luong et al. 2015 divide by sentences, and their rates and their clipping norm of 5 only make
sense so; today's habit is to divide by tokens, which makes gradients some twenty-five times smaller; GroundHog, the
code of Bahdanau et al. 2015, does not divide, which decides how often its clipping acts. The sum comes first and the
division last, over all batches of the update: several small batches give the gradient of one large one. The loss of
guided alignment is a sum over target positions too, and is divided by the same number.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from dragoman.data.batches import Batch
from dragoman.model.trainable import Loss, Trainable
from dragoman.model.translation import TranslationModel
from dragoman.training.scheduled_sampling import sample_previous_words


@dataclass(frozen=True, slots=True)
class TrainingObjective:
    """The objective at one moment of the training."""

    unit: Literal["tokens", "sentences", "none"] = "tokens"
    """What the sum is divided by; nothing, if `none`."""
    label_smoothing: float = 0.0
    guided_alignment: float = 0.0
    """Weight of the guided alignment loss."""
    sampled: float = 0.0
    """Share of previous words that are sampled from the model."""

    def divisor(self, batches: Sequence[Batch]) -> int:
        """The number by which the summed loss of `batches` is divided."""
        return {"tokens": _tokens(batches), "sentences": sum(map(len, batches)), "none": 1}[self.unit]


class UpdateTotals(NamedTuple):
    """Sums over the batches of an update."""

    objective: Tensor
    """Label-smoothed negative log-likelihood plus the weighted guided alignment loss, detached, in nats."""
    nll: Tensor
    """Plain negative log-likelihood, detached, in nats."""
    tokens: int
    """Target tokens, EOS included."""
    guidance: Tensor | float = 0.0
    """Guided alignment loss, detached, not weighted, in nats; 0 without guided alignment."""
    linked: int = 0
    """Target positions that it is summed over, those with links."""


def accumulate_gradients(
    model: Trainable, batches: Sequence[Batch], objective: TrainingObjective, divisor: int | None = None
) -> UpdateTotals:
    """Add the gradients of the summed loss of `batches`, divided over all of them as `objective` describes.

    Args:
        batches: none of them empty; without batches there are no gradients, and the totals are zero.
        divisor: what the sum is divided by where these batches are a part of the update's; None if they are all.
    """
    divisor = objective.divisor(batches) if divisor is None else divisor
    losses = [_add_gradients(model, batch, objective, divisor) for batch in batches]
    guidances = [loss.guidance for loss in losses if loss.guidance is not None]
    if not losses:
        nothing = torch.zeros((), dtype=model.output.weight.dtype, device=model.device)
        return UpdateTotals(nothing, nothing, 0)
    return UpdateTotals(
        _sum(loss.objective for loss in losses),
        _sum(loss.nll for loss in losses),
        _tokens(batches),
        _sum(guidance.loss for guidance in guidances) if guidances else 0.0,
        sum(guidance.positions for guidance in guidances),
    )


def _add_gradients(model: Trainable, batch: Batch, objective: TrainingObjective, divisor: int) -> Loss:
    """Add the gradients of one batch; return its loss, detached, so that its graph is freed at once."""
    previous = None
    if objective.sampled:
        assert isinstance(model, TranslationModel), "scheduled sampling is for translation"
        previous = sample_previous_words(model, batch, objective.sampled)
    loss = model.loss(batch, objective.label_smoothing, guided_alignment=objective.guided_alignment, previous=previous)
    (loss.objective / divisor).backward()
    return loss._replace(objective=loss.objective.detach())


def _tokens(batches: Sequence[Batch]) -> int:
    """Target tokens, EOS included."""
    return sum(int(batch.target_lengths.sum()) for batch in batches)


def _sum(parts: Iterable[Tensor]) -> Tensor:
    return functools.reduce(operator.add, parts)
