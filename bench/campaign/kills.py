"""Processes killed at every operation that changes a file.

A kill loses nothing that the kernel has been given; `power_loss` is about what it may lose.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from campaign import interposer
from campaign.interposer import Fault, Mode, Operation, Step, run_watched
from campaign.result import Result, Settings
from campaign.scenarios import Broken, Scenario, scenarios
from campaign.states import State, state_of

_SKIPPED = (Operation.CLOSE, Operation.ATTRIBUTES)
"""A process killed before one of these leaves the same files as one killed before the next operation."""


class Course(NamedTuple):
    """A scenario that has run to its end once: what there was before and after it, and what it did."""

    scenario: Scenario
    start: Path
    """A folder as it is before the command; each trial has a copy."""
    folder: Path
    """The folder in which it ran."""
    before: State
    after: State
    steps: list[Step]


def run(settings: Settings) -> list[Result]:
    """Kill every command at every operation."""
    result = Result(
        "kills",
        "A command that is killed at any operation on a file leaves the old result or the new one; the next command "
        "works and leaves nothing over, and a resumed training ends bit for bit like one that was never stopped.",
        "write points",
    )
    if (reason := interposer.reason_not_loaded()) is not None:
        print(f"kills: left out: {reason}")
        return []
    for course in courses(settings):
        for fault in _faults(course, settings):
            if settings.is_over():
                return [result]
            _kill(course, fault, settings, result)
    return [result]


def courses(settings: Settings) -> Iterator[Course]:
    """Every scenario, run to its end."""
    for number, scenario in enumerate(drawn_scenarios(settings)):
        if settings.is_over():
            return
        start, folder = (settings.scratch / f"{number}-{name}" for name in ("start", "whole"))
        start.mkdir()
        scenario.fill(start)
        shutil.copytree(start, folder)
        watched = run_watched(scenario.command, folder, record=True, stdin=scenario.stdin)
        if watched.ended.code:
            raise RuntimeError(f"{scenario.name}: fails without a fault: {watched.ended.message}")
        yield Course(scenario, start, folder, state_of(start), state_of(folder), watched.steps)
        shutil.rmtree(start)
        shutil.rmtree(folder)


def drawn_scenarios(settings: Settings) -> list[Scenario]:
    """Every scenario; in an order drawn by the seed where time is limited."""
    listed = scenarios(settings)
    if settings.seconds is not None:
        random.Random(settings.seed).shuffle(listed)
    return listed


def drawn(faults: list[Fault], settings: Settings) -> list[Fault]:
    """As many of the faults as the settings ask for; some of each scenario where time is limited."""
    wanted = settings.trials if settings.seconds is None else settings.trials or 5
    if wanted is None:
        return faults
    random.Random(settings.seed).shuffle(faults)
    return faults[:wanted]


def _faults(course: Course, settings: Settings) -> list[Fault]:
    faults = []
    for step in course.steps:
        if step.operation not in _SKIPPED:
            faults.append(Fault(Mode.KILL, step.number))
        if step.operation == Operation.WRITE and len(step.data) > 1:
            faults.append(Fault(Mode.TEAR, step.number))
    return drawn(faults, settings)


def _kill(course: Course, fault: Fault, settings: Settings, result: Result) -> None:
    scenario, folder = course.scenario, settings.scratch / "trial"
    shutil.copytree(course.start, folder)
    operation = "none"
    try:
        watched = run_watched(scenario.command, folder, fault, stdin=scenario.stdin)
        operation = watched.operation
        scenario.require_usable(folder, course.before, course.after)
        scenario.require_going_on(folder, course.after)
    except Broken as broken:
        result.fail(
            str(broken),
            scenario=scenario.name,
            command=" ".join(scenario.command),
            point=fault.point,
            mode=fault.mode.name,
            operation=operation,
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    result.trials += 1
    by_scenario = result.facts.setdefault("trials", {})
    by_scenario[scenario.name] = by_scenario.get(scenario.name, 0) + 1
