"""Schedules of the learning rate and of dropout: their values at every update, from the progress of the training.

The learning rate:

    constant       peak
    halving        peak * 1/2 for every `every` epochs begun from epoch `start` on (Sutskever 2014, Luong 2015)
    inverse-sqrt   peak * sqrt(warmup / update), from the end of the warmup on (Vaswani et al. 2017 section 5.3)
    cosine         from peak down to `minimum` at the end of training (Loshchilov and Hutter 2017, one period)
    plateau        peak * factor for every `patience` validations in a row without improvement

Before each of them comes a linear warmup, which multiplies the rate by update / warmup; updates count from 1, so the
first one has a rate above zero.

With a wall-clock budget the end of training, and so the cosine, depends on the clock: two such runs agree only if their
machines are equally fast. All other rates are functions of updates, epochs and dev results.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dragoman.config.schema import ScheduleConfig


@dataclass(frozen=True)
class TrainingProgress:
    """The progress of a training at the start of an update."""

    update: int
    """The update that begins, from 1."""
    epochs: float
    """Passes over the training data so far, with fraction; of a training of so many updates (`training.updates`), the
    share of them that is done times `training.epochs`."""
    fraction: float
    """Share of the whole training that is done, 0 to 1: of its epochs or updates, or of its minutes if that is more."""
    plateaus: int = 0
    """Plateaus so far (see `PlateauCounter`)."""


def learning_rate(config: ScheduleConfig, peak: float, progress: TrainingProgress) -> float:
    """The learning rate of the update that starts now."""
    warmup = min(1.0, progress.update / config.warmup) if config.warmup else 1.0
    return warmup * _RATES[config.name](config, peak, progress)


def dropout_strength(warmup: float, epochs: float) -> float:
    """Share of the dropout probabilities after so many epochs, if they grow linearly over the first `warmup`.

    Curriculum dropout (Morerio et al. 2017) with a linear curriculum: a model cannot overfit text that it has seen
    once or twice, and learns faster from it without noise.
    """
    return min(1.0, epochs / warmup) if warmup else 1.0


@dataclass
class PlateauCounter:
    """Counts plateaus: `patience` validations in a row without a new best result."""

    patience: int
    bad_validations: int = 0
    """Validations without improvement since the last improvement or plateau."""
    plateaus: int = 0
    """Plateaus so far."""

    def update(self, *, improved: bool) -> None:
        """Count a validation."""
        self.bad_validations = 0 if improved else self.bad_validations + 1
        if self.bad_validations == self.patience:
            self.plateaus += 1
            self.bad_validations = 0


def _constant(config: ScheduleConfig, peak: float, progress: TrainingProgress) -> float:
    return peak


def _halving(config: ScheduleConfig, peak: float, progress: TrainingProgress) -> float:
    # The literal reading of both papers: the first halving comes right after epoch `start`. One branch of the
    # released code of Luong 2015 begins one period later; that is start + every.
    if progress.epochs < config.start:
        return peak
    return float(peak * 0.5 ** (math.floor((progress.epochs - config.start) / config.every) + 1))


def _inverse_sqrt(config: ScheduleConfig, peak: float, progress: TrainingProgress) -> float:
    warmup = max(1, config.warmup)
    return peak * math.sqrt(warmup / max(warmup, progress.update))


def _cosine(config: ScheduleConfig, peak: float, progress: TrainingProgress) -> float:
    floor = min(config.min_learning_rate, peak)
    return floor + (peak - floor) * (1 + math.cos(math.pi * min(1.0, progress.fraction))) / 2


def _plateau(config: ScheduleConfig, peak: float, progress: TrainingProgress) -> float:
    return float(max(min(config.min_learning_rate, peak), peak * config.factor**progress.plateaus))


_RATES: dict[str, Callable[[ScheduleConfig, float, TrainingProgress], float]] = {
    "constant": _constant,
    "halving": _halving,
    "inverse-sqrt": _inverse_sqrt,
    "cosine": _cosine,
    "plateau": _plateau,
}
