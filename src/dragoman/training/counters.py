"""What changes during training and is not a tensor of the model or the optimiser; it is saved and comes back."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from dragoman.data.batches import Position
from dragoman.training.objective import UpdateTotals
from dragoman.training.schedules import PlateauCounter
from dragoman.training.validation import perplexity_of

_BEGINNING = Position(epoch=0, batch=0)


@dataclass
class Counters:
    """What changes during training and is not a tensor."""

    plateau: PlateauCounter
    update: int = 0
    """Updates done."""
    position: Position = _BEGINNING
    """The batch that comes next."""
    seconds: float = 0.0
    """Of training, when the state was saved; time between a stop and a resumption is not counted."""
    best: float | None = None
    """The deciding metric at its best, after `best_update` updates."""
    best_update: int = 0
    stale: int = 0
    """Validations since then."""
    validated_update: int = 0
    validated_epoch: int = 0
    """Update and epoch at the last validation."""
    validation_seconds: float | None = None
    """What the last validation took."""
    signs: list[str] = field(default_factory=list)
    """Signs of collapse that the last validation showed."""

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Counters:
        """The inverse of `dataclasses.asdict` and JSON."""
        parts = {"position": Position(*values["position"]), "plateau": PlateauCounter(**values["plateau"])}
        return cls(**{**values, **parts})


@dataclass
class LogInterval:
    """Sums over the updates since the last training line of the log.

    They stay tensors until somebody reads them: on a GPU reading waits for all work so far. What is not a number
    makes the sum not a number, so one look at the end tells about every update in between.
    """

    since: float
    """Seconds of training when it began; moved on by whatever is not an update."""
    objective: Tensor | float = 0.0
    nll: Tensor | float = 0.0
    norm: Tensor | float = 0.0
    guidance: Tensor | float = 0.0
    tokens: int = 0
    linked: int = 0
    updates: int = 0

    def add(self, totals: UpdateTotals, norm: Tensor) -> None:
        """Take notice of an update."""
        self.objective = self.objective + totals.objective
        self.nll = self.nll + totals.nll
        self.norm = self.norm + norm
        self.guidance = self.guidance + totals.guidance
        self.tokens += totals.tokens
        self.linked += totals.linked
        self.updates += 1

    def is_finite(self) -> bool:
        """Whether every loss and every gradient was a number."""
        return math.isfinite(self.objective) and math.isfinite(self.nll) and math.isfinite(self.norm)

    def numbers(self) -> dict[str, float]:
        """The same, out of tensors."""
        return {name: value if isinstance(value, int) else float(value) for name, value in vars(self).items()}

    def measures(self, rate: float, now: float) -> dict[str, float]:
        """The values of a training line."""
        alignment = {"alignment_loss": float(self.guidance) / self.linked} if self.linked else {}
        return {
            "loss": float(self.objective) / self.tokens,
            **alignment,
            "perplexity": perplexity_of(float(self.nll) / self.tokens),
            "tokens_per_second": self.tokens / max(now - self.since, 1e-9),
            "rate": rate,
            "gradient_norm": float(self.norm) / self.updates,
        }
