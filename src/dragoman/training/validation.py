"""Measurements on the dev set, which the loop receives as functions, so that it does not depend on search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic

from dragoman.data.batches import Batch
from dragoman.model.trainable import Model, Trainable


@dataclass(frozen=True)
class DevTranslations:
    """The dev set, translated."""

    hypotheses: Sequence[str]
    """Raw text, one for each dev sentence that was translated."""
    references: Sequence[str]
    """Raw text, as many."""
    scores: dict[str, float] = field(default_factory=dict)
    """Metric ("bleu", "chrf", "accuracy", 0 to 100 each) to its value."""
    unfinished: int = 0
    """How many hypotheses reached the maximum length without EOS."""


@dataclass(frozen=True)
class Validators(Generic[Model]):
    """The measurements of a validation; they run in evaluation mode, without gradients, with averaged weights."""

    perplexity: Callable[[Model], float]
    """Perplexity of the dev set's references."""
    translate: Callable[[Model], DevTranslations] | None = None
    """Translation of the dev set with the search of the validation."""


def perplexity(model: Trainable, batches: Iterable[Batch]) -> float:
    """exp(total negative log-likelihood / number of target tokens), EOS included, without label smoothing."""
    total, tokens = 0.0, 0
    for batch in batches:
        loss = model.loss(batch, label_smoothing=0.0)
        total += float(loss.nll)
        tokens += loss.tokens
    return perplexity_of(total / tokens)


def perplexity_of(nll: float) -> float:
    """exp of nats per token; infinite if it overflows."""
    return math.inf if nll > 700 else math.exp(nll)
