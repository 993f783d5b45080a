"""The papers' training recipes, as their presets have them."""

from __future__ import annotations

import pytest

from dragoman.config.presets import load_preset, preset_names
from dragoman.training.schedules import TrainingProgress, learning_rate

SUTSKEVER = [0.7] * 10 + [0.35, 0.175, 0.0875, 0.04375, 0.021875]
"""Section 3.4, by half epochs."""
LUONG = [1.0] * 5 + [0.5, 0.25, 0.125, 0.0625, 0.03125]
"""Section 4.1, by epochs."""
LUONG_DROPPED = [1.0] * 8 + [0.5, 0.25, 0.125, 0.0625]
"""Section 4.1, with dropout, by epochs."""

LUONG_PRESETS = [name for name in preset_names() if name.startswith("luong2015")]
PLACES = (0.0, 0.5, 0.999)
"""Shares of a period that have passed."""
ADADELTA_PRESETS = [name for name in preset_names() if name.startswith(("cho2014", "bahdanau2015", "rnnencdec"))]


def rates_at(preset: str, place: float, period: float) -> list[float]:
    """The rate of every period of the preset's training, `place` (0 to 1) of the way through it."""
    training = load_preset(preset).training
    periods = training.epochs / period
    assert periods == int(periods)
    epochs = [(number + place) * period for number in range(int(periods))]
    return [
        learning_rate(
            training.schedule,
            training.optimiser.learning_rate,
            TrainingProgress(1 + number, passed, passed / training.epochs),
        )
        for number, passed in enumerate(epochs)
    ]


def test_sutskever_halves_every_half_epoch_after_the_fifth() -> None:
    for place in PLACES:
        assert rates_at("sutskever2014", place, 0.5) == pytest.approx(SUTSKEVER), place


def test_luong_halves_every_epoch_after_the_fifth_or_with_dropout_the_eighth() -> None:
    for preset in LUONG_PRESETS:
        dropped = load_preset(preset).model.dropout.layers > 0
        for place in PLACES:
            expected = pytest.approx(LUONG_DROPPED if dropped else LUONG)
            assert rates_at(preset, place, 1.0) == expected, (preset, place)


def test_both_of_luongs_schedules_are_looked_at() -> None:
    assert {load_preset(preset).training.epochs for preset in LUONG_PRESETS} == {10, 12}


def test_plain_gradient_descent_divides_by_sentences_and_clips_at_five() -> None:
    for preset in ("sutskever2014", *LUONG_PRESETS):
        training = load_preset(preset).training
        optimiser, batch = training.optimiser, training.batch
        assert (optimiser.name, training.loss_normalisation, optimiser.max_gradient_norm) == (
            "sgd",
            "sentences",
            5.0,
        ), preset
        assert (batch.unit, batch.size, batch.accumulate) == ("sentences", 128, 1), preset


def test_the_montreal_models_are_trained_by_adadelta_without_a_rate() -> None:
    for preset in ADADELTA_PRESETS:
        training = load_preset(preset).training
        optimiser = training.optimiser
        values = (optimiser.name, optimiser.rho, optimiser.epsilon, optimiser.max_gradient_norm)
        assert values == ("adadelta", 0.95, 1e-6, 1.0), preset
        assert set(rates_at(preset, 0.0, 1.0)) == {1.0}, preset


def test_every_preset_of_a_paper_is_looked_at() -> None:
    of_papers = {*preset_names()} - {"standard", "demo", "characters"}
    assert {"sutskever2014", *LUONG_PRESETS, *ADADELTA_PRESETS} == of_papers
    assert len(ADADELTA_PRESETS) >= 5


@pytest.mark.parametrize(
    ("preset", "pairs", "size", "sort"),
    [
        ("cho2014", 64, 64, None),  # section 4.1.1: 64 pairs drawn at random
        ("bahdanau2015", 1600, 80, "longer"),  # B.2; the released code sorts by the longer side
        ("luong2015-global-general", 12_800, 128, "target"),  # the released code: 100 batches by target length
    ],
)
def test_pools_are_of_the_papers_sizes(preset: str, pairs: int, size: int, sort: str | None) -> None:
    batch = load_preset(preset).training.batch
    assert (batch.unit, batch.size, batch.size * batch.pool) == ("sentences", size, pairs)
    assert sort in (None, batch.sort)


@pytest.mark.parametrize(
    ("preset", "initialisation", "init_scale"),
    [
        ("cho2014", "orthogonal", 0.01),
        ("sutskever2014", "uniform", 0.08),
        ("bahdanau2015", "orthogonal", 0.01),
        ("luong2015-global-general", "uniform", 0.1),
    ],
)
def test_first_weights_are_drawn_as_the_papers_say(preset: str, initialisation: str, init_scale: float) -> None:
    model = load_preset(preset).model
    assert (model.initialisation, model.init_scale) == (initialisation, init_scale)
