"""Trainings stopped at random moments, resumed, stopped again, and so on until they end.

Unlike the write points of `kills`, the moments fall anywhere: into a computation, a library's own code, the start of
Python. They are drawn by the seed; what a process does at that moment depends on the machine.
"""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from campaign.children import Ended, run_command
from campaign.result import Result, Settings
from campaign.scenarios import Broken, Training, scenarios
from campaign.states import State, state_of

CHAINS = 90
"""Trainings in a run of full size."""
LONGEST = 15
"""Stops of one training; then it is left to end."""
SHARE = 0.6
"""The largest share of the time of a whole training after which a signal comes."""
SIGNALS = (*[signal.SIGKILL] * 3, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
NAMES = ("train", "train --overwrite", "lm train")
INTERRUPTED = 130
"""The exit code of a command that a signal stopped."""


class Whole(NamedTuple):
    """A training that was not stopped."""

    training: Training
    start: Path
    """The folder as it is before the command."""
    before: State
    after: State
    seconds: float


def run(settings: Settings) -> list[Result]:
    """Try chains of the commands in turn."""
    result = Result(
        "chains",
        "A training that is stopped by signals again and again at random moments, and resumed each time, ends bit for "
        "bit like one that was never stopped.",
        "kills and signals",
    )
    result.facts["trainings"] = {}
    wholes = list(_wholes(settings))
    for number in range(CHAINS if settings.trials is None else settings.trials):
        if settings.is_over() or not wholes:
            break
        _chain(wholes[number % len(wholes)], number, settings, result)
    return [result]


def _wholes(settings: Settings) -> Iterator[Whole]:
    for scenario in scenarios(settings):
        if scenario.name not in NAMES or settings.is_over():
            continue
        assert isinstance(scenario, Training)
        start, folder = (settings.scratch / f"{scenario.name} {name}" for name in ("start", "whole"))
        start.mkdir()
        scenario.fill(start)
        seconds = min(_seconds(scenario, start, folder) for _ in range(2))  # the first one also reads libraries
        yield Whole(scenario, start, state_of(start), state_of(folder), seconds)


def _seconds(training: Training, start: Path, folder: Path) -> float:
    """Train in a copy of `start`; gives the time that takes."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(start, folder)
    began = time.monotonic()
    ended = training.run(folder)
    if ended.code:
        raise RuntimeError(f"{training.name}: fails without a signal: {ended.message}")
    return time.monotonic() - began


def _chain(whole: Whole, number: int, settings: Settings, result: Result) -> None:
    draw = random.Random(f"{settings.seed} {number}")
    training, folder = whole.training, settings.scratch / "trial"
    shutil.copytree(whole.start, folder)
    moments: list[str] = []
    try:
        while True:
            limit = draw.uniform(0, SHARE * whole.seconds) if len(moments) < LONGEST else 600.0
            stop = draw.choice(SIGNALS)
            command = training.next_command(folder) if moments else training.command
            ended = run_command(command, folder=folder, seconds=limit, stop=stop)
            if ended.code == 0:
                break
            moments.append(f"{stop.name} after {limit:.2f} s")
            result.trials += 1
            _require_stopped(ended, stop)
            if draw.random() < 0.3:
                training.require_usable(folder, whole.before, whole.after)
        training.require_equal(folder, whole.after, partial=False)
    except Broken as broken:
        command_line = " ".join(training.command)
        result.fail(str(broken), command=command_line, number=number, moments=moments, seed=settings.seed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    trainings = result.facts["trainings"]
    trainings[training.name] = trainings.get(training.name, 0) + 1


def _require_stopped(ended: Ended, stop: signal.Signals) -> None:
    """The command ended as the signal ends it: killed, or with the code and the one line of an interruption."""
    if ended.code == -stop:  # also by a signal that came before it was heeded
        return
    if ended.code != INTERRUPTED or "Traceback" in ended.message:
        raise Broken(f"{stop.name} ends the command in {ended.code}: {ended.message[-500:]}")
