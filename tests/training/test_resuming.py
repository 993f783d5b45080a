"""A run that was stopped and resumed is the run that never stopped, bit for bit."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.config.schema import TrainingConfig
from dragoman.errors import Interrupted, RunError
from dragoman.training.log import read_log

Make = Callable[..., Any]
Recipe = Callable[..., TrainingConfig]

RECIPES: dict[str, dict[str, Any]] = {
    "adam, dropout, average, plateau": {
        "average_decay": 0.9,
        "label_smoothing": 0.1,
        "schedule__name": "plateau",
        "schedule__patience": 1,
        "validation__every": 4,
        "validation__patience": 6,
    },
    "adamw, cosine, accumulated": {
        "optimiser__name": "adamw",
        "optimiser__weight_decay_epochs": 0.5,
        "schedule__name": "cosine",
        "schedule__warmup": 5,
        "batch__accumulate": 3,
    },
    "adadelta per sentence": {
        "optimiser__name": "adadelta",
        "optimiser__learning_rate": 1.0,
        "loss_normalisation": "sentences",
    },
    "sgd, halving": {"optimiser__name": "sgd", "schedule__name": "halving", "schedule__start": 1.0},
    "a number of updates, halving": {
        "updates": 26,
        "epochs": 4.0,
        "optimiser__name": "sgd",
        "schedule__name": "halving",
        "schedule__start": 2.0,
        "validation__every": 4,
    },
    "guided attention, scheduled sampling, the mean of the best": {
        "guided_alignment": 0.5,
        "scheduled_sampling": 0.8,
        "average_best": 2,
        "validation__every": 4,
    },
    "dropout that grows": {"dropout_warmup": 2.0},
    "validations at equal shares": {"validation__every": 1000, "validation__at_least": 7},
}


def everything(run: Any) -> dict[str, Any]:
    """What a run leaves behind, wall-clock times left out."""
    log = [
        {key: value for key, value in record.items() if key != "time"}
        for record in read_log(run.folder.log)
        if record.get("name") != "resumed"
    ]
    return {
        "best": run.folder.weights.read_bytes(),
        "last": [parameter.detach().clone() for parameter in run.model.parameters()],
        "log": log,
    }


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one["log"] == other["log"]
    assert one["best"] == other["best"]
    assert all(torch.equal(a, b) for a, b in zip(one["last"], other["last"], strict=True))


@pytest.mark.parametrize("recipe_name", RECIPES)
def test_interrupted_and_resumed_equals_never_stopped(
    harness: Make, recipe: Recipe, tiny: Make, recipe_name: str
) -> None:
    """Interrupted in mid-epoch, at batch 13, and between an epoch and its validation, at batch 20."""
    config = recipe(**{"epochs": 3.0, "log_every": 4, "optimiser__learning_rate": 0.03, **RECIPES[recipe_name]})
    straight = harness()
    straight.run(config)

    read = 0

    def interrupt(_: int) -> None:
        nonlocal read
        read += 1
        if read in (13, 20):
            signal.raise_signal(signal.SIGINT)

    stopped = harness(on_batch=interrupt)
    for resume, time in ((False, 77.0), (True, 5.0)):
        with pytest.raises(Interrupted):
            stopped.run(config, resume=resume)
        torch.manual_seed(99)  # a new process has other random numbers, and fresh weights
        stopped.model, stopped.clock.now = tiny(), time
    stopped.run(config, resume=True)
    assert_same(everything(straight), everything(stopped))


def test_what_was_done_after_the_last_saved_state_is_done_again(harness: Make, recipe: Recipe, tiny: Make) -> None:
    config = recipe(epochs=2.0, log_every=2, checkpoint_minutes=0.1)  # six seconds of the test's clock, six updates
    straight = harness()
    straight.run(config)

    class Killed(BaseException):
        pass

    def kill(number: int) -> None:
        if number == 12:
            raise Killed

    stopped = harness(on_batch=kill)
    with pytest.raises(Killed):
        stopped.run(config)
    assert read_log(stopped.folder.log)[-1]["update"] == 10
    stopped.model, stopped.on_batch, stopped.clock.now = tiny(), lambda number: None, 0.0
    stopped.run(config, resume=True)
    resumed = [record for record in read_log(stopped.folder.log) if record.get("name") == "resumed"]
    assert [record["update"] for record in resumed] == [6]
    assert_same(everything(straight), everything(stopped))


def test_a_resumed_run_has_the_threads_that_it_had(harness: Make, recipe: Recipe) -> None:
    run = harness()
    torch.set_num_threads(2)
    run.run(recipe(epochs=1.0))
    torch.set_num_threads(1)
    run.run(recipe(epochs=1.5), resume=True)
    assert torch.get_num_threads() == 2
    assert "threads: 2, as before" in run.screen.getvalue()
    torch.set_num_threads(1)  # as --threads 1 does
    run.run(recipe(epochs=2.0), resume=True, threads=1)
    assert torch.get_num_threads() == 1
    assert "--threads 1: this training had 2 so far; its weights will differ by rounding" in run.screen.getvalue()
    run.run(recipe(epochs=2.5), resume=True, threads=1)  # the last state was saved with 1
    assert run.screen.getvalue().count("this training had") == 1


def test_a_finished_run_resumed_stays_as_it_is(harness: Make, recipe: Recipe) -> None:
    run = harness()
    first = run.run(recipe())
    best = run.folder.weights.read_bytes()
    second = run.run(recipe(), resume=True)
    assert second == first
    assert run.folder.weights.read_bytes() == best
    assert run.validations == 2


def test_a_finished_run_goes_on_when_there_are_more_epochs_to_do(harness: Make, recipe: Recipe) -> None:
    longer, straight = harness(), harness()
    longer.run(recipe(epochs=1.0))
    longer.run(recipe(epochs=2.0), resume=True)
    straight.run(recipe(epochs=2.0))
    assert torch.equal(longer.model.output.weight, straight.model.output.weight)


def test_there_is_something_to_resume_before_the_first_update(harness: Make, recipe: Recipe) -> None:
    run = harness(on_batch=lambda number: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run.run(recipe())
    run.on_batch = lambda number: None
    assert run.run(recipe(), resume=True).update == 20


def test_without_a_state_there_is_nothing_to_resume(harness: Make, recipe: Recipe) -> None:
    with pytest.raises(RunError, match="there is no training state to resume from"):
        harness().run(recipe(), resume=True)


def test_another_model_is_refused(harness: Make, recipe: Recipe) -> None:
    run = harness()
    run.run(recipe(epochs=0.1))
    run.model.output = torch.nn.Linear(8, 17)
    with pytest.raises(RunError, match=r"'output.bias' is \[16\] there and \[17\] in the configured model"):
        run.run(recipe(), resume=True)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"optimiser__name": "sgd"}, "was saved with training.optimiser.name: adam, and the configuration has sgd"),
        ({"average_decay": 0.5}, "was saved with training.average_decay: 0.0, and the configuration has 0.5"),
    ],
)
def test_another_recipe_is_refused(harness: Make, recipe: Recipe, setting: dict[str, Any], message: str) -> None:
    run = harness()
    run.run(recipe(epochs=0.1))
    with pytest.raises(RunError, match=message):
        run.run(recipe(**setting), resume=True)


PROGRAM = """
import json, os, signal, sys
from pathlib import Path
from conftest import TrainingHarness
from dragoman.config.building import build_config

