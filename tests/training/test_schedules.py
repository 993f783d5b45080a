from __future__ import annotations

from typing import Any

import pytest

from dragoman.config.schema import ScheduleConfig
from dragoman.config.section import keys_of
from dragoman.training.schedules import PlateauCounter, TrainingProgress, dropout_strength, learning_rate

NAMES = keys_of(ScheduleConfig)["name"].choices


def rate(
    update: int = 1, epochs: float = 0.0, fraction: float = 0.0, peak: float = 1.0, plateaus: int = 0, **settings: Any
) -> float:
    return learning_rate(ScheduleConfig(**settings), peak, TrainingProgress(update, epochs, fraction, plateaus))


@pytest.mark.parametrize(
    ("peak", "start", "every", "expected"),
    [
        # Sutskever et al. 2014, section 3.4: 0.7, halved every half epoch after five of 7.5 epochs
        (0.7, 5.0, 0.5, {0: 0.7, 4.99: 0.7, 5: 0.35, 5.5: 0.175, 6: 0.0875, 6.5: 0.04375, 7: 0.021875, 7.49: 0.021875}),
        # Luong et al. 2015, section 4.1: 1, halved every epoch after epoch 5 of 10; begun epochs from 0
        (1.0, 5.0, 1.0, {0: 1, 4: 1, 4.99: 1, 5: 0.5, 6: 0.25, 7: 0.125, 8: 0.0625, 9: 0.03125, 9.99: 0.03125}),
        # the same with dropout: after epoch 8 of 12
        (1.0, 8.0, 1.0, {0: 1, 7.99: 1, 8: 0.5, 9: 0.25, 10: 0.125, 11: 0.0625}),
    ],
)
def test_halving_gives_the_lists_of_the_papers(
    peak: float, start: float, every: float, expected: dict[float, float]
) -> None:
    rates = {epochs: rate(epochs=epochs, peak=peak, name="halving", start=start, every=every) for epochs in expected}
    assert rates == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
def test_warmup_grows_linearly_and_its_first_update_moves(name: str) -> None:
    rates = [rate(update, name=name, warmup=4, peak=2.0) for update in (1, 2, 3, 4)]
    assert rates == pytest.approx([0.5, 1.0, 1.5, 2.0])


@pytest.mark.parametrize("name", NAMES)
def test_without_warmup_training_begins_at_the_peak(name: str) -> None:
    assert rate(1, name=name, peak=0.3) == pytest.approx(0.3)


def test_constant_stays() -> None:
    assert rate(10**6, epochs=50, fraction=1.0, peak=0.25) == 0.25


def test_inverse_square_root_falls_from_the_end_of_the_warmup() -> None:
    rates = [rate(update, name="inverse-sqrt", warmup=100) for update in (50, 100, 400, 10000)]
    assert rates == pytest.approx([0.5, 1.0, 0.5, 0.1])


def test_cosine_goes_from_the_peak_to_the_minimum() -> None:
    rates = [rate(fraction=fraction, name="cosine", min_learning_rate=0.2) for fraction in (0, 0.25, 0.5, 0.75, 1)]
    assert rates == pytest.approx([1.0, 0.88284, 0.6, 0.31716, 0.2], abs=1e-5)


def test_cosine_past_the_end_stays_at_the_minimum() -> None:
    assert rate(fraction=1.5, name="cosine", min_learning_rate=0.2) == pytest.approx(0.2)


def test_plateau_multiplies_by_the_factor_and_never_falls_below_the_minimum() -> None:
    rates = [rate(plateaus=count, name="plateau", factor=0.1, min_learning_rate=0.005) for count in range(4)]
    assert rates == pytest.approx([1.0, 0.1, 0.01, 0.005])


def test_a_minimum_above_the_peak_is_the_peak() -> None:
    assert rate(fraction=1.0, name="cosine", min_learning_rate=5.0) == 1.0
    assert rate(plateaus=3, name="plateau", min_learning_rate=5.0) == 1.0


def test_dropout_grows_linearly_over_its_epochs_and_then_stays() -> None:
    assert [dropout_strength(4.0, epochs) for epochs in (0.0, 1.0, 3.0, 4.0, 9.0)] == [0.0, 0.25, 0.75, 1.0, 1.0]
    assert dropout_strength(0.0, 0.0) == 1.0


def test_plateaus_are_runs_of_validations_without_improvement() -> None:
    plateau = PlateauCounter(patience=2)
    counts = []
    for improved in (True, False, True, False, False, False, False, False, True):
        plateau.update(improved=improved)
        counts.append(plateau.plateaus)
    assert counts == [0, 0, 0, 0, 1, 1, 2, 2, 2]
