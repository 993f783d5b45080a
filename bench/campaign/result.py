"""What a part of the campaign is given, and what it returns."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LISTED = 50
"""The largest number of failures of one promise that are printed and written; all are counted."""


@dataclass(frozen=True)
class Settings:
    """How a part runs.

    Trials are drawn by `seed`, so that the same settings without `seconds` try the same things again. A part given
    `seconds` tries them in an order drawn by the seed until the time is over; what it has tried is counted.
    """

    scratch: Path
    """An empty folder for the files of this part."""
    shared: Path
    """A folder for what several parts use, such as a trained run; see `campaign.materials`."""
    seed: int = 1
    trials: int | None = None
    """The number of trials for each promise; None for the full size of the part."""
    seconds: float | None = None
    """Time for the part, its preparation included; None for no limit."""
    started: float = field(default_factory=time.monotonic)

    def is_over(self) -> bool:
        """Whether the time of the part is used up."""
        return self.seconds is not None and time.monotonic() - self.started > self.seconds


@dataclass(frozen=True)
class Failure:
    """A trial in which a promise was broken, with all that is needed to repeat it."""

    trial: dict[str, Any]
    found: str
    """What happened, in words."""


@dataclass
class Result:
    """The trials of one promise."""

    part: str
    promise: str
    """What dragoman promises, as a sentence for the lab book."""
    unit: str
    """What a trial is, in the plural: "write points", "lines", "files"."""
    trials: int = 0
    failures: list[Failure] = field(default_factory=list)
    facts: dict[str, int] = field(default_factory=dict)
    """Trials by command or kind."""

    def count(self, kind: str, trials: int = 1) -> None:
        """Count trials of a kind."""
        self.trials += trials
        self.facts[kind] = self.facts.get(kind, 0) + trials

    def fail(self, found: str, **trial: Any) -> None:
        """Note, and print, that a promise was broken."""
        self.failures.append(Failure(trial, found))
        if len(self.failures) <= LISTED:
            print(f"{self.part}: FAILED {json.dumps(trial, ensure_ascii=False)}: {found}", flush=True)
