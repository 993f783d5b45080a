from __future__ import annotations

import math
import os
import re
import signal
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from dragoman.config.schema import TrainingConfig
from dragoman.errors import ConfigError, InputError, Interrupted, TrainingError
from dragoman.training.log import read_log
from dragoman.training.loop import Beginning
from dragoman.training.validation import DevTranslations

Make = Callable[..., Any]
Recipe = Callable[..., TrainingConfig]


def records(harness: Any, kind: str) -> list[dict[str, Any]]:
    return [record for record in read_log(harness.folder.log) if record["kind"] == kind]


def test_a_tiny_model_learns_to_copy(harness: Make, recipe: Recipe, tiny: Make) -> None:
    run = harness(model=tiny(dropout=0.0))
    summary = run.run(recipe(epochs=8.0, optimiser__learning_rate=0.06, schedule__name="cosine"))
    losses = [record["loss"] for record in records(run, "train")]
    assert losses[0] == pytest.approx(math.log(16), abs=0.3)
    assert losses[-1] < 0.7 * losses[0]
    assert summary.best < 6


def test_the_summary_says_how_it_ended(harness: Make, recipe: Recipe) -> None:
    run = harness(perplexity=[9.0, 7.0, 8.0].__getitem__)
    summary = run.run(recipe(epochs=3.0))
    assert (summary.reason, summary.update, summary.epochs, summary.seconds) == ("epochs", 30, 3.0, 30.0)
    assert (summary.metric, summary.best, summary.best_update) == ("perplexity", 7.0, 20)


def test_the_log_has_a_line_every_so_many_updates(harness: Make, recipe: Recipe) -> None:
    run = harness(validation_seconds=100.0)
    run.run(
        recipe(epochs=2.0, log_every=6, optimiser__learning_rate=0.5, schedule__name="halving", schedule__start=1.0)
    )
    lines = records(run, "train")
    assert [line["update"] for line in lines] == [6, 12, 18]
    assert [line["epoch"] for line in lines] == [0.6, 1.2, 1.8]
    assert [line["rate"] for line in lines] == [0.5, 0.25, 0.25]
    assert [line["seconds"] for line in lines] == [6.0, 112.0, 118.0]
    tokens = len(run.store.target.ids) + len(run.store)  # of an epoch, end of sentence counted
    assert sum(6 * line["tokens_per_second"] for line in lines) == pytest.approx(1.8 * tokens, rel=0.1)
    for line in lines:
        assert line["perplexity"] == pytest.approx(math.exp(line["loss"]))
        assert line["gradient_norm"] > 0


def test_the_rate_falls_with_the_first_update_of_an_epoch(harness: Make, recipe: Recipe) -> None:
    run = harness()
    run.run(recipe(log_every=1, optimiser__learning_rate=0.5, schedule__name="halving", schedule__start=1.0))
    assert [line["rate"] for line in records(run, "train")] == [0.5] * 10 + [0.25] * 10


def test_with_label_smoothing_loss_and_perplexity_differ(harness: Make, recipe: Recipe) -> None:
    run = harness()
    run.run(recipe(epochs=1.0, label_smoothing=0.2, optimiser__learning_rate=0.02))
    line = records(run, "train")[-1]
    assert abs(line["perplexity"] - math.exp(line["loss"])) > 1e-3


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"epochs": 2.0}, [10, 20]),
        ({"epochs": 1.5}, [10, 15]),
        ({"epochs": 0.3}, [3]),
        ({"epochs": 1.0, "validation__every": 4}, [4, 8, 10]),
        ({"epochs": 1.0, "validation__every": 5}, [5, 10]),
        ({"epochs": 2.0, "batch__accumulate": 4}, [3, 5]),
        ({"epochs": 1.0, "validation__at_least": 5}, [2, 4, 6, 8, 10]),
        ({"epochs": 3.0, "validation__at_least": 5}, [6, 10, 16, 20, 26, 30]),  # and once an epoch
        ({"epochs": 6.0, "validation__at_least": 5}, [10, 20, 30, 40, 50, 60]),
        ({"epochs": 2.0, "validation__every": 1000, "validation__at_least": 5}, [4, 8, 12, 16, 20]),
        ({"epochs": 2.0, "validation__every": 4, "validation__at_least": 5}, [4, 8, 12, 16, 20]),
        # An average moves every 8 updates; between them there is nothing new to measure.
        ({"epochs": 2.0, "average_decay": 0.9, "validation__every": 4}, [8, 16]),
        ({"epochs": 2.4, "average_decay": 0.9, "validation__every": 3}, [8, 16, 24]),
        ({"epochs": 1.1, "average_decay": 0.9, "validation__at_least": 5}, [8]),
        ({"epochs": 2.0, "average_decay": 0.9, "validation__every": 1000}, [20]),
        ({"epochs": 0.5, "average_decay": 0.9, "validation__every": 2}, [5]),
    ],
)
def test_the_dev_set_is_asked_when_due_and_at_the_end(
    harness: Make, recipe: Recipe, settings: dict[str, Any], expected: list[int]
) -> None:
    run = harness()
    run.run(recipe(**settings))
    assert [record["update"] for record in records(run, "validation")] == expected


