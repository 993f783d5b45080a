"""Callbacks: what is called when, what it receives, and what an exception in it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from dragoman.training.callbacks import StopTraining, TrainingCallback
from dragoman.training.log import read_log

from .test_resuming import assert_same, everything

Make = Callable[..., Any]


class Recorder(TrainingCallback):
    """Notes every call, and raises an exception in one of them."""

    def __init__(self, where: str = "", update: int = 0, error: Exception | None = None) -> None:
        self.events: list[tuple[str, Any]] = []
        self._fault = where, update
        self._error = error

    def on_update(self, event: Any) -> None:
        self._note("update", event)

    def on_validation(self, event: Any) -> None:
        self._note("validation", event)

    def on_checkpoint(self, event: Any) -> None:
        assert event.path.stat().st_size
        self._note("checkpoint", event)

    def of(self, kind: str) -> list[Any]:
        return [event for name, event in self.events if name == kind]

    def _note(self, kind: str, event: Any) -> None:
        self.events.append((kind, event))
        if self._error is not None and (kind, event.update) == self._fault:
            raise self._error


def test_each_update_validation_and_saved_state_is_announced_in_order(harness: Make, recipe: Make) -> None:
    recorder, run = Recorder(), harness()
    config = recipe(epochs=1.0, log_every=5, validation__every=5, checkpoint_minutes=0.1)
    run.run(config, callbacks=[recorder])
    assert [(name, event.update) for name, event in recorder.events] == [
        *(("update", number) for number in range(1, 6)),
        ("validation", 5),
        ("update", 6),
        ("checkpoint", 6),
        *(("update", number) for number in range(7, 11)),
        ("validation", 10),
        ("checkpoint", 10),
    ]
    log = read_log(run.folder.log)
    updates, validations = recorder.of("update"), recorder.of("validation")
    train = next(record for record in log if record["kind"] == "train")
    assert updates[4].learning_rate == train["rate"]
    assert sum(event.gradient_norm for event in updates[:5]) / 5 == pytest.approx(train["gradient_norm"])
    assert updates[4].seconds == train["seconds"]
    assert updates[-1].epoch == 1.0
    assert 0 < updates[-1].loss < updates[0].loss
    recorded = [record for record in log if record["kind"] == "validation"]
    assert [event.results["perplexity"] for event in validations] == [record["perplexity"] for record in recorded]
    assert [event.best for event in validations] == [record["best"] for record in recorded]
    assert validations[0].weights == run.folder.weights
    assert recorder.of("checkpoint")[0].path == run.folder.checkpoints / "latest.safetensors"


@pytest.mark.parametrize(("where", "update"), [("update", 7), ("validation", 10), ("checkpoint", 12)])
def test_an_exception_saves_the_state_and_passes_on(
    harness: Make, recipe: Make, tiny: Make, where: str, update: int
) -> None:
    config = recipe(epochs=2.0, log_every=7, checkpoint_minutes=0.2)
    straight = harness()
    straight.run(config)
    stopped, error = harness(), ZeroDivisionError("a mistake in a callback")
    with pytest.raises(ZeroDivisionError) as caught:
        stopped.run(config, callbacks=[Recorder(where, update, error)])
    assert caught.value is error
    torch.manual_seed(99)
    stopped.model = tiny()
    stopped.run(config, resume=True, callbacks=[Recorder()])
    assert_same(everything(straight), everything(stopped))


def test_stop_training_ends_a_training_with_its_result(harness: Make, recipe: Make) -> None:
    run = harness()
    recorders = Recorder("update", 7, StopTraining()), Recorder()
    result = run.run(recipe(epochs=5.0), callbacks=recorders)
    assert (result.reason, result.update, result.best_update) == ("callback", 7, 7)
    assert [event.update for event in recorders[1].of("update")] == list(range(1, 8))  # the others are called too
    assert "finished after update 7 (a callback ended it)" in run.screen.getvalue()
    assert run.run(recipe(epochs=5.0), resume=True).update == 50


def test_the_time_of_callbacks_does_not_count_for_the_speed(harness: Make, recipe: Make) -> None:
    run = harness()

    class Slow(TrainingCallback):
        def on_update(self, event: Any) -> None:
            run.clock.now += 9

    run.run(recipe(epochs=1.0), callbacks=[Slow()])
    tokens = [record["tokens_per_second"] for record in read_log(run.folder.log) if record["kind"] == "train"]
    run = harness()
    run.run(recipe(epochs=1.0))
    assert tokens == [record["tokens_per_second"] for record in read_log(run.folder.log) if record["kind"] == "train"]
