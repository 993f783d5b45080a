"""Measurements on the dev set, and the detection of collapsed models in its translations.

The loop receives the measurements as functions, so that it does not depend on search.

The translations of a collapsed model hardly depend on the source or do not end. It can have a falling loss: it has
learned which words are frequent and ignores the source. Its translations show that at once. They are compared with the
references, so that a repetitive corpus, or one of one-word lines, gives no warning.
"""

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


ALIKE = 0.1
"""Warn if the number of different hypotheses is below this share of the number of different references."""
FEW = 10
"""Minimum number of different references for that warning."""
LONG, SHORT = 3.0, 0.2
"""Warn if the ratio of hypothesis to reference characters is above `LONG` or below `SHORT`."""
UNFINISHED = 0.5
"""Warn if more than this share of the hypotheses reached the length limit without EOS."""

ADVICE = (
    "usual in the first minutes of training; if it stays, lower training.optimiser.learning_rate or lengthen "
    "training.schedule.warmup, and check that source and target files belong together line by line"
)


def signs_of_collapse(translations: DevTranslations) -> list[str]:
    """What is wrong with translations of the dev set: for each sign the cause, a colon and figures."""
    signs = []
    different, expected = len(set(translations.hypotheses)), len(set(translations.references))
    if expected >= FEW and different < ALIKE * expected:
        signs.append(
            f"the model gives nearly the same translation for every sentence: {different} different translations, but "
            f"{expected} different references"
        )
    written, wanted = (sum(map(len, texts)) for texts in (translations.hypotheses, translations.references))
    if wanted and written > LONG * wanted:
        signs.append(f"translations are too long: {written / wanted:.1f} times as long as the references")
    elif written < SHORT * wanted:
        signs.append(f"translations are too short: only {100 * written / wanted:.0f} % of the length of the references")
    if translations.unfinished > UNFINISHED * len(translations.hypotheses):
        signs.append(
            f"translations do not end: {translations.unfinished} of {len(translations.hypotheses)} translations ran "
            "into the length limit without EOS"
        )
    return signs