def test_validation_sees_the_model_as_it_would_be_used(harness: Make, recipe: Recipe) -> None:
    run = harness()
    run.run(recipe(epochs=1.0))
    assert run.modes_validated == [False]  # neither training mode nor gradients
    assert run.model.training


def test_the_best_weights_are_kept(harness: Make, recipe: Recipe) -> None:
    run = harness(perplexity=[9.0, 7.0, 7.0, 8.0].__getitem__)
    run.run(recipe(epochs=4.0))
    assert torch.equal(load_file(run.folder.weights)["output.weight"], run.weights_validated[1])
    assert not torch.equal(run.weights_validated[1], run.weights_validated[3])
    assert [record["best"] for record in records(run, "validation")] == [True, True, False, False]


def test_of_equal_scores_that_of_the_lowest_perplexity_is_best(harness: Make, recipe: Recipe) -> None:
    run = harness(
        perplexity=[9.0, 7.0, 8.0].__getitem__,
        translate=lambda model: DevTranslations(["a"], ["a"], {"bleu": 0.0, "chrf": 0.0}),
    )
    summary = run.run(recipe(epochs=3.0, validation__metric="bleu"))
    assert (summary.best, summary.best_update) == (0.0, 20)
    assert [record["best"] for record in records(run, "validation")] == [True, True, False]


def test_a_metric_of_translations_is_best_when_highest(harness: Make, recipe: Recipe) -> None:
    scores = iter([10.0, 12.0, 11.0])
    run = harness(translate=lambda model: DevTranslations(["a"], ["a"], {"bleu": next(scores), "chrf": 1.0}))
    summary = run.run(recipe(epochs=3.0, validation__metric="bleu"))
    assert (summary.metric, summary.best, summary.best_update) == ("bleu", 12.0, 20)
    assert all(record.keys() >= {"perplexity", "bleu", "chrf"} for record in records(run, "validation"))


@pytest.mark.parametrize(
    ("scores", "tolerance", "kept"),
    [([10.0, 12.0, 11.0], 1.0, 2), ([10.0, 12.0, 10.9], 1.0, 1), ([10.0, 12.0, 11.5, 10.9], 1.0, 2)],
)
def test_later_weights_are_kept_if_they_are_worse_within_the_tolerance(
    harness: Make, recipe: Recipe, scores: list[float], tolerance: float, kept: int
) -> None:
    given = iter(scores)
    run = harness(translate=lambda model: DevTranslations(["a"], ["a"], {"bleu": next(given), "chrf": 1.0}))
    settings = recipe(epochs=float(len(scores)), validation__metric="bleu", validation__tolerance=tolerance)
    summary = run.run(settings)
    assert (summary.best, summary.best_update) == (scores[kept], 10 * (kept + 1))
    assert torch.equal(load_file(run.folder.weights)["output.weight"], run.weights_validated[kept])
    assert [record["best"] for record in records(run, "validation")] == [True, True, *[False] * (len(scores) - 2)]
    told = "within training.validation.tolerance of the best, 12.00 after update 20" in run.screen.getvalue()
    assert told == (kept != 1)
    assert run.run(settings, resume=True).best_update == summary.best_update


def test_a_lower_perplexity_is_within_the_tolerance_of_a_higher(harness: Make, recipe: Recipe) -> None:
    run = harness(perplexity=[9.0, 7.0, 7.4, 7.6].__getitem__)
    summary = run.run(recipe(epochs=4.0, validation__tolerance=0.5))
    assert (summary.best, summary.best_update) == (7.4, 30)


