"""The forecast of a training with a time limit: how many epochs it will see, from the speed of its beginning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

MEASURED = 60.0
"""Seconds of updates from which the speed is known ..."""

MEASURED_SHARE = 0.1
"""... or this share of the time limit, if that is shorter."""

FEWEST_EPOCHS = 2.0
"""Epochs below which a training is short for its model, if it also sees fewer target tokens than parameters.

A rule of thumb: on Multi30k the recipe `standard` had 27.7 of its later 39.8 BLEU after 1.7 epochs, and in all saw 1.6
tokens for each parameter (docs/recipe.md).
"""


FIXED = 0.1
"""Share of the time of an update that does not depend on the sizes of the model.

Measured: an update of the preset `standard` with half its sizes and 0.32 of its multiplications took 0.38 of the time,
with a quarter of its sizes and 0.115 of its multiplications 0.21 (float32, one thread, processor time).
"""


class SmallerModel(NamedTuple):
    """The same model with smaller layers."""

    multiplications: float
    """Multiplications for a pair, relative to the model that is trained."""
    parameters: int

    @property
    def time(self) -> float:
        """Estimated time of an update, relative to the model that is trained."""
        return FIXED + (1 - FIXED) * self.multiplications


@dataclass(frozen=True, slots=True)
class Workload:
    """Text and model of a training."""

    tokens: int
    """Target tokens of an epoch, EOS included."""
    parameters: int
    smaller: Mapping[float, SmallerModel] = field(default_factory=dict)
    """By the factor of its sizes, the largest first."""

    def is_too_little(self, epochs: float, parameters: int) -> bool:
        """Whether so many epochs are too little to learn so many parameters."""
        return epochs < FEWEST_EPOCHS and epochs * self.tokens < parameters


class Forecast(NamedTuple):
    """A message for the user."""

    text: str
    warning: bool
    """Whether there is too little time for the model."""


def enough_measured(seconds: float, minutes: float) -> bool:
    """Whether updates have taken long enough to know their speed."""
    return seconds >= min(MEASURED, MEASURED_SHARE * 60 * minutes)


def forecast(
    workload: Workload, *, epochs: float, seconds: float, done: float, left: float, wanted: float, minutes: float
) -> Forecast:
    """Forecast the epochs of a training.

    Args:
        epochs, seconds: measured: so many epochs took so many seconds, validations not counted.
        done: epochs so far.
        left: seconds until the last update.
        wanted: epochs without the time limit.
        minutes: the time limit.
    """
    pace = epochs / seconds
    total = done + pace * left
    basis = f"{pace * workload.tokens:,.0f} target tokens a second in the first {seconds:.0f} seconds"
    if total >= wanted:
        needed = minutes - (left - (wanted - done) / pace) / 60
        return Forecast(
            f"all {wanted:.3g} epochs in about {needed:.1f} of {minutes:g} minutes ({basis})", warning=False
        )
    text = f"about {total:.1f} epochs in {minutes:g} minutes ({basis})"
    if not workload.is_too_little(total, workload.parameters):
        return Forecast(text, warning=False)
    return Forecast(
        f"{text}: too little for this model of {workload.parameters:,} parameters{_advice(workload, total)}",
        warning=True,
    )


def _advice(workload: Workload, epochs: float) -> str:
    """Name the largest model that would see enough, by its number of multiplications."""
    advice = "; give it more minutes"
    for factor, smaller in workload.smaller.items():
        seen = epochs / smaller.time
        if not workload.is_too_little(seen, smaller.parameters):
            return f"; a model of {factor:g} times its sizes (`--scale {factor:g}`) would make about {seen:.1f}"
        advice = f"; even a model of {factor:g} times its sizes would make only about {seen:.1f}: give it more minutes"
    return advice
