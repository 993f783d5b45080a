"""The forecast of a training with a time limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dragoman.config.building import override
from dragoman.config.presets import load_preset
from dragoman.config.scaling import scale
from dragoman.config.schema import TrainingConfig
from dragoman.model.description import describe, multiplications
from dragoman.training.forecast import Forecast, SmallerModel, Workload, forecast
from dragoman.training.log import read_log

SMALLER = {0.5: SmallerModel(0.35, 1_000_000), 0.25: SmallerModel(0.15, 400_000)}


def said(workload: Workload, pace: float, *, minutes: float = 12.0, wanted: float = 30.0) -> Forecast:
    """The forecast after a minute of `pace` epochs a minute."""
    left = 60 * (minutes - 1)
    return forecast(workload, epochs=pace, seconds=60.0, done=pace, left=left, wanted=wanted, minutes=minutes)


def test_too_little_time_is_told_with_a_model_that_sees_enough() -> None:
    text, warning = said(Workload(1_000_000, 4_000_000, SMALLER), 0.7 / 12)
    assert warning
    assert text == (
        "about 0.7 epochs in 12 minutes (972 target tokens a second in the first 60 seconds): too little for this "
        "model of 4,000,000 parameters; a model of 0.5 times its sizes (`--scale 0.5`) would make about 1.7"
    )


def test_the_smallest_model_that_is_still_too_large_is_no_advice() -> None:
    text, warning = said(Workload(100_000, 4_000_000, SMALLER), 0.01)
    assert warning
    assert text.endswith("even a model of 0.25 times its sizes would make only about 0.5: give it more minutes")
    assert said(Workload(100_000, 4_000_000), 0.01).text.endswith("; give it more minutes")


@pytest.mark.parametrize(("tokens", "pace"), [(1_000_000, 0.2), (10_000_000, 0.05)])
def test_two_epochs_or_a_token_for_each_parameter_are_enough(tokens: int, pace: float) -> None:
    text, warning = said(Workload(tokens, 4_000_000, SMALLER), pace)
    assert not warning
    assert text.startswith(f"about {12 * pace:.1f} epochs in 12 minutes (")
    assert "scale" not in text


def test_where_the_epochs_end_first_their_time_is_told() -> None:
    text, warning = said(Workload(1_000_000, 4_000_000), 5.0)
    assert (text[: text.index(" (")], warning) == ("all 30 epochs in about 6.0 of 12 minutes", False)


def test_the_loop_forecasts_once_without_counting_validations(
    harness: Callable[..., Any], recipe: Callable[..., TrainingConfig]
) -> None:
    """An update takes ten seconds and a validation twenty; an epoch is ten updates."""
    config = recipe(epochs=1000.0, minutes=20.0, validation__every=4, checkpoint_minutes=1000.0)
    run = harness(update_seconds=10.0, validation_seconds=20.0)
    run.run(config, workload=Workload(180, 1_000_000))
    found = [record for record in read_log(run.folder.log) if record.get("name") == "forecast"]
    assert len(found) == 1
    assert (found[0]["update"], found[0]["seconds"]) == (6, 80.0)
    # The time of later validations is not foreseen: 0.6 epochs, and the 1200 - 80 - 22 seconds that are left.
    assert found[0]["text"].startswith("about 11.6 epochs in 20 minutes (2 target tokens a second in the first 60 s")
    assert run.screen.getvalue().count("11.6 epochs") == 1


@pytest.mark.parametrize("options", [{"minutes": None}, {"minutes": 20.0}])
def test_without_a_limit_or_a_workload_there_is_no_forecast(
    harness: Callable[..., Any], recipe: Callable[..., TrainingConfig], options: dict[str, float | None]
) -> None:
    run = harness()
    run.run(recipe(epochs=2.0, **options), workload=Workload(180, 1_000_000) if options["minutes"] is None else None)
    assert not [record for record in read_log(run.folder.log) if record.get("name") == "forecast"]


def test_multiplications_are_those_of_matrices_but_embeddings() -> None:
    settings = ["model.encoder.size=320", "model.decoder.size=512"]
    config = override(load_preset("standard"), settings).model  # GRUs; embeddings 256, tied with the output
    encoder = 2 * 3 * (256 * 320 + 320 * 320)
    decoder = 3 * (256 * 512 + 512 * 512)
    count = multiplications(config, 5000, 5000)
    # The decoder reads more than the word. The tied matrix is looked up and multiplied, and counts once in both.
    assert encoder + decoder + 5000 * 256 < count < describe(config, 5000, 5000).count
    untied = load_preset("demo").model
    assert multiplications(untied, 5000, 5000) < describe(untied, 5000, 5000).count - 2 * 5000 * 128
    half = multiplications(scale(override(load_preset("standard"), settings), 0.5).model, 5000, 5000)
    assert 0.25 < half / count < 0.5