def test_a_metric_that_nobody_measures_is_refused_before_anything_is_written(harness: Make, recipe: Recipe) -> None:
    run = harness()
    with pytest.raises(ConfigError, match=re.escape("training.validation.metric: chrf needs translations of the dev")):
        run.run(recipe(validation__metric="chrf"))
    assert list(run.path.iterdir()) == []


def test_patience_ends_the_training(harness: Make, recipe: Recipe) -> None:
    run = harness(perplexity=[9.0, 9.5, 7.0, 7.5, 7.4, 1.0].__getitem__)
    summary = run.run(recipe(epochs=50.0, validation__patience=2))
    assert (summary.reason, summary.update, summary.best, summary.best_update) == ("patience", 50, 7.0, 30)


def test_the_plateau_schedule_listens_to_validations(harness: Make, recipe: Recipe) -> None:
    run = harness(perplexity=[9.0, 9.5, 9.4, 9.3, 9.2, 8.0].__getitem__)
    run.run(
        recipe(epochs=6.0, log_every=10, optimiser__learning_rate=0.01, schedule__name="plateau", schedule__patience=2)
    )
    assert [line["rate"] for line in records(run, "train")] == [0.01, 0.01, 0.01, 0.005, 0.005, 0.0025]


def test_the_running_average_is_what_is_validated_and_kept(harness: Make, recipe: Recipe) -> None:
    plain, averaged = harness(), harness()
    plain.run(recipe(epochs=2.0))
    averaged.run(recipe(epochs=2.0, average_decay=0.9))
    assert torch.equal(plain.model.output.weight, averaged.model.output.weight)  # training itself is the same
    kept = load_file(averaged.folder.weights)["output.weight"]
    assert torch.equal(kept, averaged.weights_validated[1])
    assert not torch.equal(kept, averaged.model.output.weight)


class TestUpdates:
    """The corpus of the test has ten updates an epoch."""

    def test_they_are_the_length_of_the_training_in_place_of_epochs(self, harness: Make, recipe: Recipe) -> None:
        for updates in (7, 33):
            run = harness()
            summary = run.run(recipe(epochs=2.0, updates=updates))
            assert (summary.reason, summary.update, summary.epochs) == ("updates", updates, updates / 10)
            assert records(run, "event")[-1]["text"].startswith(
                f"finished after update {updates} (all updates are done)"
            )

    def test_schedules_are_spread_over_them(self, harness: Make, recipe: Recipe) -> None:
        cosine, halving = harness(), harness()
        settings = {"epochs": 10.0, "updates": 20, "log_every": 1, "optimiser__learning_rate": 0.08}
        cosine.run(recipe(**settings, schedule__name="cosine"))
        rates = [line["rate"] for line in records(cosine, "train")]
        assert rates[0] == 0.08
        assert rates[10] == pytest.approx(0.04)
        assert rates[19] < 0.001
        halving.run(
            recipe(**settings, schedule__name="halving", schedule__start=5.0)
        )  # 5 of 10 epochs: 10 of 20 updates
        rates = [line["rate"] for line in records(halving, "train")]
        assert rates == [0.08] * 10 + [0.04] * 2 + [0.02] * 2 + [0.01] * 2 + [0.005] * 2 + [0.0025] * 2

    def test_the_minutes_may_end_first(self, harness: Make, recipe: Recipe) -> None:
        summary = harness(update_seconds=4.0).run(recipe(updates=1000, minutes=1.0))
        assert summary.reason == "minutes"
        assert 13 <= summary.update <= 15


