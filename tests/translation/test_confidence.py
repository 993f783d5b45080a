"""Confidence: features, the fit, and what is said of a translation."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from dragoman.errors import RunError
from dragoman.text.vocabulary import UNK
from dragoman.translation.confidence import (
    FEATURES,
    FEWEST,
    FILE,
    ConfidenceModel,
    Feature,
    features_of,
    fit,
    read_confidence,
)


def of(
    source: str = "a 12 dog",
    text: str = "12",
    ids: tuple[int, ...] = (4, 9, 3),
    logs: tuple[float, ...] = (-0.1, -2.0),
    *,
    finished: bool = True,
) -> dict[str, float]:
    found = features_of(source, text, ids, np.array(logs), finished=finished)
    return dict(zip(FEATURES, found.tolist(), strict=True))


def test_features_of_a_translation() -> None:
    assert of() == pytest.approx(
        {
            "mean log-probability": -1.05,
            "unsure segments": 0.5,
            "mean source rank": (math.log(5) + math.log(10) + math.log(4)) / 3,
            "characters per source segment": 2,
            "items lost": 0,
            "length ratio": math.log(2),
            "loop or truncation": 0,
        }
    )
    assert of(ids=(UNK,))["mean source rank"] == 10
    assert of(logs=(-math.inf, 0))["mean log-probability"] == -10
    assert of("see a@b.de, 3.14 and {x}.", "a@b.de {x}")["items lost"] == 1
    assert of(finished=False)["loop or truncation"] == of(text="no no no no")["loop or truncation"] == 1


def drawn(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Features, and whether a translation is good: with probability 1 / (1 + exp(-(1 + 2 x - y)))."""
    draw = np.random.default_rng(1)
    found = draw.normal(3, 2, (count, len(FEATURES)))
    found[:, -1] = 0
    chance = 1 / (1 + np.exp(-(1 + 2 * found[:, 0] - found[:, 4])))
    return found, draw.random(count) < chance


def test_a_fit_finds_the_weights_that_data_were_drawn_with() -> None:
    model = fit(*drawn(20_000))
    assert model is not None
    weights = [one.weight for one in model.features.values()]
    assert weights == pytest.approx([2, 0, 0, 0, -1, 0, 0], abs=0.12)
    assert model.bias - sum(one.weight * one.mean for one in model.features.values()) == pytest.approx(1, abs=0.25)
    found, good = drawn(2_000)
    values = np.array([model.assess(row).value for row in found])
    assert values.mean() == pytest.approx(good.mean(), abs=0.01)


def test_a_weight_of_the_wrong_sign_is_left_out() -> None:
    found, good = drawn(2_000)
    found[:, 4] *= -1
    model = fit(found, good)
    assert model is not None
    weights = {name: one.weight for name, one in model.features.items()}
    assert weights["items lost"] == 0
    assert weights["mean log-probability"] > 1


def test_too_few_good_or_bad_translations_are_not_fitted() -> None:
    found = np.random.default_rng(1).normal(size=(50, len(FEATURES)))
    good = np.arange(50) >= FEWEST
    assert fit(found, good) is not None
    assert fit(found, ~good) is not None
    assert fit(found, np.arange(50) >= FEWEST - 1) is None
    assert fit(found, np.ones(50, bool)) is None


def model_of(**weights: float) -> ConfidenceModel:
    names = {name.replace(" ", "_").replace("-", "_"): name for name in FEATURES}
    features = dict.fromkeys(FEATURES, Feature(0.0, 0.0)) | {
        names[key]: Feature(1.0, one) for key, one in weights.items()
    }
    return ConfidenceModel(format=1, bias=0.0, features=features)


def test_a_doubt_is_what_speaks_most_against_a_translation() -> None:
    model = model_of(mean_log_probability=1.0, unsure_segments=-1.0, mean_source_rank=-1.5, items_lost=-4.0)
    for values, doubt in (
        ([1, 1, 1, 0, 1, 0, 0], None),  # each at its mean
        ([0, 2, 2, 0, 1, 0, 0], "low probability"),  # two features together
        ([1, 1, 3, 0, 1, 0, 0], "unknown words"),
        ([0, 1, 1, 0, 2, 0, 0], "items lost"),
        ([9, 1, 3, 0, 1, 0, 0], None),
    ):
        confidence = model.assess(np.array(values, np.float64))
        assert confidence.doubt == doubt, values
        assert (confidence.value < 0.5) == (doubt is not None), values
    assert model.assess(np.array([-99.0, 1, 1, 0, 99, 0, 0])).value == pytest.approx(0, abs=1e-9)


def test_a_file_has_what_was_fitted_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    assert read_confidence(tmp_path) is None
    model = fit(*drawn(100))
    assert model is not None
    model.write(tmp_path)
    read = read_confidence(tmp_path)
    assert read is not None
    assert (read.bias, read.features) == (model.bias, model.features)
    text = (tmp_path / FILE).read_text(encoding="utf-8")
    (tmp_path / FILE).write_text(text.replace('"mean": ', '"mean": 1', 1), encoding="utf-8")
    with pytest.raises(RunError, match=r"confidence\.json: is damaged"):
        read_confidence(tmp_path)
