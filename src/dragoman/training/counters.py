"""The part of the training state that is not tensors of the model or the optimiser."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from dragoman.data.batches import BEGINNING, Position
from dragoman.training.objective import UpdateTotals
from dragoman.training.schedules import PlateauCounter
from dragoman.training.validation import perplexity_of


@dataclass
class Counters:
    """Positions, counts and best results, saved with the training state."""

    plateau: PlateauCounter
    update: int = 0
    """Updates done."""
    position: Position = BEGINNING
    """The next batch."""
    seconds: float = 0.0
    """Seconds of training when the state was saved; the time between a stop and a resumption is not counted."""
    best: float | None = None
    """The best value of the deciding metric, after `best_update` updates."""
    best_update: int = 0
    best_perplexity: float | None = None
    """Perplexity of that validation, which decides between equal values."""
    kept: float | None = None
    """The value of the weights that are kept, after `kept_update` updates: the best, or worse within the tolerance."""
    kept_update: int = 0
    bad_validations: int = 0
    """Validations since the best one."""
    validated_update: int = 0
    validated_epoch: int = 0
    """Update and epoch at the last validation."""
    validated_epochs: float = 0.0
    validated_seconds: float = 0.0
    """Epochs, with fraction, and seconds of training when the last validation began."""
    validation_seconds: float | None = None
    """Duration of the last validation."""
    validating_seconds: float = 0.0
    """Duration of all validations."""
    collapse_signs: list[str] = field(default_factory=list)
    """Signs of collapse in the last validation."""
    collapse_told: bool = False
    """Whether a collapse has been printed."""
    forecast: bool = False
    """Whether the epochs have been forecast."""

    def restore(self, values: dict[str, Any]) -> None:
        """Take the values that `dataclasses.asdict` and JSON made of other counters."""
        parts = {"position": Position(*values["position"]), "plateau": PlateauCounter(**values["plateau"])}
        vars(self).update({**values, **parts})


@dataclass
class LogInterval:
    """Sums over the updates since the last `train` record of the log.

    They stay tensors until they are read, because reading on a GPU waits for all work so far. A term that is not finite
    makes the sum not finite, so one test of the sum covers every update.
    """

    since: float
    """Seconds of training at its start, plus those spent on anything but updates."""
    objective: Tensor | float = 0.0
    nll: Tensor | float = 0.0
    norm: Tensor | float = 0.0
    guidance: Tensor | float = 0.0
    tokens: int = 0
    linked: int = 0
    updates: int = 0

    def add(self, totals: UpdateTotals, norm: Tensor) -> None:
        """Add an update."""
        self.objective = self.objective + totals.objective
        self.nll = self.nll + totals.nll
        self.norm = self.norm + norm
        self.guidance = self.guidance + totals.guidance
        self.tokens += totals.tokens
        self.linked += totals.linked
        self.updates += 1

    def is_finite(self) -> bool:
        """Whether every loss and every gradient was finite."""
        return math.isfinite(self.objective) and math.isfinite(self.nll) and math.isfinite(self.norm)

    def as_numbers(self) -> dict[str, float]:
        """The fields with numbers in place of tensors."""
        return {name: value if isinstance(value, int) else float(value) for name, value in vars(self).items()}

    def measures(self, rate: float, now: float) -> dict[str, float]:
        """The values of a `train` record."""
        alignment = {"alignment_loss": float(self.guidance) / self.linked} if self.linked else {}
        return {
            "loss": float(self.objective) / self.tokens,
            **alignment,
            "perplexity": perplexity_of(float(self.nll) / self.tokens),
            "tokens_per_second": self.tokens / max(now - self.since, 1e-9),
            "rate": rate,
            "gradient_norm": float(self.norm) / self.updates,
        }