class TestMinutes:
    """Updates and validations take some seconds of the test's clock."""

    def test_the_last_validation_still_fits(self, harness: Make, recipe: Recipe) -> None:
        run = harness(validation_seconds=5.0, update_seconds=4.0)
        summary = run.run(recipe(epochs=1000.0, minutes=2.0, validation__every=6))
        assert summary.reason == "minutes"
        assert 108 <= summary.seconds <= 120
        validations = [record["update"] for record in records(run, "validation")]
        assert validations[:3] == [6, 12, 18]
        assert validations[-1] == summary.update

    def test_without_any_validation_before_the_end_there_is_one(self, harness: Make, recipe: Recipe) -> None:
        run = harness(validation_seconds=4.0, update_seconds=4.0)
        summary = run.run(recipe(epochs=1000.0, minutes=2.0, validation__every=1000))
        assert summary.seconds <= 120
        assert [record["update"] for record in records(run, "validation")] == [summary.update]
        assert run.folder.weights.exists()

    @pytest.mark.parametrize("every", [0, 1000])
    def test_there_are_five_validations_however_long_an_epoch_is(
        self, harness: Make, recipe: Recipe, every: int
    ) -> None:
        run = harness(validation_seconds=8.0, update_seconds=8.0)
        summary = run.run(recipe(epochs=1000.0, minutes=10.0, validation__every=every, validation__at_least=5))
        seconds = [record["seconds"] for record in records(run, "validation")]
        assert len(seconds) == 5 if every else len(seconds) >= 5
        assert seconds[0] < 140
        assert summary.seconds <= 600

    def test_short_epochs_do_not_give_the_minutes_to_validation(self, harness: Make, recipe: Recipe) -> None:
        run = harness(validation_seconds=10.0, update_seconds=5.0)  # and an epoch takes fifty
        run.run(recipe(epochs=1000.0, minutes=10.0, validation__at_least=5))
        updates = [record["update"] for record in records(run, "validation")]
        assert updates[0] == 10
        assert all(later - earlier >= 18 for earlier, later in pairwise(updates[:-1]))
        assert 5 <= len(updates) <= 7

    def test_validations_that_take_much_of_the_minutes_are_told_once(self, harness: Make, recipe: Recipe) -> None:
        run = harness(validation_seconds=15.0, update_seconds=5.0)
        run.run(recipe(epochs=1000.0, minutes=5.0, validation__at_least=5))
        told = [record["text"] for record in records(run, "event") if record["name"] == "validation"]
        assert len(told) == 1
        assert told[0].startswith("a validation takes 15 seconds: fewer than 5 fit into a fifth of 5 minutes")
        assert len(records(run, "validation")) == 4  # 60 seconds, a fifth of 5 minutes
        quick = harness(validation_seconds=5.0, update_seconds=5.0)
        quick.run(recipe(epochs=1000.0, minutes=5.0, validation__at_least=5))
        assert not [record for record in records(quick, "event") if record["name"] == "validation"]

    @pytest.mark.parametrize("settings", [{"every": 2}, {"every": 0}, {"every": 1000, "at_least": 50}])
    def test_validations_take_a_fifth_of_the_minutes_at_most(
        self, harness: Make, recipe: Recipe, settings: dict[str, int]
    ) -> None:
        run = harness(validation_seconds=3.0, update_seconds=3.0)
        values = {f"validation__{name}": value for name, value in settings.items()}
        summary = run.run(recipe(epochs=1000.0, minutes=5.0, **values))
        validations = records(run, "validation")
        assert 3.0 * len(validations) <= 60
        assert summary.seconds <= 300
        middle = [record["seconds"] for record in validations if 120 <= record["seconds"] <= 180]
        assert len(middle) >= 2, "they are spread over the training"

    def test_a_budget_shorter_than_an_update_makes_one(self, harness: Make, recipe: Recipe) -> None:
        summary = harness().run(recipe(minutes=0.001))
        assert (summary.reason, summary.update) == ("minutes", 1)

    def test_the_epochs_may_end_first(self, harness: Make, recipe: Recipe) -> None:
        summary = harness().run(recipe(epochs=2.0, minutes=60.0))
        assert (summary.reason, summary.update) == ("epochs", 20)

    def test_cosine_ends_at_its_minimum(self, harness: Make, recipe: Recipe) -> None:
        run = harness(validation_seconds=10.0, update_seconds=4.0)
        run.run(
            recipe(
                epochs=1000.0,
                minutes=4.0,
                log_every=1,
                validation__every=12,
                optimiser__learning_rate=0.01,
                schedule__name="cosine",
                schedule__min_learning_rate=0.001,
            )
        )
        rates = [line["rate"] for line in records(run, "train")]
        assert rates[0] == pytest.approx(0.01, rel=1e-3)
        assert rates[-1] == pytest.approx(0.001, rel=0.02)

    def test_a_resumed_run_has_the_minutes_that_were_left(self, harness: Make, recipe: Recipe) -> None:
        def stop_at_10(number: int) -> None:
            if number == 10:
                signal.raise_signal(signal.SIGTERM)

        run = harness(on_batch=stop_at_10, update_seconds=4.0)
        config = recipe(epochs=1000.0, minutes=1.0)
        with pytest.raises(Interrupted):
            run.run(config)
        run.clock.now += 10_000
        summary = run.run(config, resume=True)
        assert summary.reason == "minutes"
        assert 48 <= summary.seconds <= 60
        assert summary.update == summary.seconds / 4


