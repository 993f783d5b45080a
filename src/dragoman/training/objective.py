"""The objective of an update: the summed loss of its batches, divided by their tokens, their sentences, or nothing.

Sutskever et al. 2014 and Luong et al. 2015 divide by sentences, and their rates and their clipping norm of 5 only make
sense so; today's habit is to divide by tokens, which makes gradients some twenty-five times smaller; GroundHog, the
code of Bahdanau et al. 2015, does not divide, which decides how often its clipping acts. The sum comes first and the
division last, over all batches of the update: several small batches give the gradient of one large one. The loss of
guided alignment is a sum over target positions too, and is divided by the same number.

Scheduled sampling (Bengio et al. 2015): in search the model reads its own words, and a model trained on reference words
only never sees what follows a mistake. Here each previous word is, with a probability, a sample of the model's
distribution after the words before it, be they reference words or samples. The probability grows linearly over the
training, from zero to the configured value. The targets stay the reference words, and no gradient flows through the
samples.
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
from dragoman.text.vocabulary import BOS, EOS, PAD


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


@torch.no_grad()
def sample_previous_words(model: TranslationModel, batch: Batch, share: float) -> Tensor:
    """The previous word of each step, [B, T]: BOS, then a sample with probability `share`, else the reference word.

    Samples are drawn step by step as in search, without dropout. PAD, BOS and EOS, which search never reads, are never
    drawn. All random numbers are torch's.
    """
    words = model.previous_words(batch)
    chosen = torch.rand(words.shape, device=words.device) < share
    training = model.training
    model.eval()
    try:
        memory, state = model.start(batch.source, batch.source_lengths)
        prepared = model.decoder.prepare(memory, len(batch))
        for t in range(1, words.shape[1]):
            step = model.step(words[:, t - 1], state, prepared)
            state = step.state
            words[:, t] = torch.where(chosen[:, t], _draw(step.log_probabilities), words[:, t])
    finally:
        model.train(training)
    return words


def _draw(log_probabilities: Tensor) -> Tensor:
    """Draw a word for each row: the argmax of log p_v - log E_v, E_v exponential, is v with probability p_v."""
    waiting = torch.empty_like(log_probabilities).exponential_().log_()
    keys = log_probabilities - waiting
    keys[:, [PAD, BOS, EOS]] = -torch.inf
    return keys.argmax(dim=1)  # [B, V] -> [B]
