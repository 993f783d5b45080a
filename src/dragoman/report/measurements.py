"""The measurements of log.jsonl that learning curves show, and their points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Records = Sequence[Mapping[str, Any]]
"""Records as read by `training.log.read_log`: mappings with `kind`, `update`, `seconds` and the measurements."""

Along = Literal["updates", "epochs", "minutes"]
"""The x axis of a learning curve."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement recorded in log.jsonl."""

    kind: str
    """Kind of the records that have it, under `key`."""
    key: str
    axis: str
    """Label of the y axis."""
    logarithmic: bool = False


MEASUREMENTS = {
    "perplexity": Measurement("validation", "perplexity", "perplexity of the dev set", logarithmic=True),
    "bleu": Measurement("validation", "bleu", "BLEU of the dev set"),
    "chrf": Measurement("validation", "chrf", "chrF of the dev set"),
    "accuracy": Measurement("validation", "accuracy", "accuracy on the dev set, %"),
    "loss": Measurement("train", "loss", "training loss, nats per token"),
    "training-perplexity": Measurement("train", "perplexity", "perplexity in training", logarithmic=True),
}
"""By the names of the command line."""

_KEYS: dict[Along, tuple[str, float]] = {
    "updates": ("update", 1.0),
    "epochs": ("epoch", 1.0),
    "minutes": ("seconds", 60.0),
}
"""The key of the x axis in a record, and the divisor of its unit."""


def points(records: Records, measurement: Measurement, along: Along = "updates") -> list[tuple[float, float]]:
    """Return (x, value) of each record that has the measurement, oldest first; null (not finite) is skipped."""
    key, unit = _KEYS[along]
    return [
        (record[key] / unit, record[measurement.key])
        for record in records
        if record["kind"] == measurement.kind and record.get(measurement.key) is not None
    ]