class TestNotANumber:
    def test_training_stops_with_advice_and_nothing_is_overwritten(self, harness: Make, recipe: Recipe) -> None:
        run = harness()

        def spoil(number: int) -> None:
            if number == 13:
                run.state_before = (run.folder.checkpoints / "latest.safetensors").read_bytes()
                run.weights_before = run.folder.weights.read_bytes()
                with torch.no_grad():
                    run.model.output.weight[0, 0] = math.nan

        run.on_batch = spoil
        with pytest.raises(TrainingError) as caught:
            run.run(recipe(optimiser__learning_rate=0.004, optimiser__max_gradient_norm=None))
        assert str(caught.value) == (
            "the loss or its gradient is no longer a finite number (between updates 11 and 15). Lower "
            "training.optimiser.learning_rate (it was 0.004 here), set "
            "training.optimiser.max_gradient_norm (1.0 is usual), or try training.precision: fp32. The saved "
            "files, the last state and the best weights, are from before"
        )
        assert (run.folder.checkpoints / "latest.safetensors").read_bytes() == run.state_before
        assert run.folder.weights.read_bytes() == run.weights_before
        assert [line["update"] for line in records(run, "train")] == [5, 10]

    def test_weights_spoiled_by_the_last_update_are_noticed_before_they_are_saved(
        self, harness: Make, recipe: Recipe
    ) -> None:
        run = harness()
        with pytest.raises(TrainingError, match="a weight is no longer a finite number"):
            run.run(recipe(epochs=0.1, optimiser__name="sgd", optimiser__learning_rate=1e39, log_every=1000))
        assert not run.folder.weights.exists()

    def test_a_dev_perplexity_that_is_no_number_is_no_best(self, harness: Make, recipe: Recipe) -> None:
        run = harness(perplexity=lambda number: math.nan)
        with pytest.raises(TrainingError, match="the perplexity of the dev set is no longer a finite number"):
            run.run(recipe())
        assert not run.folder.weights.exists()


class TestCollapse:
    def translations(self, alike: list[bool]) -> Callable[[Any], DevTranslations]:
        references = [f"line {number}" for number in range(30)]
        answers = iter(alike)
        return lambda model: DevTranslations(["line x"] * 30 if next(answers) else references, references)

    @pytest.mark.parametrize(
        ("alike", "warned"),
        [
            ([True, False, True, False], []),  # usual at the beginning, and by chance
            ([True, True, True, False], [20, 30]),
            ([False, False, False, True], [40]),  # the end has no next one
        ],
    )
    def test_it_warns_when_it_stays(self, harness: Make, recipe: Recipe, alike: list[bool], warned: list[int]) -> None:
        run = harness(translate=self.translations(alike))
        run.run(recipe(epochs=4.0), quiet=True)
        events = [record for record in records(run, "event") if record["name"] == "collapse"]
        assert [event["update"] for event in events] == warned
        assert run.screen.getvalue().count("warning: the model gives nearly the same") == bool(
            warned
        )  # the log has them all


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_the_update_is_finished_and_the_state_saved(
        self, harness: Make, recipe: Recipe, number: signal.Signals
    ) -> None:
        run = harness(on_batch=lambda batch: signal.raise_signal(number) if batch == 7 else None)
        before = signal.getsignal(number)
        with pytest.raises(Interrupted) as caught:
            run.run(recipe())
        assert str(caught.value) == f"{number.name}: state saved after update 7; --resume continues from there"
        assert caught.value.exit_code == 130
        assert signal.getsignal(number) is before
        run.on_batch = lambda batch: None
        assert run.run(recipe(), resume=True).update == 20

    def test_a_signal_during_validation_waits_for_one_update(self, harness: Make, recipe: Recipe) -> None:
        def answer(number: int) -> float:
            os.kill(os.getpid(), signal.SIGTERM)
            return 5.0

        with pytest.raises(Interrupted, match="state saved after update 11"):
            harness(perplexity=answer).run(recipe())

    def test_a_signal_during_the_last_validation_is_obeyed_after_it(self, harness: Make, recipe: Recipe) -> None:
        def answer(number: int) -> float:
            os.kill(os.getpid(), signal.SIGTERM)
            return 5.0

        run = harness(perplexity=answer)
        with pytest.raises(Interrupted, match="state saved after update 5"):
            run.run(recipe(epochs=0.5))
        assert run.run(recipe(epochs=0.5), resume=True).best == 5.0


