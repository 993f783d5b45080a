"""Confidence: the probability that a translation is good, from what is known when it has been found.

A logistic regression on a few features of a translation, fitted to translations whose quality was measured. It sees no
reference, so a fluent mistake that the model is sure of is not found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from dragoman.stored_files import JsonFile, dump_json, read_json
from dragoman.text.lines import replace_file
from dragoman.text.loops import has_loop
from dragoman.text.vocabulary import UNK

FILE = "confidence.json"
FORMAT = 1
_REMEDY = "restore it from a copy, or remove it; without it translations have no confidence"

Doubt = Literal["low probability", "unknown words", "items lost", "wrong length"]
"""Why a translation should not be trusted."""

FEATURES: Mapping[str, Doubt] = {
    "mean log-probability": "low probability",
    "unsure segments": "low probability",
    "mean source rank": "unknown words",
    "characters per source segment": "unknown words",
    "items lost": "items lost",
    "length ratio": "wrong length",
    "loop or truncation": "wrong length",
}
"""The features in their order, with the doubt that each may raise."""
_SIGNS = np.array([1, -1, -1, 1, -1, -1, -1])
"""Of the weights: a rare fault, such as a lost item, may by chance have been seen in good translations only."""

_UNSURE = math.log(0.3)
_LOWEST = -20.0
_ITEM = re.compile(r"[^\s,;!?()]*[\d@#$%&/\\_{}<>=][^\s,;!?()]*")
_END_OF_SENTENCE = ".:"
_RIDGE = 1.0
"""Penalty on squared weights of standardised features."""
_STEPS = 25
FEWEST = 5
"""Good translations, and bad ones, that a fit needs."""


class Confidence(NamedTuple):
    """How far a translation can be trusted."""

    value: float
    """Probability that it is good."""
    doubt: Doubt | None
    """Where it is more likely bad: what speaks most against it."""


class Feature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A feature's mean over the translations of the fit, and its weight."""

    mean: float
    weight: float


class ConfidenceModel(JsonFile, frozen=True, kw_only=True):
    """A fitted regression; confidence.json of a run or an exported folder."""

    bias: float
    features: dict[str, Feature]
    """By the names in `FEATURES`."""

    def assess(self, features: NDArray[np.float64]) -> Confidence:
        """Return the confidence of a translation with these features [F]."""
        known = [self.features[name] for name in FEATURES]
        parts = [one.weight * (value - one.mean) for one, value in zip(known, features.tolist(), strict=True)]
        value = 1 / (1 + math.exp(-max(-50.0, self.bias + sum(parts))))
        if value >= 0.5:
            return Confidence(value, None)
        against: dict[Doubt, float] = dict.fromkeys(FEATURES.values(), 0.0)
        for doubt, part in zip(FEATURES.values(), parts, strict=True):
            against[doubt] += part
        return Confidence(value, min(against.items(), key=lambda item: item[1])[0])

    def write(self, folder: Path) -> None:
        """Write confidence.json into a folder.

        Raises:
            InputError: it cannot be written.
        """
        with replace_file(folder / FILE) as file:
            file.write(dump_json(msgspec.to_builtins(self), indent=1))


def read_confidence(folder: Path) -> ConfidenceModel | None:
    """Read confidence.json; None where a folder has none.

    Raises:
        RunError: it is damaged, or of another format.
    """
    try:
        model = read_json(folder / FILE, ConfidenceModel, newest=FORMAT, remedy=_REMEDY)
    except FileNotFoundError:
        return None
    return model if model.features.keys() == FEATURES.keys() else None


def features_of(
    source: str,
    text: str,
    source_ids: Sequence[int],
    token_log_probabilities: NDArray[np.float64],
    *,
    finished: bool,
) -> NDArray[np.float64]:
    """Return the features [F] of the translation `text` of a line that is not blank.

    Args:
        source_ids: S ids of the line's segments; the less frequent a segment, the higher its id.
        token_log_probabilities: [T + 1], EOS included.
        finished: whether it ended before the longest length.
    """
    logs = np.maximum(token_log_probabilities, _LOWEST)
    ids = np.array(source_ids)
    items = [item.rstrip(_END_OF_SENTENCE) for item in _ITEM.findall(source)]
    return np.array(
        [
            logs.mean(),
            (logs < _UNSURE).mean(),
            np.where(ids == UNK, 10.0, np.log1p(ids)).mean(),
            len("".join(source.split())) / len(ids),
            sum(item not in text for item in items),
            abs(math.log(len(logs) / (len(ids) + 1))),
            float(not finished or has_loop(source, text)),
        ]
    )


def fit(features: NDArray[np.float64], good: NDArray[np.bool_]) -> ConfidenceModel | None:
    """Fit the regression with a ridge penalty; a feature whose weight would have the wrong sign is left out.

    Args:
        features: [N, F], those of N translations.
        good: [N] which of these are good.

    Returns:
        the regression; None if there are fewer than `FEWEST` good or bad ones.
    """
    if min(good.sum(), (~good).sum()) < FEWEST:
        return None
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    deviation[deviation == 0] = 1.0
    inputs = np.column_stack([np.ones(len(features)), (features - mean) / deviation])
    used = np.ones(inputs.shape[1], np.bool_)
    while True:
        weights = np.zeros(inputs.shape[1])
        weights[used] = _minimum(inputs[:, used], good)
        wrong = np.append(False, weights[1:] * _SIGNS < 0)
        if not wrong.any():
            break
        used &= ~wrong
    pairs = zip(FEATURES, mean.tolist(), (weights[1:] / deviation).tolist(), strict=True)
    return ConfidenceModel(
        format=FORMAT, bias=float(weights[0]), features={name: Feature(one, weight) for name, one, weight in pairs}
    )


def _minimum(inputs: NDArray[np.float64], good: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the weights [I] of `inputs` [N, I] by Newton's method; the first, of a constant, has no penalty."""
    penalty = _RIDGE * np.eye(inputs.shape[1])
    penalty[0, 0] = 0.0
    weights = np.zeros(inputs.shape[1])
    for _ in range(_STEPS):
        probability = 1 / (1 + np.exp(-inputs @ weights))
        curvature = (inputs.T * (probability * (1 - probability))) @ inputs + penalty
        weights -= np.linalg.solve(curvature, inputs.T @ (probability - good) + penalty @ weights)
    return weights