def die():
    os.kill(os.getpid(), signal.SIGKILL)

run = TrainingHarness(Path(sys.argv[1]))
if sys.argv[2] == "in mid-update":
    run.on_batch = lambda number: die() if number == 13 else None
else:
    replace, states = os.replace, []
    def dying(source, target):
        states.append(target)
        die() if len(states) == 9 else replace(source, target)
    os.replace = dying
run.run(build_config({"training": json.loads(sys.argv[3])}, "recipe").training)
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["in mid-update", "in mid-save"])
def test_a_process_killed_in_mid_epoch_leaves_nothing_broken(harness: Make, recipe: Recipe, moment: str) -> None:
    config = recipe(epochs=2.0, average_decay=0.9, log_every=3, checkpoint_minutes=0.05)  # a state every three updates
    straight, killed = harness(), harness()
    straight.run(config)

    here = Path(__file__).parent
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(killed.path), moment, json.dumps(config.values())],
        env={**os.environ, "PYTHONPATH": f"{here}:{here.parents[1] / 'src'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == -signal.SIGKILL, process.stderr
    reached = read_log(killed.folder.log)[-1]["update"]
    assert 0 < reached < 20
    assert not math.isclose(reached % 10, 0)

    killed.run(config, resume=True)
    assert_same(everything(straight), everything(killed))
    assert sorted(path.name for path in killed.folder.checkpoints.iterdir()) == ["latest.safetensors"]