class TestAverageBest:
    """The perplexity of each validation is given, and that of the mean is the one after the last."""

    def kept(self, run: Any) -> list[str]:
        return sorted(path.name for path in run.folder.checkpoints.glob("best-*"))

    def mean_of(self, run: Any, *validations: int) -> torch.Tensor:
        weights = torch.stack([run.weights_validated[number].double() for number in validations])
        return weights.mean(dim=0).float()

    def test_a_better_mean_becomes_the_result(self, harness: Make, recipe: Recipe) -> None:
        run = harness(perplexity=[9.0, 7.0, 8.0, 7.5, 6.5].__getitem__)
        summary = run.run(recipe(epochs=4.0, average_best=3))
        assert (summary.best, summary.best_update, summary.averaged) == (6.5, 40, (20, 30, 40))
        mean = self.mean_of(run, 1, 2, 3)
        assert torch.equal(load_file(run.folder.weights)["output.weight"], mean)
        assert torch.equal(run.weights_validated[4], mean)  # it is the mean that was asked about, ...
        assert run.modes_validated == [False] * 5
        assert torch.equal(run.model.output.weight, run.weights_validated[3])  # ... and training has its own again
        assert self.kept(run) == ["best-20.safetensors", "best-30.safetensors", "best-40.safetensors"]
        (record,) = records(run, "average")
        assert (record["updates"], record["perplexity"], record["best"]) == ([20, 30, 40], 6.5, True)
        assert "mean of the weights after updates 20, 30, 40  dev: perplexity 6.50  (best)" in run.screen.getvalue()
        assert "best perplexity 6.50 with the mean of the weights after updates 20, 30, 40" in run.screen.getvalue()

    @pytest.mark.parametrize("of_mean", [7.0, 7.2])
    def test_a_mean_that_is_no_better_does_not(self, harness: Make, recipe: Recipe, of_mean: float) -> None:
        run = harness(perplexity=[9.0, 7.0, 8.0, of_mean].__getitem__)
        summary = run.run(recipe(epochs=3.0, average_best=2))
        assert (summary.best, summary.best_update, summary.averaged) == (7.0, 20, ())
        assert torch.equal(load_file(run.folder.weights)["output.weight"], run.weights_validated[1])
        assert not records(run, "average")[0]["best"]
        assert "best perplexity 7.00 after update 20" in run.screen.getvalue()

    def test_of_translations_the_highest_score_wins(self, harness: Make, recipe: Recipe) -> None:
        scores = iter([10.0, 12.0, 11.0, 12.5])
        run = harness(translate=lambda model: DevTranslations(["a"], ["a"], {"bleu": next(scores), "chrf": 1.0}))
        summary = run.run(recipe(epochs=3.0, average_best=2, validation__metric="bleu"))
        assert (summary.best, summary.averaged) == (12.5, (20, 30))

    def test_of_equal_scores_the_lowest_perplexity_is_among_the_best(self, harness: Make, recipe: Recipe) -> None:
        run = harness(
            translate=lambda model: DevTranslations(["a"], ["a"], {"bleu": 0.0, "chrf": 1.0}),
            perplexity=[9.0, 8.0, 7.0, 6.0].__getitem__,
        )
        summary = run.run(recipe(epochs=3.0, average_best=2, validation__metric="bleu"))
        assert (summary.best, summary.best_update, summary.averaged) == (0.0, 30, ())
        assert self.kept(run) == ["best-20.safetensors", "best-30.safetensors"]
        assert torch.equal(load_file(run.folder.weights)["output.weight"], run.weights_validated[2])

    def test_the_weights_before_the_first_update_may_be_among_the_best(self, harness: Make, recipe: Recipe) -> None:
        run = harness(perplexity=[5.0, 6.0, 7.0, 5.5].__getitem__)
        summary = run.run(recipe(epochs=2.0, average_best=2), beginning=Beginning(validate_first=True))
        assert (summary.best, summary.best_update) == (5.0, 0)
        assert self.kept(run) == ["best-0.safetensors", "best-10.safetensors"]

    def test_one_validation_has_no_mean(self, harness: Make, recipe: Recipe) -> None:
        run = harness()
        assert run.run(recipe(epochs=1.0, average_best=3)).averaged == ()
        assert run.validations == 1
        assert not records(run, "average")

    def test_with_a_running_average_it_is_the_mean_of_averages(self, harness: Make, recipe: Recipe) -> None:
        run = harness(perplexity=[9.0, 8.0, 7.0].__getitem__)
        run.run(recipe(epochs=2.0, average_decay=0.9, average_best=2))
        assert not torch.equal(run.weights_validated[1], run.model.output.weight)
        assert torch.equal(load_file(run.folder.weights)["output.weight"], self.mean_of(run, 0, 1))

    def test_patience_and_plateaus_do_not_know_the_mean(self, harness: Make, recipe: Recipe) -> None:
        run = harness(perplexity=[9.0, 7.0, 8.0, 8.0, 1.0].__getitem__)
        summary = run.run(recipe(epochs=9.0, average_best=2, validation__patience=2))
        assert (summary.reason, summary.update, summary.best) == ("patience", 40, 1.0)

    def test_its_validation_fits_into_the_minutes(self, harness: Make, recipe: Recipe) -> None:
        run = harness(validation_seconds=10.0, update_seconds=4.0)
        summary = run.run(recipe(epochs=1000.0, minutes=2.0, validation__every=6, average_best=2))
        assert summary.reason == "minutes"
        assert 105 <= summary.seconds <= 120
        assert len(records(run, "average")) == 1

    def test_a_finished_run_resumed_gives_the_same_result(self, harness: Make, recipe: Recipe) -> None:
        run = harness()
        first = run.run(recipe(epochs=3.0, average_best=2))
        result = run.folder.weights.read_bytes()
        assert run.run(recipe(epochs=3.0, average_best=2), resume=True) == first
        assert run.folder.weights.read_bytes() == result
        assert len(records(run, "average")) == 1

    @pytest.mark.parametrize("of_mean", [1.0, 9.0])
    def test_a_run_that_goes_on_after_its_end_is_as_if_never_stopped(
        self, harness: Make, recipe: Recipe, of_mean: float
    ) -> None:
        # whether or not the mean at the first end was the better; at the second end it is not
        stopped = harness(perplexity=[9.0, 7.0, of_mean, 8.0, 7.5, 7.2].__getitem__)
        stopped.run(recipe(epochs=2.0, average_best=2))
        stopped.run(recipe(epochs=4.0, average_best=2), resume=True)
        straight = harness(perplexity=[9.0, 7.0, 8.0, 7.5, 7.2].__getitem__)
        summary = straight.run(recipe(epochs=4.0, average_best=2))
        assert (summary.best, summary.best_update) == (7.0, 20)
        assert stopped.folder.weights.read_bytes() == straight.folder.weights.read_bytes()
        assert self.kept(stopped) == self.kept(straight) == ["best-20.safetensors", "best-40.safetensors"]

    def test_a_run_that_is_killed_finds_the_files_of_its_last_state(
        self, harness: Make, recipe: Recipe, tiny: Make
    ) -> None:
        class Killed(BaseException):
            pass

        def kill(number: int) -> None:
            if number == 37:
                raise Killed

        config = recipe(epochs=4.0, average_best=2, checkpoint_minutes=0.4)  # a state after updates 24 and 48
        run = harness(on_batch=kill, perplexity=[5.0, 4.0, 3.0].__getitem__)
        with pytest.raises(Killed):
            run.run(config)
        assert self.kept(run) == [f"best-{update}.safetensors" for update in (10, 20, 30)]
        run.model, run.on_batch = tiny(), lambda number: None
        # after the resumption they come out otherwise, so that the file from before the last state is needed
        run.perplexity, run.validations = [6.0, 7.0, 3.5].__getitem__, 0
        summary = run.run(config, resume=True)
        assert (summary.best, summary.averaged) == (3.5, (10, 20))
        assert self.kept(run) == ["best-10.safetensors", "best-20.safetensors"]


def test_a_full_disk_stops_the_training_and_the_last_state_survives(
    harness: Make, recipe: Recipe, full_disk: Make
) -> None:
    run = harness()
    run.run(recipe(epochs=1.0))
    state = run.folder.checkpoints / "latest.safetensors"
    before = state.read_bytes()
    with full_disk(free=len(before) // 2), pytest.raises(InputError, match=r"latest.safetensors: cannot be written"):
        run.run(recipe(epochs=2.0), resume=True)
    assert state.read_bytes() == before
    assert run.run(recipe(epochs=2.0), resume=True).update == 20
