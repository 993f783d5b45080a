"""Processes killed at every operation that changes a file.

A kill loses nothing that the kernel has been given; `power_loss` is about what it may lose.
"""

from __future__ import annotations

from pathlib import Path

from campaign.interposer import Fault, Mode, Operation, run_watched
from campaign.result import Result, Settings
from campaign.scenarios import Course, Trial, try_courses


def run(settings: Settings) -> list[Result]:
    """Kill every command at every operation."""
    promise = (
        "A command that is killed at any operation on a file leaves the old result or the new one; the next command "
        "works and leaves nothing over, and a resumed training ends bit for bit like one that was never stopped."
    )
    return try_courses(Result("kills", promise, "write points"), settings, _faults, _kill)


def _faults(course: Course) -> list[Fault]:
    torn = [step.number for step in course.steps if step.operation == Operation.WRITE and len(step.data) > 1]
    return [
        *(Fault(Mode.KILL, step.number) for step in course.steps),
        *(Fault(Mode.TEAR, number) for number in torn),
    ]


def _kill(course: Course, fault: Fault, folder: Path, trial: Trial) -> str:
    course.fill(folder)
    trial.update(point=fault.point, mode=fault.mode.name)
    scenario = course.scenario
    trial["operation"] = run_watched(scenario.command, folder, fault, stdin=scenario.stdin).operation
    scenario.require_usable(folder, course.before, course.after)
    scenario.require_going_on(folder, course.after)
    return scenario.name
